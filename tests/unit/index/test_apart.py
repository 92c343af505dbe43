"""Places that never meet: what is proved is true at every point, what phases of windows need is."""

from __future__ import annotations

import random

import numpy as np
import pytest

from imbrex.index.apart import GuardedOffset, are_apart
from imbrex.index.expr import lin, var
from imbrex.index.rule import Guard

ROW, COLUMN = var("row", 28 * 14), var("column", 128)


def phase(y: int, x: int, width: int = 28, guards: tuple[Guard, ...] = ()) -> GuardedOffset:
    """Pixels of an image (14 * 2, width) of 128 channels, every other one."""
    offset = ROW // 14 * (2 * width * 128) + ROW % 14 * 256 + COLUMN + (y * width + x) * 128
    return GuardedOffset(offset, guards)


def test_phases_of_a_window_never_meet() -> None:
    phases = [phase(y, x) for y in range(2) for x in range(2)]
    for one in phases:
        assert [are_apart(one, other) for other in phases] == [one is not other for other in phases]


def test_a_line_that_is_no_whole_number_of_steps() -> None:
    """Of 29 columns every other one: no stride divides a line."""
    assert are_apart(phase(0, 0, 29), phase(1, 0, 29)) and are_apart(phase(0, 0, 29), phase(1, 1, 29))
    assert are_apart(phase(0, 0, 29), phase(0, 1, 29))
    assert not are_apart(phase(0, 0, 29), phase(0, 2, 29)), "the next pixel of the same phase"


def test_guards_count() -> None:
    """A tile is wider than the channels that there are."""
    wide = var("column", 192)
    one, other = (GuardedOffset(ROW * 256 + wide + start, ()) for start in (0, 128))
    assert not are_apart(one, other)
    guard = Guard(wide, 128)
    assert are_apart(GuardedOffset(one.offset, (guard,)), GuardedOffset(other.offset, (guard,)))
    late = Guard(wide - 64, 192)
    assert are_apart(
        GuardedOffset(ROW * 256 + wide, (late,)), GuardedOffset(ROW * 256 + var("column", 64), ())
    ), "from 64 on"


def test_constants() -> None:
    assert are_apart(GuardedOffset(lin(3)), GuardedOffset(lin(4))) and not are_apart(
        GuardedOffset(lin(3)), GuardedOffset(lin(3))
    )


Sizes = dict[str, int]


def drawn(rng: random.Random, name: str) -> tuple[GuardedOffset, Sizes]:
    """A sum of a few parts of variables, and a guard on one of these."""
    sizes = {f"{name}{i}": rng.randint(1, 6) for i in range(rng.randint(1, 3))}
    variables = [var(*one) for one in sizes.items()]
    offset = lin(rng.randint(-8, 8))
    for x in variables:
        part = rng.choice((x, x // 2, x % 3))
        offset = offset + part * rng.choice((1, 2, 3, 4, 6, 8, 12, -4))
    guards = (Guard(variables[0] + rng.randint(-2, 2), rng.randint(1, 5)),) if rng.random() < 0.5 else ()
    return GuardedOffset(offset, guards), sizes


def elements(place: GuardedOffset, sizes: Sizes) -> set[int]:
    """At every point."""
    grid = np.indices(list(sizes.values())).reshape(len(sizes), -1)
    values, shape = dict(zip(sizes, grid, strict=True)), grid.shape[1]
    kept = np.ones(shape, bool)
    for guard in place.guards:
        index = guard.index.eval(values)
        kept &= (index >= 0) & (index < guard.size)
    return set(np.broadcast_to(place.offset.eval(values), shape)[kept].tolist())


@pytest.mark.parametrize("seed", range(6))
def test_what_is_proved_is_true(seed: int) -> None:
    rng, proved, met = random.Random(seed), 0, 0
    for _ in range(400):
        one, other = drawn(rng, "a"), drawn(rng, "b")
        meets, is_apart = bool(elements(*one) & elements(*other)), are_apart(one[0], other[0])
        assert not (is_apart and meets), f"seed {seed}: {one} and {other} meet"
        proved, met = proved + is_apart, met + meets
    assert proved > 20 and met > 100, "both happen"
