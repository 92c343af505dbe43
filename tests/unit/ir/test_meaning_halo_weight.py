"""Backward weight whose pixels come once means the same at every level, whatever its raster and shares."""

from __future__ import annotations

from typing import Any

import pytest

from imbrex.ir.ops import WarpgroupGemmOp
from imbrex.ir.source import InvalidOp
from imbrex.verify.compare import compare
from imbrex.verify.reference import reference

from .levels import computed, reread
from .test_meaning_halo import Windows, windows


def weights(c: int, h: int, w: int, k: int, n: int = 2, **given: Any) -> Any:
    return windows("backward_weight", c, h, w, k, n, **given)


CASES = [
    Windows(weights(64, 6, 7, 64), algorithm="halo:1"),
    Windows(weights(128, 5, 9, 128, groups=16), algorithm="halo:8"),
    Windows(
        weights(
            128, 4, 6, 128, n=1, groups=8, input_layout="NCHW", output_layout="NKHW", filter_layout="KCYX"
        ),
        algorithm="halo:4",
    ),
    Windows(weights(32, 8, 14, 64, n=1), "v1:halo_weight:1,4,6,16,9,32,1,2,2,3", "halo:1"),
    Windows(weights(64, 3, 3, 64, n=5), "v1:halo_weight:2,4,6,4,9,64,1,2,3,3", "halo:1"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_level_computes_the_same(case: Windows) -> None:
    arrays = case.operands()
    truth = reference(case.problem, arrays)
    for name, module in case.levels():
        if name not in ("problem", "merge-groups", "channels-last"):
            found = compare(case.problem, computed(module, case, arrays), truth, is_exact=True)
            assert found.is_right, f"after {name}: {found}"


@pytest.mark.parametrize("case", CASES[::3], ids=str)
def test_the_text_says_it_all(case: Windows) -> None:
    module = reread(case.lowered("gridwise-to-blockwise"))
    (found,) = (op for op in module.walk() if isinstance(op, WarpgroupGemmOp))
    assert found.b_halo is not None and found.halo is None and found.own_columns * 3 == found.n_per_block.data


def test_a_refusal_points_at_the_convolution() -> None:
    case = Windows(weights(64, 6, 7, 64, stride=2), algorithm="halo:1")
    with pytest.raises(InvalidOp, match="do not come into shared memory once: strides 2 x 2"):
        case.lowered()
