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

from imbrex.config.algorithm.depthwise import strips_shape
from imbrex.config.strips import Box, is_tall, strips_of
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.ops.thread import ThreadwiseGemmOp
from imbrex.ir.passes.packing import copy, launch
from imbrex.ir.passes.strip_registers import Met, Seen, Window, registers, seen_columns, seen_taps
from imbrex.ir.passes.tall_strips import tall_strips_written
from imbrex.ir.rewrite import Run
from imbrex.ir.task import task_of
from imbrex.view.conv.slide import Slide
from imbrex.view.conv.strips import Strips

__all__ = ["strips_written"]


def strips_written(op: ConvOp, box: Box | None, run: Run) -> None:
    """The launch of one convolution.  box: of a strip; None for the model's."""
    convolution = strips_shape(task_of(op))
    strips = strips_of(convolution, box)
    if is_tall(convolution):
        return tall_strips_written(op, strips, run)
    work = Work(Seen.of(op, strips, "slot y x", False, run))
    launch(strips.numbering.workgroups, strips.workitems, work.body, run)


@dataclass(frozen=True)
class Work:
    """What a work item does."""

    seen: Seen

    def body(self, into: Run, indices: Sequence[SSAValue]) -> None:
        seen, strips, element = self.seen, self.seen.strips, self.seen.element
        count = strips.slots * strips.height.taps * strips.width.taps
        taps = registers("filter", element, (count,), into)
        window = Window.made(strips, element, seen.pieces, into)
        sums = seen.sums(into)
        into.add(copy(seen.filter, indices, taps.narrow, []))
        taps.widen(into)
        places = seen_taps(strips, seen.order, strips.height.taps)
        met = seen_columns(strips, "n", (taps.wide, window.row.wide, sums), places, into)

        def image(inner: Run, number: SSAValue) -> None:
            inner.zero(sums)
            Image(strips, window, met, sums, seen.written, [*indices, number], inner).made()

        into.rolled("image", strips.images, image)


@dataclass(frozen=True)
class Image:
    """The strip of one image, row by row of its window."""

    strips: Strips
    window: Window
    met: Sequence[Met]
    sums: SSAValue
    written: SSAValue
    index: Sequence[SSAValue]
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
            self.window.load(self.index, self.into.index(read - self.strips.low[0]), self.into)
            for y, row in taps:
                self._multiply(y, row)
                left[row] -= 1
                if not left[row]:
                    self._store(row)

    def _multiply(self, y: int, row: int) -> None:
        into = self.into
        for met in self.met:
            for at in map(into.index, range(self.strips.slots)):
                operands = [met.taps, [at, into.index(y)], met.window, [at], met.strip, [into.index(row), at]]
                into.add(ThreadwiseGemmOp.build(operands=operands))

    def _store(self, row: int) -> None:
        at = self.into.index(row)
        self.into.add(copy(self.sums, [at], self.written, [*self.index, at]))


def rows_met(height: Slide) -> Iterator[tuple[int, tuple[tuple[int, int], ...]]]:
    """Each row that is read, in order, with the (tap, row of the strip) that meet it."""
    for read in height.reads:
        taps = tuple(
            (tap, row) for tap in range(height.taps) for there, row in height.met(tap) if there == read
        )
        if taps:
            yield read, taps
