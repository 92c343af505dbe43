"""A model of the matrix unit: an instruction on what a wave's lanes hold, by its maps alone; and a workgroup
of waves that multiplies packed tiles with it.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from imbrex.index.map import Map
from imbrex.view.mma import Instruction, Operand
from imbrex.view.swizzle import Swizzle, TileKernel

Ints = npt.NDArray[np.int64]


def held(instruction: Instruction, operand: Operand) -> tuple[tuple[Ints, ...], Ints]:
    """Coordinates of each (lane, register), and whether there is an element."""
    return at_every_point(instruction.map(operand))


def at_every_point(map: Map) -> tuple[tuple[Ints, ...], Ints]:
    shape = [d.size for d in map.upper]
    coords, valid = map.evaluate(list(np.indices(shape)))
    return tuple(np.broadcast_to(c, shape) for c in coords), np.broadcast_to(valid, shape)


def matrix_of(instruction: Instruction, operand: Operand, registers: Ints) -> Ints:
    """The matrices [block, row, column] that the registers [lane, register] hold; copies must be equal."""
    coords, valid = held(instruction, operand)
    matrix = np.full([d.size for d in instruction.map(operand).lower], -(10**6), np.int64)
    places = tuple(c[valid] for c in coords)
    matrix[places] = registers[valid]
    assert np.array_equal(matrix[places], registers[valid]), "lanes hold copies that differ"
    assert matrix.min() > -(10**6), "an element is in no lane"
    return matrix


def multiplied(instruction: Instruction, a: Ints, b: Ints, c: Ints) -> Ints:
    """The registers of D = A B + C."""
    total = matrix_of(instruction, "a", a) @ matrix_of(instruction, "b", b)
    coords, valid = held(instruction, "c")
    out = c.copy()
    out[valid] += total[tuple(x[valid] for x in coords)]
    return out


def pack(swizzle: Swizzle, tile: Ints) -> Ints:
    """The tile as it lies in memory."""
    coords, _ = at_every_point(swizzle.map)
    return tile[coords].reshape(-1)


def unpack(swizzle: Swizzle, memory: Ints) -> Ints:
    coords, _ = at_every_point(swizzle.map)
    tile = np.zeros(swizzle.source_shape, np.int64)
    tile[coords] = memory.reshape(swizzle.packed_shape)
    return tile


def places(kernel: TileKernel, operand: Operand) -> tuple[Ints, Ints]:
    """Offset in the packed tile of (wave, row, column, lane, register), and whether there is one."""
    map = kernel.fragment(operand)
    coords, valid = at_every_point(map)
    flat: Any = np.zeros([d.size for d in map.upper], np.int64)
    for coord, dim in zip(coords, map.lower, strict=True):
        flat = flat * dim.size + coord
    return np.where(valid, flat, 0), valid


def workgroup(kernel: TileKernel, a: Ints, b: Ints) -> Ints:
    """The packed tile of C that the waves make of packed tiles of A and B, each from its own loads."""
    (a_at, a_is), (b_at, b_is), (c_at, c_is) = (places(kernel, o) for o in ("a", "b", "c"))
    memory = np.zeros(kernel.swizzle("c").elements, np.int64)
    for wave in range(a_at.shape[0]):
        loaded_a, loaded_b = np.where(a_is[wave], a[a_at[wave]], 0), np.where(b_is[wave], b[b_at[wave]], 0)
        sums = np.zeros(c_at.shape[1:], np.int64)
        for m, n, k in product(*(range(u) for u in kernel.unroll)):
            sums[m, n] = multiplied(kernel.instruction, loaded_a[m, k], loaded_b[n, k], sums[m, n])
        np.add.at(memory, c_at[wave][c_is[wave]], sums[c_is[wave]])
    return memory


def tiles(kernel: TileKernel, seed: int = 0) -> tuple[Ints, Ints]:
    """A [m, k] and B [n, k] of whole numbers, for each block where there are several."""
    rng = np.random.default_rng(seed)
    shapes = [kernel.swizzle(o).source_shape for o in ("a", "b")]
    a, b = (rng.integers(-4, 5, shape) for shape in shapes)
    return a, b


def product_is_right(kernel: TileKernel) -> bool:
    a, b = tiles(kernel)
    got = workgroup(kernel, pack(kernel.swizzle("a"), a), pack(kernel.swizzle("b"), b))
    return np.array_equal(unpack(kernel.swizzle("c"), got), a @ b.swapaxes(-1, -2))
