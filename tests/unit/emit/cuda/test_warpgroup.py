"""Products by warpgroups: their kernels hold all in registers and multiply without waiting for themselves;
the list of work that is printed has every step of every tile once.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import pytest
from tests.pairs import one_in, seen_here

from imbrex.build.nvidia.cubin import LOG, compile_cubin
from imbrex.build.nvidia.disassembly import find_disassembler, sass
from imbrex.build.nvidia.report import usages
from imbrex.build.shared_library import build_shared
from imbrex.chip import GPU_MACHINES
from imbrex.config import tuning
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule
from imbrex.pipeline import Lowered, Request, lower
from imbrex.problem import Conv2d, Gemm
from imbrex.problem.conv import Direction
from imbrex.run.launch import Launch


def gemm(
    m: int,
    n: int,
    k: int,
    text: str,
    schedule: TileSchedule = DATA_PARALLEL,
    layout: str = "nt",
    dtype: str = "f16",
    **options: float,
) -> Request:
    """layout: of A and of B, t where it is transposed."""
    a, b = (x == "t" for x in layout)
    problem = Gemm(m, n, k, transpose_a=a, transpose_b=b, dtype=dtype, **options)  # type: ignore[arg-type]
    given = tuning.parse(f"v1:warpgroup:{text}")
    return Request(problem, GPU_MACHINES["sm_90a"], "sm_90a", given, schedule=schedule)


def conv(direction: Direction, text: str, c: int = 64) -> Request:
    last = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
    problem = Conv2d(direction, 2, c, 14, 14, 128, 3, 3, pad_h=1, pad_w=1, dtype="f16", **last)  # type: ignore[arg-type]
    return Request(problem, GPU_MACHINES["sm_90a"], "sm_90a", tuning.parse(f"v1:warpgroup:{text}"))


def layer(
    direction: Direction, algorithm: str, layout: str = "NHWC", text: str | None = None, **sizes: Any
) -> Request:
    """text: of the tuning; the model's choice without one.  layout: of the images."""
    nhwc = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
    problem = Conv2d(direction, 16, dtype="f16", **sizes, **(nhwc if layout == "NHWC" else {}))
    given = None if text is None else tuning.parse(text)
    return Request(problem, GPU_MACHINES["sm_90a"], "sm_90a", given, algorithm)


