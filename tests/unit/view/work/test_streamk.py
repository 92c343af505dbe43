"""Plans of Stream-K and its relatives: coverage, owners, senders and progress, for any numbers of tiles."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imbrex.diagnostic import Diagnostic
from imbrex.index.expr import var
from imbrex.view.work import streamk
from imbrex.view.work.segment import SegmentWalk
from imbrex.view.work.streamk import ADDED, MODES, Mode, Plan, Segment, Tiles, even_pieces, goes_abreast

SEED = Tiles(10, 12, 512)
counts = st.integers(1, 9)
plans = st.builds(
    Plan, st.builds(Tiles, counts, counts, st.integers(1, 20)), st.integers(1, 40), st.sampled_from(MODES)
)


def computed(plan: Plan) -> Counter[tuple[int, int]]:
    """How often each (output, k) is computed."""
    return Counter(
        (s.output, k) for w in range(plan.workgroups) for s in plan.segments(w) for k in range(s.first, s.end)
    )


def test_the_seeds_numbers() -> None:
    whole, two = Plan(SEED, 32, "stream_k"), Plan(SEED, 32, "two_tile")
    assert SEED.total == 61440 and whole.sections[0].share == 1920
    assert [s.tiles for s in two.sections] == [28672, 32768]
    assert [s.tiles for s in Plan(SEED, 32, "two_tile_dp_first").sections] == [32768, 28672]
    assert all(512 <= plan.sections[0].share <= 1024 for plan in (two,)), "one to two output tiles each"


@settings(max_examples=400)
@given(plans)
def test_every_tile_once_and_each_output_stored_once(plan: Plan) -> None:
    t = plan.tiles
    found = computed(plan)
    assert len(found) == t.total and set(found.values()) == {1}
    owners = Counter(s.output for w in range(plan.workgroups) for s in plan.segments(w) if not s.sends)
    assert owners == Counter(range(t.outputs))


@settings(max_examples=400)
@given(plans)
def test_sends_and_receives_match_and_nobody_waits_in_a_circle(plan: Plan) -> None:
    """A partial tile goes to its owner from a workgroup of a higher number, whose first segment it is."""
    owner = {s.output: s for w in range(plan.workgroups) for s in plan.segments(w) if not s.sends}
    for output, parts in plan.shared.items():
        own = owner[output]
        ends = [own.end, *(s.end for s in parts)]
        assert [s.first for s in parts] == ends[:-1] and ends[-1] == plan.tiles.k
        assert all(s.workgroup > own.workgroup for s in parts)
    senders = [s.workgroup for parts in plan.shared.values() for s in parts]
    assert len(senders) == len(set(senders)), "a workgroup has one slot in the workspace"


reducing = st.builds(
    Plan,
    st.builds(Tiles, counts, counts, st.integers(1, 40)),
    st.integers(1, 60),
    st.sampled_from(ADDED),
)


@settings(max_examples=300)
@given(reducing)
def test_pieces_of_tiles_that_nobody_owns_are_neighbours(plan: Plan) -> None:
    """Those of a tile have slots side by side, none is empty, and so many workgroups are cut alike again."""
    t = plan.tiles
    least = replace(plan, workgroups=plan.pieces * t.outputs)
    assert least.pieces == plan.pieces and least.workgroups <= max(plan.workgroups, t.outputs)
    found = computed(least)
    assert len(found) == t.total and set(found.values()) == {1} and least.shared == {}
    for workgroup in range(least.workgroups):
        (segment,) = least.segments(workgroup)
        assert segment.output == workgroup // plan.pieces
    arrivals = 4 * t.outputs if plan.mode == "scatter_k" else 0
    assert least.workspace_bytes(8) == (8 * least.workgroups + arrivals if plan.pieces > 1 else 0)
    walk = SegmentWalk(least, 0)
    pieces = walk.index("piece", var("slot", least.workgroups))
    assert [pieces.eval({"slot": w}) for w in range(walk.pieces)] == list(range(walk.size("piece")))


clustered = st.builds(
    lambda tiles, parts: Plan(tiles, parts * tiles.outputs, "cluster_k"),
    st.builds(Tiles, counts, counts, st.integers(1, 40)),
    st.sampled_from((2, 4, 8)),
)


@settings(max_examples=300)
@given(clustered)
def test_a_clusters_parts_are_one_tile_in_the_order_of_k(plan: Plan) -> None:
    """Workgroups parts * t .. parts * t + parts - 1 have tile t; their hardware numbers are the same."""
    assert set(computed(plan).values()) == {1} and len(computed(plan)) == plan.tiles.total
    assert not plan.shared and not plan.workspace_bytes(1), "nothing goes through memory"
    for w in range(plan.workgroups):
        found = list(plan.segments(w))
        assert len(found) <= 1 and all(s.output == w // plan.parts for s in found)
        assert plan.started.evaluate([w])[0] == (w,)


def test_a_cluster_has_as_many_workgroups_as_every_other() -> None:
    with pytest.raises(Diagnostic, match="cluster_k has as many workgroups for each of 6 output tiles; 8 is"):
        Plan(Tiles(2, 3, 10), 8, "cluster_k")


def test_control_a_share_moved_by_one_is_seen() -> None:
    class Moved(Plan):
        def segments(self, workgroup: int):  # type: ignore[no-untyped-def]
            for s in super().segments(workgroup):
                yield Segment(s.workgroup, s.output, s.first, s.end - (workgroup == 1))

    found = computed(Moved(Tiles(2, 2, 5), 3, "stream_k"))
    assert len(found) != 20 or set(found.values()) != {1}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("resident", [1, 2, 5])
def test_progress_with_few_resident_workgroups(mode: Mode, resident: int) -> None:
    """Hardware starts workgroups in order and keeps so many; a waiting one keeps its place."""
    for tiles, workgroups in ((Tiles(3, 2, 7), 11), (Tiles(1, 1, 40), 9), (Tiles(4, 5, 3), 6)):
        plan = Plan(tiles, workgroups, mode)
        (logical,), _ = streamk.started(workgroups).evaluate([np.arange(workgroups)])
        assert finished(plan, [int(x) for x in np.broadcast_to(logical, workgroups)], resident)
    (first,), _ = streamk.started(4).evaluate([0])
    assert first == 3


def test_control_the_other_order_stands_still() -> None:
    plan = Plan(Tiles(1, 1, 8), 4, "stream_k")
    assert not finished(plan, [0, 1, 2, 3], 1)
    assert finished(plan, [3, 2, 1, 0], 1)


def finished(plan: Plan, starts: list[int], resident: int) -> bool:
    """Does everybody finish?"""
    todo = {w: list(plan.segments(w)) for w in starts}
    waiting, running, sent = list(starts), [], set[int]()
    while True:
        while waiting and len(running) < resident:
            running.append(waiting.pop(0))
        moved = False
        for w in list(running):
            while todo[w]:
                s = todo[w][0]
                if not s.sends and any(p.workgroup not in sent for p in plan.shared.get(s.output, ())):
                    break
                if s.sends:
                    sent.add(w)
                todo[w].pop(0)
                moved = True
            if not todo[w]:
                running.remove(w)
                moved = True
        if not running and not waiting:
            return True
        if not moved:
            return False


@pytest.mark.parametrize("mode", MODES)
def test_no_owner_receives_more_than_the_bound(mode: Mode) -> None:
    received = list[tuple[int, int]]()
    for outputs, k, workgroups in product((1, 3, 8, 13), (1, 5, 12, 40), (1, 4, 7, 29)):
        plan = Plan(Tiles(outputs, 1, k), workgroups, mode)
        received.append((max(map(len, plan.shared.values()), default=0), plan.most_received))
    assert all(found <= most for found, most in received)
    assert all(found > 0 or most == 0 for found, most in received)
    assert mode == "data_parallel" or any(found == most > 1 for found, most in received)


@pytest.mark.parametrize("mode", MODES)
def test_owners_that_receive_alike_receive_so_many(mode: Mode) -> None:
    """In split_k, where pieces do not divide K, too; nobody says it of other modes."""
    for outputs, k, workgroups in product((1, 3, 8, 13), (1, 5, 12, 40), (1, 4, 7, 29, 100)):
        plan = Plan(Tiles(outputs, 1, k), workgroups, mode)
        received = {len(plan.shared.get(output, ())) for output in range(outputs)}
        assert received == {plan.others} if mode == "split_k" else plan.others == 0


def test_efficiency_and_workspace() -> None:
    tail = Tiles(3, 3, 100)  # the last wave of 8 workgroups has one output tile
    assert Plan(tail, 8, "data_parallel").efficiency == 900 / (8 * 200)
    assert Plan(tail, 8, "stream_k").efficiency == 900 / (8 * 113)
    assert Plan(tail, 8, "data_parallel").workspace_bytes(1024) == 0
    assert Plan(tail, 8, "stream_k").workspace_bytes(1024) == 8 * 1028
    assert Plan(tail, 9, "stream_k").workspace_bytes(1024) == 0, "whole tiles need none"


def test_bad_input() -> None:
    with pytest.raises(Diagnostic, match="unknown schedule of tiles 'streamk'"):
        Plan(SEED, 32, "streamk")  # type: ignore[arg-type]
    with pytest.raises(Diagnostic, match="at least 1 workgroup, got 0"):
        Plan(SEED, 0, "stream_k")


@pytest.mark.parametrize(("outputs", "pieces"), [(3, 4), (1, 6), (5, 2), (8, 8)])
def test_workgroups_at_the_same_piece_start_one_after_the_other(outputs: int, pieces: int) -> None:
    plan = Plan(Tiles(outputs, 1, 40), outputs * pieces, "split_k", is_abreast=True)
    order = [int(plan.started.evaluate([hardware])[0][0]) for hardware in range(plan.workgroups)]
    assert sorted(order) == list(range(plan.workgroups))
    pieces_in_time = [logical % pieces for logical in order]
    assert pieces_in_time == sorted(pieces_in_time, reverse=True)
    for segments in plan.shared.values():
        owner = segments[0].workgroup - 1
        assert all(order.index(s.workgroup) < order.index(owner) for s in segments)
    assert all(finished(plan, order, resident) for resident in (1, 2, 5))


def test_what_goes_abreast_is_small_alone_and_even() -> None:
    units, k, small, alone = 4, 40, 128 * 128, 1
    assert goes_abreast("split_k", units, k, 4 * 8, small, alone)
    assert not goes_abreast("stream_k", units, k, 4 * 8, small, alone)
    assert not goes_abreast("split_k", units, k, 4 * 8 + 1, small, alone)
    assert not goes_abreast("split_k", units, k, 4 * 8, 2 * small, alone)
    assert not goes_abreast("split_k", units, k, 4 * 8, small, 2)
    assert not goes_abreast("split_k", 1, k, 8, small, alone)
    for few in (4, 2):  # each a piece, and fewer than one
        assert not goes_abreast("split_k", units, k, few, small, alone)
    assert even_pieces(40, 16) == 14 and not goes_abreast("split_k", units, k, 4 * 16, small, alone)
