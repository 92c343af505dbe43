"""What the work items of a workgroup have, added up through LDS level by level; see `view.fold`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import SSAValue

from imbrex.index.map import Dim, Layer, layer_over
from imbrex.index.rule import Broadcast, PassThrough
from imbrex.ir.element import FLOATS, dtype_of
from imbrex.ir.ops.memory import FillOp, LdsBarrierOp
from imbrex.ir.ops.thread import ThreadwiseGemmOp
from imbrex.ir.passes.packing import copy, launch
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import LDS, PRIVATE, element_of, shape_of
from imbrex.view.work.fold import LANES, Level, Total

__all__ = ["add_shares", "added", "folded"]


def folded(mine: SSAValue, steps: Sequence[Level], lanes: int, item: SSAValue, into: Run) -> SSAValue:
    """mine: registers, a value of each cell that a work item has.  The sums that it has of the last level."""
    element, (count,) = element_of(mine), shape_of(mine)
    assert count is not None
    memory = into.alloc("shared_values", element, [steps[0].elements], LDS)
    into.add(copy(mine, [], into.view(memory, steps[0].first(lanes, count), "given"), [item]))
    total = mine
    for level, after in zip(steps, (*steps[1:], None), strict=True):
        into.add(LdsBarrierOp.build())
        values = into.alloc("thread_values", element, [level.turns, level.values], PRIVATE)
        into.add(copy(into.view(memory, level.read(), "values"), [item], values, []))
        total = added(values, into)
        if after is not None:
            memory = into.alloc("shared_values", element, [after.elements], LDS)
            into.add(copy(total, [], into.view(memory, after.written(level.turns), "given"), [item]))
    return total


def add_shares(total: Total, shares: SSAValue, dest: SSAValue, run: Run) -> None:
    """A launch that adds up what `total.read()` sees, for the positions of `total.stored()`."""

    def body(into: Run, indices: Sequence[SSAValue]) -> None:
        values = into.alloc("thread_values", element_of(shares), [1, total.values], PRIVATE)
        into.add(copy(shares, indices, values, [into.index(0)]))
        mine = added(values, into)
        into.add(copy(folded(mine, (total.level,), LANES, indices[1], into), [], dest, indices))

    launch(total.workgroups, total.workitems, body, run)


def added(values: SSAValue, into: Run) -> SSAValue:
    """Registers with the sum of each row of registers, in their order."""
    element, (rows, count) = element_of(values), shape_of(values)
    assert rows is not None and count is not None
    total = into.alloc("thread_total", element, [rows], PRIVATE)
    into.zero(total)
    one = into.alloc("one", element, [1], PRIVATE)
    value = into.add(ConstantOp(FloatAttr(1.0, FLOATS[dtype_of(element).single_mlir_name]()))).result
    into.add(FillOp.build(operands=[one, value]))
    ones = into.view(one, [_spread(Dim("m", 1), "row k m", row=rows, k=count)], "ones")
    seen = layer_over(
        (Dim("row", rows), Dim("k", count)), (PassThrough(), "row", "row"), (PassThrough(), "k", "k"),
        (Broadcast(), "n", ""), order=["row", "k", "n"], n=1,
    )  # fmt: skip
    each = into.view(values, [seen], "values")
    sums = into.view(total, [_spread(Dim("row", rows), "row m n", m=1, n=1)], "total")
    for at in map(into.index, range(rows)):
        into.add(ThreadwiseGemmOp.build(operands=[ones, [at], each, [at], sums, [at]]))
    return total


def _spread(dim: Dim, order: str, **more: int) -> Layer:
    entries = ((Broadcast(), name, "") for name in more)
    return layer_over((dim,), (PassThrough(), dim.name, dim.name), *entries, order=order.split(), **more)
