"""Kernels of every family of sm_90a at sizes that a CPU runs lane by lane in a moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from imbrex.problem import Conv2d, Gemm, Problem

__all__ = ["CASES", "HopperCase"]

NHWC: dict[str, Any] = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
WINDOW: dict[str, Any] = {"y": 3, "x": 3, "pad_h": 1, "pad_w": 1}
FINISHED = "relu(x + bias) + residual"
KEPT = "relu(pre_activation(x + bias)) + residual"


@dataclass(frozen=True)
class HopperCase:
    problem: Problem
    tuning: str | None = None
    algorithm: str | None = None
    schedule: str | None = None


def gemm(m: int, n: int, k: int, tuning: str | None = None, **given: Any) -> HopperCase:
    words = {name: given.pop(name) for name in ("algorithm", "schedule") if name in given}
    chosen = None if tuning is None else f"v1:warpgroup:{tuning}"
    return HopperCase(Gemm(m, n, k, **{"dtype": "f16", **given}), chosen, **words)


def conv(
    direction: str, algorithm: str | None, tuning: str | None = None, layout: str = "NHWC", **shape: Any
) -> HopperCase:
    orders = NHWC if layout == "NHWC" else {}
    sizes = {"n": 1, "c": 16, "k": 16, "h": 8, "w": 8, "dtype": "f16"} | WINDOW | orders | shape
    return HopperCase(Conv2d(direction, **sizes), tuning, algorithm)  # type: ignore[arg-type]


TWO = "128,192,64,2,2,1,1,cooperative,straight,1"
ONE = "64,64,64,3,1,1,1,cooperative,straight,1"
CASES = {
    "two consumers, epilogue": gemm(136, 200, 200, TWO, transpose_b=True, epilogue=FINISHED),
    "one consumer, a step in flight": gemm(64, 64, 512, ONE, transpose_a=True),
    "pingpong": gemm(1024, 136, 136, "64,8,64,3,2,1,1,pingpong,straight,1", transpose_b=True),
    "more sums than an epilogue leaves room for, in turn": gemm(
        264, 392, 72, "128,192,64,3,2,1,1,pingpong,straight,2"
    ),
    "tall tiles, walked over": gemm(
        400, 136, 72, "384,80,64,2,2,1,2,cooperative,swapped,1", transpose_b=True
    ),
    "columns stored in whole rows": gemm(136, 200, 72, "64,80,64,2,1,2,1,cooperative,straight,1"),
    "a cluster's loads": gemm(136, 136, 200, "64,64,64,3,1,2,2,cooperative,straight,1", dtype="bf16"),
    "eight workgroups' loads, in parts that begin inside atoms": gemm(
        136, 104, 136, "64,24,64,3,1,2,4,cooperative,straight,1", transpose_b=True
    ),
    "a cluster's loads beside lanes'": gemm(
        128, 64, 100, "64,8,32,16,1,1,2,cooperative,straight,2", dtype="tf32", algorithm="direct"
    ),
    "lanes' loads in a cluster that shares none, tile after tile": gemm(
        400, 136, 100, "64,16,128,2,1,2,2,cooperative,straight,1", transpose_b=True, dtype="i8",
        schedule="stream_k:1", algorithm="direct",
    ),
    "a cluster of two rows and columns that shares A, tile after tile": gemm(
        200, 99, 72, "64,16,64,3,1,2,2,cooperative,straight,1", schedule="stream_k:2", algorithm="direct"
    ),
    "sums through a cluster": gemm(136, 72, 712, ONE, transpose_b=True, schedule="cluster_k:4"),
    "two results": gemm(136, 200, 72, TWO, transpose_b=True, epilogue=KEPT),
    "two results, pingpong": gemm(
        200, 144, 72, "64,144,64,4,2,1,1,pingpong,straight,1", transpose_b=True, epilogue=KEPT
    ),
    "two results by lanes": gemm(137, 71, 75, TWO, algorithm="direct", epilogue=KEPT),
    "two results, one with gaps": gemm(136, 72, 72, ONE, ldc=77, epilogue=KEPT),
    "two results through a cluster": gemm(136, 72, 712, ONE, schedule="cluster_k:4", epilogue=KEPT),
    "two results through memory": gemm(136, 72, 520, ONE, schedule="stream_k:5", epilogue=KEPT),
    "two results of all who share": gemm(64, 72, 520, ONE, schedule="split_k:4", epilogue=KEPT),
    "two results of lines": conv(
        "forward", None, "v1:lines:8,4,8,3,3,64,32,1,3,3,pingpong", n=9, c=64, k=64, h=7, w=7, epilogue=KEPT
    ),
    "sums through memory": gemm(136, 72, 520, ONE, schedule="stream_k:5"),
    "sums of all who share": gemm(64, 72, 520, ONE, schedule="split_k:4"),
    "sums of more sharers than registers hold": gemm(64, 40, 1152, ONE, schedule="split_k:18"),
    "sums of sharers with groups by two": gemm(
        120, 264, 328, "128,136,64,2,2,1,1,cooperative,swapped,2", schedule="split_k:10", alpha=2.0, beta=3.0
    ),
    "parts of K that a launch adds up": gemm(
        72, 65, 520, batch=2, transpose_a=True, algorithm="k_parts:3", epilogue=FINISHED
    ),
    "lanes that load": gemm(137, 71, 139, TWO, transpose_a=True, algorithm="direct"),
    "lanes that load the rows of 26 warps in turns of four": gemm(
        137, 71, 139, "192,104,64,2,3,1,1,cooperative,straight,1", transpose_b=True, algorithm="direct"
    ),
    "lanes that copy": gemm(136, 72, 140, TWO, transpose_b=True, algorithm="direct"),
    "copies first": gemm(137, 71, 139, algorithm="aligned"),
    "scaled, in batches": gemm(72, 136, 72, TWO, batch=2, alpha=2.0, beta=3.0),
    "tf32": gemm(136, 72, 72, "128,64,32,3,2,1,1,cooperative,straight,1", dtype="tf32", transpose_b=True),
    "A in registers": gemm(
        40, 300, 200, "64,40,32,3,1,1,1,cooperative,swapped,1", dtype="tf32", algorithm="direct"
    ),
    "A in registers, pingpong, 128 rows": gemm(
        2304, 64, 40, "128,8,32,3,2,1,1,pingpong,straight,1", dtype="tf32", transpose_a=True, transpose_b=True
    ),
    "A in registers, in a cluster": gemm(
        48, 272, 520, "128,48,32,3,2,1,2,cooperative,swapped,1", dtype="tf32", schedule="stream_k:5"
    ),
    "A in registers, an instruction a step": gemm(
        16, 72, 24, "64,16,8,4,1,1,1,cooperative,swapped,1", dtype="tf32", algorithm="direct"
    ),
    "A in registers, by lanes": gemm(
        99, 71, 75, "128,40,32,3,2,1,1,cooperative,straight,1",
        dtype="tf32", transpose_a=True, algorithm="direct",
    ),
    "f16, columns stored": gemm(72, 48, 64, "64,32,64,2,1,1,1,cooperative,swapped,1"),
    "i8": gemm(136, 80, 272, "128,64,128,2,2,1,1,cooperative,swapped,1", dtype="i8", transpose_b=True),
    "f8, turned": gemm(136, 80, 272, "64,64,128,3,1,1,1,cooperative,straight,1", dtype="f8e4m3fn"),
    "f32": HopperCase(Gemm(100, 75, 77, alpha=2.0, beta=3.0), "v1:general:64,64,64,8,4,4"),
    "f32, tiles of seven workgroups": HopperCase(
        Gemm(64, 32, 160), "v1:general:64,32,32,8,2,2", schedule="split_k:14"
    ),
    "f32, shared tiles": HopperCase(Gemm(64, 64, 96), "v1:general:64,64,64,8,4,4", schedule="stream_k:3"),
    "a walk": conv("forward", None, c=32, stride=2),
    "phases": conv("backward_data", "shared_phases_last", layout="NCHW", c=64, k=64, stride=2, h=16, w=16),
    "sums added in memory": conv("backward_data", "v1r1", dtype="tf32"),
    "a raster": conv("forward", "halo:1", c=32, k=32),
    "lines": conv("forward", None, "v1:lines:8,4,8,3,3,64,32,1,3,3,pingpong", n=9, c=64, k=64, h=7, w=7),
    "taps as columns": conv("backward_weight", "halo:1", c=64, k=64),
    "windows apart, with gaps": conv("backward_data", "v1r1", stride=3, y=2, x=3, h=13, c=5, k=24),
    "windows apart, of copies": conv(
        "backward_data", "v1r1_last", layout="NCHW", stride=(3, 5), y=3, x=4, pad_w=(2, 0), h=11, c=3, k=19
    ),
    "rows of a gradient's windows": conv(
        "backward_data", "window_rows", layout="NCHW", x=5, pad_w=(1, 3), c=24, k=3
    ),
    "rows of windows of whole pixels": conv("backward_weight", "window_rows", c=8, k=24, y=2, x=5, stride=2),
    "rows of windows of pixels rounded up": conv("forward", "window_rows", layout="NCHW", c=20, pad_w=(3, 0)),
    "channels that copies count up to whole steps": conv("forward", "channels_last", c=19, layout="NCHW"),
    "pixels as far apart as steps": conv("backward_data", "channels_last", k=48, layout="NCHW"),
    "filters and channels that copies round up": conv("backward_weight", "channels_last", c=11, k=13),
    "blocks of a diagonal": conv(
        "backward_weight", "halo:8", "v1:halo_weight:1,1,3,16,9,64,4,1,4,2", c=64, k=64, groups=8, h=12
    ),
    "planes": conv(
        "backward_weight", None, "v1:halo_weight:1,4,4,32,9,64,4,2,4,2", "NCHW",
        n=5, c=64, k=64, groups=8, h=4, w=16,
    ),
    "strips of channels": conv("forward", "channel_vectors", c=24, k=24, groups=24),
}  # fmt: skip
