"""tall-strips: depthwise convolutions with large windows by lanes, row by row of the taps.

    miopen.conv2d(%filter, %input, %output)                        512 groups of one channel and one filter
    ->  launch: for each row of taps, a loop that stays one:
                    %taps = %filter[.., tap, place]
                    for each row of the strip:  %window = %input[.., tap, row, ..]
                                                %sums[row] += %taps * %window
                %output = %sums

Registers hold one row of taps; a row of the window is loaded for each of those that it meets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.ops.thread import ThreadwiseGemmOp
from imbrex.ir.passes.packing import copy, launch
from imbrex.ir.passes.strip_registers import Seen, Window, registers, seen_columns, seen_taps
from imbrex.ir.rewrite import Run
from imbrex.view.conv.strips import Strips

__all__ = ["tall_strips_written"]


def tall_strips_written(op: ConvOp, strips: Strips, run: Run) -> None:
    """The launch of one convolution."""
    work = Work(Seen.of(op, strips, "slot x", True, run))
    launch(strips.numbering.workgroups, strips.workitems, work.body, run)


@dataclass(frozen=True)
class Work:
    """What a work item does.  seen: the filter by rows of taps; what is read by these and a strip's."""

    seen: Seen

    def body(self, into: Run, indices: Sequence[SSAValue]) -> None:
        arrays, strips, element = self.seen, self.seen.strips, self.seen.element
        taps = registers("filter", element, (strips.slots * strips.width.taps,), into)
        window = Window.made(strips, element, arrays.pieces, into)
        sums = arrays.sums(into)
        places = seen_taps(strips, arrays.order, rows=1)
        met = seen_columns(strips, "n", (taps.wide, window.row.wide, sums), places, into)
        into.zero(sums)
        at = [*indices, into.index(0)]  # of one image

        def tap(inner: Run, y: SSAValue) -> None:
            inner.add(copy(arrays.filter, [*indices, y], taps.narrow, []))
            taps.widen(inner)
            for row in map(inner.index, range(strips.height.strip)):
                window.load([*at, y], row, inner)
                for some in met:
                    for slot in map(inner.index, range(strips.slots)):
                        operands = [
                            some.taps,
                            [slot, inner.index(0)],
                            some.window,
                            [slot],
                            some.strip,
                            [row, slot],
                        ]
                        inner.add(ThreadwiseGemmOp.build(operands=operands))

        into.rolled("tap", strips.height.taps, tap)
        into.add(copy(sums, [], arrays.written, at))
