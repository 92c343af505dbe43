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

from imbrex.ir.element import accumulator_type
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.ops.thread import ThreadwiseGemmOp
from imbrex.ir.passes.packing import copy, launch
from imbrex.ir.passes.strip_registers import Window, place_order, registers, seen_columns, seen_taps
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import PRIVATE, element_of
from imbrex.view.conv import Convolution
from imbrex.view.strips import Strips

__all__ = ["tall_strips_written"]


def tall_strips_written(op: ConvOp, shape: Convolution, strips: Strips, run: Run) -> None:
    """The launch of one convolution."""
    is_back, order = strips.height.is_back, place_order(shape.filter, "slot x")
    taps = run.view(op.filter, strips.filter(shape.filter, order), "filter", 0)
    images = (strips.strip if is_back else strips.tall_window)(shape.input, "hi", "wi")
    outputs = (strips.tall_window if is_back else strips.strip)(shape.output, "ho", "wo")
    image, output = run.view(op.input, images, "input", 1), run.view(op.output, outputs, "output", 2)
    read, written, seen = (output, image, outputs) if is_back else (image, output, images)
    pieces = [run.view(read, [strips.piece(seen[0].upper, p)], "piece") for p in strips.pieces]
    launch(
        strips.numbering.workgroups, strips.workitems, Work(strips, order, taps, pieces, written).body, run
    )


@dataclass(frozen=True)
class Work:
    """What a work item does.  filter: by rows of taps; pieces: of what is read, by these and a strip's."""

    strips: Strips
    order: str
    filter: SSAValue
    pieces: Sequence[SSAValue]
    written: SSAValue

    def body(self, into: Run, place: Sequence[SSAValue]) -> None:
        strips, element = self.strips, element_of(self.filter)
        taps = registers("filter", element, (strips.slots * strips.width.taps,), into)
        window = Window.made(strips, element, self.pieces, into)
        sizes = [d.size for d in strips.registers(strips.height.strip)]
        sums = into.alloc("thread_sums", accumulator_type(element), sizes, PRIVATE)
        factor = into.view(taps.wide, [seen_taps(strips, self.order, rows=1)], "taps")
        met = seen_columns(strips, "n", window.row.wide, sums, into)
        into.zero(sums)
        at = [*place, into.index(0)]  # of one image

        def tap(inner: Run, y: SSAValue) -> None:
            inner.add(copy(self.filter, [*place, y], taps.narrow, []))
            taps.widen(inner)
            for row in map(inner.index, range(strips.height.strip)):
                window.load([*at, y], row, inner)
                for x, pairs in enumerate(met):
                    for seen, summed in pairs:
                        for slot in map(inner.index, range(strips.slots)):
                            operands = [factor, [slot, inner.index(0), inner.index(x)], seen, [slot]]
                            inner.add(ThreadwiseGemmOp.build(operands=[*operands, summed, [row, slot]]))

        into.rolled("tap", strips.height.taps, tap)
        into.add(copy(sums, [], self.written, at))
