"""What an epilogue reads beside the sums: the printed struct over device/cuda/epilogue_operands.h, run by a
CPU, lane after lane; and where the loads stand in a compiled kernel.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imbrex.build.nvidia.cubin import LOG, compile_cubin
from imbrex.build.nvidia.disassembly import find_disassembler, sass
from imbrex.build.nvidia.report import usages
from imbrex.build.shared_library import build_shared
from imbrex.chip import GPU_MACHINES
from imbrex.config import tuning
from imbrex.config.tuning import WarpgroupTuning
from imbrex.emit.bundle import device_headers
from imbrex.pipeline import Lowered, Request, lower
from imbrex.problem import Conv2d, Gemm, Problem

SHIM = """
#include <stdint.h>
#define memcpy __builtin_memcpy
#define IMBREX_INLINE static inline
#define IMBREX_MEMBER inline
namespace imbrex {
constexpr int warpgroup_lanes = 128;
static int32_t lane;
IMBREX_INLINE int32_t warpgroup_lane() { return lane; }
struct f16 { uint16_t bits; };
struct uint2 { uint32_t x, y; };
IMBREX_INLINE float widen(f16 x) { _Float16 y; memcpy(&y, &x, 2); return float(y); }
IMBREX_INLINE float widen(float x) { return x; }
template <int Bytes> struct carried;
template <> struct carried<2> { typedef uint16_t type; };
template <> struct carried<4> { typedef uint32_t type; };
template <> struct carried<8> { typedef uint2 type; };
template <int Bytes> using word = typename carried<Bytes>::type;
template <int Bytes> inline void copy_bytes(void *to, const void *from) { memcpy(to, from, Bytes); }
template <class To, class From> inline To bit_cast(From from) {
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
static const char *first, *last;
static int32_t astray;
template <int Bytes> inline word<Bytes> read_behind(const void *from) {
  const char *at = static_cast<const char *>(from);
  word<Bytes> x = {};
  if (at < first || at + Bytes > last || uint64_t(at) % Bytes) ++astray;
  else memcpy(&x, from, Bytes);
  return x;
}
template <class T> inline T read_behind(const T *from) {
  return bit_cast<T>(read_behind<int(sizeof(T))>(static_cast<const void *>(from)));
}
}
"""
RUN = """
// found: what the epilogue reads for every element of C, the sum being 0; `bytes` of the one array.
// The answer: how many reads went astray, or gave something else than when one element alone is read.
extern "C" int32_t run(const kernel::type *array, int64_t bytes, float *found, int32_t m, int32_t n) {
  using namespace imbrex;
  first = reinterpret_cast<const char *>(array), last = first + bytes;
  const kernel p = {array};
  astray = 0;
  constexpr int count = kernel::columns / 2;
  for (int32_t row_tile = 0; row_tile * kernel::rows < m; ++row_tile)
    for (int32_t column_tile = 0; column_tile * kernel::columns < n; ++column_tile)
      for (lane = 0; lane < warpgroup_lanes; ++lane) {
        kernel::further<kernel::rows / 64, count> more;
        const int32_t row = row_tile * kernel::rows, column = column_tile * kernel::columns;
        more.load_ahead(p, 0, row, column);
        for (int block = 0; block < kernel::rows / 64; ++block)
          for (int next = 0; next < count; next += kernel::at_a_time) {
            // As the last piece of a tile, the last sums end with it.
            const int start = next + kernel::at_a_time <= count ? next : count - kernel::at_a_time;
            more.load_here(p, 0, row + block * 64, column + start * 2);
            for (int i = start; i < start + kernel::at_a_time; ++i) {
              const int32_t r = row + block * 64 + kernel::sum_row(lane, i);
              const int32_t c = column + kernel::sum_column(lane, i);
              const float x = more.finished(0, block, i, i - start);
              if (r < m && c < n) {
                astray += x != p.finished(0, 0, r, c);
                found[r * int64_t(n) + c] = x;
              }
            }
          }
      }
  return astray;
}
"""


LAYOUTS: dict[str, Any] = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}


def request(problem: Problem, text: str) -> Request:
    return Request(problem, GPU_MACHINES["sm_90a"], "sm_90a", tuning.parse(f"v1:warpgroup:{text}"))


def product(m: int, n: int, epilogue: str, text: str, dtype: str = "f16") -> Request:
    return request(Gemm(m, n, 64, transpose_b=True, dtype=dtype, epilogue=epilogue), text)  # type: ignore[arg-type]


def struct_of(lowered: Lowered) -> str:
    """The part of the first kernel's struct that an epilogue needs, of one array."""
    text = lowered.bundle.files[lowered.bundle.units[2]]
    (name,) = re.findall(r"struct (\w+)_beside", text)
    beside = text[text.index(f"struct {name}_beside") :]
    beside = beside[: re.search(r"result finished\(sum x, int32_t batch.*", beside).end()]  # type: ignore[union-attr]
    sums = re.findall(r".*int32_t sum_(?:row|column)\(.*", text)
    sizes = re.search(r"static constexpr int rows = .*", text)
    kind = re.search(rf"const ([\w:]+) \*{name};", text)
    assert sizes is not None and kind is not None
    lines = [
        f"typedef {kind[1]} type;",
        f"const type *{name};",
        "typedef float sum, result;",
        sizes[0],
        *sums,
    ]
    return "\n".join(["struct kernel {", *lines, beside, "};"])


def read(asked: Request, array: np.ndarray, damage: tuple[str, str] = ("", "")) -> np.ndarray:
    """What is read for every element of C, as the kernel has rows and columns."""
    header = device_headers("sm_90a")["device/cuda/epilogue_operands.h"]
    header = header[header.index("template <class A> IMBREX_INLINE float element_beside") :]
    text = struct_of(lower(asked))
    assert damage[0] in text + header
    body = header + text + RUN
    source = SHIM + "namespace imbrex {\n" + (body.replace(*damage) if damage[0] else body)
    source = re.sub(r"#pragma unroll.*", "", source)
    library = ctypes.CDLL(str(build_shared({"beside.cpp": source}, flags=("-O0", "-std=c++17")).path))
    m, n = rows_and_columns(asked)
    found = np.full((m, n), np.nan, np.float32)
    astray = library.run(*(ctypes.c_void_p(x.ctypes.data) if isinstance(x, np.ndarray) else ctypes.c_int64(x)
                  for x in (array, array.nbytes, found, m, n)))  # fmt: skip
    assert damage[0] or not astray
    return found


def rows_and_columns(asked: Request) -> tuple[int, int]:
    problem, swapped = asked.problem, is_swapped(asked)
    if isinstance(problem, Gemm):
        return (problem.n, problem.m) if swapped else (problem.m, problem.n)
    pixels = problem.n * problem.h * problem.w
    return (pixels, problem.k) if swapped else (problem.k, pixels)


def is_swapped(asked: Request) -> bool:
    return isinstance(asked.tuning, WarpgroupTuning) and asked.tuning.swapped


SIZES = ((128, 256), (300, 200), (131, 77))
TILES = (8, 104, 256)
KINDS = {"f16": (np.float16, 64), "tf32": (np.float32, 32)}


def asked_for(size: tuple[int, int], columns: int, dtype: str, epilogue: str) -> list[Request]:
    text = f"128,{columns},{KINDS[dtype][1]},4,2,1,1,cooperative"
    return [product(*size, epilogue, f"{text},{turn},1", dtype) for turn in ("straight", "swapped")]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("columns", TILES)
@pytest.mark.parametrize("dtype", KINDS)
def test_a_bias_is_read_where_it_is(size: tuple[int, int], columns: int, dtype: str) -> None:
    """Once for all rows, or, where rows and columns have changed places, once for all columns."""
    bias = (np.arange(size[1]) + 1).astype(KINDS[dtype][0])
    wanted = np.broadcast_to(bias.astype(np.float32), size)
    for asked in asked_for(size, columns, dtype, "x + bias"):
        assert np.array_equal(read(asked, bias), wanted.T if is_swapped(asked) else wanted)


@pytest.mark.parametrize("size", SIZES[1:], ids=str)
@pytest.mark.parametrize("dtype", KINDS)
def test_an_array_of_all_elements_is_read_where_it_is(size: tuple[int, int], dtype: str) -> None:
    wanted = np.arange(size[0] * size[1]).reshape(size) % 2039 + 1
    array = wanted.astype(KINDS[dtype][0])
    for asked in asked_for(size, 104, dtype, "x + residual"):
        assert np.array_equal(read(asked, array), wanted.T if is_swapped(asked) else wanted)


@pytest.mark.parametrize(
    "damage",
    [
        ("i / 2 * 64 + P::sum_row(lane, i % 2 * 2)", "i / 2 * 64 + P::sum_row(lane, 0)"),
        ("A::step * P::sum_column(0, j * 4)", "A::step * P::sum_column(0, j)"),
        ("width == 2 ? number % 2 : 0", "0"),
        ("column + first", "column + first + 1"),
    ],
    ids=["rows", "columns", "pairs", "in a piece"],
)
def test_control_another_place_is_seen(damage: tuple[str, str]) -> None:
    """Inside of memory, for what lies outside ends the process."""
    residual = np.arange(300 * 200).reshape(300, 200).astype(np.float32) % 2039 + 1
    (asked, _) = asked_for((300, 200), 104, "f16", "x + residual")
    damage = damage if damage[0] != "column + first" else ("column + P::sum_column(lane, 0)", "column")
    assert not np.array_equal(read(asked, residual.astype(np.float16), damage), residual)


def compiled(asked: Request, folder: Path) -> Path:
    """Its cubin; nothing spills, and private arrays are registers."""
    bundle = lower(asked).bundle
    cubin = compile_cubin(bundle.files, bundle.units[1], "sm_90a", folder)
    for used in usages((folder / LOG).read_text(encoding="utf-8")):
        assert not used.spill_store_bytes and not used.stack_bytes, used
    return cubin


def steps_of(asked: Request, folder: Path) -> list[str]:
    """What a lane of the compiled kernel does, in order, by its instructions' names."""
    text = sass(compiled(asked, folder))
    assert text is not None
    names = r"\b(ACQBULK|LDG\.[\w.]+|HGMMA|F2FP[\w.]*|FMNMX[\w.]*|UTMALDG)\b"
    return re.findall(names, text)


@pytest.mark.parametrize(
    ("epilogue", "size", "dtype"),
    [
        ("relu(x + bias)", (131, 77), "tf32"),
        ("x + residual", (200, 264), "tf32"),
        ("f32((x + bias) * residual)", (200, 264), "f16"),
        ("x + residual", (131, 77), "f16"),
    ],
    ids=str,
)
def test_compiles(epilogue: str, size: tuple[int, int], dtype: str, tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC compiles for NVIDIA GPUs")
    for asked in asked_for(size, 256, dtype, epilogue):
        assert compiled(asked, tmp_path).exists()


LARGE = "128,256,64,4,2,1,1,cooperative,straight,16"


@pytest.mark.parametrize(
    ("text", "dtype", "loads"),
    [
        (LARGE, "f16", 32),
        ("128,128,64,6,2,1,1,pingpong,swapped,8", "bf16", 4),
        ("192,192,64,3,3,1,1,cooperative,straight,8", "f16", 24),
        ("64,112,64,9,1,1,1,cooperative,straight,1", "f16", 14),
    ],
)
def test_a_bias_is_on_its_way_while_a_tile_is_multiplied(
    text: str, dtype: str, loads: int, tmp_path: Path
) -> None:
    """Behind the wait, before the first product, by loads that are coherent, two elements at a time; and
    conversions do what relu does.
    """
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC compiles for NVIDIA GPUs")
    if find_disassembler() is None:
        pytest.skip("there is no disassembler")
    found = steps_of(product(2048, 2048, "relu(x + bias)", text, dtype), tmp_path)
    places = [i for i, name in enumerate(found) if name.startswith("LDG")]
    assert len(places) == loads and not any("CONSTANT" in found[i] for i in places), found
    assert found.index("ACQBULK") < places[0] and places[-1] < found.index("HGMMA")
    assert not any(name.startswith("FMNMX") for name in found)
    assert all("RELU" in name for name in found if name.startswith("F2FP"))


@pytest.mark.parametrize("epilogue", ["x + residual", "gelu_tanh(x + bias) + residual", "f32(x + bias)"])
@pytest.mark.parametrize("text", [LARGE, "256,128,64,4,2,1,1,cooperative,straight,16"])
def test_what_is_read_late_is_coherent_too(epilogue: str, text: str, tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC compiles for NVIDIA GPUs")
    if find_disassembler() is None:
        pytest.skip("there is no disassembler")
    found = steps_of(product(2048, 2048, epilogue, text), tmp_path)
    loads = [name for name in found if name.startswith("LDG")]
    assert loads and not any("CONSTANT" in name for name in loads)


def test_a_convolution_has_a_bias_along_its_rows_or_columns() -> None:
    problem = Conv2d(
        "forward", 3, 64, 13, 13, 96, 3, 3, pad_h=1, pad_w=1, dtype="f16", epilogue="x + bias", **LAYOUTS
    )  # fmt: skip
    bias = (np.arange(96) + 1).astype(np.float16)
    for turn in ("straight", "swapped"):
        asked = request(problem, f"128,96,64,4,2,1,1,cooperative,{turn},1")
        found = read(asked, bias)
        assert found.shape == rows_and_columns(asked)
        assert np.array_equal(
            found if is_swapped(asked) else found.T, np.broadcast_to(bias, (3 * 13 * 13, 96))
        )
