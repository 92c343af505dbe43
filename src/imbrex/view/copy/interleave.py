"""Interleave: the phases of a strided gradient, each dense in an array of its own, put together.

    phase   [n, c, ht, wt]      rows h~ and columns w~ of one residue, as `view.conv` counts them
    input   [n, c, hi, wi]      hi = stride * ht + start, wi = stride * wt + start

A work item has `slots` neighbours of a row, as many of each residue of columns: what it stores lies together,
where a phase alone would leave gaps.  Residues without a phase are zeros.  Where rows of several residues
have phases, it has `rows` rows, one of each residue; else one, so that work items side by side store one
stretch of memory, and what they read is guarded by the row.  It has `pieces` of these, in each of which the
work items of a workgroup lie side by side.

    written   (workgroup, workitem, piece, row, slot) -> input
    read      (workgroup, workitem, piece, column)    -> a phase: neighbours of a row
    kept      (piece, column) -> box (piece, row, column, residue) of a work item: where these go

Law: all phases together are read once, and every element of the input is written once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Final

from imbrex.cached import cached_property
from imbrex.chip import VECTOR_BYTES
from imbrex.index.map import Dim, Entry, Layer, Map, passing, replacing
from imbrex.index.rule import Fixed, Merge, Pad, Unmerge
from imbrex.index.stack import Stack, over
from imbrex.view.conv.implicit_gemm import Convolution, Phase, phases
from imbrex.view.conv.raster import cropped
from imbrex.view.copy.data_tiled import dealt_out

__all__ = ["Interleave", "interleaves"]

MOVED_BYTES: Final = 32
"""Bytes of a work item that are on their way together; more made the stores of an H200 slower."""


def interleaves(conv: Convolution) -> bool:
    """Would a phase store neighbours along a row with gaps between?"""
    return conv.width.stride > 1 and conv.input[-1].name == "wi"


@dataclass(frozen=True)
class Interleave:
    """conv: with columns of the input fastest in memory."""

    conv: Convolution
    element_bytes: int
    workitems: int = 256

    @cached_property
    def rows(self) -> int:
        """Rows of a work item: one of each residue, or one where only those of one residue have phases."""
        starts = {rows.start for rows, _ in phases(self.conv)}
        return self.conv.height.stride if len(starts) > 1 else 1

    @property
    def residues(self) -> int:
        """Residues of columns."""
        return self.conv.width.stride

    @cached_property
    def columns(self) -> int:
        """Neighbours of a phase that a work item reads: as far as rows are whole vectors of them."""
        most = max(1, VECTOR_BYTES // (self.element_bytes * self.residues))
        return gcd(-(-self.conv.width.image // self.residues), 1 << (most.bit_length() - 1))

    @property
    def slots(self) -> int:
        return self.columns * self.residues

    @property
    def pieces(self) -> int:
        """So many that a work item has whole vectors on their way."""
        return max(1, MOVED_BYTES // (self.rows * self.slots * self.element_bytes))

    @property
    def workgroups(self) -> int:
        return -(-self._items // (self.workitems * self.pieces))

    @property
    def written(self) -> Map:
        """(workgroup, workitem, piece, row, slot) -> input."""
        multiples = {"hi": self.conv.height.stride, "wi": self.slots}
        whole = {d.name: -(-d.size // n) * n for d in self.conv.input if (n := multiples.get(d.name))}
        padded = over(cropped(self.conv.input, whole))
        cut = self._cut(padded, {"hi": ("hh", "row"), "wi": ("ww", "slot")})
        return self._launched(cut, ("row", "slot"))

    def read(self, rows: Phase, columns: Phase) -> Map:
        """(workgroup, workitem, piece, column) -> the phase."""
        counts = self._counts
        whole = {"ht": counts["hh"] * self.rows // self.conv.height.stride, "wt": counts["ww"] * self.columns}
        padded, parts = over(cropped(self.phase(rows, columns), whole)), {"wt": ("ww", "column")}
        if self.rows == 1:
            cut = self._cut(self._every(padded, rows.start), parts)
        else:
            cut = self._cut(padded, {"ht": ("hh", "")} | parts)
        return self._launched(cut, ("column",))

    def kept(self, rows: Phase, columns: Phase) -> Layer:
        """(piece, column) -> (piece, row, column, residue)."""
        row, residue = Fixed(rows.start if self.rows > 1 else 0), Fixed(columns.start)
        return passing(self.box, (row, "", "row"), (residue, "", "residue"))

    @property
    def box(self) -> tuple[Dim, ...]:
        """What a work item holds."""
        sizes = {"piece": self.pieces, "row": self.rows, "column": self.columns, "residue": self.residues}
        return tuple(Dim(name, size) for name, size in sizes.items())

    @property
    def stored(self) -> Layer:
        """(piece, row, slot) -> box."""
        return replacing(self.box, (Merge(), "slot", "column residue"))

    def phase(self, rows: Phase, columns: Phase) -> tuple[Dim, ...]:
        """The dims of a phase, in the input's order."""
        names = {"hi": Dim("ht", rows.extent), "wi": Dim("wt", columns.extent)}
        return tuple(names.get(d.name, d) for d in self.conv.input)

    @property
    def _counts(self) -> dict[str, int]:
        """Work items along each dim of the input."""
        height, width = self.conv.height, self.conv.width
        others = {d.name: d.size for d in self.conv.input if d.name not in ("hi", "wi")}
        rows = -(-height.image // height.stride) * height.stride // self.rows
        return others | {"hh": rows, "ww": -(-width.image // self.slots)}

    @property
    def _items(self) -> int:
        return prod(self._counts.values())

    def _cut(self, below: Stack, parts: dict[str, tuple[str, str]]) -> Stack:
        """Each of these dims by the work items along it, and what one of them has."""
        sizes = self._counts | {"row": self.rows, "slot": self.slots, "column": self.columns}
        entries: list[Entry] = [(Unmerge(), " ".join(pair), name) for name, pair in parts.items()]
        used = {name: sizes[name] for pair in parts.values() for name in pair if name}
        return below.replacing(*entries, order=None, **used)

    def _every(self, below: Stack, start: int) -> Stack:
        """All rows of the input over those of a phase, ht: the one of each `stride` that is `start`."""
        here = (Pad(start, self.conv.height.stride - 1 - start), "one", "one")
        one = below.replacing((Unmerge(), "ht one", "ht"), ht=dict(below.upper)["ht"], one=1)
        return one.replacing(here).replacing((Merge(), "hh", "ht one"))

    def _launched(self, cut: Stack, own: Sequence[str]) -> Map:
        """Boxes by their numbers: workgroups, pieces of each, work items side by side."""
        others = " ".join(d.name for d in cut.upper if d.name not in own)
        spare = self.workgroups * self.pieces * self.workitems - self._items
        counted = cut.passing((Merge(), "item", others)).passing((Pad(0, spare), "item", "item"))
        return dealt_out(counted, self.workitems, self.pieces, "piece").map
