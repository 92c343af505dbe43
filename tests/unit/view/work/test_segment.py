"""Plans in closed form: the index expressions say what the plan's numbers say, for every workgroup."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from imbrex.index.expr import lin, var
from imbrex.view.work.segment import Quantity, SegmentWalk
from imbrex.view.work.streamk import MODES, Plan, Segment, Tiles

counts = st.integers(1, 7)
plans = st.builds(
    Plan, st.builds(Tiles, counts, counts, st.integers(1, 12)), st.integers(1, 30), st.sampled_from(MODES)
)


def value(walk: SegmentWalk, name: Quantity, first: int, second: int) -> int:
    """Evaluated as a kernel would: from two numbers that it has."""
    found = int(walk.index(name, var("a", 1 << 20), var("b", 1 << 20)).eval({"a": first, "b": second}))
    assert found < walk.size(name), f"{name} is {found}, its bound {walk.size(name)}"
    return found


def walked(plan: Plan, hardware: int) -> list[Segment]:
    """What a workgroup does by the expressions."""
    found: list[Segment] = []
    for number in range(len(plan.sections)):
        walk = SegmentWalk(plan, number)
        place = int(walk.index("slot", var("a", plan.workgroups), lin(0)).eval({"a": hardware}))
        for segment in range(value(walk, "segments", place, 0)):
            output = value(walk, "output", place, segment)
            ends = value(walk, "first", place, output), value(walk, "end", place, output)
            assert value(walk, "count", place, output) == ends[1] - ends[0] > 0
            found.append(Segment(place, output, *ends))
    return found


@settings(max_examples=150, deadline=None)
@given(plans)
def test_segments_are_the_plans(plan: Plan) -> None:
    for hardware in range(plan.workgroups):
        logical = plan.workgroups - 1 - hardware
        assert walked(plan, hardware) == list(plan.segments(logical))


@settings(max_examples=150, deadline=None)
@given(plans)
def test_an_owner_looks_for_the_partial_sums_that_are_sent(plan: Plan) -> None:
    walk = SegmentWalk(plan, next(i for i, s in enumerate(plan.sections) if s.start == 0))
    for workgroup in range(plan.workgroups):
        for s in plan.segments(workgroup):
            if s.output * walk.section.k_span >= walk.section.tiles:
                continue
            assert value(walk, "sends", workgroup, s.output) == s.sends
            assert value(walk, "owns", workgroup, s.output) == 1 - s.sends
            start, stop = value(walk, "next", workgroup, s.output), value(walk, "last", workgroup, s.output)
            parts = [] if s.sends else [p.workgroup for p in plan.shared.get(s.output, ())]
            assert list(range(start, stop)) == parts


@settings(max_examples=60, deadline=None)
@given(plans)
def test_bounds_of_a_walk_are_tight(plan: Plan) -> None:
    """One more than what some workgroup meets; all segments are whole where no output tile is parted."""
    for number, section in enumerate(plan.sections):
        walk = SegmentWalk(plan, number)
        met = [value(walk, "segments", slot, 0) for slot in range(plan.workgroups)]
        assert walk.most_segments == max(met) and walk.size("segments") == max(met) + 1
        inside = [
            s for slot in range(plan.workgroups) for s in plan.segments(slot)
            if section.start <= s.output * section.k_span + s.first < section.start + section.tiles
        ]  # fmt: skip
        if walk.is_whole:
            assert all((s.first, s.end) == (0, plan.tiles.k) for s in inside)
