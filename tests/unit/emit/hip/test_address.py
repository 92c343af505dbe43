"""Addresses in two parts add up to the element's, and only one part differs within a wave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from imbrex.dtype import F16, F32
from imbrex.emit.hip.address import REACH, arrays
from imbrex.emit.hip.waves import LANE, WAVE, by_wave, varying
from imbrex.index.expr import Lin, lin, var
from imbrex.lower.common_subexpressions import named_once
from imbrex.lower.stmt import Alloc, Buffer, For, Kernel, Let, Move, Ref, walk

REGISTERS = Buffer("r", F32, 8, "private")
ITEM, GROUP, STEP = var("workitem", 256), var("workgroup", 7), var("step", 9)
INDICES = {
    "rows of a wave": GROUP * 4096 + ITEM // 8 * 128 + ITEM % 8 * 8 + STEP * 64,
    "a window": (GROUP * 256 + ITEM) // 14 * 56 + (GROUP * 256 + ITEM) % 14 * 4 + STEP // 3 * 56 - 60,
    "backwards": GROUP * 512 + STEP * 64 - ITEM * 2 + 511,
    "of the wave alone": ITEM // 64 * 32 + STEP,
}


def kernel(index: Lin, elements: int = 1 << 20, block: int = 256) -> Kernel:
    array = Buffer("a", F16, elements, "global")
    load = Move(Ref(REGISTERS, lin(0)), Ref(array, index), 4)
    return Kernel("k", (array,), frozenset(), 7, block, (Alloc(REGISTERS), For("step", 9, (load,))))


def prepared(index: Lin, elements: int = 1 << 20) -> Kernel:
    return named_once(by_wave(kernel(index, elements)))


@pytest.mark.parametrize("name", INDICES)
def test_parts_add_up(name: str) -> None:
    made = prepared(INDICES[name])
    found = arrays(made)
    (move,) = [s for s in walk(made.body) if isinstance(s, Move)]
    address, before = found.address(move.source), found.before["a"]
    assert address.lane.bounds[0] >= 0 and address.wave.bounds[0] >= 0
    assert not address.wave.variables & found.lanes
    assert address.lane.variables <= found.lanes
    group, item, step = np.ix_(range(7), range(256), range(9))
    env = {"workgroup": group, "workitem": item, "step": step}
    for let in walk(made.body):
        if isinstance(let, Let):
            env[let.name] = let.index.eval(env)
    want = 2 * INDICES[name].eval({"workgroup": group, "workitem": item, "step": step})
    got = address.lane.eval(env) + address.wave.eval(env) - before
    assert np.array_equal(got, np.broadcast_to(want, got.shape))
    assert not np.array_equal(got + 2, np.broadcast_to(want, got.shape))


def test_the_wave_part_is_the_same_in_all_lanes() -> None:
    """Nothing of a row that a whole wave works on is left to the lanes."""
    made = prepared(INDICES["of the wave alone"])
    (move,) = [s for s in walk(made.body) if isinstance(s, Move)]
    assert arrays(made).address(move.source).lane == lin(0)


def test_a_buffer_begins_early_enough_for_all_its_addresses() -> None:
    array = Buffer("a", F16, 1 << 20, "global")
    moves = [Move(Ref(REGISTERS, lin(0)), Ref(array, ITEM + start)) for start in (-5, 7, -30)]
    made = named_once(Kernel("k", (array,), frozenset(), 7, 256, (Alloc(REGISTERS), *moves)))
    assert arrays(made).before == {"a": 60}


@pytest.mark.parametrize(("elements", "fits"), [(REACH // 2, True), (REACH // 2 + 1, False)])
def test_an_array_beyond_reach_is_no_buffer(elements: int, fits: bool) -> None:
    made = prepared(ITEM, elements)
    assert arrays(made).has_buffer(made.arguments[0]) is fits
    assert not arrays(made).is_far(made.arguments[0])


def test_a_wave_reaches_far_parts_by_buffers_of_their_own() -> None:
    """An offset of 32 bits does not hold the wave's part; it holds the lanes'."""
    made = named_once(kernel(ITEM + STEP * (REACH // 8)))
    found = arrays(made)
    assert not found.has_buffer(made.arguments[0]) and not found.is_far(made.arguments[0])
    (move,) = [s for s in walk(made.body) if isinstance(s, Move)]
    assert found.address(move.source).wave == STEP * (REACH // 4)


def test_lanes_that_are_far_apart_need_pointers() -> None:
    made = named_once(kernel(ITEM * (REACH // 128)))
    assert arrays(made).is_far(made.arguments[0])


def test_a_work_item_is_taken_apart() -> None:
    made = by_wave(kernel(ITEM * 4 + STEP))
    wave, lane, *_ = made.body
    assert wave == Let(WAVE, ITEM // 64) and lane == Let(LANE, ITEM % 64)
    (move,) = [s for s in walk(made.body) if isinstance(s, Move)]
    assert move.source.offset == var(WAVE, 4) * 256 + var(LANE, 64) * 4 + STEP
    assert varying(made) >= {LANE, "workitem"} and WAVE not in varying(made)


@pytest.mark.parametrize("block", [64, 96])
def test_one_wave_or_a_part_stays_whole(block: int) -> None:
    one = replace(kernel(var("workitem", block) * 4), block_size=block)
    assert by_wave(one) is one
