"""What work items that have strips of a convolution see of its arrays, and their registers: as memory has
them, and as wide as sums are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.ir import Attribute, SSAValue

from imbrex.config.strips import fastest
from imbrex.index.map import Dim, Layer, layer_over, replacing
from imbrex.index.rule import Broadcast, Embed, Rule, Unmerge
from imbrex.ir.element import accumulator_type
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes.packing import copy
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import PRIVATE, element_of
from imbrex.ir.task import convolution_of
from imbrex.view.conv.strips import Strips

__all__ = ["Met", "Seen", "Widened", "Window", "memory_order", "registers", "seen_columns", "seen_taps"]


@dataclass(frozen=True)
class Seen:
    """The arrays of forward or backward data by strips.  order: of a work item's taps; pieces: of what is
    read, by the columns of its window; written: by a strip's.
    """

    strips: Strips
    order: str
    filter: SSAValue
    pieces: Sequence[SSAValue]
    written: SSAValue

    @staticmethod
    def of(op: ConvOp, strips: Strips, kept: str, is_tall: bool, run: Run) -> Seen:
        """kept: the dims of the taps that registers hold together."""
        shape, is_back = convolution_of(op), strips.height.is_back
        order, window = memory_order(shape.filter, kept), strips.tall_window if is_tall else strips.window
        taps = run.view(op.filter, strips.filter(shape.filter, order), "filter", 0)
        images = (strips.strip if is_back else window)(shape.input, "hi", "wi")
        outputs = (window if is_back else strips.strip)(shape.output, "ho", "wo")
        image, output = run.view(op.input, images, "input", 1), run.view(op.output, outputs, "output", 2)
        read, written, seen = (output, image, outputs) if is_back else (image, output, images)
        pieces = [run.view(read, [strips.piece(seen[0].upper, p)], "piece") for p in strips.pieces]
        return Seen(strips, order, taps, pieces, written)

    @property
    def element(self) -> Attribute:
        return element_of(self.filter)

    def sums(self, into: Run) -> SSAValue:
        """Registers for a strip's sums."""
        sizes = [d.size for d in self.strips.registers(self.strips.height.strip)]
        return into.alloc("thread_sums", accumulator_type(self.element), sizes, PRIVATE)


@dataclass(frozen=True)
class Widened:
    """narrow: as memory has it; the same registers where that is as wide."""

    narrow: SSAValue
    wide: SSAValue

    def widen(self, into: Run) -> None:
        if self.narrow is not self.wide:
            into.add(copy(self.narrow, [], self.wide, []))


def registers(hint: str, element: Attribute, sizes: Sequence[int], into: Run) -> Widened:
    """New ones of that shape, and wide ones where sums have another type."""
    narrow = into.alloc(f"thread_{hint}", element, sizes, PRIVATE)
    wide = accumulator_type(element)
    return Widened(narrow, narrow if wide == element else into.alloc(f"wide_{hint}", wide, sizes, PRIVATE))


@dataclass(frozen=True)
class Window:
    """One row of a window.  sources, parts: its pieces in memory and in registers."""

    row: Widened
    sources: Sequence[SSAValue]
    parts: Sequence[SSAValue]

    @staticmethod
    def made(strips: Strips, element: Attribute, sources: Sequence[SSAValue], into: Run) -> Window:
        dims = strips.registers()
        row = registers("window", element, [d.size for d in dims], into)
        if len(sources) == 1:
            return Window(row, sources, (row.narrow,))
        layers = [strips.piece(dims, piece) for piece in strips.pieces]
        return Window(row, sources, tuple(into.view(row.narrow, [layer], "part") for layer in layers))

    def load(self, indices: Sequence[SSAValue], row: SSAValue, into: Run) -> None:
        for source, part in zip(self.sources, self.parts, strict=True):
            into.add(copy(source, [*indices, row], part, []))
        self.row.widen(into)


@dataclass(frozen=True)
class Met:
    """What some taps of a row multiply, as operands of one product: their registers as (slot, y, k, m), or
    those of their sums as (y, slot, m, n); a window's row; a strip's.
    """

    taps: SSAValue
    window: SSAValue
    strip: SSAValue


def seen_columns(
    strips: Strips,
    along: Literal["n", "k"],
    registers: tuple[SSAValue, SSAValue, SSAValue],
    places: Layer,
    into: Run,
) -> list[Met]:
    """registers: of taps, of a window's row, of a strip.  places: of taps, with x a dim of its own."""
    taps, window, strip = registers
    across, order = ("k", "slot y k m") if along == "n" else ("n", "y slot m n")
    found: list[Met] = []
    for alike, seen, own in strips.met_columns(along):
        of_x = (Embed((alike.apart,), alike.first), across, "x")
        some = replacing(places.upper, of_x, order=order.split(), **{across: alike.taps})
        x = alike.first
        found.append(
            Met(
                into.view(taps, [some, places], f"taps_{x}"),
                into.view(window, [seen], f"window_{x}"),
                into.view(strip, [own], f"strip_{x}"),
            )
        )
    return found


def seen_taps(strips: Strips, order: str, rows: int) -> Layer:
    """Registers of `rows` rows of taps, or of their sums, in that order as (slot, y, x, m), m 1."""
    sizes = {"slot": strips.slots, "y": rows, "x": strips.width.taps}
    dims = [Dim("position", strips.slots * rows * sizes["x"])]
    single: list[tuple[Rule, str, str]] = [(Broadcast(), "m", "")]
    if "y" not in order.split():
        single.append((Broadcast(), "y", ""))
    return layer_over(
        dims, (Unmerge(), order, "position"), *single, order=["slot", "y", "x", "m"], m=1, **sizes
    )


def memory_order(filter: Sequence[Dim], names: str) -> str:
    """Slots, that stand first in `names`, and taps, in the order of memory."""
    slot, *taps = names.split()
    return " ".join((*taps, slot) if fastest(filter) == "g" else (slot, *taps))
