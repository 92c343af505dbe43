"""Bank conflicts of LDS, counted exactly from a map and from how a chip serves the lanes of one access.

LDS is cut into banks of 4 bytes.  An access of a wave goes in phases, each a set of lanes; a phase takes one
cycle for every word that its busiest bank must give, so one cycle where no bank gives two.  Lanes that read
the same word share it.  Extra cycles are those beyond one a phase.

The phases of 16-byte accesses are not neighbouring lanes: rows of LDS that are fine for one chip's order of
lanes collide in another's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from imbrex.index.map import Map

__all__ = ["Access", "Phases", "Traffic", "bank_conflicts", "cycles", "phases", "traffic"]

Access: TypeAlias = Literal["read", "write"]
BANK_BYTES = 4


@dataclass(frozen=True)
class Phases:
    """How one access of a wave of 64 is served: banks, the lanes of each phase, and who says so."""

    banks: int
    lanes: tuple[tuple[int, ...], ...]
    source: str


class Traffic(NamedTuple):
    """LDS accesses of all waves of a workgroup: how many, and their cycles, at least and beyond that."""

    accesses: int
    cycles: int
    extra: int

    def __add__(self, other: tuple[Any, ...]) -> Traffic:
        """Both together."""
        a, b, c = other
        return Traffic(self.accesses + a, self.cycles + b, self.extra + c)


def bank_conflicts(
    offsets: Sequence[int], bytes_per_lane: int, banks: int = 32, lanes_per_phase: int | None = None
) -> int:
    """Extra cycles of one access whose phases are neighbouring lanes.

    offsets: byte offset of each lane.
    lanes_per_phase: lanes served together; by default as many as fill all banks once.
    """
    phase = lanes_per_phase or max(1, banks * BANK_BYTES // max(BANK_BYTES, bytes_per_lane))
    extra = 0
    for start in range(0, len(offsets), phase):
        lanes = offsets[start : start + phase]
        touched = {
            word for o in lanes for word in range(o // BANK_BYTES, (o + bytes_per_lane - 1) // BANK_BYTES + 1)
        }
        extra += max(Counter(word % banks for word in touched).values()) - 1
    return extra


@cache
def phases(chip: str, bytes_per_lane: int, access: Access) -> Phases:
    """How that chip serves an access of so many bytes a lane: 16, 8, or 4 and fewer."""
    size = min((s for s in (4, 8, 12, 16) if s >= bytes_per_lane), default=16)
    found = _TABLE.get((chip, size, access)) or _TABLE.get(("", size, access))
    assert found is not None, (chip, bytes_per_lane, access)
    return found


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
        given = np.zeros((len(offsets), how.banks), np.int64)
        rows = np.broadcast_to(np.arange(len(offsets))[:, None], words.shape)
        np.add.at(given, (rows[is_new], words[is_new] % how.banks), 1)
        extra += np.maximum(given.max(axis=1), 1) - 1
    return extra


def traffic(
    map: Map, along: str, width: int, element_bytes: int, chip: str, access: Access, lanes: str = "workitem"
) -> Traffic:
    """All accesses of a map to LDS: `width` neighbours along one dim at a time, in every wave of `lanes`.

    The lower buffer is compact and row-major.  Accesses wider than 16 bytes go 16 bytes at a time.
    """
    step = min(width, max(1, 16 // element_bytes))
    how = phases(chip, step * element_bytes, access)
    names, wave = [d.name for d in map.upper], sum(len(p) for p in how.lanes)
    sizes = [d.size // step if d.name == along else d.size for d in map.upper]
    grid: list[Any] = list(np.indices(sizes))
    grid[names.index(along)] = grid[names.index(along)] * step
    coords, valid = map.evaluate(grid)
    offset: Any = np.zeros(sizes, np.int64)
    for coord, dim in zip(coords, map.lower, strict=True):
        offset = offset * dim.size + coord
    offset = np.where(np.broadcast_to(valid, offset.shape), offset * element_bytes, -1)
    rows = np.moveaxis(offset, names.index(lanes), -1).reshape(-1, wave)
    start = np.maximum(rows.min(axis=1, keepdims=True), 0) // BANK_BYTES * BANK_BYTES
    unlike, count = np.unique(np.where(rows >= 0, rows - start, -1), axis=0, return_counts=True)
    extra = cycles(unlike, step * element_bytes, how)
    return Traffic(len(rows), len(rows) * len(how.lanes), int((extra * count).sum()))


def _both_halves(*lanes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Phases of lanes 0 to 31, then the same of lanes 32 to 63."""
    return tuple(tuple(lane + half for lane in phase) for half in (0, 32) for phase in lanes)


def _spans(*spans: tuple[int, int]) -> tuple[int, ...]:
    return tuple(chain.from_iterable(range(first, last + 1) for first, last in spans))


def _neighbours(banks: int, count: int, source: str) -> Phases:
    """Phases of `count` neighbouring lanes."""
    return Phases(banks, tuple(tuple(range(i, i + count)) for i in range(0, 64, count)), source)


_EIGHTS = _both_halves(
    _spans((0, 3), (20, 23)), _spans((4, 7), (16, 19)), _spans((8, 11), (28, 31)), _spans((12, 15), (24, 27))
)
_SIXTEENS = _both_halves(_spans((0, 3), (12, 15), (20, 27)), _spans((4, 11), (16, 19), (28, 31)))
_CK = "Composable Kernel documentation, LDS bank conflicts of gfx942"
_MEASURED = "HipKittens, measured on MI350X"
_FILLS = "as many neighbouring lanes as fill all banks once"

_TABLE: Mapping[tuple[str, int, Access], Phases] = {
    ("", 16, "read"): Phases(32, _EIGHTS, _CK),
    ("", 16, "write"): _neighbours(32, 8, _CK),
    ("", 12, "read"): Phases(32, _EIGHTS, "taken as the 16-byte access"),
    ("", 12, "write"): _neighbours(32, 8, "taken as the 16-byte access"),
    ("", 8, "read"): _neighbours(32, 16, _FILLS),
    ("", 8, "write"): _neighbours(32, 16, _FILLS),
    ("", 4, "read"): _neighbours(32, 32, _FILLS),
    ("", 4, "write"): _neighbours(32, 32, _FILLS),
    ("gfx950", 16, "read"): Phases(64, _SIXTEENS, _MEASURED),
    ("gfx950", 12, "read"): Phases(32, _EIGHTS, _MEASURED),
    ("gfx950", 8, "read"): _neighbours(64, 32, _MEASURED),
    ("gfx950", 8, "write"): _neighbours(32, 16, _MEASURED),
    ("gfx950", 4, "read"): _neighbours(64, 64, _FILLS),
}
"""By chip, "" for those that are not named, bytes a lane, and direction."""