STEM = {"c": 3, "h": 56, "w": 56, "k": 64, "y": 7, "x": 7, "pad_h": 3, "pad_w": 3, "stride": 2}
GROUPED = {"c": 64, "h": 28, "w": 28, "k": 64, "y": 3, "x": 3, "pad_h": 1, "pad_w": 1, "groups": 8}
HALVED = {"c": 128, "h": 28, "w": 28, "k": 64, "y": 3, "x": 3, "pad_h": 1, "pad_w": 1, "stride": 2}
LARGE = "128,256,64,4,2,2,1,cooperative,straight,8"
CASES = {
    **{layout: gemm(520, 776, 328, LARGE, layout=layout) for layout in ("nn", "nt", "tn", "tt")},
    "bf16, columns of the cluster": gemm(
        520, 776, 328, "256,128,64,4,2,1,2,cooperative,swapped,8", dtype="bf16"
    ),
    "pingpong": gemm(520, 776, 328, "128,128,64,6,2,1,1,pingpong,straight,1"),
    "three consumers": gemm(520, 776, 328, "192,192,64,3,3,1,1,cooperative,straight,4"),
    "one consumer, few columns": gemm(520, 776, 328, "64,24,128,8,1,1,1,cooperative,swapped,1"),
    "batches, alpha, beta": gemm(
        264, 200, 72, "128,104,32,4,2,1,1,cooperative,straight,1", batch=3, alpha=0.5, beta=2.0
    ),
    "odd": gemm(517, 775, 331, "128,128,64,4,2,1,1,cooperative,straight,1"),
    "odd, the other way": gemm(517, 775, 331, "128,128,64,4,2,1,1,cooperative,swapped,1", layout="nn"),
    "a cluster in a row": gemm(520, 2248, 704, "64,192,64,6,1,4,1,cooperative,swapped,4"),
    "a cluster in a column": gemm(2248, 520, 704, "64,192,64,5,2,1,4,pingpong,straight,4"),
    "odd, in a cluster": gemm(517, 775, 331, "128,128,64,4,2,2,1,cooperative,straight,1"),
    "one odd, the other shared": gemm(
        520, 775, 328, "128,128,64,4,2,1,2,cooperative,straight,1", layout="nn"
    ),
    "stream_k": gemm(1000, 1000, 1000, LARGE, TileSchedule("stream_k", 66)),
    "two_tile": gemm(3000, 3000, 1000, LARGE, TileSchedule("two_tile", 66)),
    "split_k": gemm(
        264, 264, 8192, "64,128,64,8,1,1,1,cooperative,straight,1", TileSchedule("split_k", 132), layout="nn"
    ),
    **{
        f"cluster_k:{parts}, {layout}": gemm(
            264, 264, 8192, text, TileSchedule("cluster_k", parts), layout=layout
        )
        for parts, layout, text in (
            (2, "nn", "128,256,64,4,2,1,1,cooperative,straight,1"),
            (2, "nt", "192,192,64,3,3,1,1,cooperative,straight,1"),
            (4, "nt", "128,128,64,6,2,2,1,cooperative,swapped,1"),
            (8, "tn", "64,128,64,8,1,1,1,cooperative,straight,1"),
        )
    },
    "cluster_k, scaled": gemm(
        264, 200, 4096, "128,128,64,4,2,1,1,cooperative,straight,1", TileSchedule("cluster_k", 4), beta=2.0
    ),
    "cluster_k, odd": gemm(
        263, 199, 4095, "128,64,64,4,2,1,1,cooperative,straight,1", TileSchedule("cluster_k", 8)
    ),
    "cluster_k, i8": gemm(
        264, 264, 8192, "128,64,128,4,2,1,1,cooperative,straight,1", TileSchedule("cluster_k", 4), dtype="i8"
    ),
    "i8": gemm(528, 784, 336, "128,256,128,4,2,2,1,cooperative,straight,4", dtype="i8"),
    "f8": gemm(528, 784, 336, "128,256,128,4,2,2,1,cooperative,straight,4", dtype="f8e4m3fn"),
    "tf32": gemm(528, 784, 336, "128,256,32,4,2,2,1,cooperative,straight,4", dtype="tf32"),
    "i8, turned": gemm(528, 784, 336, "128,128,128,4,2,1,1,cooperative,straight,4", dtype="i8", layout="nn"),
    "forward": conv("forward", "128,128,64,6,2,2,1,cooperative,swapped,8"),
    "backward data": conv("backward_data", "128,64,64,6,2,1,1,pingpong,swapped,8"),
    "backward weight": conv("backward_weight", "128,128,64,4,2,1,1,cooperative,straight,8"),
    "rows of windows": layer("forward", "window_rows", "NCHW", **STEM),
    "rows of windows, backward weight": layer("backward_weight", "window_rows", **STEM),
    "merged groups": layer("forward", "merged_groups:4", "NCHW", **GROUPED),
    "merged groups, backward data": layer("backward_data", "merged_groups:4", **GROUPED),
    "merged groups, backward weight": layer("backward_weight", "merged_groups:4", **GROUPED),
    "halo": layer("forward", "halo:4", **GROUPED),
    "halo, copied": layer("forward", "halo:4", "NCHW", **GROUPED),
    "halo, backward data": layer("backward_data", "halo:2", **GROUPED),
    "halo, one group": layer("backward_data", "halo:1", **(GROUPED | {"groups": 1})),
    "lines": layer("forward", "halo:4", text="v1:lines:2,14,32,3,3,32,32,2,4,3,cooperative", **GROUPED),
    "lines, copied": layer(
        "backward_data", "halo:4", "NCHW", "v1:lines:2,28,32,3,3,32,32,2,4,2,cooperative", **GROUPED
    ),
    "lines, one group": layer(
        "forward", "halo:1", text="v1:lines:2,28,32,3,3,64,64,1,3,2,cooperative", **(GROUPED | {"groups": 1})
    ),
    "phases": layer("backward_data", "shared_phases_last", "NCHW", **HALVED),
    "phases in turn": layer(
        "backward_data",
        "shared_phases_last",
        "NCHW",
        "v1:warpgroup:64,128,64,6,2,1,1,pingpong,straight,1",
        **HALVED,
    ),
    "phases without a tap": layer(
        "backward_data", "shared_phases", "NCHW", **(HALVED | {"y": 1, "x": 1, "pad_h": 0, "pad_w": 0})
    ),
    "halo, small images": layer("forward", "halo:1", **(GROUPED | {"h": 7, "w": 7, "groups": 1})),
}


RECORDED = (
    "nn", "tt", "i8, turned", "f8", "tf32", "batches, alpha, beta", "stream_k", "two_tile", "cluster_k:2, nt",
    "cluster_k, i8", "merged groups, backward data", "merged groups, backward weight",
    "rows of windows, backward weight", "forward", "backward weight", "halo, copied", "lines, copied", "odd",
    "odd, in a cluster", "phases",
)  # fmt: skip
"""The like of which is in the record of hashes, with its registers and what spills."""


