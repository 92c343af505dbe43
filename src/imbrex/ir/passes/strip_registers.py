"""Registers of work items that have strips of a convolution: as memory has them, and as wide as sums are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.ir import Attribute, SSAValue

from imbrex.index.map import Dim, Layer, layer_over
from imbrex.index.rule import Broadcast, Rule, Unmerge
from imbrex.ir.element import accumulator_type
from imbrex.ir.passes.packing import copy
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import PRIVATE
from imbrex.schedule.strips import fastest
from imbrex.view.strips import Strips

__all__ = ["Met", "Widened", "Window", "place_order", "registers", "seen_columns", "seen_taps"]


@dataclass(frozen=True)
class Widened:
    """narrow: as memory has it; the same registers where that is as wide."""

    narrow: SSAValue
    wide: SSAValue

    def widen(self, into: Run) -> None:
        if self.narrow is not self.wide:
            into.add(copy(self.narrow, [], self.wide, []))


def registers(hint: str, element: Attribute, sizes: Sequence[int], into: Run) -> Widened:
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

    def load(self, place: Sequence[SSAValue], row: SSAValue, into: Run) -> None:
        for source, part in zip(self.sources, self.parts, strict=True):
            into.add(copy(source, [*place, row], part, []))
        self.row.widen(into)


Met: TypeAlias = Sequence[Sequence[tuple[SSAValue, SSAValue]]]


def seen_columns(
    strips: Strips, along: Literal["n", "k"], window: SSAValue, strip: SSAValue, into: Run
) -> Met:
    """For each tap of a row, each run of what it meets: a window's row and a strip's as operands."""
    return [
        [
            (into.view(window, [seen], f"window_{x}"), into.view(strip, [own], f"strip_{x}"))
            for seen, own in strips.met_columns(x, along)
        ]
        for x in range(strips.width.taps)
    ]


def seen_taps(strips: Strips, order: str, rows: int) -> Layer:
    """Registers of `rows` rows of a filter as (slot, y, x, k, m), k and m 1."""
    sizes = {"slot": strips.slots, "y": rows, "x": strips.width.taps}
    dims = [Dim("place", strips.slots * rows * sizes["x"])]
    single: list[tuple[Rule, str, str]] = [(Broadcast(), name, "") for name in ("k", "m")]
    if "y" not in order.split():
        single.append((Broadcast(), "y", ""))
    return layer_over(
        dims, (Unmerge(), order, "place"), *single, order=["slot", "y", "x", "k", "m"], k=1, m=1, **sizes
    )


def place_order(filter: Sequence[Dim], names: str) -> str:
    """Slots, that stand first in `names`, and taps, in the order of memory."""
    slot, *taps = names.split()
    return " ".join((*taps, slot) if fastest(filter) == "g" else (slot, *taps))
