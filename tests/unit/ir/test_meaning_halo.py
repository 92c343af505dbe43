"""Convolutions whose pixels come once mean the same at every level, whatever their raster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from xdsl.passes import ModulePass

from imbrex.config.halo.plan import HaloTuning, LinesTuning
from imbrex.ir.ops import WarpgroupGemmOp
from imbrex.ir.passes.affix_tuning import AffixTuning
from imbrex.ir.passes.arranged import ChannelsLast, MergeGroups
from imbrex.ir.passes.blockwise_to_threadwise import BlockwiseToThreadwise
from imbrex.ir.passes.conv_products import Halo
from imbrex.ir.passes.gridwise_to_blockwise import GridwiseToBlockwise
from imbrex.ir.passes.unfold import UnfoldContiguous
from imbrex.ir.source import InvalidOp
from imbrex.problem import Conv2d

from .levels import Case, assert_every_level_is_right, reread

NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}


@dataclass(frozen=True)
class Windows(Case):
    """tuning: "" where the model chooses."""

    tuning: str = ""

    @property
    def target(self) -> str:
        return "sm_90a"

    def passes(self) -> list[ModulePass]:
        copies = (MergeGroups(), ChannelsLast())
        first: list[ModulePass] = [*copies, Halo(), UnfoldContiguous()]
        affix = AffixTuning(config=self.tuning, target=self.target)
        return [*first, affix, GridwiseToBlockwise(), BlockwiseToThreadwise()]


def windows(direction: Any, c: int, h: int, w: int, k: int, n: int = 2, **given: Any) -> Conv2d:
    shape: dict[str, Any] = {"y": 3, "x": 3, "pad_h": 1, "pad_w": 1, "dtype": "f16", **NHWC}
    return Conv2d(direction, n=n, c=c, h=h, w=w, k=k, **(shape | given))


CASES = [
    Windows(windows("forward", 32, 6, 7, 16), algorithm="halo:1"),
    Windows(windows("backward_data", 16, 7, 6, 32, n=3), algorithm="halo:1"),
    Windows(windows("forward", 64, 5, 9, 64, groups=8), algorithm="halo:4"),
    Windows(windows("backward_data", 64, 5, 9, 64, groups=8), algorithm="halo:2"),
    Windows(
        windows("forward", 64, 5, 9, 64, groups=8, input_layout="NCHW", output_layout="NKHW"),
        algorithm="halo:4",
    ),
    Windows(windows("forward", 32, 9, 12, 24, dilation=2, pad_h=(2, 1), pad_w=(0, 3)), algorithm="halo:1"),
    Windows(windows("forward", 32, 8, 14, 32), "v1:halo:1,4,6,16,9,32,32,1,2,2,pingpong", "halo:1"),
    Windows(windows("forward", 32, 8, 14, 32, n=3), "v1:lines:4,4,16,3,3,32,32,1,2,2,cooperative", "halo:1"),
    Windows(windows("backward_data", 32, 8, 7, 32), "v1:lines:8,8,8,3,3,32,32,1,2,2,cooperative", "halo:1"),
    Windows(windows("forward", 32, 8, 14, 32), "v1:halo:1,8,10,16,9,32,16,1,3,2,cooperative", "halo:1"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_level_computes_the_same(case: Windows) -> None:
    assert_every_level_is_right(case, left_out=("problem", "merge-groups", "channels-last"))


@pytest.mark.parametrize("case", CASES[::3], ids=str)
def test_the_text_says_it_all(case: Windows) -> None:
    (found,) = (
        op for op in reread(case.lowered("gridwise-to-blockwise")).walk() if isinstance(op, WarpgroupGemmOp)
    )
    assert isinstance(found.tuning_, HaloTuning | LinesTuning) and found.is_batch_first


def test_what_asks_for_nothing_stays() -> None:
    case = Windows(windows("forward", 32, 6, 7, 16))
    module = next(module for name, module in case.levels() if name == "halo")
    assert "miopen.conv2d" in {op.name for op in module.walk()}


def test_a_refusal_points_at_the_convolution() -> None:
    case = Windows(windows("forward", 32, 6, 7, 16, stride=2), algorithm="halo:1")
    with pytest.raises(InvalidOp, match="do not come into shared memory once: strides 2 x 2"):
        case.lowered()
