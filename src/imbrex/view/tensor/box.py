"""boxed: runs of elements as boxes of a tiled tensor map.

A run is a box where its neighbours are neighbours in memory, and where its rows, counted up, count up the
coordinates of some axes as digits: all places along the first of them, then one further along the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from imbrex.index.expr import Lin, lin, var
from imbrex.view.tensor.form import Box, Piece, Refused
from imbrex.view.tensor.space import Axis, Space
from imbrex.view.tensor.tiling import INNER, ROW, Run, shift

__all__ = ["along_inner", "boxed", "split"]


@dataclass(frozen=True, order=True)
class Digit:
    """An axis moves `step` on with every `every`-th row, through `count` places, then starts anew."""

    every: int
    count: int
    step: int


ALONE = Digit(0, 1, 1)
"""Digit of an axis along which a box has one place."""


def boxed(space: Space, runs: Sequence[Run], swizzle: int, inner: str) -> Box | Refused:
    """The box that has each run as a piece.  inner: the upper dim of a row's neighbours."""
    axes = tuple(reversed(space.axes))
    if axes[0].is_open:
        return Refused(f"how many neighbours there are along {inner} is told when the kernel runs")
    pieces: list[Piece] = []
    shapes: set[tuple[Digit, ...]] = set()
    for run in runs:
        shifts = [shift(axis.coordinate, run) for axis in axes]
        if shifts[0][1] != var(INNER, run.inner):
            return Refused(f"{run.inner} neighbours along {inner} are not always neighbours in memory")
        digits = [_digit(delta, run.rows) for _, delta in shifts[1:]]
        rows = sorted(d for d in digits if d and d.every)
        if None in digits or not _counts(rows, run.rows):
            return Refused(f"{run.rows} rows of the tile are not a box of the array")
        shapes.add(tuple(d for d in digits if d))
        coords = tuple(first for first, _ in shifts)
        if run.corner is not None:
            coords = tuple(axis.coordinate.subs(dict(run.corner)) for axis in axes)
        pieces.append(Piece(run.byte_offset, coords, part_bytes=run.part_bytes))
    if len(shapes) > 1:
        return Refused("the pieces of a tile are boxes of several shapes")
    return _ordered(axes, shapes.pop(), pieces, space.base, swizzle, runs[0].inner)


def split(space: Space, runs: Sequence[Run]) -> Space | None:
    """The same with two axes for each along which rows take every so many-th place: of these and of those in
    between.  None where there is none, or its places are not whole rounds.
    """
    axes = list[Axis]()
    for axis in space.axes[:-1]:
        digits = [_digit(shift(axis.coordinate, run)[1], run.rows) for run in runs]
        steps = {d.step if d else 1 for d in digits}
        step = steps.pop() if len(steps) == 1 else 1
        if step > 1 and axis.size % step == 0 and not axis.is_open:
            axes.append(Axis(axis.coordinate // step, axis.size // step, axis.stride * step))
            axes.append(Axis(axis.coordinate % step, step, axis.stride))
        else:
            axes.append(axis)
    is_new = len(axes) + 1 > len(space.axes)
    return Space((*axes, space.axes[-1]), space.base) if is_new else None


def along_inner(axis: Axis, inner: str) -> str | None:
    """Why the innermost axis does not run along the upper dim `inner`, or None."""
    if axis.stride != 1:
        return f"the nearest elements of the operand are {axis.stride} apart in memory"
    return None if axis.coordinate.mentions(inner) else f"what lies together in memory is not along {inner}"


def _digit(delta: Lin, rows: int) -> Digit | None:
    """How an axis counts along with the rows; None where it does something else."""
    if delta == lin(0):
        return ALONE
    if delta.variables != frozenset((ROW,)):
        return None
    values = np.broadcast_to(delta.eval({ROW: np.arange(rows)}), rows)
    every = int(np.flatnonzero(values)[0])
    step = int(values[every])
    count = int(values.max()) // step + 1 if step > 0 else 1
    counted = np.arange(rows) // every % count * step
    return Digit(every, count, step) if np.array_equal(values, counted) else None


def _counts(digits: Sequence[Digit], rows: int) -> bool:
    """Do the digits, fastest first, count through all rows?"""
    reached = [prod(d.count for d in digits[:i]) for i in range(len(digits) + 1)]
    return [*(d.every for d in digits), rows] == reached


def _ordered(
    axes: Sequence[Axis],
    digits: Sequence[Digit],
    pieces: Sequence[Piece],
    base: int,
    swizzle: int,
    inner: int,
) -> Box:
    """The box whose axes are in the order in which it is laid out: of neighbours, of rows, all others."""
    steps = [Digit(1, inner, 1), *digits]
    order = [0, *sorted(range(1, len(axes)), key=lambda i: (steps[i].every == 0, steps[i].every))]
    return Box(
        sizes=tuple(axes[i].size for i in order),
        strides=tuple(axes[i].stride for i in order[1:]),
        base=base,
        box=tuple(steps[i].count * steps[i].step for i in order),
        swizzle=swizzle,
        pieces=tuple(replace(p, coords=tuple(p.coords[i] for i in order)) for p in pieces),
        steps=tuple(steps[i].step for i in order),
        open=next((position for position, i in enumerate(order) if axes[i].is_open), None),
        each=max(1, *(axis.each for axis in axes)),
    )
