"""PartsOfK: a product whose K is cut into parts, each a product of a batch, and the launch that adds them up.

    P[part, g, m, n] = sum over k of the part of A[g, k, m] * B[g, k, n]          C = sum over part of P

gemm     gemmG = (g, part), gemmK within a part, down to A, B and P; what the last part lacks does not exist
read     (workgroup, workitem, part, neighbour) -> P
written  (workgroup, workitem, neighbour) -> C

A part is a whole number of rows of shared memory long, so that none is read by two parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from imbrex.cached import cached_property
from imbrex.index.map import Dim, Entry, Map, joined_names
from imbrex.index.rule import Merge, PassThrough, Unmerge
from imbrex.index.stack import Stack, over
from imbrex.view.gemm.product import GemmView

__all__ = ["PartsOfK"]

WORKITEMS: Final = 256
"""Work items of a workgroup that adds up parts."""
NEIGHBOURS: Final = 4
"""Elements of C that a work item adds up, side by side."""


@dataclass(frozen=True)
class PartsOfK:
    """whole: the product.  parts: of K.  row: elements of a row of shared memory."""

    whole: GemmView
    parts: int
    row: int

    @property
    def share(self) -> int:
        """K of a part."""
        rows = -(-self.whole.k // self.row)
        return -(-rows // self.parts) * self.row

    @property
    def reached(self) -> int:
        """Parts that K comes to: fewer where it is over before the last one begins."""
        return -(-self.whole.k // self.share)

    @property
    def stored(self) -> tuple[Dim, ...]:
        """Dims of P."""
        return Dim("part", self.parts), *self.whole.c.upper

    @cached_property
    def gemm(self) -> GemmView:
        """The product of all parts."""
        a, b = self._cut(self.whole.a), self._cut(self.whole.b)
        return GemmView(a, b, self._batched(over(self.stored)).map)

    def _cut(self, operand: Map) -> Map:
        longer = over(operand.upper).padded(gemmK=self.parts * self.share - self.whole.k)
        cut = longer.replacing((Unmerge(), "part gemmK", "gemmK"), part=self.parts, gemmK=self.share)
        return Map((*self._batched(cut).layers, *operand.layers))

    def _batched(self, of: Stack) -> Stack:
        """A stack whose parts are matrices of the batch."""
        names = [d.name for d in of.upper]
        order = ["gemmG", *(name for name in names if name not in ("gemmG", "part"))]
        together: Entry = (PassThrough(), "gemmG", "part")
        if "gemmG" in names:
            together = (Merge(), "gemmG", "gemmG part")
        return of.layer(together, *((PassThrough(), n, n) for n in order[1:]), order=order)

    @property
    def workgroups(self) -> int:
        """Workgroups of the launch that adds up."""
        cells = self.whole.g * self.whole.m * self.whole.n
        return -(-cells // (WORKITEMS * NEIGHBOURS))

    @property
    def read(self) -> Map:
        cells = over(self.stored).merging(part="part", cell=joined_names(self.whole.c.upper))
        return self._items(cells, ["workgroup", "workitem", "part", "neighbour"])

    @property
    def written(self) -> Map:
        cells = over(self.whole.c.upper).merging(cell=joined_names(self.whole.c.upper))
        return self._items(cells, ["workgroup", "workitem", "neighbour"])

    def _items(self, cells: Stack, order: Sequence[str]) -> Map:
        """Each work item's neighbours; the last ones go over C's end."""
        sizes = {"workgroup": self.workgroups, "workitem": WORKITEMS, "neighbour": NEIGHBOURS}
        more = self.workgroups * WORKITEMS * NEIGHBOURS - dict(cells.upper)["cell"]
        cut: Entry = (Unmerge(), " ".join(sizes), "cell")
        return cells.padded(cell=more).replacing(cut, order=order, **sizes).map
