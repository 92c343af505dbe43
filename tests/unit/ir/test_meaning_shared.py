"""Workgroups that share output tiles mean what one workgroup a tile means, at every level of the IR."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.pairs import in_turn, one_in
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from imbrex.ir.meaning import shared
from imbrex.ir.ops import AwaitOp, GroupOp, SegmentOp, SignalOp, ThreadwiseCopyOp, TileOp
from imbrex.ir.passes.affix_tuning import AffixTuning
from imbrex.ir.source import InvalidOp
from imbrex.problem import Conv2d, Gemm
from imbrex.verify.compare import compare
from imbrex.verify.reference import reference

from .levels import GENERAL, Case, assert_every_level_is_right, computed, reread

CPU = "v1:cpu:4,16,8,32,16,16,k_blocked,b,straight"
WAVES = "v1:xdlops:32,32,4,16,16,4"
MODES = (
    "split_k:5",
    "stream_k:1",
    "stream_k:3",
    "stream_k:7",
    "two_tile:2",
    "two_tile_dp_first:2",
    "stream_k:40",
)


@dataclass(frozen=True)
class Shared(Case):
    """A case with a schedule of its tiles."""

    schedule: str = "stream_k:3"

    def passes(self) -> list[ModulePass]:
        affix = AffixTuning(config=self.tuning, target=self.target, schedule=self.schedule)
        return [affix if isinstance(p, AffixTuning) else p for p in super().passes()]

    def __str__(self) -> str:
        return f"{super().__str__()} {self.schedule}"


WEIGHT = Conv2d("backward_weight", n=2, c=3, h=6, w=5, k=4, y=3, x=3, pad_h=(1, 1), pad_w=(1, 0))
CASES = [
    *(
        Shared(Gemm(37, 40, 50, alpha=2.0), tuning, schedule=s)
        for tuning, s in in_turn((GENERAL, CPU), MODES)
    ),
    *(Shared(Gemm(40, 37, 80, dtype="f16"), WAVES, schedule=s) for s in one_in(2, MODES)),
    *(Shared(Gemm(40, 37, 80, dtype="f16", beta=2.0), WAVES, schedule=f"reduce_k:{n}") for n in (3, 9, 20)),
    *(Shared(Gemm(40, 37, 80, dtype="f16", beta=2.0), WAVES, schedule=f"scatter_k:{n}") for n in (9, 20)),
    Shared(Gemm(37, 40, 50, batch=2, beta=3.0), GENERAL, schedule="stream_k:5"),
    *(Shared(WEIGHT, tuning, schedule="stream_k:5") for tuning in (GENERAL, CPU)),
    *(Shared(Gemm(37, 40, k), GENERAL, schedule="stream_k:3") for k in (4, 8)),  # steps: one, two
    Shared(Gemm(40, 37, 32, dtype="f16"), WAVES, schedule="stream_k:3"),
    *(
        Shared(Gemm(70, 100, 50), CPU, schedule=s)
        for s in ("data_parallel/wgm=3/runtime", "stream_k:3/wgm=2/along=n")
    ),
    *(
        Shared(Gemm(90, 70, 50, batch=2), GENERAL, schedule=f"{s}/wgm=2/xcd=3")
        for s in ("data_parallel", "two_tile:4")
    ),
]


@pytest.mark.parametrize("case", one_in(2, CASES), ids=str)
def test_every_level_computes_the_same(case: Shared) -> None:
    assert_every_level_is_right(case)


@pytest.mark.parametrize("case", [c for c in CASES if c.schedule == "stream_k:7"], ids=str)
def test_the_text_says_it_all(case: Shared) -> None:
    found = {type(op) for op in reread(case.lowered("gridwise-to-blockwise")).walk()}
    assert found >= {SegmentOp, SignalOp, AwaitOp}


def test_the_text_names_the_order() -> None:
    case = Shared(Gemm(70, 100, 50), CPU, schedule="data_parallel/wgm=3")
    tiles = [op for op in reread(case.lowered("gridwise-to-blockwise")).walk() if isinstance(op, TileOp)]
    assert [op.group.data for op in tiles] == [3]


@pytest.mark.parametrize(("given", "used"), [(-1, 3), (0, 3), (1, 1), (2, 2), (4, 4), (9, 9), (1 << 30, 9)])
def test_a_group_that_memory_gives(given: int, used: int) -> None:
    """Where it is not positive the default, and no more rows than there are."""
    case = Shared(Gemm(70, 100, 50), CPU, schedule="data_parallel/wgm=3/runtime")
    found = list(reread(case.lowered("gridwise-to-blockwise")).walk())
    (group,) = [op for op in found if isinstance(op, GroupOp)]
    (tile,) = [op for op in found if isinstance(op, TileOp)]
    rows = shared.group(group, Number(given))  # type: ignore[arg-type]
    assert rows == used
    for place in range(tile.count):
        ((known,), _) = tile.map_(used).evaluate([place])
        assert shared.tile(tile, place, rows) == known


@dataclass(frozen=True)
class Number:
    """A buffer of one number."""

    value: int

    def load(self, index: list[int]) -> int:
        assert index == [0]
        return self.value


def test_without_what_is_sent_the_result_is_wrong() -> None:
    case = Shared(Gemm(37, 40, 50), GENERAL, schedule="stream_k:3")
    arrays, module = case.operands(), case.lowered()
    for copy in [op for op in module.walk() if isinstance(op, ThreadwiseCopyOp) and op.beta is not None]:
        Rewriter.erase_op(copy)
    truth = reference(case.problem, arrays)
    assert not compare(case.problem, computed(module, case, arrays), truth, is_exact=True).is_right


def test_whom_nobody_tells_waits_for_ever() -> None:
    case = Shared(Gemm(37, 40, 50), GENERAL, schedule="stream_k:3")
    module = case.lowered()
    for signal in [op for op in module.walk() if isinstance(op, SignalOp)]:
        Rewriter.erase_op(signal)
    with pytest.raises(InvalidOp, match="which nobody has raised"):
        computed(module, case, case.operands())
