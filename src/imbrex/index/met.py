"""Which part of a padded window's rows is met in strips of its lanes: the rest is padding in all of a strip.

Law: row r is met in a strip if one of its lanes exists there, and that is where, for every guard g,
0 <= rows[g] + lanes[g] < sizes[g].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from imbrex.index.expr import Lin, lin
from imbrex.index.map import Map
from imbrex.index.query import separate

__all__ = ["MOST_KINDS", "Guarded", "guarded"]

MOST_KINDS: Final = 64
"""Kinds of rows, by what their guards admit, above which all are taken to be met."""
LOOKED_AT: Final = 1 << 16
"""Rows, and lanes, that are looked at: the first ones."""


@dataclass(frozen=True)
class Guarded:
    """Guards of a window: each a part of rows, a part of lanes, and a size.

    across, along: the variables of rows and of lanes with their sizes, the slowest first; others are 0.
    """

    rows: tuple[Lin, ...]
    lanes: tuple[Lin, ...]
    sizes: tuple[int, ...]
    across: tuple[tuple[str, int], ...]
    along: tuple[tuple[str, int], ...]

    def met(self, width: int) -> float:
        """The part of (row, strip of `width` lanes) that is met, 0 to 1."""
        return _met(self, width)[0]

    def cut(self, width: int) -> float:
        """The part of them that is met by some of its lanes only."""
        met, whole = _met(self, width)
        return met - whole


@lru_cache(maxsize=4096)
def _met(of: Guarded, width: int) -> tuple[float, float]:
    """The part of strips in which some lane exists, and in which all do."""
    exists, weights = _kinds(of)
    if not len(exists):
        return 1.0, 1.0
    whole = -(-exists.shape[1] // width) * width
    padded = np.pad(exists, ((0, 0), (0, whole - exists.shape[1])))
    strips = padded.reshape(len(exists), -1, width)
    some, all_ = (float(weights @ found.mean(axis=1)) for found in (strips.any(axis=2), strips.all(axis=2)))
    return some, all_


@lru_cache(maxsize=64)
def _kinds(of: Guarded) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    """Which lanes exist for each kind of row, and its part of all rows; nothing where kinds are many."""
    rows, lanes = (
        np.stack([_values(part, axes) for part in parts])
        for parts, axes in ((of.rows, of.across), (of.lanes, of.along))
    )
    sizes = np.array(of.sizes)[:, None]
    always = (rows + lanes.min(axis=1, keepdims=True) >= 0) & (
        rows + lanes.max(axis=1, keepdims=True) < sizes
    )
    rows = np.where(always, -lanes.min(axis=1, keepdims=True), rows)
    key = np.zeros(rows.shape[1], np.int64)
    for row in rows:
        key = key * (row.max() - row.min() + 1) + row - row.min()
    _, first, counts = np.unique(key, return_index=True, return_counts=True)
    if len(first) > MOST_KINDS:
        return np.ones((0, 0), bool), np.ones(0)
    at = rows[:, first, None] + lanes[:, None, :]
    exists: npt.NDArray[np.bool_] = np.logical_and.reduce((at >= 0) & (at < sizes[:, :, None]), axis=0)
    return exists, counts / counts.sum()


def _values(part: Lin, axes: Sequence[tuple[str, int]]) -> npt.NDArray[np.int64]:
    """Values of a sum over the first points of some axes, the slowest of which is cut to LOOKED_AT."""
    inner = prod(size for _, size in axes[1:])
    sizes = [min(axes[0][1], max(1, LOOKED_AT // inner)), *(size for _, size in axes[1:])]
    points: Mapping[str, Any] = dict(zip((name for name, _ in axes), np.indices(sizes), strict=True))
    found: Any = part.eval({name: points.get(name, 0) for name in part.variables})
    return np.broadcast_to(found, sizes).reshape(-1)


def guarded(map: Map, across: str, along: str) -> Guarded | None:
    """The guards of a map as of a window whose rows are one of its dims and whose lanes another; None where
    it has none that depend on both, or one mixes them.
    """
    sizes = dict(map.upper)
    found: list[tuple[Lin, Lin, int]] = []
    for guard in map.symbolic.guards:
        parts, size = separate(guard.index, frozenset({along})), lin(guard.size)
        if parts is None or not size.is_constant:
            return None
        if parts.row.mentions(across) and parts.lane.mentions(along):
            found.append((parts.row, parts.lane, size.const))
    if not found:
        return None
    rows, lanes, limits = zip(*found, strict=True)
    return Guarded(rows, lanes, limits, ((across, sizes[across]),), ((along, sizes[along]),))
