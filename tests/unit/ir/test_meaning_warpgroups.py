"""Workgroups of warpgroups mean the product, whatever their tiles, clusters, order and schedule."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest
from tests.pairs import in_turn, one_in
from xdsl.passes import ModulePass

from imbrex.ir.attrs import Int
from imbrex.ir.ops import LaunchOp, WarpgroupGemmOp
from imbrex.ir.passes.affix_tuning import AffixTuning
from imbrex.ir.passes.aligned_rows import AlignedRows
from imbrex.problem import Conv2d, Gemm
from imbrex.verify.compare import compare
from imbrex.verify.reference import reference

from .levels import Case, assert_every_level_is_right, computed, reread

SMALL = "v1:warpgroup:64,32,32,2,1,1,1,cooperative,straight,1"
WIDE = "v1:warpgroup:128,64,64,3,2,2,1,cooperative,swapped,4"
TURNS = "v1:warpgroup:64,48,16,2,2,1,2,pingpong,straight,2"
FAT = "v1:warpgroup:64,64,32,4,1,1,1,cooperative,straight,1"
BYTES = "v1:warpgroup:64,32,64,2,1,2,2,cooperative,straight,3"


@dataclass(frozen=True)
class Warpgroups(Case):
    """A case for sm_90a with a schedule of its units."""

    schedule: str = "data_parallel"

    @property
    def target(self) -> str:
        return "sm_90a"

    def passes(self) -> list[ModulePass]:
        affix = AffixTuning(config=self.tuning, target=self.target, schedule=self.schedule)
        first = [AlignedRows()] if self.algorithm == "aligned" else []
        return [*first, *(affix if isinstance(p, AffixTuning) else p for p in super().passes())]

    def __str__(self) -> str:
        return f"{super().__str__()} {self.schedule}"


FORWARD = Conv2d("forward", n=2, c=16, h=6, w=7, k=20, y=3, x=3, pad_h=(1, 1), pad_w=(1, 0), dtype="f16")
WEIGHT = Conv2d("backward_weight", n=2, c=8, h=6, w=5, k=16, y=3, x=3, pad_h=(1, 1), dtype="f16")
DATA = Conv2d("backward_data", n=1, c=16, h=8, w=8, k=8, y=3, x=3, stride=(2, 2), dtype="f16")
CASES = [
    *(Warpgroups(Gemm(150, 200, 100, dtype="f16", alpha=2.0), t) for t in (SMALL, WIDE, TURNS)),
    *(
        Warpgroups(Gemm(150, 200, 100, dtype="f16", transpose_a=a, transpose_b=b), SMALL)
        for a in (True, False)
        for b in (True, False)
    ),
    *(Warpgroups(Gemm(150, 200, 500, dtype=t), BYTES) for t in ("i8", "f8e4m3fn", "f8e5m2")),
    Warpgroups(Gemm(70, 90, 100, dtype="tf32"), SMALL),
    Warpgroups(Gemm(70, 90, 100, dtype="bf16", batch=3, beta=3.0), WIDE),
    *(Warpgroups(problem, SMALL) for problem in (FORWARD, WEIGHT, DATA)),
    *(
        Warpgroups(Gemm(150, 200, 333, dtype="f16", beta=2.0), t, schedule=s)
        for t, s in in_turn(
            (SMALL, WIDE),
            ("split_k:40", "stream_k:3", "stream_k:7", "two_tile:4", "two_tile_dp_first:3", "stream_k"),
        )
    ),
    Warpgroups(WEIGHT, SMALL, schedule="stream_k:5"),
    *(
        Warpgroups(Gemm(150, 200, 333, dtype="f16", beta=2.0), t, schedule=s)
        for t, s in ((SMALL, "cluster_k:4"), (SMALL, "cluster_k:2"), (WIDE, "cluster_k:2"))
    ),
    Warpgroups(Gemm(70, 90, 500, dtype="tf32", batch=2), FAT, schedule="cluster_k:8"),
    Warpgroups(WEIGHT, SMALL, schedule="cluster_k:2"),
    *(
        Warpgroups(Gemm(70, 77, 67, dtype=t, transpose_a=a, transpose_b=b, beta=2.0), BYTES, "aligned")
        for t, (a, b) in in_turn(("f16", "i8"), list(product((True, False), repeat=2)))
    ),
    Warpgroups(Gemm(135, 77, 331, dtype="f16", batch=2), SMALL, "aligned", "stream_k:5"),
    Warpgroups(Gemm(70, 77, 67, dtype="tf32", transpose_a=True), WIDE, "aligned"),
    Warpgroups(Gemm(70, 90, 300, dtype="f16", batch=2), WIDE, schedule="stream_k:5"),
]


@pytest.mark.parametrize("case", one_in(2, CASES), ids=str)
def test_every_level_computes_the_same(case: Warpgroups) -> None:
    assert_every_level_is_right(case, left_out=("problem", "conv-to-gemm"))


@pytest.mark.parametrize("case", CASES[::3], ids=str)
def test_the_text_says_it_all(case: Warpgroups) -> None:
    found = {type(op) for op in reread(case.lowered("gridwise-to-blockwise")).walk()}
    assert WarpgroupGemmOp in found


def test_a_tile_left_out_is_missed() -> None:
    case = Warpgroups(Gemm(150, 200, 100, dtype="f16"), SMALL)
    arrays, module = case.operands(), case.lowered()
    (product,) = (op for op in module.walk() if isinstance(op, WarpgroupGemmOp))
    launch = product.parent_op()
    assert isinstance(launch, LaunchOp)
    launch.properties["grid_size"] = Int(product.workgroups - 1)
    truth = reference(case.problem, arrays)
    assert not compare(case.problem, computed(module, case, arrays), truth, is_exact=True).is_right
