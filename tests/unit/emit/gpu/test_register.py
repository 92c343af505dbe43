"""Private arrays of device/gpu/register.h by value, on a CPU: turned, filled, copied, gained, and no more."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from imbrex.build.shared_library import build_shared
from imbrex.emit.bundle import device_headers

SHAPES = ((4, 4), (8, 4), (4, 8), (2, 6), (6, 2), (3, 5))
TYPES = ("uint8_t", "uint16_t", "uint32_t")
COUNTS = (1, 3, 4, 8)
BEYOND = 4
"""Elements behind those that are written."""
Array = np.ndarray[Any, Any]
LANGUAGE = """#include <stdint.h>
#define IMBREX_INLINE inline
namespace imbrex {
template <int N> IMBREX_INLINE void copy_bytes(void *to, const void *from) { __builtin_memcpy(to, from, N); }
// Byte i of the result is byte `which[i]` of the eight, low ones first.
IMBREX_INLINE uint32_t bytes_of(uint32_t high, uint32_t low, uint32_t which) {
  uint32_t found = 0;
  for (int i = 0; i < 4; ++i)
    found |= uint32_t((uint64_t(high) << 32 | low) >> (which >> 8 * i & 7) * 8 & 255) << 8 * i;
  return found;
}
template <class T> IMBREX_INLINE T widen(T x) { return x; }
template <class T> struct narrow_to { static T from(uint32_t x) { return T(x); } };
}
"""


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    lines = [
        f'extern "C" void {kind}_{m}_{n}({kind} *d, const {kind} *s) {{ imbrex::turn<{m}, {n}>(d, s); }}'
        for kind in TYPES
        for m, n in SHAPES
    ]
    lines += [
        f'extern "C" void {kind}_fill_{n}({kind} *d) {{ imbrex::fill<{n}>(d, {kind}(7)); }}'
        f'extern "C" void {kind}_copy_{n}({kind} *d, const {other} *s) {{ imbrex::copy<{n}>(d, s); }}'
        f'extern "C" void {kind}_gain_{n}({kind} *d, const {kind} *s) {{ imbrex::gain<{n}>(d, s); }}'
        for kind, other in zip(TYPES, TYPES[::-1], strict=True)
        for n in COUNTS
    ]
    unit = "\n".join([LANGUAGE, '#include "device/gpu/register.h"', *lines, ""])
    return ctypes.CDLL(str(build_shared(device_headers("gfx942") | {"unit.cpp": unit}).path))


def call(library: ctypes.CDLL, name: str, *arrays: Array) -> None:
    library[name](*(array.ctypes.data_as(ctypes.c_void_p) for array in arrays))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", TYPES)
def test_turned(kind: str, shape: tuple[int, int], library: ctypes.CDLL) -> None:
    rows, columns = shape
    source = np.arange(1, rows * columns + 1, dtype=kind.removesuffix("_t")).reshape(columns, rows)
    found = np.full(rows * columns + BEYOND, 255, source.dtype)
    call(library, f"{kind}_{rows}_{columns}", found, source)
    assert np.array_equal(found, [*source.T.flat, *[255] * BEYOND])


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("kind", "other"), [*zip(TYPES, TYPES[::-1], strict=True)])
def test_as_many_as_are_said(kind: str, other: str, count: int, library: ctypes.CDLL) -> None:
    """What is filled, what is copied from elements of another size, and what is added to."""
    source = np.arange(1, count + BEYOND + 1, dtype=other.removesuffix("_t"))
    filled, copied, gained = (np.full(count + BEYOND, 255, kind.removesuffix("_t")) for _ in range(3))
    gained[:count] = 100
    call(library, f"{kind}_fill_{count}", filled)
    call(library, f"{kind}_copy_{count}", copied, source)
    call(library, f"{kind}_gain_{count}", gained, source.astype(gained.dtype))
    assert np.array_equal(filled, [*[7] * count, *[255] * BEYOND])
    assert np.array_equal(copied, [*source[:count], *[255] * BEYOND])
    assert np.array_equal(gained, [*100 + source[:count], *[255] * BEYOND])
