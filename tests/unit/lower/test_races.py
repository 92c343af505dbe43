"""Accesses to LDS that meet: what `free_of_races` finds, and what it lets pass."""

from __future__ import annotations

import pytest

from imbrex.dtype import F16, F32
from imbrex.index.expr import Lin, lin, var, xor
from imbrex.lower.races import free_of_races
from imbrex.lower.stmt import Alloc, Barrier, Buffer, For, Kernel, Move, Ref, Stmt, View

SOURCE = Buffer("source", F32, 4096, "global")
LDS = Buffer("lds", F32, 256, "lds")
REGISTERS = Buffer("r", F32, 64, "private")
ITEM = var("workitem", 64)


def kernel(*body: Stmt) -> Kernel:
    return Kernel("k", (SOURCE,), frozenset(), 1, 64, (Alloc(LDS), Alloc(REGISTERS), *body))


def write(place: Lin, width: int = 1, direct: bool = False) -> Move:
    source = Ref(SOURCE, ITEM * 4) if direct else Ref(REGISTERS, lin(0))
    return Move(Ref(LDS, place), source, width, direct=direct)


LOW, HIGH = (Buffer(name, F32, 128, "lds") for name in ("low", "high"))


def direct(half: int, turns: int) -> Move:
    """A work item's part of a half of LDS, one of `turns`."""
    buffer = HIGH if half else LOW
    return Move(Ref(buffer, ITEM + var("i", turns) * 64), Ref(SOURCE, ITEM), direct=True)


READ = Move(Ref(REGISTERS, lin(0)), Ref(LDS, ITEM * 4), 4)


@pytest.mark.parametrize("direct", [False, True])
def test_a_write_needs_a_barrier_before_it_is_read(direct: bool) -> None:
    free_of_races(kernel(write(ITEM * 4, 4, direct), Barrier(), READ))
    with pytest.raises(AssertionError, match="no barrier between a write of lds"):
        free_of_races(kernel(write(ITEM * 4, 4, direct), READ))


@pytest.mark.parametrize("direct", [False, True])
def test_a_read_needs_a_barrier_before_the_next_write(direct: bool) -> None:
    free_of_races(kernel(READ, Barrier(), write(ITEM * 4, 4, direct)))
    with pytest.raises(AssertionError, match="no barrier between a read of lds"):
        free_of_races(kernel(READ, write(ITEM * 4, 4, direct)))


def test_what_is_in_flight_is_not_there_yet() -> None:
    """Two halves of LDS, loaded one after the other: a barrier that leaves the second under way."""
    first, second = (For("i", 2, (direct(half, 2),)) for half in (0, 128))
    low = Move(Ref(REGISTERS, lin(0)), Ref(LOW, ITEM % 64))
    high = Move(Ref(REGISTERS, lin(0)), Ref(HIGH, ITEM % 64))
    halves = (View(LOW, LDS, 0), View(HIGH, LDS, 512))
    free_of_races(kernel(*halves, first, second, Barrier(2), low, Barrier(), high))
    for body in ((Barrier(2), high), (Barrier(3), low), (Barrier(2), low, Barrier(2), high)):
        with pytest.raises(AssertionError, match="no barrier between a write of"):
            free_of_races(kernel(*halves, first, second, *body))


@pytest.mark.parametrize(
    ("place", "width"), [(ITEM * 4 - ITEM % 2 * 2, 4), (ITEM // 2, 1), (lin(7), 1), (ITEM * 3, 4)]
)
def test_two_work_items_do_not_write_one_place(place: Lin, width: int) -> None:
    with pytest.raises(AssertionError, match="two work items write byte"):
        free_of_races(kernel(write(place, width)))


@pytest.mark.parametrize(
    ("place", "width"),
    [(ITEM * 4, 4), (255 - ITEM, 1), (xor(ITEM, ITEM // 8 % 8) * 4, 4), (ITEM % 8 * 8 + ITEM // 8, 1)],
)
def test_places_of_their_own(place: Lin, width: int) -> None:
    free_of_races(kernel(write(place, width)))


def test_two_statements_write_one_place() -> None:
    free_of_races(kernel(write(ITEM), write(ITEM + 64)))
    free_of_races(kernel(write(ITEM), write(ITEM)))
    free_of_races(kernel(write(ITEM), Barrier(), write(63 - ITEM)))
    with pytest.raises(AssertionError, match="two work items write byte"):
        free_of_races(kernel(write(ITEM), write(63 - ITEM)))


def test_writes_in_loops_are_told_apart_by_their_variables() -> None:
    i, j = var("i", 4), var("j", 2)
    own = For("i", 4, (For("j", 2, (write(i * 64 + ITEM * 2 % 64 + j),)),))
    with pytest.raises(AssertionError, match="two work items"):
        free_of_races(kernel(own))
    free_of_races(kernel(For("i", 4, (write(i * 64 + ITEM),))))


def test_every_round_counts_where_the_place_moves() -> None:
    """The fourth round of the loop writes where the statement before its barrier wrote."""
    step = var("step", 4)
    moving = write((ITEM + step // 3) % 64)
    free_of_races(kernel(For("step", 3, (Barrier(), write(ITEM), moving))))
    with pytest.raises(AssertionError, match="two work items"):
        free_of_races(kernel(For("step", 4, (Barrier(), write(ITEM), moving))))


def test_views_of_one_part_are_one_place() -> None:
    halves = Buffer("halves", F16, 128, "lds")
    view = View(halves, LDS, 256)
    store = Move(Ref(halves, ITEM * 2), Ref(REGISTERS, lin(0)), 2)
    free_of_races(kernel(view, store, write(ITEM + 128)))
    with pytest.raises(AssertionError, match="two work items"):
        free_of_races(kernel(view, store, write(63 - ITEM + 64)))


def test_allocations_do_not_overlap() -> None:
    other = Buffer("other", F32, 256, "lds")
    free_of_races(kernel(Alloc(other), write(ITEM), Move(Ref(REGISTERS, lin(0)), Ref(other, ITEM))))
