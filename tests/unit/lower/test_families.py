"""Families of pipelined products: which parts each is made of, and nothing but those."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.emit.emulate.hopper_cases import CASES

from imbrex.chip import GPU_MACHINES
from imbrex.config import tiles
from imbrex.config import tuning as tunings
from imbrex.emit.cuda.pipeline import headers
from imbrex.lower.build import program
from imbrex.lower.warpgroup.parts import (
    Blocks,
    ClusterK,
    Dealt,
    Dense,
    LineWork,
    OneTile,
    Phases,
    PingPong,
    Plain,
    Planned,
    Slots,
    SplitColumns,
    SplitRows,
    SplitSteps,
    Streams,
    WarpPlanes,
    WarpRaster,
    WindowRows,
)
from imbrex.lower.warpgroup.pipeline import Pipeline
from imbrex.pipeline import Request, levels

FAMILIES: dict[str, tuple[str, type[Any], type[Any], type[Any], type[Any], str]] = {
    "two consumers, epilogue": ("step", Dealt, SplitRows, Dense, Plain, "split_tile.h"),
    "pingpong": ("step", Dealt, PingPong, Dense, Plain, "split_tile.h"),
    "sums through a cluster": ("step", ClusterK, SplitRows, Dense, Plain, "split_tile.h"),
    "sums through memory": ("step", Planned, SplitRows, Dense, Plain, "split_tile.h"),
    "phases": ("step", Dealt, SplitRows, Dense, Phases, "split_tile.h"),
    "a raster": ("tile", Dealt, PingPong, Dense, Plain, "split_tile.h"),
    "lines": ("kernel", LineWork, Streams, WindowRows, Slots, "streams.h"),
    "taps as columns": ("step", Dealt, SplitColumns, Dense, Plain, "split_tile.h"),
    "blocks of a diagonal": ("step", OneTile, SplitSteps, WarpRaster, Plain, "split_steps.h"),
    "planes": ("step", OneTile, SplitSteps, WarpPlanes, Plain, "planes.h"),
}
"""How long B's tile stays, the parts, and the header that has what consumers do."""


def made(name: str) -> Pipeline:
    case = CASES[name]
    given = None if case.tuning is None else tunings.parse(case.tuning)
    machine, schedule = GPU_MACHINES["sm_90a"], None if case.schedule is None else tiles.parse(case.schedule)
    *_, last = levels(Request(case.problem, machine, "sm_90a", given, case.algorithm, schedule=schedule))
    (found,) = [k.pipeline for k in program(last.module, frozenset({2}), machine).kernels if k.pipeline]
    return found


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_its_parts(name: str) -> None:
    residency, *kinds, header = FAMILIES[name]
    found = made(name)
    assert found.b.residency == residency and found.a.residency == "step"
    assert [type(part) for part in (found.work, found.team, found.multiply, found.sums)] == kinds
    assert headers(found) == (f"device/cuda/{header}",)
    assert isinstance(found.multiply, Blocks) or found.multiply.blocks == 1 or header != "split_tile.h"
