"""BlockCopy: which piece of one K x D block of A (D is gemmM) or B (gemmN) each work item copies into LDS.

Laws: cluster * slice == block, in each dimension; cluster_k * cluster_d == threads; the source vector lies
along `read_dim` (0 = gemmK, 1 = gemmM or gemmN) inside the slice, the destination vector along the fastest
dim of LDS. The rules are those of the 2020-22 rocMLIR tuning code, with two corrections: the width comes
from the algebra instead of from the layout's name, and what the other dimension cannot hold goes to the
vectorised one, so that a slice never exceeds its block.

Neighbouring work items lie along D. Where a target wants it and memory runs along K they lie along K: a load
then meets few rows of memory.  They write to different rows of LDS, which `gap` elements after each vector's
rows move to different banks.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from imbrex.chip import VECTOR_BYTES
from imbrex.config.context import Access

__all__ = ["BlockCopy"]

BANKS_BYTES = 128  # what all banks of LDS take at once


@dataclass(frozen=True)
class BlockCopy:
    """k_per_block counts elements (with `kpack` of them innermost in LDS: [k / kpack, d, kpack])."""

    k_per_block: int
    d_per_block: int
    kpack: int
    threads: int
    access: Access
    element_bytes: int
    may_run_along_k: bool = False

    @property
    def runs_along_k(self) -> bool:
        """Do neighbouring work items lie along K?"""
        if not self.may_run_along_k or self._width_k < self._width_d:
            return False
        along_k = self._width_k > self._width_d or self.access.step[0] == 1 != self.access.step[1]
        return along_k and self.per_thread > 0 and self.k_per_block > self._width_k

    @property
    def gap(self) -> int:
        """Elements of LDS that stay unused after every `data_per_read` rows."""
        if not self.runs_along_k:
            return 0
        lanes = self.k_per_block // self.data_per_read
        return max(VECTOR_BYTES, BANKS_BYTES // lanes) // self.element_bytes

    @property
    def per_thread(self) -> int:
        """Elements copied by one work item (rounded down where `is_exact` is false)."""
        return self.k_per_block * self.d_per_block // self.threads

    @property
    def is_exact(self) -> bool:
        """The work items tile the block: none idle, no element copied twice."""
        if self.per_thread == 0 or self.k_per_block * self.d_per_block % self.threads:
            return False
        slice_k, slice_d = self.slice_lengths
        return self.k_per_block % slice_k == 0 and self.d_per_block % slice_d == 0

    @property
    def read_dim(self) -> int:
        """The dimension of the wider source vector: 0 = gemmK, 1 = the other (a tie, unless K is packed)."""
        along_k, along_d = self._width_k, self._width_d
        tie = self.kpack > 1 or self.runs_along_k
        return 0 if along_k > along_d or (along_k == along_d and tie) else 1

    @property
    def data_per_read(self) -> int:
        """Elements in one vector read from the source."""
        return self._width_k if self.read_dim == 0 else self._width_d

    @property
    def slice_lengths(self) -> tuple[int, int]:
        """Elements of one work item along (K, D)."""
        if self.read_dim == 0:
            held_k = self._pack if self.kpack > 1 else self._width_k
            slice_d = gcd(self.per_thread // held_k, self.d_per_block)
            return self.per_thread // slice_d, slice_d
        slice_k = gcd(self.per_thread // self._width_d, self.k_per_block)
        return slice_k, self.per_thread // slice_k

    @property
    def cluster_lengths(self) -> tuple[int, int]:
        """Work items along (K, D)."""
        slice_k, slice_d = self.slice_lengths
        return self.k_per_block // slice_k, self.d_per_block // slice_d

    @property
    def data_per_write(self) -> int:
        """Elements in one vector written to LDS: along D, or along the pack when K is packed."""
        return gcd(self._widest, self._pack if self.kpack > 1 else self.slice_lengths[1])

    @property
    def _widest(self) -> int:
        return max(1, VECTOR_BYTES // self.element_bytes)

    @property
    def _pack(self) -> int:
        """Consecutive elements of one pack that a work item holds."""
        return gcd(self.kpack, self.per_thread)

    @property
    def _width_k(self) -> int:
        together = self._pack if self.kpack > 1 else gcd(self.per_thread, self.k_per_block)
        return gcd(self._widest, self.access.vector[0], together)

    @property
    def _width_d(self) -> int:
        return gcd(self._widest, self.access.vector[1], self.per_thread // self._pack, self.d_per_block)
