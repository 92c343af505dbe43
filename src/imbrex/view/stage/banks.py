"""Bank conflicts of LDS, counted exactly from a map and from how a chip serves the lanes of one access.

An access of a wave goes in the phases of `imbrex.chip`; a phase takes one cycle for every word that its
busiest bank must give, so one cycle where no bank gives two.  Lanes that read the same word share it.  Extra
cycles are those beyond one a phase.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from imbrex.chip import BANK_BYTES, Access, GpuMachine, Phases
from imbrex.index.map import Map

__all__ = ["Traffic", "cycles", "traffic"]


class Traffic(NamedTuple):
    """LDS accesses of all waves of a workgroup: how many, and their cycles, at least and beyond that."""

    accesses: int
    cycles: int
    extra: int

    def __add__(self, other: tuple[Any, ...]) -> Traffic:
        """Both together."""
        a, b, c = other
        return Traffic(self.accesses + a, self.cycles + b, self.extra + c)


def cycles(offsets: np.ndarray[Any, Any], bytes_per_lane: int, how: Phases) -> np.ndarray[Any, Any]:
    """Extra cycles of each row of byte offsets [access, lane]; a lane at a negative one takes no part."""
    extra = np.zeros(len(offsets), np.int64)
    reach = np.arange(0, max(bytes_per_lane, 1), BANK_BYTES)
    for lanes in how.lanes:
        first = offsets[:, lanes]
        words = (first[:, :, None] + reach) // BANK_BYTES
        words = np.where(first[:, :, None] >= 0, words, -1).reshape(len(offsets), -1)
        words.sort(axis=1)
        is_new = np.ones(words.shape, bool)
        is_new[:, 1:] = words[:, 1:] != words[:, :-1]
        is_new &= words >= 0
        bank = np.arange(len(offsets))[:, None] * how.banks + words % how.banks
        given = np.bincount(bank[is_new], minlength=len(offsets) * how.banks).reshape(-1, how.banks)
        extra += np.maximum(given.max(axis=1), 1) - 1
    return extra


def traffic(
    map: Map,
    along: str,
    width: int,
    element_bytes: int,
    machine: GpuMachine,
    access: Access,
) -> Traffic:
    """All accesses of a map to LDS: `width` neighbours along one dim at a time, in every wave of `workitem`.

    The lower buffer is compact and row-major.  Accesses wider than 16 bytes go 16 bytes at a time, or 8 where
    16 are no whole elements.
    """
    step = min(width, max(1, 16 // element_bytes)) if 16 % element_bytes == 0 else width
    piece = step * element_bytes if step * element_bytes <= 16 else 8
    how = machine.served(piece, access)
    names, wave = [d.name for d in map.upper], sum(len(p) for p in how.lanes)
    sizes = [d.size // step if d.name == along else d.size for d in map.upper]
    grid: list[Any] = list(np.indices(sizes, sparse=True))
    grid[names.index(along)] = grid[names.index(along)] * step
    coords, valid = map.evaluate(grid)
    offset: Any = np.zeros(sizes, np.int64)
    for coord, dim in zip(coords, map.lower, strict=True):
        offset = offset * dim.size + coord
    offset = np.where(np.broadcast_to(valid, offset.shape), offset * element_bytes, -1)
    rows = np.moveaxis(offset, names.index("workitem"), -1).reshape(-1, wave)
    start = np.maximum(rows.min(axis=1, keepdims=True), 0) // BANK_BYTES * BANK_BYTES
    unlike, count = np.unique(np.where(rows >= 0, rows - start, -1), axis=0, return_counts=True)
    begins = range(0, step * element_bytes, piece)
    extra = sum((cycles(np.where(unlike >= 0, unlike + b, -1), piece, how) * count).sum() for b in begins)
    accesses = len(rows) * len(begins)
    return Traffic(accesses, accesses * len(how.lanes), int(extra))
