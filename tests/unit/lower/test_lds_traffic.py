"""LDS traffic counted from statements: against layouts whose conflicts are known."""

from __future__ import annotations

import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.dtype import F16
from imbrex.index.expr import Lin, var, xor
from imbrex.lower.lds_traffic import lds_traffic
from imbrex.lower.stmt import Alloc, Buffer, For, Kernel, Let, Move, Ref, Stmt

LDS = Buffer("lds", F16, 1 << 14, "lds")
REGISTERS = Buffer("r", F16, 64, "private")
LANE = var("workitem", 64)
ROW, CHUNK = LANE % 32, LANE // 32
STEP = var("step", 4)


def kernel(*body: Stmt) -> Kernel:
    return Kernel("k", (), frozenset(), 1, 64, (Alloc(LDS), Alloc(REGISTERS), *body))


def read(place: Lin, width: int = 8) -> Move:
    return Move(Ref(REGISTERS, var("workitem", 64) * 0), Ref(LDS, place), width)


def write(place: Lin) -> Move:
    return Move(Ref(LDS, place), Ref(REGISTERS, var("workitem", 64) * 0), 8)


@pytest.mark.parametrize(
    ("layout", "place", "extra"),
    [
        ("in the order of the lanes", LANE * 8, 0),
        ("rows of 128 bytes, all in one column", ROW * 64 + CHUNK * 8, 8 * 7),
        ("rows of 128 bytes, permuted", ROW * 64 + xor(CHUNK, ROW % 8) * 8, 0),
        ("rows of 64 bytes", ROW * 32 + CHUNK * 8, 8 * 3),
        ("rows of 64 bytes, permuted by pairs", ROW * 32 + xor(CHUNK, ROW // 2 % 4) * 8, 0),
    ],
)
def test_reads_of_a_fragment(layout: str, place: Lin, extra: int) -> None:
    found = lds_traffic(kernel(read(place)), GPU_MACHINES["gfx942"])
    assert (found.read.accesses, found.read.cycles, found.read.extra) == (1, 8, extra), layout
    assert found.factors == ((8 + extra) / 8, 1.0)


def test_writes_and_reads_are_served_differently() -> None:
    """A read serves lanes 0-3 with 20-23, a write 0-3 with 4-7: here the latter share their banks."""
    line = LANE // 4 % 4 + LANE // 32 * 4
    place = line * 64 + (LANE // 16 % 2 * 4 + LANE % 4) * 8
    found = lds_traffic(kernel(read(place), write(place)), GPU_MACHINES["gfx942"])
    assert found.read.extra == 0 < found.write.extra == found.extra


def test_names_and_loops_are_followed() -> None:
    row = Let("row", LANE % 32)
    place = var("row", 32) * 64 + xor(CHUNK + 2 * STEP, var("row", 32) % 8) * 8
    loop = For("step", 4, (read(place),))
    found = lds_traffic(kernel(row, loop), GPU_MACHINES["gfx942"])
    assert (found.read.accesses, found.extra) == (4, 0)
    still = lds_traffic(kernel(row, For("step", 4, (read(LANE * 8),))), GPU_MACHINES["gfx942"])
    assert still.read.accesses == 1


def test_chips_differ() -> None:
    """gfx950 serves sixteen lanes at once: rows of 64 bytes that are fine on gfx942 meet there."""
    place = ROW * 32 + xor(CHUNK, ROW // 2 % 4) * 8
    assert lds_traffic(kernel(read(place)), GPU_MACHINES["gfx950"]).extra > 0


def test_direct_loads_are_no_accesses_of_lanes() -> None:
    source = Ref(Buffer("a", F16, 4096, "global"), LANE * 8)
    found = lds_traffic(kernel(Move(Ref(LDS, LANE * 8), source, 8, direct=True)), GPU_MACHINES["gfx950"])
    assert found.write.accesses == 0
