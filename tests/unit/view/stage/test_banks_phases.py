"""Phases of the chips: the conflicts of known layouts, and the count against one by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.view.neighbours import bank_conflicts

from imbrex.chip import GPU_MACHINES, WAVES, Access, Phases
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Merge, Pad, PassThrough, Slice, Unmerge, Xor
from imbrex.view.stage.banks import Traffic, cycles, traffic

CHIPS = ("gfx908", "gfx90a", "gfx942", "gfx950")


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("access", ["read", "write"])
@pytest.mark.parametrize("size", [1, 2, 4, 8, 12, 16])
def test_phases_serve_every_lane_once(chip: str, access: Access, size: int) -> None:
    found = GPU_MACHINES[chip].served(size, access)
    assert sorted(lane for phase in found.lanes for lane in phase) == list(range(64)) and found.source
    assert all(len(phase) * max(4, size) <= 4 * found.banks * 2 for phase in found.lanes)


def test_the_phases_of_16_bytes() -> None:
    read = GPU_MACHINES["gfx942"].served(16, "read")
    assert read.lanes[0] == (0, 1, 2, 3, 20, 21, 22, 23) and read.lanes[4][0] == 32 and len(read.lanes) == 8
    assert GPU_MACHINES["gfx942"].served(16, "write").lanes[1] == tuple(range(8, 16))
    wide = GPU_MACHINES["gfx950"].served(16, "read")
    assert (wide.banks, len(wide.lanes), wide.lanes[1][:2], wide.lanes[1][-1]) == (64, 4, (4, 5), 31)


def by_hand(offsets: list[int], size: int, how: Phases) -> int:
    """The busiest bank's words, for each phase, less one."""
    extra = 0
    for lanes in how.lanes:
        words = {w for lane in lanes for o in [offsets[lane]] for w in range(o // 4, (o + size - 1) // 4 + 1)}
        extra += max(Counter(w % how.banks for w in words).values()) - 1
    return extra


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(0, 2048), min_size=64, max_size=64),
    st.sampled_from((4, 8, 16)),
    st.sampled_from(CHIPS),
    st.sampled_from(("read", "write")),
)
def test_the_count_is_that_by_hand(offsets: list[int], size: int, chip: str, access: Any) -> None:
    aligned, how = [o * size for o in offsets], GPU_MACHINES[chip].served(size, access)
    found = cycles(np.array([aligned, aligned[::-1]]), size, how)
    assert found.tolist() == [by_hand(aligned, size, how), by_hand(aligned[::-1], size, how)]
    if access == "write" and chip != "gfx950":
        assert found[0] == bank_conflicts(aligned, size)


def test_a_lane_that_takes_no_part_costs_nothing() -> None:
    how, offsets = GPU_MACHINES["gfx942"].served(16, "write"), np.array([[i * 128 for i in range(64)]])
    assert cycles(offsets, 16, how)[0] == 8 * 7
    assert cycles(np.where(offsets % 1024, -1, offsets), 16, how)[0] == 0


