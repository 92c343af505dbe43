"""`imbrex explain` of strict f32 on Hopper tells what a kernel is made with."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

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
