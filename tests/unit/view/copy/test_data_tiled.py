"""A product over packed arrays sums the plain product's terms, once each; packing moves every element once,
and neighbours together; and the matrix unit's model makes the product of what is packed.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.index.map import Map
from imbrex.index.query import is_injective, linear, vector_width
from imbrex.view.copy.data_tiled import DataTiled
from imbrex.view.gemm.product import GemmView, plain
from imbrex.view.mma import Operand
from imbrex.view.swizzle import tile_kernel

from ..points import covers_once, existing, offsets, products
from ..swizzle.matrix_unit import workgroup

OPERANDS: tuple[Operand, ...] = ("a", "b", "c")
SIZES = [(1, 1, 1), (16, 16, 4), (17, 31, 5), (40, 16, 19)]
KERNELS = [
    "f32_16x16x4",
    "f32_16x16x4_2x1_Kx2_w1x2",
    "f16_16x16x16_1x2_Kx2",
    "f64_16x16x4_Kx2",
    "fp8_32x32x64",
]
LAYOUTS = [(False, False, None), (True, True, None), (False, True, 2)]


def tiled(name: str, sizes: tuple[int, int, int], layout: tuple[bool, bool, int | None]) -> DataTiled:
    transpose_a, transpose_b, batch = layout
    return DataTiled(tile_kernel(name), plain(*sizes, batch, transpose_a, transpose_b))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("sizes", SIZES)
def test_packed_operands_sum_the_plain_products(
    name: str, sizes: tuple[int, int, int], layout: tuple[bool, bool, int | None]
) -> None:
    """The product on packed arrays, seen through what packing read: every term of the plain one, once.

    Whatever the order in which gemmK runs, as A and B share it.
    """
    found = tiled(name, sizes, layout)
    through = GemmView(*(packed(found, o).then(found.placed(o)) for o in OPERANDS))
    assert np.array_equal(products(through), products(found.view))


def packed(found: DataTiled, operand: Operand) -> Map:
    return {"a": found.gemm.a, "b": found.gemm.b, "c": found.gemm.c}[operand]


def test_control_another_order_of_k_in_one_operand_is_seen() -> None:
    found = tiled("f16_16x16x16_1x2_Kx2", (16, 32, 32), (False, False, None))
    other = DataTiled(tile_kernel("f16_16x16x16_1x2_Kx2", "contiguous"), found.view)
    mixed = GemmView(
        packed(found, "a").then(found.placed("a")),
        packed(other, "b").then(other.placed("b")),
        packed(found, "c").then(found.placed("c")),
    )
    assert not np.array_equal(products(mixed), products(found.view))


@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("name", KERNELS)
def test_placed_gives_every_element_one_place(name: str, operand: Operand) -> None:
    """Packing reads each element once, and zeros at all other places; unpacking writes each once."""
    found = tiled(name, (17, 31, 5), (False, False, None))
    read = offsets(found.placed(operand)).reshape(-1)
    size = linear_size(found, operand)
    assert np.array_equal(np.sort(read[read >= 0]), np.arange(size))
    assert read.size == found.elements(operand) > size
    assert is_injective(found.placed(operand))


def linear_size(found: DataTiled, operand: Operand) -> int:
    lower = {"a": found.view.a, "b": found.view.b, "c": found.view.c}[operand].lower
    return int(np.prod([d.size for d in lower]))


@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_work_items_move_every_element_once(
    name: str, operand: Operand, layout: tuple[bool, bool, int | None]
) -> None:
    found = tiled(name, (17, 31, 5), layout)
    items = found.items(operand, 2, workitems=64)
    moved = offsets(items.map).reshape(-1)
    assert np.array_equal(np.sort(moved[moved >= 0]), np.arange(found.elements(operand)))
    assert [d.size for d in items.map.upper] == [items.workgroups, 64, items.other, items.slots]


@pytest.mark.parametrize("name", ["f32_16x16x4_8x8_Kx4", "f16_16x16x16_8x8_Kx2", "i8_16x16x32_4x4_Kx2_w2x2"])
def test_accesses_are_16_bytes_wide(name: str) -> None:
    """The product reads and writes 16 bytes of a packed array at once, and packing writes as much."""
    size = {"f32": 4, "f16": 2, "i8": 1}[name.split("_")[0]]
    found = tiled(name, (256, 256, 256), (False, False, None))
    assert vector_width(found.gemm.a, "gemmK") == vector_width(found.gemm.b, "gemmK") == 16 // size
    assert vector_width(found.gemm.c, "gemmM") == 4
    a, b, c = (found.items(o, bytes) for o, bytes in (("a", size), ("b", size), ("c", 4)))
    for items in (a, b):
        assert vector_width(items.map, "slot") == 16 // size
    # A runs along k, the lanes' own dimension; B and C run along n, across the lanes.
    assert (a.other, b.other, c.other) == (1, 16 // size, 4)
    assert vector_width(b.map.then(found.placed("b")), "other") == 16 // size
    assert vector_width(c.map.then(found.placed("c")), "other") == 4


def test_control_without_interleaving_reads_are_narrow() -> None:
    found = tiled("f32_16x16x4", (256, 256, 256), (False, False, None))
    assert vector_width(found.gemm.a, "gemmK") == 1


def test_packed_arrays_are_tiles_in_order() -> None:
    """[m tile][k tile][tile]: the start of a tile, and the seed's offset in it."""
    found = tiled("f16_16x16x16_8x8_Kx2", (300, 200, 100), (False, False, None))
    assert found.tiles == (3, 2, 4)
    m, k = np.meshgrid(np.arange(300), np.arange(100), indexing="ij")
    tile = 128 * 32 * (m // 128 * 4 + k // 32)
    mi, ki = m % 128, k % 32
    inside = 512 * (mi // 16) + 128 * (ki % 16 // 4) + 8 * (mi % 16) + 4 * (ki // 16) + ki % 4
    back = found.placed("a").inverse()
    coords, _ = back.evaluate([m, k])
    flat: Any = 0
    for coord, dim in zip(coords, back.lower, strict=True):
        flat = flat * dim.size + coord
    assert np.array_equal(flat, tile + inside)
    assert "gemmK" not in str(linear(found.placed("a"))[0])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("f16_16x16x16_2x2_Kx2", (33, 47, 70)),
        ("f32_16x16x4_2x1_Kx4_w1x2", (31, 33, 17)),
        ("i8_32x32x16_Kx2", (40, 1, 33)),
        ("f16_16x16x16_2x2_Kx2", (1, 1, 1)),
    ],
)
def test_pack_kernel_unpack_is_the_product(
    name: str, sizes: tuple[int, int, int], layout: tuple[bool, bool, int | None]
) -> None:
    """By the maps, and the instruction's model on what the waves load from the packed tiles."""
    found = tiled(name, sizes, layout)
    rng = np.random.default_rng(1)
    arrays = {o: rng.integers(-3, 4, [d.size for d in plain_of(found, o).lower]) for o in ("a", "b")}
    a, b = (gathered(found.placed(o), arrays[o]) for o in ("a", "b"))
    batch, (m_tiles, n_tiles, k_tiles) = found.view.g, found.tiles
    a, b = a.reshape(batch, m_tiles, k_tiles, -1), b.reshape(batch, n_tiles, k_tiles, -1)
    c = np.zeros((batch, m_tiles, n_tiles, found.kernel.swizzle("c").elements), np.int64)
    for g, i, j, step in product(range(batch), range(m_tiles), range(n_tiles), range(k_tiles)):
        c[g, i, j] += workgroup(found.kernel, a[g, i, step], b[g, j, step])
    result = np.full(linear_size(found, "c"), 99)
    place = offsets(found.placed("c")).reshape(-1)
    result[place[place >= 0]] = c.reshape(-1)[place >= 0]
    left, right = (
        np.moveaxis(arrays[o], -1, -2) if turned else arrays[o]
        for o, turned in zip("ab", layout, strict=False)
    )
    assert np.array_equal(result.reshape((left @ right).shape), left @ right)


