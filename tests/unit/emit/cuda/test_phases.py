"""Sums of several phases on their way to memory, by `put_phases` of device/cuda/store.h on a CPU, lane after
lane: each lies where `PhaseBox` says.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np
import pytest

from imbrex.build.shared_library import build_shared
from imbrex.chip import GPU_MACHINES
from imbrex.config import tuning
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.pipeline import Request, levels, lower
from imbrex.problem import Conv2d
from imbrex.view.conv.phase_box import PhaseBox

SHIM = """
#include <stdint.h>
#define IMBREX_INLINE static inline
#define IMBREX_MEMBER inline
namespace imbrex {
struct f16 { uint16_t bits; };
struct bf16 { uint16_t bits; };
static int32_t lane;
static unsigned char memory[1 << 16];
IMBREX_INLINE int32_t warpgroup_lane() { return lane; }
IMBREX_INLINE uint32_t bits_of(float x) { return uint32_t(x); }
template <class T, bool EndsInRelu> struct pair_of {
  IMBREX_INLINE uint32_t from(float a, float b) { return uint32_t(a) | uint32_t(b) << 16; }
};
IMBREX_INLINE void put_shared(uint32_t to, uint32_t x) {
  if (to % 4) __builtin_trap();
  __builtin_memcpy(memory + to, &x, 4);
}
IMBREX_INLINE void put_shared(uint32_t to, uint32_t x, uint32_t y) {
  if (to % 8) __builtin_trap();
  put_shared(to, x), put_shared(to + 4, y);
}
"""
RUN = """
}}
struct kernel {{
  typedef {element} c_type;
  static constexpr bool ends_in_relu = false;
{members}
}};
// out: of each row, the columns of the piece from `first` on.  A sum is 1 + 256 * its row + its number.
extern "C" void run(uint32_t *out) {{
  using namespace imbrex;
  constexpr int each = kernel::sums / kernel::summed, columns = kernel::piece_columns;
  for (lane = 0; lane < 128; ++lane) {{
    float d[kernel::sums];
    for (int i = 0; i < kernel::sums; ++i) {{
      const int own = kernel::own_column(lane, i % each) + i / each * each * 2;
      d[i] = float(1 + 256 * kernel::sum_row(lane, i) + own);
    }}
    put_phases<kernel>(0, d, {first});
  }}
  for (int i = 0; i < 64 * columns; ++i) {{
    out[i] = 0;
    constexpr int size = sizeof(kernel::c_type);
    __builtin_memcpy(out + i, memory + kernel::staged(i / columns, i % columns), size);
  }}
}}
"""
MEMBERS = "int phases =|sums =|piece_columns|along_columns =|sum_row|own_column|staged|phase_column|sums_of"
POINT = {"y": 1, "x": 1, "pad_h": 0, "pad_w": 0}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "two": ("128,64,64,3,2,1,1,cooperative,straight,1", {}),
    "two of four bytes": ("64,24,16,3,1,1,1,cooperative,straight,1", {"dtype": "tf32"}),
    "four in a row": ("64,16,64,3,1,1,1,cooperative,straight,1", {"stride": (2, 4), "x": 5}),
    "four, of which one is met": ("64,64,64,3,1,1,1,cooperative,straight,1", POINT),
    "in rows of seven": ("64,32,64,3,1,1,1,cooperative,straight,1", POINT | {"w": 14}),
    "eight, of four bytes none": ("64,16,64,3,1,1,1,cooperative,straight,1", POINT | {"stride": (2, 4)}),
}


def staged(case: str, first: int, damage: tuple[str, str] = ("", "")) -> tuple[Any, PhaseBox, list[int], int]:
    """A piece's elements; how phases lie, which of them have sums, and the product's columns."""
    text, sizes = CASES[case]
    given = {"n": 8, "c": 64, "h": 16, "w": 16, "k": 64, "y": 3, "x": 3, "pad_h": 1, "pad_w": 1, "stride": 2}
    problem = Conv2d("backward_data", **({"dtype": "f16"} | given | sizes))  # type: ignore[arg-type]
    chosen = tuning.parse(f"v1:warpgroup:{text}")
    request = Request(problem, GPU_MACHINES["sm_90a"], "sm_90a", chosen, "shared_phases_last")
    lowered = lower(request)
    *_, level = levels(request)
    (op,) = (op for op in level.module.walk() if isinstance(op, WarpgroupGemmOp))
    assert op.phases is not None
    files = lowered.bundle.files
    printed = files[lowered.bundle.units[2]]
    struct = printed[printed.index("_gemm {") :]
    struct = struct[: struct.index("\n};")]
    lines = [
        x for x in struct.splitlines() if re.search(MEMBERS, x) and "static" in x and x.rstrip()[-1] in ";}"
    ]
    header = files["device/cuda/store.h"]
    put = header[
        header.index("// The same of several phases") : header.index("// Four neighbours of a lane's sums")
    ]
    assert damage[0] in put
    put = re.sub(r"#pragma.*", "", put.replace(*damage) if damage[0] else put)
    element = "float" if problem.dtype.bytes == 4 else "imbrex::f16"
    source = SHIM + put + RUN.format(element=element, members="\n".join(lines), first=first)
    library = ctypes.CDLL(str(build_shared({"phases.cpp": source}, flags=("-O0",)).path))
    columns = int(re.findall(r"piece_columns = (\d+)", struct)[0])
    out = np.zeros((64, columns), np.uint32)
    library.run(out.ctypes.data_as(ctypes.c_void_p))
    return out, op.phases.data.box, sorted(set(op.phases.data.of)), op.tuning_.n_per_block


def expected(box: PhaseBox, summed: list[int], own: int, first: int, columns: int) -> Any:
    wanted = np.zeros((64, own * box.count), np.uint32)
    for number, phase in enumerate(summed):
        (stored,), _ = box.stored_columns(own).evaluate([np.arange(own, dtype=np.int64), phase])
        wanted[:, stored] = 1 + 256 * np.arange(64)[:, None] + number * own + np.arange(own)
    return wanted[:, first : first + columns]


@pytest.mark.parametrize("case", CASES)
def test_every_sum_lies_where_its_phase_is_stored(case: str) -> None:
    out, box, summed, own = staged(case, 0)
    last = own * box.count - out.shape[1]
    np.testing.assert_array_equal(out, expected(box, summed, own, 0, out.shape[1]))
    np.testing.assert_array_equal(staged(case, last)[0], expected(box, summed, own, last, out.shape[1]))


def test_control_another_phase_is_seen() -> None:
    out, box, summed, own = staged("two", 0, ("own * each + first", "(own ^ 1) * each + first"))
    assert not np.array_equal(out, expected(box, summed, own, 0, out.shape[1]))
