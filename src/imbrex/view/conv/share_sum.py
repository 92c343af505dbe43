"""ShareSum: the filters of all shares of a backward weight, and the launch that adds them up.

shares   [share, g, k, y, x, c]     of sums, in one order whatever the filter's
filter   in its own

read     (workgroup, workitem, value) -> shares
written  (workgroup, workitem, turn) -> filter
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from imbrex.cached import cached_property
from imbrex.index.map import Dim, Layer, Map, joined_names
from imbrex.index.stack import Stack, over
from imbrex.view.conv.weight_raster import SHARE
from imbrex.view.work.fold import Total

__all__ = ["ShareSum"]

WORKITEMS: Final = 256
"""Work items of a workgroup that adds up shares."""


@dataclass(frozen=True)
class ShareSum:
    """filter: dims in memory order."""

    shares: int
    filter: tuple[Dim, ...]

    @property
    def stored(self) -> tuple[Dim, ...]:
        """Dims of the shares."""
        return Dim(SHARE, self.shares), *sorted(self.filter, key=lambda d: d.name == "c")

    @cached_property
    def total(self) -> Total:
        """The sum of each cell of a filter."""
        return Total(self.shares, dict(self._cells.upper)["cell"], WORKITEMS)

    @property
    def read(self) -> Map:
        return self._cells.under(*self.total.read()).map

    @property
    def written(self) -> Map:
        cells = over(self.filter).merging(cell=joined_names(self.stored[1:]))
        return cells.under(*self.total.stored()).map

    def shared(self, sums: Map, below: Sequence[Layer]) -> Map:
        """A map to (share, the filter's dims) down to the shares.  below: layers of the filter."""
        share, *_ = self.stored
        wider = Map(tuple(below)).with_leading([share]).layers if below else ()
        ordered = over(self.stored).replacing(order=[d.name for d in (share, *self.filter)])
        return ordered.under(*sums.layers, *wider).map

    @property
    def _cells(self) -> Stack:
        return over(self.stored).merging(**{SHARE: SHARE}, cell=joined_names(self.stored[1:]))
