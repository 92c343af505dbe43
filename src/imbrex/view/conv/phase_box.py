"""PhaseBox: where the phases of a strided gradient lie among the columns of a product that computes several.

    stored_columns   (column, phase) -> stored column    column = (block, near)   phase = (row, residue)
                                                         stored = (block, row, near, residue)

A column of the product is a pixel of every phase.  The residues of columns take turns, so that `run`
neighbours are neighbours along a row of the image, and rows of several residues follow one another after so
many.

Law: every stored column belongs to one phase of one column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from imbrex.index.map import Dim, Map
from imbrex.index.rule import Unmerge
from imbrex.index.stack import over

__all__ = ["ONE_PHASE", "PhaseBox", "Phases"]


@dataclass(frozen=True)
class PhaseBox:
    """rows, residues: phases of each, of rows and of columns.  run: columns, as many as divide a row's."""

    rows: int = 1
    run: int = 1
    residues: int = 1

    @property
    def count(self) -> int:
        """Phases."""
        return self.rows * self.residues

    def stored_columns(self, columns: int) -> Map:
        """columns: of the product, whole runs."""
        assert columns % self.run == 0, (columns, self)
        sizes = {"block": columns // self.run, "row": self.rows, "near": self.run, "residue": self.residues}
        stored = over((Dim("stored", columns * self.count),))
        parted = stored.passing((Unmerge(), " ".join(sizes), "stored"), **sizes)
        return parted.merging(column="block near", phase="row residue").map


ONE_PHASE: Final = PhaseBox()
"""Every column is stored where it is."""


@dataclass(frozen=True)
class Phases:
    """A product that has the columns of several phases for each column of B.

    K is equal parts, one after the other; part i is summed into the columns of phase `of[i]`.  lengths: of
    every part, batch after batch, in turns, has so many elements; beyond them A is zero.
    """

    of: tuple[int, ...]
    box: PhaseBox
    lengths: tuple[int, ...]
