"""Turns, and what is known of operations before they issue, change no clock of a simulation."""

from __future__ import annotations

from random import Random

import pytest
from tests.unit.timing.polled import polled
from tests.unit.timing.published import LOOPS, Published

from imbrex.chip import GPU_MACHINES
from imbrex.timing.compute_unit import simulated
from imbrex.timing.kernel import residents_of
from imbrex.timing.operation import Loop, Operation, Residents

OPERATIONS = (
    *(Operation("matrix", clocks, is_exclusive=alone) for clocks in (8, 16, 64) for alone in (False, True)),
    *(Operation("vector", clocks) for clocks in (4, 8, 16)),
    *(Operation("read", lane_bytes=width, factor=factor) for width in (4, 16) for factor in (1.0, 2.5)),
    *(Operation("write", lane_bytes=width) for width in (4, 8, 16)),
    *(Operation("load", lane_bytes=width, factor=factor) for width in (2, 16) for factor in (1.0, 4.0)),
    *(Operation("direct", lane_bytes=width) for width in (4, 16)),
    *(Operation("wait", vm=most) for most in (0, 1, 3)),
    *(Operation("wait", lgkm=most) for most in (0, 2)),
    Operation("wait", vm=2, lgkm=1),
    *(Operation("priority", level=level) for level in (0, 1, 3)),
    Operation("pause", 12),
    Operation("scalar"),
    Operation("fetch"),
    Operation("barrier"),
)
RESIDENTS = (
    Residents(1, 1),
    Residents(1, 1, 1),
    Residents(3, 1),
    Residents(2, 2),
    Residents(4, 2, 2),
    Residents(2, 2, is_ping_pong=True),
    Residents(8, 4, is_ping_pong=True),
)


def random_loop(random: Random) -> Loop:
    """Operations in stretches, as loops have them; a matrix operation at least, by which trips are spread."""
    found = [Operation("matrix", 16), Operation("barrier")]
    for _ in range(random.randrange(12)):
        found += [random.choice(OPERATIONS)] * random.choice((1, 1, 2, 5))
    random.shuffle(found)
    return (*found, Operation("branch"))


@pytest.mark.parametrize("chip", ["gfx908", "gfx942", "gfx950"])
@pytest.mark.parametrize("residents", RESIDENTS, ids=str)
def test_every_clock_is_that_of_asking_all_waves(chip: str, residents: Residents) -> None:
    gpu, random = GPU_MACHINES[chip], Random(str(residents))
    for loop in [random_loop(random) for _ in range(12)]:
        trip = simulated(loop, gpu, residents)
        assert (trip.clocks, trip.busy) == polled(loop, gpu, residents), loop


@pytest.mark.parametrize(
    ("waves", "groups", "found"),
    [
        (1, 1, Residents(1, 1, 1)),
        (2, 1, Residents(1, 1, 2)),
        (2, 3, Residents(2, 1, 4)),
        (3, 3, Residents(3, 1, 4)),
        (4, 3, Residents(3, 1, 4)),
        (8, 2, Residents(4, 2, 4)),
    ],
)
def test_waves_lie_on_as_many_simds_as_there_are(waves: int, groups: int, found: Residents) -> None:
    assert residents_of(waves, groups, GPU_MACHINES["gfx942"]) == found


@pytest.mark.parametrize("row", LOOPS[::4], ids=lambda row: row.name)
def test_published_loops_take_what_asking_all_waves_takes(row: Published) -> None:
    gpu = GPU_MACHINES[row.chip]
    trip = simulated(row.loop, gpu, row.residents)
    assert (trip.clocks, trip.busy) == polled(row.loop, gpu, row.residents)
