"""An operand as its map reads it, and as accesses through models of TMA and of shared memory bring it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from imbrex.dtype import F8E4M3FN, F16, F32, DType
from imbrex.index.map import Dim, Map
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.stage.shared_tile import SharedTile
from imbrex.view.tensor import Box, Walk

from ..memory import Array, filled
from ..points import offsets

ELEMENTS: dict[DType, Any] = {F16: np.uint16, F8E4M3FN: np.uint8, F32: np.uint32}
LAYOUTS = {
    "nhwc": ("k y x c", "n hi wi c", "n ho wo k"),
    "nchw": ("k c y x", "n c hi wi", "n k ho wo"),
    "nhwc grouped": ("g k y x c", "n hi wi g c", "n ho wo g k"),
    "ngchw, channels last": ("g k y x c", "n g hi wi c", "n g ho wo k"),
    "gnhwc": ("g k y x c", "g n hi wi c", "g n ho wo k"),
}


def array_of(map: Map, dtype: DType) -> Array:
    """The operand's array, without zeros."""
    size = int(np.prod([d.size for d in map.lower]))
    return np.random.default_rng(0).integers(1, 250, size).astype(ELEMENTS[dtype])


def grown(map: Map, array: Array, names: Sequence[str], sizes: Sequence[int]) -> Array:
    """The operand over (gemmG, k, d), of whole tiles, zeros where the map has nothing."""
    flat = offsets(map)
    values = np.where(flat >= 0, array[flat], 0).astype(array.dtype)
    order = [d.name for d in map.upper]
    if "gemmG" not in order:
        values, order = values[None], ["gemmG", *order]
    values = values.transpose([order.index(n) for n in ("gemmG", *names)])
    out = np.zeros((values.shape[0], *sizes), array.dtype)
    out[:, : values.shape[1], : values.shape[2]] = values
    return out


def tile_of(
    form: Box | Walk, tile: SharedTile, array: Array, parts: int, batch: int, d: int, step: int
) -> Array:
    """The tile (k, d) that is in shared memory after the accesses."""
    memory = filled(form, tile, array, parts, {"batch": batch, "tile": d, "step": step})
    (element,), _ = tile.map.evaluate(np.indices((tile.k, tile.d)))
    return memory.view(array.dtype)[element]


def brings(
    form: Box | Walk, map: Map, tile: SharedTile, dtype: DType, parts: int = 1, tiles: int = 1
) -> npt.NDArray[np.bool_]:
    """At each (batch, k, d) of whole tiles: is what the accesses bring the operand's element, or zero?"""
    sizes = dict(map.upper)
    d_name = next(n for n in sizes if n not in ("gemmG", "gemmK"))
    tiles, steps = max(tiles, -(-sizes[d_name] // tile.d)), -(-sizes["gemmK"] // tile.k)
    array = array_of(map, dtype)
    want = grown(map, array, ("gemmK", d_name), (steps * tile.k, tiles * tile.d))
    found = np.zeros_like(want)
    for batch in range(want.shape[0]):
        for step in range(steps):
            for t in range(tiles):
                here = found[batch, step * tile.k :, t * tile.d :]
                here[: tile.k, : tile.d] = tile_of(form, tile, array, parts, batch, t, step)
    return np.equal(found, want)


def convolution(
    layout: str, n: int, c: int, h: int, w: int, k: int, y: int, x: int,
    strides: tuple[int, int] = (1, 1), dilations: tuple[int, int] = (1, 1),
    padding: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0)), g: int = 1,
) -> Convolution:  # fmt: skip
    """c and k: of a group."""
    (top, bottom), (left, right) = padding
    ho = (h + top + bottom - dilations[0] * (y - 1) - 1) // strides[0] + 1
    wo = (w + left + right - dilations[1] * (x - 1) - 1) // strides[1] + 1
    sizes = {"n": n, "c": c, "hi": h, "wi": w, "k": k, "y": y, "x": x, "ho": ho, "wo": wo, "g": g}
    arrays = [tuple(Dim(name, sizes[name]) for name in dims.split()) for dims in LAYOUTS[layout]]
    return Convolution(arrays[0], arrays[1], arrays[2], strides, dilations, padding)
