"""`imbrex explain` of strict f32 on Hopper tells what a kernel is made with."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.config import tuning
from imbrex.pipeline import Request, lower
from imbrex.problem import Gemm

Imbrex: TypeAlias = Callable[..., Any]

LONG = "gemm -t f32 -m 512 -n 512 -k 32768"


def test_a_long_k_is_shared(imbrex: Imbrex) -> None:
    said = imbrex("explain", "schedule", LONG, "--target", "sm_90a", "--format", "json")
    assert said.code == 0, said.errors
    (told,) = json.loads(said.out)
    whole, shared = told["offers"]
    assert (whole["schedule"], shared["schedule"], told["taken"]) == ("data_parallel", *["split_k:256"] * 2)
    assert shared["partial_sums"] == 15 and shared["cycles"] < 0.5 * whole["cycles"]


def test_what_is_told_is_what_is_made(imbrex: Imbrex) -> None:
    lowered = lower(Request(Gemm(512, 512, 32768), GPU_MACHINES["sm_90a"], "sm_90a"))
    assert lowered.schedules == ("split_k:256",)
    said = imbrex("explain", LONG, "--target", "sm_90a")
    assert said.code == 0 and tuning.text(lowered.tunings[0]) in said.out


def test_a_given_tuning_is_kept(imbrex: Imbrex) -> None:
    given = "v1:general:64,64,64,8,4,4"
    said = imbrex("explain", "schedule", LONG, "--target", "sm_90a", "--tuning", given, "--format", "json")
    (told,) = json.loads(said.out)
    assert {offer["tuning"] for offer in told["offers"]} == {given}


@pytest.mark.parametrize(("target", "size"), [("gfx942", "16,16,8"), ("cpu", "")])
def test_json_has_the_names_of_miopens_dialect(imbrex: Imbrex, target: str, size: str) -> None:
    tuning = (f"--tuning=v1:xdlops:{size},16,16,8",) if size else ()
    said = imbrex("explain", "gemm -t f16 -m 64 -n 64 -k 64", "--target", target, *tuning, "--format", "json")
    (product,) = json.loads(said.out)[0]["products"]
    defines = product["defines"]
    assert bool(defines) == (target == "gfx942")
    if defines:
        assert defines["CK_PARAM_TUNABLE_GEMM_M_PER_BLOCK"] == defines["CK_PARAM_GEMM_M_PER_WAVE"] == 16
        assert defines["CK_PARAM_DEPENDENT_GRID_SIZE"] == product["workgroups"] == 16
