"""Backward weight whose pixels come once means the same at every level, whatever its raster and shares."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pairs import one_in

from imbrex.config.halo.plan import HaloWeightTuning
from imbrex.ir.ops import WarpgroupGemmOp
from imbrex.ir.source import InvalidOp

from .levels import assert_every_level_is_right, reread
from .test_meaning_halo import Windows, windows


def weights(c: int, h: int, w: int, k: int, n: int = 2, **given: Any) -> Any:
    return windows("backward_weight", c, h, w, k, n, **given)


CASES = [
    Windows(weights(16, 6, 7, 64), algorithm="halo:1"),
    Windows(weights(128, 5, 9, 128, n=1, groups=16), algorithm="halo:8"),
    Windows(
        weights(64, 4, 6, 64, n=1, groups=4, input_layout="NCHW", output_layout="NKHW", filter_layout="KCYX"),
        algorithm="halo:4",
    ),
    Windows(weights(32, 5, 7, 64, n=1), "v1:halo_weight:1,4,6,16,9,32,1,2,2,3", "halo:1"),
    Windows(weights(16, 3, 3, 64, n=3), "v1:halo_weight:1,4,6,4,9,16,1,2,3,3", "halo:1"),
]
PLANES = {"input_layout": "NCHW", "output_layout": "NKHW", "filter_layout": "KCYX"}
OUT_OF_PLANES = [
    Windows(
        weights(64, 4, 12, 64, n=2, groups=8, **PLANES), "v1:halo_weight:1,4,4,32,9,64,4,2,4,2", "halo:8"
    ),
    Windows(weights(64, 4, 8, 64, n=1, groups=4, **PLANES), "v1:halo_weight:1,2,2,32,9,64,4,1,4,2", "halo:4"),
]


@pytest.mark.parametrize("case", one_in(4, [*CASES, *OUT_OF_PLANES]), ids=str)
def test_every_level_computes_the_same(case: Windows) -> None:
    assert_every_level_is_right(case, left_out=("problem", "merge-groups", "channels-last"))


@pytest.mark.parametrize("case", CASES[::3], ids=str)
def test_the_text_says_it_all(case: Windows) -> None:
    module = reread(case.lowered("gridwise-to-blockwise"))
    (found,) = (op for op in module.walk() if isinstance(op, WarpgroupGemmOp))
    tuning = found.tuning_
    assert isinstance(tuning, HaloWeightTuning) and tuning.own_columns * 3 == tuning.n_per_block


@pytest.mark.parametrize("case", OUT_OF_PLANES, ids=str)
def test_planes_are_read_as_they_lie(case: Windows) -> None:
    module = reread(case.lowered("gridwise-to-blockwise"))
    assert "packed" not in str(module)
    (found,) = (op for op in module.walk() if isinstance(op, WarpgroupGemmOp))
    assert found.reads_planes and isinstance(found.tuning_, HaloWeightTuning) and found.tuning_.by_warps


def test_a_refusal_points_at_the_convolution() -> None:
    case = Windows(weights(64, 6, 7, 64, stride=2), algorithm="halo:1")
    with pytest.raises(InvalidOp, match="do not come into shared memory once: strides 2 x 2"):
        case.lowered()
