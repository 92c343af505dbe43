"""Accesses of device/gpu/pointer.h by value, on a CPU: what exists is read, stored, scaled and added to, and
nothing beyond is touched; sums in parts of words are whole while others change the rest of the word.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import ml_dtypes
import numpy as np
import pytest

from imbrex.build.shared_library import build_shared
from imbrex.emit.bundle import device_headers

Array = np.ndarray[Any, Any]
TYPES: Final[dict[str, tuple[Any, str, Any]]] = {  # in memory, and what is computed
    "int8_t": (np.int8, "int32_t", np.int32),
    "brain": (ml_dtypes.bfloat16, "float", np.float32),
    "float": (np.float32, "float", np.float32),
    "int32_t": (np.int32, "int32_t", np.int32),
}
COUNTS = (1, 2, 4)
FIRST, BEYOND = 4, 4
"""Elements before and behind those that are accessed."""
LANGUAGE = """#include <stdint.h>
#define IMBREX_INLINE static inline
#include "device/gpu/plain.h"
struct brain { uint16_t bits; };
static uint32_t meddled;
namespace imbrex {
template <> struct carried<8> { struct __attribute__((may_alias)) type { uint32_t part[2]; }; };
template <> struct carried<16> { struct __attribute__((may_alias)) type { uint32_t part[4]; }; };
template <int Bytes> using word_in_memory = word<Bytes> __attribute__((may_alias));
template <int N> IMBREX_INLINE void copy_bytes(void *to, const void *from) { __builtin_memcpy(to, from, N); }
IMBREX_INLINE uint32_t bytes_of(uint32_t, uint32_t, uint32_t) { return 0; }
IMBREX_INLINE float widen(brain x) { return __builtin_bit_cast(float, uint32_t(x.bits) << 16); }
template <> struct narrow_to<brain> {
  IMBREX_INLINE brain from(float x) { return {uint16_t(__builtin_bit_cast(uint32_t, x) >> 16)}; }
};
template <class D> IMBREX_INLINE void sum_into(D *dst, D x) { *dst += x; }
IMBREX_INLINE uint32_t peek(uint32_t *word) { return *word; }
// Another workgroup is sooner, once.
IMBREX_INLINE bool exchanged(uint32_t *word, uint32_t &seen, uint32_t want) {
  *word ^= meddled, meddled = 0;
  const uint32_t before = seen;
  seen = *word;
  if (seen == before) *word = want;
  return seen == before;
}
}
#include "device/gpu/pointer.h"
extern "C" void meddle(uint32_t bits) { meddled = bits; }
"""


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    lines = [
        f"""extern "C" void {d}_load_{n}({d} *to, {d} *from, bool is) {{ imbrex::load<{n}>(to, from, is); }}
extern "C" void {d}_store_{n}({d} *to, {s} *from, bool is) {{ imbrex::store<{n}>(to, is, from); }}
extern "C" void {d}_add_{n}({d} *to, {s} *from, bool is) {{ imbrex::add<{n}>(to, is, from); }}
extern "C" void {d}_scale_{n}({d} *to, {s} *from, bool is, int alpha, int beta) {{
  imbrex::scale<{n}>(to, is, from, {s}(alpha), {s}(beta));
}}"""
        for d, (_, s, _) in TYPES.items()
        for n in COUNTS
    ]
    lines += [
        f'extern "C" void {d}_gain_{n}({d} *to, {d} *from, bool is) {{ imbrex::gain<{n}>(to, from, is); }}'
        for d in TYPES
        if d != "brain"
        for n in COUNTS
    ]
    unit = "\n".join([LANGUAGE, *lines, ""])
    return ctypes.CDLL(str(build_shared(device_headers("gfx942") | {"unit.cpp": unit}).path))


def call(library: ctypes.CDLL, name: str, to: Array, source: Array, exists: bool, *numbers: int) -> Array:
    """What the array holds afterwards of which the accessed elements are those behind the FIRST."""
    found = np.concatenate([to[:FIRST], to, to[:BEYOND]])
    first = found[FIRST:]
    library[name](*(ctypes.c_void_p(a.ctypes.data) for a in (first, source)), ctypes.c_bool(exists), *numbers)
    assert (found[:FIRST] == to[:FIRST]).all() and (found[-BEYOND:] == to[:BEYOND]).all()
    return found[FIRST:-BEYOND]


def both(kind: str, count: int) -> tuple[Array, Array, Array]:
    """What is there, and what comes, as it lies in memory and as it is computed; four elements at least."""
    memory, _, computed = TYPES[kind]
    there, comes = np.arange(5, 9).astype(memory), np.array([-3, 2, 9, -7])
    return there, comes.astype(memory), comes.astype(computed)


def expected(there: Array, first: Any, count: int, exists: bool) -> Array:
    return np.concatenate([first[:count] if exists else there[:count], there[count:]]).astype(there.dtype)


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", TYPES)
def test_what_exists_is_accessed(kind: str, count: int, exists: bool, library: ctypes.CDLL) -> None:
    there, source, comes = both(kind, count)
    read = call(library, f"{kind}_load_{count}", there, source, exists)
    assert (read == expected(there, source if exists else 0 * source, count, True)).all()
    stored = call(library, f"{kind}_store_{count}", there, comes, exists)
    assert (stored == expected(there, comes, count, exists)).all()
    if kind != "brain":
        gained = call(library, f"{kind}_gain_{count}", there, source, exists)
        assert (gained == expected(there, there + source, count, exists)).all()
    added = call(library, f"{kind}_add_{count}", there, comes, exists)
    assert (added == expected(there, there + comes, count, exists)).all()
    for alpha, beta in ((1, 0), (2, 3), (-2, 1)):
        scaled = call(library, f"{kind}_scale_{count}", there, comes, exists, alpha, beta)
        want = alpha * comes + beta * there.astype(comes.dtype)
        assert (scaled == expected(there, want, count, exists)).all()


@pytest.mark.parametrize("kind", ["int8_t", "brain"])
def test_parts_of_a_word_are_summed_beside_others(kind: str, library: ctypes.CDLL) -> None:
    """Another part of the word changes between what is seen and what is exchanged: both changes are kept."""
    there, _, comes = both(kind, 1)
    parts, bits = 4 // there.itemsize, 8 * there.itemsize
    for at in range(parts):
        for other in {*range(parts)} - {at}:
            found = there.copy()
            library.meddle(ctypes.c_uint32(1 << bits * other))
            to = ctypes.c_void_p(found[at:].ctypes.data)
            library[f"{kind}_add_1"](to, ctypes.c_void_p(comes.ctypes.data), ctypes.c_bool(True))
            want = there.copy()
            want[at] += comes[0]
            changed = want.view(f"u{there.itemsize}")
            changed[other] ^= 1
            assert (found.view(changed.dtype) == changed).all(), (at, other)
