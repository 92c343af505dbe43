"""channel-strips: depthwise convolutions, forward and backward data, by lanes that write a strip each.

miopen.conv2d(%filter, %input, %output)                        512 groups of one channel and one filter
->  launch: %taps = %filter[.., place]
            for each image:  for each row of the window:  %window = %input[.., image, row, ..]
                                 for each tap that meets it:  %sums[strip's row] += %taps * %window
                                 %output[.., a row that is complete] = %sums
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from imbrex.ir.element import accumulator_type, element_bytes
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.ops.thread import ThreadwiseGemmOp
from imbrex.ir.passes.conv_to_gemm import convolution_of
from imbrex.ir.passes.packing import copy, launch
from imbrex.ir.passes.strip_registers import Met, Window, place_order, registers, seen_columns, seen_taps
from imbrex.ir.passes.tall_strips import tall_strips_written
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import PRIVATE, element_of
from imbrex.schedule.strips import Shape, is_tall, strips_of
from imbrex.view.slide import Slide
from imbrex.view.strips import Strips

__all__ = ["strips_written"]


def strips_written(op: ConvOp, run: Run) -> None:
    """The launch of one convolution."""
    shape, is_back = convolution_of(op), op.WRITES == 1
    direction = "backward_data" if is_back else "forward"
    convolution = Shape(shape, direction, element_bytes(element_of(op.filter)))
    strips = strips_of(convolution)
    if is_tall(convolution):
        return tall_strips_written(op, shape, strips, run)
    order = place_order(shape.filter, "slot y x")
    taps = run.view(op.filter, strips.filter(shape.filter, order), "filter", 0)
    images = (strips.strip if is_back else strips.window)(shape.input, "hi", "wi")
    outputs = (strips.window if is_back else strips.strip)(shape.output, "ho", "wo")
    image, output = run.view(op.input, images, "input", 1), run.view(op.output, outputs, "output", 2)
    read, written, seen = (output, image, outputs) if is_back else (image, output, images)
    pieces = [run.view(read, [strips.piece(seen[0].upper, p)], "piece") for p in strips.pieces]
    work = Work(strips, order, taps, pieces, written)
    launch(strips.numbering.workgroups, strips.workitems, work.body, run)


@dataclass(frozen=True)
class Work:
    """What a work item does.  pieces: of what is read, seen by its window's columns."""

    strips: Strips
    order: str
    filter: SSAValue
    pieces: Sequence[SSAValue]
    written: SSAValue

    def body(self, into: Run, place: Sequence[SSAValue]) -> None:
        strips, element = self.strips, element_of(self.filter)
        count = strips.slots * strips.height.taps * strips.width.taps
        taps = registers("filter", element, (count,), into)
        window = Window.made(strips, element, self.pieces, into)
        sizes = [d.size for d in strips.registers(strips.height.strip)]
        sums = into.alloc("thread_sums", accumulator_type(element), sizes, PRIVATE)
        into.add(copy(self.filter, place, taps.narrow, []))
        taps.widen(into)
        factor = into.view(taps.wide, [seen_taps(strips, self.order, strips.height.taps)], "taps")
        met = seen_columns(strips, "n", window.row.wide, sums, into)

        def image(inner: Run, number: SSAValue) -> None:
            inner.zero(sums)
            Image(strips, window, factor, met, sums, self.written, [*place, number], inner).made()

        into.rolled("image", strips.images, image)


@dataclass(frozen=True)
class Image:
    """The strip of one image, row by row of its window."""

    strips: Strips
    window: Window
    taps: SSAValue
    met: Met
    sums: SSAValue
    written: SSAValue
    place: Sequence[SSAValue]
    into: Run

    def made(self) -> None:
        height = self.strips.height
        left = dict.fromkeys(range(height.strip), 0)
        for _, taps in rows_met(height):
            for _, row in taps:
                left[row] += 1
        for row in [row for row, count in left.items() if not count]:
            self._store(row)
        for read, taps in rows_met(height):
            self.window.load(self.place, self.into.index(read - self.strips.low[0]), self.into)
            for y, row in taps:
                self._multiply(y, row)
                left[row] -= 1
                if not left[row]:
                    self._store(row)

    def _multiply(self, y: int, row: int) -> None:
        into = self.into
        for x, pairs in enumerate(self.met):
            for window, sums in pairs:
                for at in map(into.index, range(self.strips.slots)):
                    operands = [self.taps, [at, into.index(y), into.index(x)], window, [at]]
                    into.add(ThreadwiseGemmOp.build(operands=[*operands, sums, [into.index(row), at]]))

    def _store(self, row: int) -> None:
        at = self.into.index(row)
        self.into.add(copy(self.sums, [at], self.written, [*self.place, at]))


def rows_met(height: Slide) -> Iterator[tuple[int, tuple[tuple[int, int], ...]]]:
    """Each row that is read, in order, with the (tap, row of the strip) that meet it."""
    for read in height.places:
        taps = tuple(
            (tap, row) for tap in range(height.taps) for there, row in height.met(tap) if there == read
        )
        if taps:
            yield read, taps
