"""Maps at every point, and the products that a GEMM view sums, as plain arrays of integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from imbrex.index.map import Map
from imbrex.view.gemm.product import GemmView

Ints = npt.NDArray[np.int64]


def offsets(map: Map) -> Ints:
    """Row-major offset in the lower buffer of every upper point, -1 where none exists."""
    shape = [d.size for d in map.upper]
    coords, valid = map.evaluate(list(np.indices(shape)))
    flat: Any = 0
    for coord, dim in zip(coords, map.lower, strict=True):
        inside = (np.asarray(coord) >= 0) & (np.asarray(coord) < dim.size)
        assert np.all(inside | ~np.asarray(valid)), f"{dim} is left without a guard"
        flat = flat * dim.size + coord
    return np.broadcast_to(np.where(valid, flat, -1), shape).astype(np.int64)


def products(view: GemmView) -> Ints:
    """(A, B, C) offsets of every product that the view sums into an element that exists; sorted rows."""
    a, b, c = (offsets(map) for map in (view.a, view.b, view.c))
    if len(view.c.upper) == 2:
        a, b, c = a[None], b[None], c[None]
    return existing(a[:, :, :, None], b[:, :, None, :], c[:, None, :, :])


def existing(*parts: Ints) -> Ints:
    """The rows (one column a part) in which every part exists, sorted."""
    rows = np.stack(np.broadcast_arrays(*parts), axis=-1).reshape(-1, len(parts))
    return in_order(rows[(rows >= 0).all(axis=1)])


def in_order(rows: Ints) -> Ints:
    return rows[np.lexsort(rows.T[::-1])]


def all_products(views: Iterable[GemmView]) -> Ints:
    return in_order(np.concatenate([products(view) for view in views]))


def written(views: Iterable[GemmView], size: int) -> Ints:
    """How often the views store each element of C's array of `size` elements."""
    count = np.zeros(size, np.int64)
    for view in views:
        stored = offsets(view.c)
        np.add.at(count, stored[stored >= 0], 1)
    return count


def covers_once(map: Map) -> bool:
    """Is the map a bijection onto its lower buffer?"""
    size = int(np.prod([d.size for d in map.lower]))
    return np.array_equal(np.sort(offsets(map).reshape(-1)), np.arange(size))


def row_major(coords: Sequence[Any], sizes: Sequence[int]) -> Any:
    flat: Any = 0
    for coord, size in zip(coords, sizes, strict=True):
        flat = flat * size + coord
    return flat