@pytest.mark.parametrize("case", one_in(4, seen_here(CASES, RECORDED)))
def test_compiles(case: str, tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC compiles for NVIDIA GPUs")
    bundle = lower(CASES[case]).bundle
    _, entry, _ = bundle.units
    cubin = compile_cubin(bundle.files, entry, "sm_90a", tmp_path)
    log = (tmp_path / LOG).read_text(encoding="utf-8")
    assert "warning" not in log, log
    for used in usages(log):
        assert not used.spill_store_bytes and not used.stack_bytes and not used.remarks, used
    if find_disassembler() is None:
        return
    text = sass(cubin)
    assert text is not None
    assert re.search(r"\b[HQI]GMMA\b", text), "the matrix unit multiplies"
    _, loop, *_ = re.split(r"\b[HQI]GMMA\b.*gsb0", text)
    assert "MEMBAR.ALL.GPU" not in loop.split("BRA")[0], (
        "a stage is released without a fence of the whole GPU"
    )


WORKS = {
    "one workgroup a tile": gemm(520, 776, 328, LARGE),
    "whole tiles": gemm(4096, 4096, 256, LARGE),
    "batches": gemm(700, 500, 256, "128,128,64,4,2,1,1,cooperative,straight,4", batch=7),
    **{
        f"{mode}, {size} of K": gemm(1000, 1100, size, LARGE, TileSchedule(mode, 64))
        for mode in ("split_k", "stream_k", "two_tile", "two_tile_dp_first")
        for size in (64, 648, 8200)
    },
}
LISTS = """
#define IMBREX_INLINE static inline
#define IMBREX_MEMBER inline
typedef __INT32_TYPE__ int32_t; typedef __UINT32_TYPE__ uint32_t; typedef __UINT64_TYPE__ uint64_t;
typedef __UINT16_TYPE__ uint16_t; typedef __INT64_TYPE__ int64_t;
"""
LISTED = """
extern "C" int listed(int32_t *out, int clusters) {
  int count = 0;
  for (int cluster = 0; cluster < clusters; ++cluster) {
    const int32_t slot = lists::slot_of(cluster);
    for (int i = 0; i < lists::works(slot); ++i) {
      const imbrex::work w = lists::work_of(slot, i, 0, 0);
      const int32_t row[] = {slot,  w.batch, w.row_tile, w.column_tile, w.first,
                             w.end, w.sends, w.next,     w.last};
      for (int32_t x : row) *out++ = x;
      ++count;
    }
  }
  return count;
}
"""


def listed(lowered: Lowered, clusters: int | None = None) -> list[tuple[int, ...]]:
    """The list of work of every cluster, as many as are launched: the printed functions, compiled for the
    CPU.
    """
    files = lowered.bundle.files
    text = files[lowered.bundle.units[2]]
    begin = text.index("IMBREX_MEMBER static int32_t slot_of")
    part = text[begin : text.index("IMBREX_MEMBER static constexpr", begin)]
    header = files["device/cuda/work.h"].replace("#pragma once", "")
    header = header.replace('#include "ptx/language.h"', LISTS)
    source = f"{header}\nstruct lists {{\n{part}\n}};\n{LISTED}"
    library = ctypes.CDLL(str(build_shared({"lists.cpp": source}, flags=("-O0",)).path))
    (launch,) = lowered.steps
    assert isinstance(launch, Launch)
    numbers = (ctypes.c_int32 * 1_000_000)()
    count = library.listed(numbers, clusters or launch.grid_size // launch.cluster)
    return [tuple(numbers[i * 9 : i * 9 + 9]) for i in range(count)]


@pytest.mark.parametrize("parts", [2, 4, 8])
@pytest.mark.parametrize("size", [1000, 8200])
def test_every_part_of_a_cluster_has_its_steps_of_one_tile(parts: int, size: int) -> None:
    """In the order in which hardware numbers the workgroups of a cluster."""
    text = "128,128,64,4,2,1,1,cooperative,straight,4"
    lowered = lower(gemm(1000, 1100, size, text, TileSchedule("cluster_k", parts), batch=2))
    (launch,) = lowered.steps
    assert isinstance(launch, Launch) and launch.cluster == parts
    works = listed(lowered, launch.grid_size)
    assert len(works) == launch.grid_size == 2 * 8 * 9 * parts
    for cluster in range(0, len(works), parts):
        own = works[cluster : cluster + parts]
        assert len({w[1:4] for w in own}) == 1 and [w[0] for w in own] == [*range(cluster, cluster + parts)]
        assert [w[4] for w in own] == [0, *(w[5] for w in own[:-1])] and own[-1][5] == -(-size // 64)
    assert len({w[1:4] for w in works}) == len(works) // parts


@pytest.mark.parametrize("case", WORKS)
def test_every_step_of_every_tile_is_done_once(case: str) -> None:
    lowered = lower(WORKS[case])
    works = listed(lowered)
    done = [(*tile, step) for _, *tile, first, end, _, _, _ in works for step in range(first, end)]
    assert len(done) == len(set(done))
    tiles = {d[:3] for d in done}
    assert len(done) == len(tiles) * (max(d[3] for d in done) + 1)
    owners = {tuple(w[1:4]): w for w in works if not w[6] and w[4] == 0}
    assert owners.keys() == tiles, "every tile has one who stores it"
    for slot, *tile, _, _, sends, _, _ in works:
        owner = owners[tuple(tile)]
        assert slot == owner[0] or owner[7] <= slot < owner[8] or not sends
