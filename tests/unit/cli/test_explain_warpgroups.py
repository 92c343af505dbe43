"""`imbrex explain` for Hopper: how each operand travels and why, and what schedules of units cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

Imbrex: TypeAlias = Callable[..., Any]


ODD = "gemm -m 1024 -n 1040 -k 4095 -t f16"
NHWC = "--in_layout NHWC --fil_layout NHWC --out_layout NHWC"
CONV = f"convfp16 -n 8 -c 64 -H 14 -W 14 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1 {NHWC}"


def test_each_operand_and_its_reason(imbrex: Imbrex) -> None:
    tuning = "v1:warpgroup:64,64,64,4,1,1,1,cooperative,straight,1"
    said = imbrex("explain", ODD, "--target", "sm_90a", "--tuning", tuning)
    assert said.code == 0
    assert (
        "A             loads of 1 along k, since a stride of 8190 bytes is not a multiple of 16" in said.out
    )
    assert "B             TMA box of" in said.out
    assert "instruction   wgmma_m64n" in said.out


def test_an_algorithm_that_is_chosen(imbrex: Imbrex) -> None:
    said = imbrex("explain", ODD, "--target", "sm_90a")
    assert said.code == 0
    assert "algorithm  aligned" in said.out and "loads of" not in said.out


def test_a_convolution_walks_over_pixels(imbrex: Imbrex) -> None:
    said = imbrex(
        "explain",
        CONV,
        "--target",
        "sm_90a",
        "--tuning",
        "v1:warpgroup:64,64,64,4,1,1,1,cooperative,swapped,1",
    )
    assert said.code == 0
    assert "TMA im2col of 64 pixels, 64 channels" in said.out
    assert "C             TMA box of 64x64" in said.out


def test_an_illegal_tuning_says_why(imbrex: Imbrex) -> None:
    said = imbrex(
        "explain",
        ODD,
        "--target",
        "sm_90a",
        "--tuning",
        "v1:warpgroup:96,64,64,4,1,1,1,cooperative,swapped,1",
    )
    assert said.code == 1
    assert "m_per_block 96 is not a multiple of 64 up to 384" in said.out


def test_levels_and_meaning(imbrex: Imbrex) -> None:
    said = imbrex("explain", "gemm -m 64 -n 64 -k 64 -t f16", "--target", "sm_90a", "--levels", "--compact")
    assert said.code == 0 and "miopen.warpgroup_gemm(" in said.out


def test_meaning_of_channels_that_are_copied(imbrex: Imbrex) -> None:
    gradient = "convbfp16 -n 2 -c 4 -H 6 -W 16 -k 6 -y 4 -x 4 -p 3 -q 1 -v 5 -l 2 -F 4"
    said = imbrex("explain", gradient, "--target", "sm_90a", "--meaning", "--algorithm", "window_rows")
    assert said.code == 0 and said.out.count("all equal") == 7


def test_schedules_of_units(imbrex: Imbrex) -> None:
    line = "gemm -m 256 -n 256 -k 65536 -t f16"
    said = imbrex("explain", "schedule", line, "--target", "sm_90a", "--format", "json")
    assert said.code == 0
    (told,) = json.loads(said.out)
    costs = {offer["schedule"].split(":")[0]: offer["cycles"] for offer in told["offers"]}
    assert costs["split_k"] < 0.75 * costs["stream_k"] < 0.75 * costs["data_parallel"]
    assert told["taken"] == min(told["offers"], key=lambda offer: offer["cycles"])["schedule"]