def read_of(rows: int, stride_bytes: int, steps: tuple[int, ...] = (), chunks: int = 4) -> Map:
    """64 lanes, (group, row), each reading one 16-byte chunk of f16 in a tile of `rows` rows."""
    row_chunks = max(chunks, 64 // rows)
    row_elements = stride_bytes // 2
    stored = (Dim("row", rows), Dim("chunk", row_chunks), Dim("slot", 8))
    flat = layer_over(
        (Dim("row", rows), Dim("place", row_elements)),
        (PassThrough(), "row", "row"),
        (Slice(0, row_chunks * 8), "place", "place"),
    )
    split = layer_over(
        flat.upper,
        (PassThrough(), "row", "row"),
        (Unmerge(), "chunk slot", "place"),
        chunk=row_chunks,
        slot=8,
    )
    permuted = [
        layer_over(stored, (Xor(step), "row chunk", "row chunk"), (PassThrough(), "slot", "slot"))
        for step in steps
    ]
    groups = 64 // rows
    packs = layer_over(
        stored,
        (PassThrough(), "row", "row"),
        (Unmerge(), "k_outer group", "chunk"),
        (PassThrough(), "slot", "slot"),
        k_outer=row_chunks // groups,
        group=groups,
    )
    lanes = layer_over(
        packs.upper,
        (Merge(), "workitem", "group row"),
        (PassThrough(), "k_outer", "k_outer"),
        (PassThrough(), "slot", "slot"),
    )
    return Map((lanes, packs, *permuted, split, flat))


@pytest.mark.parametrize(
    ("rows", "stride", "chip", "times"),
    [
        (16, 64, "gfx942", 2), (16, 128, "gfx942", 4), (16, 256, "gfx942", 4),
        (16, 64, "gfx950", 2), (16, 128, "gfx950", 4), (16, 256, "gfx950", 8),
        (16, 96, "gfx942", 1), (16, 160, "gfx942", 1), (16, 96, "gfx950", 1), (16, 160, "gfx950", 1),
        (16, 80, "gfx942", 2), (16, 144, "gfx942", 2), (16, 272, "gfx942", 2),
        (32, 48, "gfx942", 1), (32, 80, "gfx942", 1), (32, 48, "gfx950", 1), (32, 80, "gfx950", 1),
    ],
)  # fmt: skip
def test_row_strides(rows: int, stride: int, chip: str, times: int) -> None:
    chunks = min(stride // 16, 4) if rows == 16 else 2
    found = traffic(read_of(rows, stride, chunks=chunks), "slot", 8, 2, GPU_MACHINES[chip], "read")
    assert found.cycles + found.extra == times * found.cycles


@pytest.mark.parametrize(
    ("stride", "steps", "chip", "times"),
    [
        (64, (1,), "gfx942", 1), (128, (1,), "gfx942", 1), (256, (1,), "gfx942", 1),
        (64, (1,), "gfx950", 2), (128, (1,), "gfx950", 1), (256, (1,), "gfx950", 1),
        (64, (2,), "gfx950", 1),
    ],
)  # fmt: skip
def test_xor_of_the_chunks(stride: int, steps: tuple[int, ...], chip: str, times: int) -> None:
    found = traffic(read_of(16, stride, steps, chunks=stride // 16), "slot", 8, 2, GPU_MACHINES[chip], "read")
    assert found.cycles + found.extra == times * found.cycles


def test_traffic_counts_waves_and_halves() -> None:
    """128 work items, two repeats, 32 bytes each: two waves of two accesses of 16 bytes, twice."""
    below = (Dim("repeat", 2), Dim("workitem", 128), Dim("slot", 16))
    through = layer_over(below, *((PassThrough(), n, n) for n in ("workitem", "repeat", "slot")))
    found = traffic(Map((through,)), "slot", 16, 2, WAVES, "write")
    assert (found.accesses, found.cycles) == (8, 64) and found.extra == 8 * 8
    assert found + found == Traffic(16, 128, 128)


@pytest.mark.parametrize(("rows", "extra"), [(64, 62), (32, 31), (2, 1), (1, 0)])
def test_lanes_outside_of_the_buffer_take_no_part(rows: int, extra: int) -> None:
    """Lane i reads word 0 of row i + 1, of so many: one bank gives a word to each lane that is
    there, in two phases of 32, and none to the others.
    """
    buffer = (Dim("row", rows + 1), Dim("word", 32))
    below = layer_over(buffer, (Slice(1, rows + 1), "row", "row"), (Slice(0, 1), "word", "word"))
    there = layer_over(below.upper, (Pad(0, 64 - rows), "workitem", "row"), (PassThrough(), "word", "word"))
    assert traffic(Map((there, below)), "word", 1, 4, WAVES, "read") == Traffic(1, 2, extra)
