"""imbrex explain schedule, and --schedule: numbers of every mode, the one that is taken, and bad words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
from tests.pairs import in_turn

from imbrex.chip import target
from imbrex.config.tiles import wanted
from imbrex.dtype import dtype
from imbrex.explore.products import products
from imbrex.pipeline import Request, lower
from imbrex.problem import parse_problem
from imbrex.run.launch import Launch
from imbrex.view.work.streamk import MODES

Imbrex: TypeAlias = Callable[..., Any]

LONG = "gemm -t f32 -m 32 -n 32 -k 32768"


def test_every_mode_is_compared_and_one_is_taken(imbrex: Imbrex) -> None:
    said = imbrex("explain", "schedule", "--threads", "2", "--format", "json", LONG)
    (told,) = json.loads(said.out)
    assert {offer["schedule"].split(":")[0] for offer in told["offers"]} == set(MODES)
    first = told["offers"][0]
    assert first["schedule"] == "data_parallel" and first["efficiency"] == 0.5
    assert told["taken"] != "data_parallel"


def test_the_table_says_why(imbrex: Imbrex) -> None:
    assert "nobody to share with" in imbrex("explain", "schedule", "--threads", "1", LONG).out
    said = imbrex("explain", "schedule", "--target", "gfx942", "gemm -t f16 -m 4096 -n 4096 -k 4096")
    assert said.code == 0 and "taken:" in said.out


def test_what_is_slower_saves_nothing(imbrex: Imbrex) -> None:
    said = imbrex("explain", "schedule", "--target", "sm_90a", "gemm -t f16 -m 4096 -n 4096 -k 4096")
    assert "the next, would cost" in said.out and "save -" not in said.out


def test_orders_of_tiles_and_what_they_find(imbrex: Imbrex) -> None:
    large = "gemm -t f16 -m 4096 -n 4096 -k 4096"
    said = imbrex("explain", "schedule", "--target", "gfx942", large)
    assert said.code == 0 and "8 dies with 4 MiB of L2 each, 304 workgroups at a time" in said.out
    assert "taken: data_parallel/wgm=" in said.out
    (told,) = json.loads(imbrex("explain", "schedule", "--target", "gfx942", "--format", "json", large).out)
    plain, best, *_ = told["orders"]
    assert (plain["group"], plain["along"], plain["xcds"]) == (1, "m", 1)
    assert best["hit_rate"] > plain["hit_rate"] + 0.02
    (told,) = json.loads(imbrex("explain", "schedule", "--threads", "2", "--format", "json", LONG).out)
    assert told["orders"] == []


def test_an_unknown_schedule_is_refused(imbrex: Imbrex) -> None:
    said = imbrex("explain", "--schedule", "streamk", LONG)
    assert said.code != 0 and "unknown schedule of tiles 'streamk'" in said.errors


SQUARE = parse_problem("gemm -m 512 -n 512 -k 512")[0]
SCHEDULES = (
    "data_parallel",
    "stream_k:13",
    "split_k:48",
    "two_tile:60",
    "stream_k",
    "split_k:7/wgm=4",
    "auto",
)


@pytest.mark.parametrize(
    ("schedule", "machine"), in_turn(SCHEDULES, ["sm_90a", "avx512", "gfx942"], whole=["stream_k", "auto"])
)
def test_explain_says_what_build_does(machine: str, schedule: str) -> None:
    """Tuning, workgroups and schedule are those of the files that the same request is lowered to."""
    if machine == "sm_90a" and "wgm" in schedule:
        pytest.skip("warpgroups have an order of their own")
    form = "cpu" if machine == "avx512" else machine
    problem = replace(SQUARE, dtype=dtype("f16")) if machine == "sm_90a" else SQUARE
    request = Request(problem, target(machine), form, schedule=wanted(schedule))
    (told,), made = products(request), lower(request)
    (launch,) = (step for step in made.steps if isinstance(step, Launch))
    assert told.launched is not None
    assert (told.launched.workgroups, (told.launched.schedule,)) == (launch.grid_size, made.schedules)
    assert (told.tuning,) == made.tunings
    if "grid_size" in told.derived:
        assert told.derived["grid_size"].split()[0] == str(launch.grid_size)


def test_explain_counts_the_workgroups_of_a_schedule(imbrex: Imbrex) -> None:
    command = ("explain", "gemm -m 512 -n 512 -k 512", "--target", "gfx942", "--schedule", "stream_k:13")
    said = imbrex(*command)
    assert said.code == 0 and re.search(r"13 for \d+ tiles \(\d+ x \d+ blocks\)", said.out)
    (told,) = json.loads(imbrex(*command, "--format", "json").out)
    (product,) = told["products"]
    assert (product["workgroups"], product["schedule"]) == (13, "stream_k:13")
