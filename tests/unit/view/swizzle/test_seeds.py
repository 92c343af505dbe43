"""The seeds' kernels by name: every row of their tables, as expand_shape and transpose and as a formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from imbrex.view.mma import Operand
from imbrex.view.swizzle import NOT_INTERLEAVED, SEEDS, Swizzle, tile_kernel

from ..points import covers_once, offsets

OPERANDS: tuple[Operand, ...] = ("a", "b", "c")


class Row(NamedTuple):
    """What the seed writes for one operand of one kernel."""

    source: tuple[int, ...]
    reassociation: tuple[tuple[int, ...], ...]
    expand: tuple[int, ...]
    permutation: tuple[int, ...]
    result: tuple[int, ...]


ONE_C = Row((16, 16), ((0, 1), (2,)), (4, 4, 16), (0, 2, 1), (4, 16, 4))


def unrolled_c(u: int) -> Row:
    return Row((16 * u, 16 * u), ((0, 1, 2), (3, 4)), (u, 4, 4, u, 16), (0, 3, 1, 4, 2), (u, u, 4, 16, 4))


def f32_a(u: int) -> Row:
    return Row((16 * u, 16), ((0, 1), (2, 3)), (u, 16, 4, 4), (0, 3, 1, 2), (u, 4, 16, 4))


def f16_a(u: int) -> Row:
    return Row((16 * u, 32), ((0, 1), (2, 3, 4)), (u, 16, 2, 4, 4), (0, 3, 1, 2, 4), (u, 4, 16, 2, 4))


def i8_a(u: int) -> Row:
    return Row((16 * u, 64), ((0, 1), (2, 3, 4)), (u, 16, 2, 4, 8), (0, 3, 1, 2, 4), (u, 4, 16, 2, 8))


A: dict[str, Row] = {
    "f32_16x16x4": Row((16, 4), ((0,), (1,)), (16, 4), (1, 0), (4, 16)),
    "f32_16x16x4_Kx4": Row((16, 16), ((0,), (1, 2)), (16, 4, 4), (2, 0, 1), (4, 16, 4)),
    "f32_16x16x4_2x2_Kx4": f32_a(2),
    "f32_16x16x4_8x8_Kx4": f32_a(8),
    "f16_16x16x16_2x2_Kx2": f16_a(2),
    "f16_16x16x16_8x8_Kx2": f16_a(8),
    "i8_16x16x32_2x2_Kx2": i8_a(2),
    "i8_16x16x32_8x8_Kx2": i8_a(8),
}
C = {
    name: ONE_C if "2x2" not in name and "8x8" not in name else unrolled_c(8 if "8x8" in name else 2)
    for name in A
}
TABLE = {(name, o): rows[name] for name in A for o, rows in (("a", A), ("b", A), ("c", C))}

# The same as physical offsets; r is m of A and n of B.
A_OFFSETS: dict[str, Callable[[Any, Any], Any]] = {
    "f32_16x16x4": lambda r, k: r + 16 * k,
    "f32_16x16x4_Kx4": lambda r, k: k // 4 + 4 * (16 * (k % 4) + r),
    "f32": lambda r, k: 256 * (r // 16) + k // 4 + 4 * (16 * (k % 4) + r % 16),
    "f16": lambda r, k: 512 * (r // 16) + 128 * (k % 16 // 4) + 8 * (r % 16) + 4 * (k // 16) + k % 4,
    "i8": lambda r, k: 1024 * (r // 16) + 256 * (k % 32 // 8) + 16 * (r % 16) + 8 * (k // 32) + k % 8,
}
FIRST: dict[tuple[str, Operand], list[int]] = {
    ("f32_16x16x4", "a"): [*range(0, 64, 4), 1, 5, 9, 13],
    ("f32_16x16x4", "c"): [v for n in range(5) for v in (n, n + 16, n + 32, n + 48)],
    ("f32_16x16x4_Kx4", "a"): [v for m in range(5) for v in range(16 * m, 16 * m + 16, 4)],
    ("f16_16x16x16_2x2_Kx2", "a"): [
        0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35, 48, 49, 50, 51, 64, 65, 66, 67,
    ],
    ("i8_16x16x32_2x2_Kx2", "a"): [*range(8), *range(32, 40), 64, 65, 66, 67],
}  # fmt: skip


def swizzle_of(name: str, operand: Operand) -> Swizzle:
    return tile_kernel(name).swizzle(operand)


def packed(swizzle: Swizzle) -> Any:
    """A row-major count of the source tile, packed by expand_shape and transpose."""
    iota = np.arange(swizzle.elements).reshape(swizzle.source_shape)
    return iota.reshape(swizzle.expanded_shape).transpose(swizzle.permutation)


def test_every_kernel_of_the_seeds_has_its_rows() -> None:
    assert set(SEEDS) == set(A)


@pytest.mark.parametrize(("name", "operand"), list(TABLE))
def test_rows_of_the_table(name: str, operand: Operand) -> None:
    found = swizzle_of(name, operand)
    have = Row(
        found.source_shape, found.reassociation, found.expanded_shape, found.permutation, found.packed_shape
    )
    assert have == TABLE[name, operand]


@pytest.mark.parametrize("name", [n for n in SEEDS if "K" in n])
def test_control_without_interleaving_the_row_is_another(name: str) -> None:
    """K's instructions outside the lanes: the same tile, packed in another way."""
    swizzle = replace(tile_kernel(name), order=NOT_INTERLEAVED).swizzle("a")
    row = TABLE[name, "a"]
    assert (swizzle.source_shape, swizzle.expanded_shape) == (row.source, row.expand)
    assert swizzle.permutation != row.permutation


