"""Sums of a tile that a cluster shares, by device/cuda/collect.h on a CPU: lanes one after the other, the
shared memory of all workgroups one array.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from imbrex.build.shared_library import build_shared
from imbrex.emit.bundle import device_headers

SHIM = """
#include <stdint.h>
#define memcpy __builtin_memcpy
#define memset __builtin_memset
#define IMBREX_INLINE static inline
#define IMBREX_MEMBER inline
namespace imbrex {
constexpr int warpgroup_lanes = 128, reach = 1 << 20, most = 16;
static int32_t lane;
static unsigned char memory[most * reach];
static uint32_t announced[most], arrived[most];
IMBREX_INLINE int32_t warpgroup_lane() { return lane; }
IMBREX_INLINE uint32_t bits_of(float x) { uint32_t u; memcpy(&u, &x, 4); return u; }
IMBREX_INLINE uint32_t in_cluster(uint32_t address, uint32_t rank) { return rank * reach + address % reach; }
IMBREX_INLINE void arrive_expecting(uint32_t barrier, uint32_t bytes) { announced[barrier / reach] += bytes; }
IMBREX_INLINE void wait_in_cluster(uint32_t barrier, uint32_t) {
  if (arrived[barrier / reach] != announced[barrier / reach]) __builtin_trap();
}
IMBREX_INLINE void store_in_cluster(uint32_t to, uint32_t barrier, const uint32_t (&x)[4]) {
  if (to / reach != barrier / reach || to % 16) __builtin_trap();
  for (int i = 0; i < 16; ++i)
    if (memory[to + i]) __builtin_trap();  // written once
  memcpy(memory + to, x, 16);
  arrived[to / reach] += 16;
}
template <class S> IMBREX_INLINE void take_shared(S (&x)[4], uint32_t from) { memcpy(x, memory + from, 16); }
}
"""
RUN = """
struct kernel {{
  static constexpr int columns = {columns}, parts = {parts};
}};
constexpr int size = {size}, blocks = {blocks}, all = kernel::columns / 2, own = all / kernel::parts;
typedef imbrex::collection<kernel, blocks> sums;
// d: of every workgroup and lane; total: the same.  A workgroup's memory begins at its own place.
extern "C" void run(float *d, float *total) {{
  using namespace imbrex;
  memset(memory, 0, sizeof memory);
  memset(announced, 0, sizeof announced), memset(arrived, 0, sizeof arrived);
  for (int rank = 0; rank < size * kernel::parts; ++rank) expect_sums<kernel, blocks>(rank * reach);
  for (int rank = 0; rank < size * kernel::parts; ++rank)
    for (lane = 0; lane < warpgroup_lanes; ++lane) {{
      float x[blocks][all];
      memcpy(x, d + (rank * warpgroup_lanes + lane) * blocks * all, sizeof x);
      send_sums(sums{{uint32_t(rank * reach)}}, rank * reach, x, rank / size, rank % size, size);
    }}
  for (int rank = 0; rank < size * kernel::parts; ++rank)
    for (lane = 0; lane < warpgroup_lanes; ++lane) {{
      float x[blocks][own];
      collect(sums{{uint32_t(rank * reach)}}, rank * reach, x);
      memcpy(total + (rank * warpgroup_lanes + lane) * blocks * own, x, sizeof x);
    }}
}}
"""
SHAPES = [
    (parts, size, blocks, columns)
    for parts, size, blocks in product((2, 4, 8), (1, 2), (1, 2))
    for columns in (64, 128)
]


def _tree(parts: list[np.ndarray]) -> np.ndarray:
    while len(parts) > 1:
        parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _text(damage: tuple[str, str] = ("", "")) -> str:
    header = device_headers("sm_90a")["device/cuda/collect.h"]
    text = "\n".join(line for line in header.splitlines() if not line.startswith("#include"))
    assert damage[0] in text
    return re.sub(r"#pragma.*", "", text.replace(*damage) if damage[0] else text)


def _collected(
    shape: tuple[int, int, int, int], damage: tuple[str, str] = ("", "")
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Of every workgroup: what it has, and what it should have."""
    parts, size, blocks, columns = shape
    source = SHIM + _text(damage) + RUN.format(parts=parts, size=size, blocks=blocks, columns=columns)
    library = ctypes.CDLL(str(build_shared({"collect.cpp": source}, flags=("-O0",)).path))
    rng = np.random.default_rng(3)
    d = rng.random((parts, size, 128, blocks, columns // 2), np.float32) + 1
    total = np.zeros((parts, size, 128, blocks, columns // 2 // parts), np.float32)
    library.run(*(x.ctypes.data_as(ctypes.c_void_p) for x in (d, total)))
    own = columns // 2 // parts
    for part, member in product(range(parts), range(size)):
        mine = [d[p, member, :, :, part * own : (part + 1) * own] for p in range(parts)]
        yield total[part, member], _tree(mine)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_part_has_the_sums_of_all(shape: tuple[int, int, int, int]) -> None:
    """To the bit: the order of additions is the same at every place."""
    for found, wanted in _collected(shape):
        assert np.array_equal(found, wanted)


def test_control_another_owner_is_seen() -> None:
    damage = ("d[i] + owner * sums + j", "d[i] + turn * sums + j")
    assert not all(np.array_equal(a, b) for a, b in _collected((4, 1, 1, 64), damage))
