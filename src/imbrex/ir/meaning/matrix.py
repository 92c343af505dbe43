"""Meaning of matrix instructions: a wave's registers become matrices, are multiplied, and become registers.

A wave is `instruction.wave` work items, one after another; its lanes act together, on what each of them
holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from imbrex.dtype import BLOCK, SCALED, DType, packed, widened
from imbrex.index.map import Dim, Map
from imbrex.ir.meaning.memory import Array
from imbrex.view.mma import Instruction, wave
from imbrex.view.mma.wave import WaveTiles

__all__ = ["multiplied", "owned", "turned"]


def multiplied(used: Instruction, a: Array, b: Array, c: Array, scales: Sequence[Array] = ()) -> Array:
    """c + a b; each is [work item, element] in the order of the instruction's registers.  scales: of a and of
    b, or none.
    """
    waves = c.shape[0] // used.wave
    assert waves * used.wave == c.shape[0], f"{c.shape[0]} work items are not whole waves of {used.wave}"
    pairs = ((used.a, a), (used.map("b"), b))
    left, right = (_matrices(map, x.reshape(waves, used.wave, -1), c.dtype) for map, x in pairs)
    if scales:
        maps = (used.scale_a, used.scale_b)
        assert maps[0] is not None and maps[1] is not None, used
        of_a, of_b = (
            _matrices(map, x.reshape(waves, used.wave, -1), c.dtype)
            for map, x in zip(maps, scales, strict=True)
            if map is not None
        )
        left, right = left * np.repeat(of_a, SCALED, axis=-1), right * np.repeat(of_b, SCALED, axis=-2)
    block, m, n = _elements(used.c)[0]
    return c + (left @ right)[:, block, m, n].reshape(c.shape)


def turned(values: Array, of: DType, to: DType) -> Array:
    """Packs [work item, ..] of rows of blocks, of which 16 lanes have one, as those of its columns; others as
    they are.
    """
    if not of.across or to.across:
        return values
    rows = widened(values, of).reshape(-1, BLOCK, values.size // len(values), BLOCK)
    columns = packed(rows.swapaxes(1, 3), to)
    return columns.reshape(values.shape)


def owned(tiles: WaveTiles, block: tuple[int, int]) -> tuple[Array, Array]:
    """Coordinates (m, n) in a block's tile of C of each work item's [m_tile, n_tile, register]."""
    registers = tiles.instruction.c_elements
    computed = Map(wave.computed((Dim("workgroup", 1), Dim("m", block[0]), Dim("n", block[1])), tiles))
    dims = (Dim("m_tile", tiles.m_tiles), Dim("n_tile", tiles.n_tiles), Dim("register", registers))
    held = Map(wave.held(dims, tiles))
    _, *sizes = (d.size for d in computed.upper)
    (_, m, n), _ = computed.evaluate([0, *np.indices(sizes)])
    (m_tile, n_tile, register), _ = held.evaluate(list(np.indices(sizes[1:])))
    rows = np.empty((sizes[0], *(d.size for d in dims)), np.int64)
    columns = np.empty_like(rows)
    rows[:, m_tile, n_tile, register] = m
    columns[:, m_tile, n_tile, register] = n
    return rows, columns


@cache
def _elements(map: Map) -> tuple[tuple[Array, ...], Array]:
    """Matrix coordinates of every (lane, register), and where there are any."""
    shape = tuple(d.size for d in map.upper)
    coords, valid = map.evaluate(list(np.indices(shape)))
    return tuple(np.broadcast_to(c, shape) for c in coords), np.broadcast_to(valid, shape)


def _matrices(map: Map, held: Array, kind: np.dtype[Any]) -> Array:
    """[wave, lane, register] as [wave, block, row, column]; lanes that hold copies hold the same."""
    coords, valid = _elements(map)
    out = np.zeros((held.shape[0], *(d.size for d in map.lower)), kind)
    out[:, *(c[valid] for c in coords)] = held.astype(kind)[:, valid]
    return out
