"""Phases of a strided gradient that share tiles mean the gradient, at every level."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from xdsl.passes import ModulePass

from imbrex.ir import chosen
from imbrex.ir.ops import WarpgroupGemmOp
from imbrex.ir.passes.affix_tuning import AffixTuning
from imbrex.ir.passes.arranged import ChannelsLast
from imbrex.ir.passes.conv_to_gemm import ConvToGemm
from imbrex.problem import Conv2d
from imbrex.verify.compare import compare
from imbrex.verify.reference import reference

from .levels import Case, assert_every_level_is_right, computed, reread

NARROW = "v1:warpgroup:64,16,16,2,1,1,1,cooperative,straight,1"
WIDE = "v1:warpgroup:128,32,32,2,2,1,2,cooperative,straight,2"
TURNS = "v1:warpgroup:64,32,16,2,2,2,1,pingpong,straight,1"


@dataclass(frozen=True)
class Phased(Case):
    """Channels are counted up to a step of the tuning."""

    step: int = 16

    @property
    def target(self) -> str:
        return "sm_90a"

    def passes(self) -> list[ModulePass]:
        affix = AffixTuning(config=self.tuning, target=self.target)
        gemms = ConvToGemm(True, self.step, shared_phases=True)
        others = super().passes()[1:]
        last = [affix if isinstance(p, AffixTuning) else p for p in others]
        return [ChannelsLast(where_needed=True), gemms, *last]


def data(**words: object) -> Conv2d:
    plain = {"n": 2, "c": 10, "h": 8, "w": 8, "k": 12, "y": 3, "x": 3, "pad_h": (1, 1), "pad_w": (1, 1)}
    return Conv2d("backward_data", **(plain | {"stride": (2, 2), "dtype": "f16"} | words))  # type: ignore[arg-type]


CASES = [
    *(Phased(data(), t, step=s) for t, s in ((NARROW, 16), (WIDE, 32), (TURNS, 16))),
    Phased(data(h=7, w=9), NARROW),
    Phased(data(h=7, w=5, stride=(1, 2), pad_w=(0, 2)), NARROW),
    Phased(data(w=11, stride=(3, 4), x=5, pad_w=(2, 1), dtype="bf16"), NARROW),
    Phased(data(y=1, x=1, pad_h=(0, 0), pad_w=(0, 0)), NARROW),
    Phased(data(y=2, x=2, dilation=(2, 3), h=9, w=10), TURNS),
    Phased(data(c=8, k=24, groups=2, pad_w=(0, 1)), NARROW),
    Phased(data(c=12, k=15, groups=3), NARROW),
    Phased(data(output_layout="NHWK", filter_layout="CYXK"), NARROW),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_level_computes_the_same(case: Phased) -> None:
    assert_every_level_is_right(case, left_out=("problem", "channels-last"))


@pytest.mark.parametrize("case", CASES[:3], ids=str)
def test_the_text_says_it_all(case: Phased) -> None:
    found = [
        op for op in reread(case.lowered("gridwise-to-blockwise")).walk() if isinstance(op, WarpgroupGemmOp)
    ]
    assert [op.phases.data.of for op in found if op.phases] == [(1, 0, 1)]


def test_taps_of_another_phase_are_wrong() -> None:
    case = CASES[0]
    arrays, module = case.operands(), case.lowered()
    product = next(op for op in module.walk() if isinstance(op, WarpgroupGemmOp))
    assert product.phases is not None
    product.phases = chosen.Phased(replace(product.phases.data, of=(0, 1, 1)))
    truth = reference(case.problem, arrays)
    assert not compare(case.problem, computed(module, case, arrays), truth, is_exact=True).is_right
