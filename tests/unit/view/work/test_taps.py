"""Loads of taps that are read ahead: what a tap reads has come, and nothing is loaded over what is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product

import pytest

from imbrex.view.work.taps import PIECES, Load, begun, first_loads, under_way

STEPS = 7
CASES = [(taps, depth) for taps, depth in product((2, 3, 5), (2, 3, 4)) if depth <= taps + 1]


def one(load: Load) -> int:
    return 1


def replayed(taps: int, depth: int, left: Callable[[int], int]) -> None:
    """Taps one after the other; a load is there when a wait forces it, and no earlier.  An AssertionError
    where one reads what is not there, or loads over what is.
    """
    buffers: dict[tuple[str, int], Load] = {}
    queue = list(first_loads(taps, depth))
    pieces = Counter[int]()
    for tap in range(-1, STEPS * taps - 1):
        if tap >= 0:
            queue += begun(tap, taps, depth)
        while len(queue) > left(tap) + (0 if tap < 0 else len(list(begun(tap, taps, depth)))):
            load = queue.pop(0)
            if load.name == "a":
                buffers["a", load.number % depth] = load
            else:
                pieces[load.number] += 1
        step = (tap + 1) // taps
        assert buffers["a", (tap + 1) % depth] == Load("a", tap + 1), tap
        assert pieces[step] == PIECES, tap
        for load in begun(tap + 1, taps, depth):
            old = load.number - depth if load.name == "a" else (load.number - 2) * taps + taps - 1
            assert old <= tap + 1, f"{load} goes over what tap {old} reads"


@pytest.mark.parametrize(("taps", "depth"), CASES)
def test_what_a_tap_reads_has_come(taps: int, depth: int) -> None:
    replayed(taps, depth, lambda tap: under_way(tap, taps, depth, one))


@pytest.mark.parametrize(("taps", "depth"), CASES)
def test_with_one_more_under_way_it_has_not(taps: int, depth: int) -> None:
    for wrong in range(-1, 2 * taps):
        with pytest.raises((AssertionError, KeyError)):
            replayed(taps, depth, lambda tap, wrong=wrong: under_way(tap, taps, depth, one) + (tap == wrong))


@pytest.mark.parametrize(("taps", "depth"), CASES)
def test_all_tiles_are_loaded_once(taps: int, depth: int) -> None:
    loads = [*first_loads(taps, depth), *(x for tap in range(STEPS * taps) for x in begun(tap, taps, depth))]
    assert set(Counter(loads).values()) == {1}
    assert {load.number for load in loads if load.name == "a"} == set(range(STEPS * taps + depth))
    wanted = {(step, piece) for step in range(STEPS) for piece in range(PIECES)}
    assert wanted <= {(load.number, load.piece) for load in loads if load.name == "b"}


@pytest.mark.parametrize(("taps", "depth"), CASES)
def test_a_loop_waits_alike_in_every_turn(taps: int, depth: int) -> None:
    turn = 2 * depth
    for tap in range(turn * taps):
        assert under_way(tap, taps, depth, one) == under_way(tap + turn * taps, taps, depth, one)