def plain_of(found: DataTiled, operand: str) -> Map:
    return {"a": found.view.a, "b": found.view.b}[operand]


def gathered(placed: Map, array: Any) -> Any:
    """What packing reads: zeros where nothing exists."""
    at = offsets(placed).reshape(-1)
    return np.where(at >= 0, array.reshape(-1)[at], 0)


def test_control_a_tile_without_padding_is_not_zero() -> None:
    """Where tiles overhang, packing must put zeros: what stands there is multiplied."""
    found = tiled("f16_16x16x16_2x2_Kx2", (31, 32, 30), (False, False, None))
    array = np.ones((31, 30), np.int64)
    zeros = gathered(found.placed("a"), array)
    assert zeros.sum() == array.sum() and zeros.size > array.size
    at = offsets(found.placed("a")).reshape(-1)
    assert (array.reshape(-1)[np.maximum(at, 0)]).sum() > array.sum()


def test_terms_of_overhanging_tiles_do_not_exist() -> None:
    found = tiled("f32_16x16x4", (3, 5, 2), (False, False, None))
    a, b, c = (offsets(packed(found, o).then(found.placed(o))) for o in OPERANDS)
    assert len(existing(a[:, :, None], b[:, None, :], c[None])) == 3 * 5 * 2 < a.size * 16


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mfma_f32_32x32x4_2b_f16", "takes instructions of one block"),
        ("mfma_f32_16x16x128_fp8_fp4", "hold k of A and of B in different parts"),
    ],
)
def test_what_cannot_be_data_tiled(name: str, message: str) -> None:
    with pytest.raises(Diagnostic, match=message):
        tiled(name, (16, 16, 16), (False, False, None))


def test_all_of_a_batch_is_packed() -> None:
    found = tiled("f32_16x16x4", (17, 16, 4), (False, False, 3))
    assert [d.size for d in found.packed("a")][:3] == [3, 2, 1]
    assert covers_once(packed(found, "c"))
