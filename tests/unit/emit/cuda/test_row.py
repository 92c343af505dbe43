"""Rows that begin anywhere, by values: what two words of 16 bytes hold of one, and how much of it is left."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import product

import pytest

from imbrex.build.shared_library import build_shared
from imbrex.emit.bundle import device_headers
from imbrex.emit.cuda.row import elements_left
from imbrex.emit.emulate.hopper import FLAGS
from imbrex.index.expr import Lin, var
from imbrex.index.rule import Guard

SIZE = 8
TILE, ROW, COLUMN = var("tile", 3), var("row", 4), var("column", SIZE)
GUARDS: Sequence[Sequence[Guard]] = (
    (),
    (Guard(8 * TILE + COLUMN, 13),),
    (Guard(4 * TILE + ROW, 6),),
    (Guard(8 * TILE + COLUMN, 20), Guard(COLUMN + ROW, 9), Guard(4 * TILE + ROW, 9)),
)
"""None, the row's own, another's, and several at once."""
SOURCE = """#include "device/cuda/shift.h"
extern "C" void shift(uint8_t *to, const uint8_t *from, uint32_t by, int32_t bytes) {
  uint4 low, high;
  __builtin_memcpy(&low, from, 16), __builtin_memcpy(&high, from + 16, 16);
  low = imbrex::shifted(low, high, by, bytes);
  __builtin_memcpy(to, &low, 16);
}
"""


def left(guards: Sequence[Guard], offset: Lin = 100 * ROW + COLUMN) -> str | None:
    return elements_left(offset, guards, "column", SIZE)


@pytest.fixture(scope="module")
def library(kernel_cache: object) -> ctypes.CDLL:
    functions = (
        f'extern "C" int left_{i}(int tile, int row, int column) {{ return {left(guards)}; }}\n'
        for i, guards in enumerate(GUARDS)
    )
    sources = device_headers("emulate_sm_90a") | {"unit.cpp": SOURCE + "".join(functions)}
    return ctypes.CDLL(str(build_shared(sources, flags=(*FLAGS, "-O0", "-Wno-unused-parameter")).path))


def test_bytes_begin_and_end_anywhere(library: ctypes.CDLL) -> None:
    given, to = bytes(range(129, 161)), ctypes.create_string_buffer(16)
    for by, count in product(range(16), range(-1, 18)):
        library.shift(to, given, by, count)
        there = given[by : by + min(16, max(0, count))]
        assert to.raw == there.ljust(16, b"\0"), (by, count)


@pytest.mark.parametrize("number", range(len(GUARDS)))
def test_what_is_left_is_all_that_exists_of_the_row(library: ctypes.CDLL, number: int) -> None:
    def exists(at: dict[str, int]) -> bool:
        return at["column"] < SIZE and all(0 <= g.index.eval(at) < int(str(g.size)) for g in GUARDS[number])

    for tile, row, column in product(range(3), range(4), range(SIZE)):
        there = [exists({"tile": tile, "row": row, "column": c}) for c in range(column, SIZE + 1)]
        found = getattr(library, f"left_{number}")(tile, row, column)
        assert max(0, found) == there.index(False), (tile, row, column)


def test_what_is_not_the_first_of_a_row_is_not_counted() -> None:
    assert left((), 2 * COLUMN) is None and left((), ROW) is None
    assert left((Guard(8 * TILE + COLUMN - 1, 13),)) is None
    assert left((Guard(2 * COLUMN, 13),)) is None
