"""Consumers that take turns never wait for ever: all orders in which their warps may run, of a few turns.

A model of `turn` in device/cuda/split_tile.h and streams.h.  A warp waits for the parity of its turn,
issues its part of a product, passes the turn on, and waits for the product, which is there once all warps
have issued it.  A turn without work is only waited for and passed on.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

import imbrex

WARPS = 2
HEADERS = Path(imbrex.__file__).parent / "emit" / "device" / "cuda"


class State(NamedTuple):
    """at: of each consumer's warps, (turn, action).  phases: of each consumer's barrier, completed phases and
    arrivals of the next one.
    """

    at: tuple[tuple[tuple[int, int], ...], ...]
    phases: tuple[tuple[int, int], ...]


WAIT, PASS, FINISH = range(3)


def after(state: State, consumer: int, warp: int, work: tuple[int, ...], passers: int) -> State | None:
    """One action of a warp; None where it has to wait, or is done."""
    turn, action = state.at[consumer][warp]
    turns = max(work)
    if turn == turns:
        return None
    phases = list(state.phases)
    if action == WAIT:
        first = consumer == 0  # which need not wait for its first turn: the phase before the first is over
        parity = (turn + first) % 2
        if (state.phases[consumer][0] + 1) % 2 != parity:
            return None
        moved = (turn, PASS)
    elif action == PASS:
        if warp < passers:
            following = (consumer + 1) % len(work)
            done, arrived = phases[following]
            phases[following] = (done + 1, 0) if arrived + 1 == passers else (done, arrived + 1)
        moved = (turn, FINISH) if turn < work[consumer] else (turn + 1, WAIT)
    else:
        if any(at < (turn, PASS) for at in state.at[consumer]):
            return None  # a warp has not issued its part yet
        moved = (turn + 1, WAIT)
    warps = list(state.at[consumer])
    warps[warp] = moved
    at = list(state.at)
    at[consumer] = tuple(warps)
    return State(tuple(at), tuple(phases))


def stuck(work: tuple[int, ...], passers: int) -> State | None:
    """A state that can be reached in which nobody goes on, though not all are done."""
    start = State(((((0, WAIT),) * WARPS),) * len(work), ((0, 0),) * len(work))
    seen, waiting = {start}, [start]
    while waiting:
        state = waiting.pop()
        found = [after(state, c, w, work, passers) for c, w in product(range(len(work)), range(WARPS))]
        ways = [one for one in found if one is not None]
        if not ways and any(turn < max(work) for warps in state.at for turn, _ in warps):
            return state
        for one in ways:
            if one not in seen:
                seen.add(one)
                waiting.append(one)
    return None


@pytest.mark.parametrize("work", [(3, 3), (4, 1), (2, 2, 2), (2, 1, 0)])
def test_all_warps_pass_the_turn_on(work: tuple[int, ...]) -> None:
    assert stuck(work, WARPS) is None


@pytest.mark.parametrize("work", [(3, 3), (2, 2, 2)])
def test_control_one_warp_passes_it_for_all(work: tuple[int, ...]) -> None:
    assert stuck(work, 1) is not None


@pytest.mark.parametrize("header", ["split_tile.h", "streams.h"])
def test_headers_do_as_the_model(header: str) -> None:
    skeleton, text = (HEADERS / "pipeline.h").read_text(), (HEADERS / header).read_text()
    made = [line for line in skeleton.splitlines() if "make_barrier(at.turn(" in line]
    passed = [line for line in text.splitlines() if "arrive" in line and "at.turn(" in line]
    assert made and all("warps_of_group" in line for line in made)
    assert passed and all("arrive_as_warp(" in line for line in passed)
