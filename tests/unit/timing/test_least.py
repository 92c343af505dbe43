"""What a trip takes at least is no more than its simulation says, and what the waits of its wave come to."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.unit.timing.published import LOOPS, Published
from tests.unit.timing.test_compute_unit import RESIDENTS, random_loop

from imbrex.chip import GPU_MACHINES, Rates
from imbrex.timing.compute_unit import simulated
from imbrex.timing.least import least_clocks, soonest_clocks
from imbrex.timing.operation import Loop, Operation, Residents

ALONE = Residents()
NEXT_TRIP = 1.001
"""Trips that are measured begin and end amid waits."""


def rates_of(chip: str) -> Rates:
    rates = GPU_MACHINES[chip].rates
    assert rates is not None
    return rates


def bounds_and_simulated(loop: Loop, chip: str, residents: Residents = ALONE) -> tuple[float, float, float]:
    gpu = GPU_MACHINES[chip]
    soonest = soonest_clocks(loop, gpu, residents.simds)
    return least_clocks(loop, rates_of(chip)), soonest, simulated(loop, gpu, residents).clocks


@pytest.mark.parametrize("residents", RESIDENTS, ids=str)
@pytest.mark.parametrize("chip", ["gfx908", "gfx942", "gfx950"])
def test_no_trip_is_shorter(chip: str, residents: Residents) -> None:
    random = Random(f"{chip} {residents}")
    for loop in [random_loop(random) for _ in range(40)]:
        least, soonest, clocks = bounds_and_simulated(loop, chip, residents)
        assert max(least, soonest) <= NEXT_TRIP * clocks, loop


@pytest.mark.parametrize("row", LOOPS, ids=lambda row: row.name)
def test_no_published_loop_is_shorter(row: Published) -> None:
    least, soonest, clocks = bounds_and_simulated(row.loop, row.chip, row.residents)
    assert max(least, soonest) <= NEXT_TRIP * clocks


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_one_wave_alone_takes_about_as_long_as_its_soonest_answers(chip: str) -> None:
    """Where latencies do not vary, as long."""
    found, gpu = 0.0, GPU_MACHINES[chip]
    rows = [row for row in LOOPS if row.chip == chip and row.residents == ALONE]
    steady = replace(gpu, rates=replace(rates_of(chip), memory_spread=0.0))
    for row in rows:
        _, soonest, clocks = bounds_and_simulated(row.loop, chip)
        found += soonest / clocks
        if not any(op.unit == "direct" for op in row.loop):
            as_long = simulated(row.loop, steady, ALONE).clocks
            assert soonest_clocks(row.loop, steady, ALONE.simds) == pytest.approx(as_long, rel=0.01)
    assert found > 0.85 * len(rows)


TURN, WORK = 4, (Operation("vector", 4),) * 30
LOAD, READ = Operation("load", lane_bytes=4), Operation("read", lane_bytes=4)


def wait(most: int) -> Operation:
    return Operation("wait", vm=most)


@pytest.mark.parametrize(
    ("loop", "beside", "trips"),
    [
        ((LOAD, *WORK, wait(0)), TURN, 1),
        ((LOAD, *WORK, wait(1)), TURN, 2),
        ((LOAD, *WORK, wait(2)), TURN, 3),
        ((wait(0), *WORK, LOAD), 31 * TURN, 1),
        ((*WORK, LOAD, *WORK, LOAD, wait(1)), 31 * TURN, 1),
    ],
)
def test_a_wait_for_memory_is_as_long_as_the_soonest_answer(loop: Loop, beside: int, trips: int) -> None:
    """beside: turns of a trip that are not between the access and its wait; trips: which it has time for."""
    rates = rates_of("gfx942")
    soonest = rates.memory_latency * (1 - rates.memory_spread)
    assert least_clocks(loop, rates) == pytest.approx((soonest + beside) / trips)


def test_without_accesses_a_wave_takes_its_turns() -> None:
    rates, loop = rates_of("gfx942"), (LOAD, *WORK, Operation("wait", lgkm=0))
    assert least_clocks(loop, rates) == TURN * len(loop)
    assert least_clocks((*loop, Operation("barrier")), rates) == TURN * len(loop)


def test_a_read_of_lds_is_waited_for_as_long_as_it_takes() -> None:
    rates = rates_of("gfx942")
    assert least_clocks((READ, Operation("wait", lgkm=0)), rates) == rates.lds_latency + 4
