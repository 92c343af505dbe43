"""`turn` of device/gpu/register.h by its values, on a CPU: rows and columns of every size of element."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from imbrex.build.shared_library import build_shared
from imbrex.emit.bundle import device_headers

SHAPES = ((4, 4), (8, 4), (4, 8), (2, 6), (6, 2), (3, 5))
TYPES = ("uint8_t", "uint16_t", "uint32_t")
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
template <class T> struct narrow_to { static T from(T x) { return x; } };
}
"""


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    lines = [
        f'extern "C" void {kind}_{m}_{n}({kind} *d, const {kind} *s) {{ imbrex::turn<{m}, {n}>(d, s); }}'
        for kind in TYPES
        for m, n in SHAPES
    ]
    unit = "\n".join([LANGUAGE, '#include "device/gpu/register.h"', *lines, ""])
    return ctypes.CDLL(str(build_shared(device_headers("gfx942") | {"unit.cpp": unit}).path))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", TYPES)
def test_turned(kind: str, shape: tuple[int, int], library: ctypes.CDLL) -> None:
    rows, columns = shape
    source = np.arange(1, rows * columns + 1, dtype=kind.removesuffix("_t")).reshape(columns, rows)
    found = np.full((rows, columns), 255, source.dtype)
    library[f"{kind}_{rows}_{columns}"](
        found.ctypes.data_as(ctypes.c_void_p), source.ctypes.data_as(ctypes.c_void_p)
    )
    assert np.array_equal(found, source.T)
