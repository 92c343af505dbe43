"""Races in LDS: what makes lds_barrier mean something when work items run together, as arrays.

Law: between two barriers, an offset that one work item writes is touched by no other.  What the work items do
together (a blockwise copy or product) counts as done by all of them.  The offsets of a load or a store are
bytes: the first one of each element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from imbrex.ir.meaning.fault import Fault

Array: TypeAlias = npt.NDArray[Any]
NOBODY = -1


class Race(Fault):
    """Two work items at one offset of LDS without a barrier between them."""


@dataclass(frozen=True)
class Touches:
    """The lowest and the highest work item that touched each byte since the barrier."""

    lowest: Array
    highest: Array

    @staticmethod
    def none(size: int) -> Touches:
        return Touches(np.full(size, np.iinfo(np.int32).max, np.int32), np.full(size, NOBODY, np.int32))

    def note(self, at: Array, first: Array, last: Array) -> None:
        np.minimum.at(self.lowest, at, first)
        np.maximum.at(self.highest, at, last)

    def by_others(self, at: Array, first: Array, last: Array) -> Array:
        """Where another work item was before `first` to `last`, who come now."""
        low, high = self.lowest[at], self.highest[at]
        return (high != NOBODY) & ((low != high) | (low != first) | (high != last))


class Ledger:
    """Who read and who wrote each byte of one LDS buffer since the last barrier."""

    def __init__(self, size: int, items: int) -> None:
        self._size, self._items = size, items
        self.barrier()

    def barrier(self) -> None:
        """All that came before is done."""
        self._read, self._written = Touches.none(self._size), Touches.none(self._size)

    def load(self, at: Array, item: Array | None) -> None:
        """Work item `item`, or all together, read the bytes `at`."""
        first, last = self._who(at, item)
        self._refuse(self._written.by_others(at, first, last), "reads", "wrote", at)
        self._read.note(at, first, last)

    def store(self, at: Array, item: Array | None) -> None:
        """Work item `item`, or all together, write the bytes `at`."""
        first, last = self._who(at, item)
        self._refuse(self._written.by_others(at, first, last), "writes", "wrote", at)
        self._refuse(self._read.by_others(at, first, last), "writes", "read", at)
        self._written.note(at, first, last)
        if item is not None:
            self._refuse(self._written.by_others(at, first, last), "writes", "wrote", at)

    def _who(self, at: Array, item: Array | None) -> tuple[Array, Array]:
        if item is not None:
            return item, item
        return np.zeros_like(at, np.int32), np.full_like(at, self._items - 1, np.int32)

    @staticmethod
    def _refuse(clash: Array, does: str, did: str, at: Array) -> None:
        if clash.any():
            where = int(at[clash][0])
            raise Race(f"{does} byte {where} of LDS that another work item {did} since the last lds_barrier")
