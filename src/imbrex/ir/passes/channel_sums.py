"""channel-sums: backward weight of depthwise convolutions by lanes, each with all taps of its channels.

    miopen.conv2d_bwd_weight(%filter, %input, %output)
    ->  launch: for each turn:  for each row of a strip's window:  %sums += %input's row * %output's rows
                %sums of the workgroup's work items are added up through LDS, and stored as its share
        launch: %filter = the shares, added up

All additions have their order: results do not depend on which workgroup comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from imbrex.config.algorithm.depthwise import strips_shape
from imbrex.config.strips import Box, strips_of
from imbrex.index.map import Dim, Layer, layer_over
from imbrex.index.rule import Broadcast, Merge, PassThrough
from imbrex.ir.element import accumulator_type
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.ops.thread import ThreadwiseGemmOp
from imbrex.ir.passes.channel_strips import rows_met
from imbrex.ir.passes.fold_sums import add_shares, folded
from imbrex.ir.passes.packing import copy, launch, workspace
from imbrex.ir.passes.strip_registers import Met, Widened, Window, registers, seen_columns, seen_taps
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import PRIVATE, element_of
from imbrex.ir.task import convolution_of, task_of
from imbrex.view.conv.strips import Strips
from imbrex.view.work.fold import Total, levels
from imbrex.view.work.numbering import Shared

__all__ = ["sums_over_strips"]

ORDER = "y x slot"
"""Order of the sums of a work item."""


def sums_over_strips(op: ConvOp, box: Box | None, run: Run) -> None:
    """The launches of one convolution.  box: of a strip; None for the model's."""
    shape = convolution_of(op)
    strips = strips_of(strips_shape(task_of(op)), box)
    numbering = strips.numbering
    assert isinstance(numbering, Shared), strips
    images = strips.window(shape.input, "hi", "wi")
    read = run.view(op.input, images, "input", 1)
    pieces = [run.view(read, [strips.piece(images[0].upper, p)], "piece") for p in strips.pieces]
    strip = run.view(op.output, strips.strip(shape.output, "ho", "wo"), "output", 2)
    placed = strips.places(shape.filter, ORDER)
    blocks, cells = numbering.sizes["g_block"], dict(placed[0].upper)["place"] * strips.lanes
    dims = (Dim("share", numbering.shares), Dim("g_block", blocks), Dim("cell", cells))
    if numbering.shares == 1:
        alone = layer_over(
            placed[0].upper,
            (Broadcast(), "share", ""),
            (PassThrough(), "g_block", "g_block"),
            (Merge(), "cell", "place g_lane"),
            share=1,
        )
        dest = run.view(op.filter, [alone, *placed], "filter", 0)
    else:
        dest = workspace("shares", accumulator_type(element_of(op.input)), dims, run)
    work = Work(strips, pieces, strip, dest, dims)
    launch(numbering.workgroups, strips.workitems, work.body, run)
    if numbering.shares > 1:
        _launch_total(Total(numbering.shares, blocks * cells, strips.workitems), op, dest, dims, placed, run)


@dataclass(frozen=True)
class Work:
    """What a work item does.  pieces, strip: of input and output; shares: the array with these dims."""

    strips: Strips
    pieces: Sequence[SSAValue]
    strip: SSAValue
    shares: SSAValue
    dims: tuple[Dim, ...]

    def body(self, into: Run, coords: Sequence[SSAValue]) -> None:
        strips, element = self.strips, element_of(self.strip)
        turns, height, width = strips.turns, strips.height, strips.width
        assert turns is not None
        window = Window.made(strips, element, self.pieces, into)
        strip = registers("strip", element, [d.size for d in strips.registers(height.strip)], into)
        count = strips.slots * height.taps * width.taps
        sums = into.alloc("thread_sums", accumulator_type(element), [count], PRIVATE)
        into.zero(sums)
        places = seen_taps(strips, ORDER, height.taps)
        met = seen_columns(strips, "k", (sums, window.row.wide, strip.wide), places, into)
        turn = Turn(strips, window, strip, self.strip, met)
        into.rolled("turn", turns, lambda inner, number: turn.made([*coords, number], inner))
        steps = tuple(levels(strips.workitems // strips.lanes, count * strips.lanes, strips.workitems))
        total = folded(sums, steps, strips.lanes, coords[1], into)
        stored = steps[-1].stored(self.dims)
        launched = layer_over(
            stored[0].upper,
            (Merge(), "workgroup", "share g_block"),
            *((PassThrough(), n, n) for n in ("workitem", "turn")),
        )
        into.add(copy(total, [], into.view(self.shares, [launched, *stored], "share"), coords))


@dataclass(frozen=True)
class Turn:
    """What one strip adds to the sums.  met: of each tap of a row, window and strip as operands."""

    strips: Strips
    window: Window
    strip: Widened
    source: SSAValue
    met: Sequence[Met]

    def made(self, coords: Sequence[SSAValue], into: Run) -> None:
        loaded = set[int]()
        for read, taps in rows_met(self.strips.height):
            self.window.load(coords, into.index(read - self.strips.low[0]), into)
            for y, row in taps:
                if row not in loaded:
                    self._load(coords, row, into)
                    loaded.add(row)
                self._multiply(y, row, into)

    def _load(self, coords: Sequence[SSAValue], row: int, into: Run) -> None:
        at = into.index(row)
        into.add(copy(self.source, [*coords, at], self.strip.narrow, [at]))
        if self.strip.narrow is not self.strip.wide:
            into.add(copy(self.strip.narrow, [at], self.strip.wide, [at]))

    def _multiply(self, y: int, row: int, into: Run) -> None:
        for met in self.met:
            for at in map(into.index, range(self.strips.slots)):
                operands = [met.strip, [into.index(row), at], met.window, [at], met.taps, [into.index(y), at]]
                into.add(ThreadwiseGemmOp.build(operands=operands))


def _launch_total(
    total: Total, op: ConvOp, shares: SSAValue, dims: tuple[Dim, ...], placed: Sequence[Layer], run: Run
) -> None:
    """The launch that adds up shares.  placed: from places of channels to the filter."""
    seen = layer_over(dims, (PassThrough(), "share", "share"), (Merge(), "cell", "g_block cell"))
    source = run.view(shares, [*total.read(), seen], "shares")
    cells = layer_over(placed[0].upper, (Merge(), "cell", "g_block place g_lane"))
    dest = run.view(op.filter, [*total.stored(), cells, *placed], "filter", 0)
    add_shares(total, source, dest, run)
