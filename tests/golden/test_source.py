"""Emitted source, as it stands in this folder: a change to it is seen, and meant.

    pytest tests/golden --update-golden     writes what is emitted now

Tunings and machines are pinned, so that nothing here depends on where the test runs or on the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.golden.kept import expect_kept

from imbrex.chip import GPU_MACHINES
from imbrex.config import tiles, tuning
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.kinds import KINDS, kind_of
from imbrex.emit.bundle import Bundle
from imbrex.pipeline import Request, lower, machine_for
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.problem.conv import Direction

FOLDER = Path(__file__).parent
NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
SAME = {"pad_h": 1, "pad_w": 1}
WARPGROUP = "v1:warpgroup:128,64,64,4,2,1,1,cooperative,straight,1"
HELD = "v1:warpgroup:128,40,32,4,2,1,1,cooperative,swapped,1"


@dataclass(frozen=True)
class Emitted:
    """What is asked for, all of it.  tuning: empty where there is none, of windows by vectors."""

    problem: Problem
    target: str
    tuning: str
    algorithm: str | None = None
    schedule: str = "data_parallel"
    isa: str = "avx512"


def half(direction: Direction, *sizes: int, **given: Any) -> Conv2d:
    """A convolution of f16 whose channels come last, unless told otherwise."""
    return Conv2d(direction, *sizes, dtype="f16", **NHWC | given)


HOST = {
    "conv_nchw": Emitted(
        Conv2d("forward", 1, 16, 14, 14, 24, 3, 3, **SAME),
        "cpu",
        "v1:cpu:8,48,24,96,144,16,k_blocked,a,straight",
    ),
    "conv_nhwc_stride": Emitted(
        Conv2d("backward_data", 1, 16, 14, 14, 24, 3, 3, **SAME, stride=2, **NHWC),
        "cpu",
        "v1:cpu:6,32,48,64,48,16,k_major,b,straight",
    ),
    "gemm_avx2": Emitted(
        Gemm(64, 48, 40, batch=2, dtype="bf16", transpose_b=True, epilogue="relu(x + bias)"),
        "cpu",
        "v1:cpu:4,24,32,48,40,8,k_blocked,a,straight",
        isa="avx2",
    ),
    "gemm_lanes": Emitted(
        Gemm(64, 64, 40, transpose_a=True, beta=1.0), "emulate", "v1:general:64,32,32,4,2,2"
    ),
    "gemm_lanes_waves": Emitted(
        Gemm(64, 64, 64, dtype="f16", transpose_b=True), "emulate", "v1:xdlops:64,64,4,32,32,8"
    ),
}
AMD = {
    "conv_gfx942": Emitted(
        half("forward", 2, 64, 14, 14, 128, 3, 3, **SAME),
        "gfx942",
        "v1:xdlops:64,64,4,32,32,8,auto,xor,staged,straight,1,1",
    ),
    "conv_gfx950_row_halo": Emitted(
        half("forward", 8, 128, 7, 7, 64, 3, 3, **SAME),
        "gfx950",
        "v1:xdlops:64,64,8,32,32,8,auto,xor,ahead,straight,2,3,3",
        "row_halo:8",
    ),
    "conv_gfx90a_nchw": Emitted(
        Conv2d("backward_weight", 1, 32, 7, 7, 64, 3, 3, dtype="bf16", **SAME),
        "gfx90a",
        "v1:xdlops:32,32,4,32,32,4",
        "channels_last",
    ),
    "gemm_gfx908": Emitted(Gemm(128, 64, 64), "gfx908", "v1:xdlops:64,32,4,32,32,4,auto,padded"),
    "gemm_gfx90a": Emitted(Gemm(100, 50, 33), "gfx90a", "v1:general:64,32,32,4,2,2"),
    "gemm_gfx942_data_tiled": Emitted(
        Gemm(130, 70, 50, dtype="f16"), "gfx942", "v1:xdlops:32,32,4,32,32,8,auto,tiled", "data_tiled"
    ),
    "gemm_gfx942_stream_k": Emitted(
        Gemm(128, 128, 512, dtype="i8"), "gfx942", "v1:xdlops:64,64,4,32,32,16", schedule="stream_k:6"
    ),
    "gemm_gfx950": Emitted(
        Gemm(256, 128, 256, dtype="f16", transpose_b=True, beta=1.0),
        "gfx950",
        "v1:xdlops:128,128,4,64,64,8,auto,xor,direct",
    ),
}
GROUPS = {"groups": 8, **SAME}
HOPPER = {
    "gemm_sm_90a": Emitted(Gemm(100, 50, 33, dtype="f16"), "sm_90a", "v1:general:64,32,32,4,2,2"),
    "gemm_sm_90a_aligned": Emitted(
        Gemm(137, 131, 139, dtype="i8", transpose_a=True), "sm_90a", WARPGROUP, "aligned"
    ),
    "gemm_sm_90a_held": Emitted(Gemm(137, 131, 139, dtype="tf32"), "sm_90a", HELD, "direct"),
    "gemm_sm_90a_cluster_k": Emitted(
        Gemm(176, 184, 2552, dtype="f16"), "sm_90a", WARPGROUP, schedule="cluster_k:4"
    ),
    "gemm_sm_90a_stream_k": Emitted(
        Gemm(512, 384, 512, dtype="bf16", beta=1.0),
        "sm_90a",
        "v1:warpgroup:128,128,64,4,2,2,1,cooperative,straight,4",
        schedule="stream_k:40",
    ),
    "gemm_sm_90a_warpgroup": Emitted(
        Gemm(200, 136, 96, dtype="f16", transpose_b=True, epilogue="relu(x + bias)"), "sm_90a", WARPGROUP
    ),
    "conv_sm_90a_walk": Emitted(
        half("forward", 2, 64, 14, 14, 64, 3, 3, **SAME), "sm_90a", WARPGROUP, "v4r4"
    ),
    "conv_sm_90a_collected": Emitted(
        Conv2d("backward_weight", 2, 32, 9, 7, 48, 3, 3, dtype="f16", **SAME), "sm_90a", WARPGROUP, "v4r4"
    ),
    "conv_sm_90a_groups": Emitted(
        half("forward", 2, 64, 14, 14, 64, 3, 3, **GROUPS), "sm_90a", WARPGROUP, "merged_groups:4"
    ),
    "conv_sm_90a_lanes": Emitted(
        half("forward", 2, 40, 9, 7, 40, 3, 3, groups=40, **SAME), "sm_90a", WARPGROUP, "channel_vectors"
    ),
    "conv_sm_90a_images": Emitted(
        Conv2d("forward", 2, 64, 28, 28, 64, 1, 1, dtype="f16"), "sm_90a", WARPGROUP, "whole_images:32"
    ),
    "conv_sm_90a_phases": Emitted(
        Conv2d("backward_data", 2, 64, 16, 16, 64, 3, 3, dtype="f16", stride=2, **SAME),
        "sm_90a",
        "v1:warpgroup:128,64,32,4,2,1,1,cooperative,straight,1",
        "shared_phases_last",
    ),
    "conv_sm_90a_interleaved": Emitted(
        Conv2d("backward_data", 2, 64, 16, 16, 64, 1, 1, dtype="f16", stride=2),
        "sm_90a",
        WARPGROUP,
        "interleaved",
    ),
    "conv_sm_90a_halo": Emitted(
        half("forward", 2, 64, 28, 28, 64, 3, 3, **GROUPS | {"groups": 2}),
        "sm_90a",
        "v1:halo:1,2,4,32,9,32,32,1,5,2,pingpong",
        "halo:1",
    ),
    "conv_sm_90a_lines": Emitted(
        half("backward_data", 2, 64, 56, 56, 64, 3, 3, **GROUPS),
        "sm_90a",
        "v1:lines:1,28,64,3,3,32,32,2,4,2,cooperative",
        "halo:4",
    ),
    "conv_sm_90a_weights": Emitted(
        half("backward_weight", 4, 64, 21, 53, 64, 3, 3, **GROUPS),
        "sm_90a",
        "v1:halo_weight:1,4,6,56,9,64,1,7,2,3",
        "halo:8",
    ),
    "conv_sm_90a_planes": Emitted(
        Conv2d("backward_weight", 5, 64, 21, 56, 64, 3, 3, dtype="f16", **GROUPS),
        "sm_90a",
        "v1:halo_weight:1,3,3,64,9,64,4,3,4,2",
        "halo:8",
    ),
}
CASES = HOST | AMD | HOPPER
DEPTHWISE = {"groups": 40, **SAME}
SMALL = "v1:general:64,32,32,4,2,2"
FURTHER = {
    "conv_runs": Emitted(
        Conv2d("forward", 1, 3, 14, 96, 32, 3, 3, dtype="i8", **SAME, **NHWC),
        "cpu",
        "v1:cpu:8,32,96,32,64,16,k_blocked,a,swapped,vpdpbusd",
        isa="avx512_vnni",
    ),
    "conv_vectors": Emitted(
        Conv2d("backward_data", 2, 40, 9, 7, 40, 3, 3, **DEPTHWISE), "cpu", "", "window_vectors"
    ),
    "conv_vectors_weight": Emitted(
        Conv2d("backward_weight", 2, 64, 9, 7, 64, 3, 3, **GROUPS, **NHWC), "cpu", "", "window_vectors"
    ),
    "gemm_rows": Emitted(
        Gemm("?1..40", 48, 40, epilogue="gelu(pre_activation(x + bias))"),
        "cpu",
        "v1:cpu:8,48,24,96,40,16,k_blocked,a,straight",
    ),
    "gemm_stream_k": Emitted(
        Gemm(37, 70, 100, alpha=2.0, beta=3.0),
        "cpu",
        "v1:cpu:4,16,8,32,16,16,k_major,b,straight",
        schedule="stream_k:3",
    ),
    "gemm_tiles": Emitted(
        Gemm(50, 70, 96, dtype="bf16", transpose_a=True),
        "cpu",
        "v1:cpu:16,48,48,96,96,16,k_major,a,straight,tdpbf16ps",
        isa="amx",
    ),
    "gemm_gfx908_general": Emitted(Gemm(100, 50, 33, dtype="f16"), "gfx908", SMALL),
    "gemm_gfx942_general": Emitted(Gemm(100, 50, 33, dtype="bf16"), "gfx942", SMALL),
    "gemm_gfx950_general": Emitted(Gemm(100, 50, 33, dtype="i8"), "gfx950", SMALL),
    "gemm_gfx942_reduce_k": Emitted(
        Gemm(64, 96, 512, dtype="f16"), "gfx942", "v1:xdlops:32,32,4,16,16,8", schedule="reduce_k:4"
    ),
    "gemm_gfx942_scatter_k": Emitted(
        Gemm(64, 96, 512, dtype="f16"), "gfx942", "v1:xdlops:32,32,4,16,16,8", schedule="scatter_k:24"
    ),
    "gemm_gfx950_scaled": Emitted(
        Gemm(64, 96, 256, dtype="mxf4e2m1fn", transpose_b=True),
        "gfx950",
        "v1:xdlops:64,64,4,32,32,16,auto,xor,direct",
    ),
    "gemm_gfx950_two_types": Emitted(
        Gemm(64, 96, 256, dtype="mxfp8_mxfp4", transpose_b=True),
        "gfx950",
        "v1:xdlops:64,64,4,32,32,16,auto,xor,ahead,swapped",
    ),
    "gemm_sm_90a_rows": Emitted(
        Gemm("?1..300", 136, 96, dtype="f16", transpose_b=True),
        "sm_90a",
        "v1:warpgroup:64,64,64,4,1,1,1,cooperative,swapped,1",
    ),
}
"""Whose source alone is kept, beside the tables, maps and models of the others."""
EACH = CASES | FURTHER


@cache
def emitted(case: str) -> Bundle:
    of = EACH[case]
    machine = machine_for(of.target, of.isa, 1)
    chosen, shared = tuning.parse(of.tuning) if of.tuning else None, tiles.parse(of.schedule)
    return lower(Request(of.problem, machine, of.target, chosen, of.algorithm, case, shared)).bundle


@pytest.mark.parametrize("case", EACH)
def test_source_is_as_it_was(case: str, update_golden: bool) -> None:
    bundle = emitted(case)
    for unit in bundle.units:
        path = FOLDER / case / f"{unit}.golden"
        expect_kept(bundle.files[unit], path, update=update_golden)


def test_nothing_else_is_kept() -> None:
    of_units = {case: Bundle(case, {}, of.target).units for case, of in EACH.items()}
    wanted = {FOLDER / case / f"{unit}.golden" for case, units in of_units.items() for unit in units}
    assert set(FOLDER.rglob("*.golden")) == wanted


def test_every_kind_is_kept_on_every_target() -> None:
    found = {(of.target, kind_of(tuning.parse(of.tuning))) for of in EACH.values() if of.tuning}
    gpus = {
        (name, kind)
        for name, machine in GPU_MACHINES.items()
        for kind in KINDS.values()
        if kind.family in ("general", "warpgroup" if machine.vendor == "NVIDIA" else "xdlops")
    }
    assert found == gpus | {("cpu", KINDS[CpuTuning])}
