"""RunTimeTiles: the tiles of a pipelined product whose rows or columns are told when the kernel runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from imbrex.index import order
from imbrex.index.atom import Param
from imbrex.index.expr import Lin, lin, param

__all__ = ["RunTimeTiles"]


@dataclass(frozen=True)
class RunTimeTiles:
    """The units that exist where the rows or the columns of C are told when the kernel runs.

    count: the run-time size, for each one of which there are `each` rows or columns.  block: of these, of a
    unit.  others: blocks along the other side.  batches: products of these blocks.  group: blocks along the
    rows before the next column of them.  parts: of K, each with a workgroup of a unit.
    """

    count: Param
    along: Literal["row", "column"]
    block: int
    others: int
    group: int
    parts: int = 1
    each: int = 1
    batches: int = 1

    @property
    def units(self) -> Lin:
        """Units that exist, of all batches."""
        return self.blocks * self.batches

    @property
    def blocks(self) -> Lin:
        """The same of one batch."""
        return self._along * self.others

    def block_of(self, unit: Lin) -> tuple[Lin, Lin]:
        """(row block, column block) of a unit, in the order that `view.work.cluster` has of known sizes."""
        if self.along == "row":
            return order.grouped(unit, lin(self.group), (self._along, self.others))
        return order.grouped(unit, lin(min(self.group, self.others)), (self.others, self._along))

    @property
    def _along(self) -> Lin:
        """Blocks along the run-time size."""
        return (param(self.count.name, *self.count.bounds) * self.each + (self.block - 1)) // self.block
