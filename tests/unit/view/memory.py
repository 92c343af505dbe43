"""Models of Hopper's shared memory: what TMA writes there, and what wgmma reads through a descriptor.

They are written from NVIDIA's descriptions, byte by byte, and know nothing of maps: TMA fills rows one after
another; wgmma walks in steps of leading and stride bytes; both permute bits of the byte address afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from imbrex.view.stage.shared_tile import Descriptor, Major, SharedTile
from imbrex.view.tensor import Box, Piece, Walk

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

ALIGNMENT = 1024
CODES = {0: 0, 1: 128, 2: 64, 3: 32}


def permuted(address: Any, swizzle: int) -> Any:
    """Address bits 4.. xor bits 7..: three of them for 128 bytes, two for 64, one for 32."""
    chunks = max(swizzle // 16, 1)
    return address ^ ((address >> 7 & chunks - 1) << 4)


def written(memory: Array, at: int, rows: Array, swizzle: int) -> None:
    """Rows of elements, one after another from byte `at` on."""
    given = np.ascontiguousarray(rows).view(np.uint8).reshape(-1)
    memory[permuted(at + np.arange(given.size), swizzle)] = given


def loaded(form: Box | Walk, piece: Piece, array: Array, env: Mapping[str, int]) -> Array:
    """What TMA reads for a piece: rows of neighbours."""
    coords = [int(x.eval(env)) for x in piece.coords]
    if isinstance(form, Box):
        return _tiled(form, coords, array)
    return _im2col(form, coords, [int(x.eval(env)) for x in piece.offsets], array)


def elements(form: Box | Walk, places: Sequence[Any], array: Array) -> Array:
    """The array's elements at places (innermost dim first), zeros outside."""
    inside: Any = np.True_
    offset: Any = form.base
    for x, size, stride in zip(places, form.sizes, (1, *form.strides), strict=True):
        inside = inside & (x >= 0) & (x < size)
        offset = offset + x * stride
    return np.where(inside, array[np.where(inside, offset, 0)], 0).astype(array.dtype)


def _tiled(box: Box, coords: Sequence[int], array: Array) -> Array:
    """The first dim fastest; along a dim of step s, every s-th of the box's elements."""
    spans = [np.arange(x, x + n, s) for x, n, s in zip(coords, box.box, box.steps, strict=True)]
    places = np.meshgrid(*reversed(spans), indexing="ij")
    return elements(box, places[::-1], array).reshape(-1, len(spans[0]))


def _im2col(walk: Walk, coords: Sequence[int], offsets: Sequence[int], array: Array) -> Array:
    """Start pixels one after another, each read at its tap: to the window's end in w, then h, then n."""
    c, w, h, n = coords
    ends = [size - 1 + upper for size, upper in zip(walk.sizes[1:3], walk.upper, strict=True)]
    pixels: list[tuple[int, int, int]] = []
    for _ in range(walk.pixels):
        pixels.append((w + offsets[0], h + offsets[1], n))
        w += walk.steps[0]
        if w > ends[0]:
            w, h = walk.lower[0], h + walk.steps[1]
        if h > ends[1]:
            h, n = walk.lower[1], n + 1
    places = np.array(pixels).T[:, :, None]
    return elements(walk, [c + np.arange(walk.channels), *places], array)


def filled(form: Box | Walk, tile: SharedTile, array: Array, parts: int, env: Mapping[str, int]) -> Array:
    """A stage's tile in shared memory after every part's accesses, on garbage."""
    memory = np.full(tile.bytes, 0xA5, np.uint8)
    for part, piece in product(range(parts), form.pieces):
        rows = loaded(form, piece, array, {**env, "part": part})
        written(memory, piece.byte_offset + part * piece.part_bytes, rows, form.swizzle)
    return memory


def read(
    memory: Array, start: int, descriptor: Descriptor, major: Major, sizes: tuple[int, int], element: Any
) -> Array:
    """The matrix (k, d) that an instruction reads from `start` on."""
    k, d = np.indices(sizes)
    swizzle, width = CODES[descriptor.code], np.dtype(element).itemsize
    row, chunk = max(swizzle, 16), 16 // width
    leading, stride = descriptor.leading_bytes, descriptor.stride_bytes
    if major == "k" and swizzle:
        place = d % 8 * row + d // 8 * stride + k * width
    elif major == "k":
        place = d % 8 * 16 + d // 8 * stride + k % chunk * width + k // chunk * leading
    elif swizzle:
        wide = row // width
        place = d % wide * width + d // wide * leading + k % 8 * row + k // 8 * stride
    else:
        place = d % chunk * width + d // chunk * stride + k % 8 * 16 + k // 8 * leading
    where = permuted((start + place)[..., None] + np.arange(width), swizzle)
    return memory[where].view(element)[..., 0]