@pytest.mark.parametrize("name", SEEDS)
def test_offsets_are_the_formulas(name: str) -> None:
    kernel = tile_kernel(name)
    formula = A_OFFSETS.get(name) or A_OFFSETS[name.split("_")[0]]
    for operand, row in (("a", "m"), ("b", "n")):
        swizzle = kernel.swizzle(operand)
        rows, k = np.indices(swizzle.source_shape)
        assert np.array_equal(swizzle.offset.eval({row: rows, "k": k}), formula(rows, k))
        assert not np.array_equal(swizzle.offset.eval({row: rows, "k": k}) + 1, formula(rows, k))
    u = kernel.unroll[1]
    m, n = np.indices(kernel.tile[:2])
    want = 256 * (u * (m // 16) + n // 16) + 64 * (m % 16 // 4) + 4 * (n % 16) + m % 4
    assert np.array_equal(kernel.swizzle("c").offset.eval({"m": m, "n": n}), want)


@pytest.mark.parametrize(("name", "operand"), list(TABLE))
def test_the_map_is_expand_shape_and_transpose(name: str, operand: Operand) -> None:
    swizzle = swizzle_of(name, operand)
    assert covers_once(swizzle.map)
    assert np.array_equal(offsets(swizzle.map), packed(swizzle))
    back = offsets(swizzle.map.inverse())
    assert np.array_equal(packed(swizzle).reshape(-1)[back.reshape(-1)], np.arange(swizzle.elements))
    assert [d.size for d in swizzle.map.upper] == list(swizzle.packed_shape)


@pytest.mark.parametrize(("name", "operand"), list(FIRST))
def test_first_values_of_the_expected_tensors(name: str, operand: Operand) -> None:
    assert packed(swizzle_of(name, operand)).reshape(-1)[:20].tolist() == FIRST[name, operand]


def test_the_second_lanes_of_f32_start_at_k_1() -> None:
    assert packed(swizzle_of("f32_16x16x4_Kx4", "a")).reshape(-1)[64:68].tolist() == [1, 5, 9, 13]


@pytest.mark.parametrize("name", [n for n in SEEDS if "K" in n])
def test_a_lane_has_16_bytes_together(name: str) -> None:
    kernel = tile_kernel(name)
    assert [kernel.load_bytes(o) for o in OPERANDS] == [16, 16, 16]


def test_control_without_interleaving_it_has_less() -> None:
    assert tile_kernel("f32_16x16x4").load_bytes("a") == 4
