"""imbrex explain schedule, and --schedule: numbers of every mode, the one that is taken, and bad words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from imbrex.view.streamk import MODES

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
    assert best["hit_rate"] > plain["hit_rate"] + 0.05
    (told,) = json.loads(imbrex("explain", "schedule", "--threads", "2", "--format", "json", LONG).out)
    assert told["orders"] == []


def test_an_unknown_schedule_is_refused(imbrex: Imbrex) -> None:
    said = imbrex("explain", "--schedule", "streamk", LONG)
    assert said.code != 0 and "unknown schedule of tiles 'streamk'" in said.errors
