"""What a trip takes at least is no more than its simulation says, and what the waits of its wave come to."""

from __future__ import annotations

from random import Random

import pytest
from tests.unit.timing.published import LOOPS, Published
from tests.unit.timing.test_compute_unit import RESIDENTS, random_loop

from imbrex.chip import GPU_MACHINES, Rates
from imbrex.timing.compute_unit import simulated
from imbrex.timing.least import least_clocks
from imbrex.timing.operation import Loop, Operation, Residents

ALONE = Residents()
NEXT_TRIP = 1.001
"""Trips that are measured begin and end amid waits."""


def rates_of(chip: str) -> Rates:
    rates = GPU_MACHINES[chip].rates
    assert rates is not None
    return rates


def least_and_simulated(loop: Loop, chip: str, residents: Residents = ALONE) -> tuple[float, float]:
    return least_clocks(loop, rates_of(chip)), simulated(loop, GPU_MACHINES[chip], residents).clocks


@pytest.mark.parametrize("residents", RESIDENTS, ids=str)
@pytest.mark.parametrize("chip", ["gfx908", "gfx942", "gfx950"])
def test_no_trip_is_shorter(chip: str, residents: Residents) -> None:
    random = Random(f"{chip} {residents}")
    for loop in [random_loop(random) for _ in range(40)]:
        least, clocks = least_and_simulated(loop, chip, residents)
        assert least <= NEXT_TRIP * clocks, loop


@pytest.mark.parametrize("row", LOOPS, ids=lambda row: row.name)
def test_no_published_loop_is_shorter(row: Published) -> None:
    least, clocks = least_and_simulated(row.loop, row.chip, row.residents)
    assert least <= clocks


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
