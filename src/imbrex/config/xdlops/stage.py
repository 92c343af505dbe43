"""TileCopy: which elements of a K x D tile each work item copies into LDS for matrix instructions.

D is gemmM or gemmN; LDS keeps `kpack` neighbours of K together.  Laws: clusters * items * repeats == tile, in
each dimension; the work items are `threads`.

Global reads are as wide as the algebra allows, 16 bytes at most, along K or along D.  Writes to LDS are whole
packs of K: where the reads lie along D, a work item reads kpack rows of D and transposes them in its
registers. Where its share of the tile is less than that square, reads and writes get narrower so that
together they are fewest; of equally many those of wide writes where a read may be cut, which no bank meets
twice.  Neighbouring work items lie along the dimension in which memory runs, which
is D where packs of K lie one after the other along it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from imbrex.cached import cached_property
from imbrex.chip import VECTOR_BYTES
from imbrex.config.context import Access
from imbrex.dtype import DType
from imbrex.view.gemm.tile import CopySplit

__all__ = ["TileCopy"]


@dataclass(frozen=True)
class TileCopy:
    """k and d count elements.  across: packs that lie along d, which 16 lanes transpose.  is_cut: may a read
    along k be of several packs, which are written one by one?
    """

    k: int
    d: int
    kpack: int
    threads: int
    access: Access
    element_bytes: int
    across: DType | None = None
    is_cut: bool = False

    @cached_property
    def per_thread(self) -> int:
        """Elements of one work item (rounded down where `is_exact` is false)."""
        return self.k * self.d // self.threads

    @cached_property
    def is_exact(self) -> bool:
        """Do the work items tile the tile?"""
        (ck, cd), (ik, jd) = self.split.clusters, self.split.items
        whole = self.per_thread > 0 and self.per_thread * self.threads == self.k * self.d
        return whole and ck * cd == self.threads and self.k % (ck * ik) == 0 and self.d % (cd * jd) == 0

    @cached_property
    def vector_dim(self) -> int:
        """The dimension of the wider source vector: 0 is K, which a tie goes to."""
        return 0 if self._width_k >= self._width_d else 1

    @cached_property
    def split(self) -> CopySplit:
        """How work items share the tile."""
        items = self._items
        lane_dim = self._lane_dim
        lengths = self.k // items[0], self.d // items[1]
        along = gcd(self.threads, max(1, lengths[lane_dim]))
        clusters = (along, self.threads // along) if lane_dim == 0 else (self.threads // along, along)
        vector_dim = self.vector_dim if items[1] > 1 else 0
        inner = gcd(max(1, self.kpack // items[0]), clusters[0]) if lane_dim == 1 else 1
        return CopySplit(clusters, items, vector_dim, lane_dim, inner)

    @property
    def read_dim(self) -> int:
        """The dimension of a source vector: 0 = gemmK, 1 = the other."""
        return self.split.vector_dim

    @property
    def cluster_lengths(self) -> tuple[int, int]:
        """Work items along (K, D)."""
        return self.split.clusters

    @cached_property
    def data_per_read(self) -> int:
        """Elements in one vector read from memory."""
        return self.split.items[1] if self.vector_dim == 1 else gcd(self._width_k, self.split.items[0])

    @cached_property
    def data_per_write(self) -> int:
        """Elements in one vector written to LDS, along K."""
        return gcd(self._widest, self.split.items[0], self.kpack)

    @cached_property
    def registers(self) -> int:
        """32-bit registers of the staged elements; a load fills at least one."""
        loads = self.per_thread // self.data_per_read
        return loads * max(1, self.data_per_read * self.element_bytes // 4)

    @property
    def turned_bits(self) -> int:
        """Bits of an element as lanes transpose it."""
        return self.across.bits if self.across is not None else 8 * self.element_bytes

    def direct_vectors(self, sizes: Sequence[int]) -> list[int]:
        """Elements, a power of two, that a direct load of one of these sizes may be of."""
        whole = [size // self.element_bytes for size in sizes if size % self.element_bytes == 0]
        return [count for count in whole if count & (count - 1) == 0]

    def direct_along_k(self, sizes: Sequence[int]) -> int | None:
        """Neighbours in k that a lane loads at once; None where there are none."""
        counts = self.direct_vectors(sizes) if self.across is None else []
        return next((c for c in counts if self.access.vector[0] % c == self.kpack % c == 0), None)

    @property
    def is_turned(self) -> bool:
        """Does a work item transpose what it read?"""
        return min(self.split.items) > 1

    @property
    def _items(self) -> tuple[int, int]:
        """Neighbours along K and along D of one work item at a time."""
        share = max(1, self.per_thread)
        if self.vector_dim == 0:
            return gcd(self._along_k, share), 1
        squares: list[tuple[int, int]] = []
        width = self._width_d
        while width:
            squares.append((gcd(self.kpack, share // width), width))
            width //= 2
        tall = self.kpack if self.is_cut else 1
        return min(
            squares, key=lambda s: (share // gcd(self._widest, s[0]) + share // s[1], -min(tall, s[0]))
        )

    @property
    def _lane_dim(self) -> int:
        if self.access.is_packed and self._width_k == self.kpack:
            return 1
        if self._width_k != self._width_d:
            return self.vector_dim
        return 1 if self.access.step[1] == 1 and self.access.run[1] > self.access.run[0] else 0

    @property
    def _widest(self) -> int:
        return max(1, VECTOR_BYTES // self.element_bytes)

    @cached_property
    def _width_k(self) -> int:
        return gcd(self._widest, self.access.vector[0], self._along_k, max(1, self.per_thread))

    @property
    def _along_k(self) -> int:
        """Neighbours along k that a read may be of."""
        return max(self.kpack, self._widest) if self.is_cut else self.kpack

    @cached_property
    def _width_d(self) -> int:
        return gcd(self._widest, self.access.vector[1], self.d, max(1, self.per_thread))
