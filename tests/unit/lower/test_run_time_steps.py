"""Steps of K that are told when a kernel runs: their parts are those of the fixed plan."""

from __future__ import annotations

import pytest

from imbrex.index.atom import Param
from imbrex.index.expr import lin, var
from imbrex.lower.warpgroup.run_time_steps import RunTimeSteps
from imbrex.view.work.segment import SegmentWalk
from imbrex.view.work.streamk import Mode, Plan, Tiles

EACH, DEPTH, MOST = 49, 64, 40
STEPS = RunTimeSteps(Param("count", 1, MOST), EACH, DEPTH)


def steps_of(count: int) -> int:
    return -(-count * EACH // DEPTH)


@pytest.mark.parametrize(
    ("mode", "units", "workgroups"),
    [("split_k", 3, 132), ("split_k", 3, 40), ("split_k", 1, 7), ("cluster_k", 3, 12), ("split_k", 5, 10)],
)
def test_parts_are_those_of_the_fixed_plan_and_others_have_a_step_of_zeros(
    mode: Mode, units: int, workgroups: int
) -> None:
    most = Plan(Tiles(units, 1, steps_of(MOST)), workgroups, mode, is_open=True)
    walk, slot = SegmentWalk(most, 0), var("slot", workgroups)
    first, end = STEPS.part(walk.piece(slot), walk.pieces)
    output = walk.index("output", slot)
    for count in range(1, MOST + 1):
        fixed = Plan(Tiles(units, 1, steps_of(count)), workgroups, mode)
        want = {(s.output, s.first, s.end) for w in range(workgroups) for s in fixed.segments(w)}
        found: set[tuple[int, ...]] = set()
        for number in range(units * walk.pieces):
            env = {"slot": number, "count": count}
            segment = tuple(int(x.eval(env)) for x in (output, first, end))
            if segment[1] < steps_of(count):
                found.add(segment)
            else:
                assert segment[2] == segment[1] + 1, segment
        assert found == want, count


def test_one_step_at_least() -> None:
    assert [STEPS.steps.eval({"count": count}) for count in (1, 2, MOST)] == [1, 2, 31]
    assert STEPS.part(lin(0), 1) == (lin(0), STEPS.steps)
