"""Runs of neighbours along k in an operand of a CPU's product, which need no copy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd
from typing import Any, Final

import numpy as np

from imbrex.config.cpu.plan import LEAST_RUN
from imbrex.index.atom import Param, Select
from imbrex.index.expr import Lin, lin
from imbrex.index.rule import COUNT
from imbrex.lower.cpu.operands import ShortRuns
from imbrex.lower.cpu.packed import AxisOffsets
from imbrex.lower.stmt import For
from imbrex.view.mma.vector import CpuUnit

__all__ = ["common_run", "extents", "neighbours", "short_runs"]

MOST_WORDS: Final = 24
"""Words of one: it is a turn of the innermost loop."""
SHARE_IN_PLACE: Final = 0.5
"""The least part of panels that need no copy; those that do cost what packed ones cost."""
BLOCKS_SEEN: Final = (0, 1, 3, 7)
"""Workgroups, since the first ones may have a row of pixels at an edge, and no other."""
COPY_CYCLES: Final = 20
"""Cycles of copying a vector of a row's elements; a word of zeros takes one for each vector of columns."""
PART_CYCLES: Final = 3 * 16
"""Cycles of a vector of B, which goes to such words element by element."""


def common_run(lanes: AxisOffsets, steps: For | None) -> int:
    """The length of equal stretches of K, in every step, that lie together and pass the same guards."""
    return _stretches(lanes, lanes.guards, steps)


def neighbours(lanes: AxisOffsets, steps: For | None) -> int:
    """The length of equal stretches of K, in every step, that lie together, whether they exist or not."""
    return _stretches(lanes, (), steps)


def _stretches(lanes: AxisOffsets, guards: Sequence[Lin], steps: For | None) -> int:
    env: dict[str, Any] = {name: 0 for i in (lanes.offset, *guards) for name in i.variables}
    run = _each(lanes.count)
    for step, count in enumerate(extents(lanes, steps)):
        if steps is not None:
            env[steps.var] = step
        run = gcd(run, _equal_stretches(lanes, guards, env, count))
    return run


def _each(count: Lin) -> int:
    """What an extent of a run-time size is a multiple of, but for whole steps; 0 of a fixed one."""
    run = 0
    for atom, factor in count.terms:
        match atom:
            case Param(name) if name == COUNT:
                run = gcd(run, factor)
            case Select(_, then, other):
                run = gcd(run, _each(then), _each(other))
            case _:
                pass
    return run


def extents(axis: AxisOffsets, steps: For | None) -> list[int]:
    """The extent along K in each step; of a run-time size the greatest."""
    if axis.count.mentions(COUNT):
        whole = axis.window.rows if axis.axis == "rows" else axis.window.lanes
        return [whole] * (1 if steps is None else steps.count)
    if steps is None:
        assert axis.count.is_constant, "K is one step, so its extent is known"
        return [axis.count.const]
    return [int(axis.count.eval({steps.var: step})) for step in range(steps.count)]


def short_runs(
    rows: AxisOffsets, lanes: AxisOffsets, unit: CpuUnit, height: int, columns: int
) -> ShortRuns | None:
    """An A of such runs in panels of `height` rows, where copying it would take longer than the words of
    zeros do that runs of no whole words make, and B on its way there, and most panels are read in place.
    """
    if unit.tiles is not None or unit.rows > 1 or rows.offset.mentions(COUNT) or lanes.count.mentions(COUNT):
        return None
    (k,) = extents(lanes, None)
    run = _equal_stretches(lanes, (), dict.fromkeys(lanes.offset.variables, 0), k)
    found = ShortRuns(lanes.window, run, k // run)
    if run < LEAST_RUN or found.words(unit) > MOST_WORDS:
        return None
    zeros = found.padded_k(unit) // unit.packed - -(-k // unit.packed)
    saved = rows.window.rows * (COPY_CYCLES * k - zeros * columns)
    parted = columns * k * PART_CYCLES if found.padded_k(unit) > k else 0
    if saved < parted or rows.window.rows < height:
        return None
    share = max(_share_in_place(rows, lanes, height, workgroup) for workgroup in BLOCKS_SEEN)
    return found if share >= SHARE_IN_PLACE else None


def _share_in_place(rows: AxisOffsets, lanes: AxisOffsets, height: int, workgroup: int) -> float:
    """Which part of a workgroup's panels have rows that are evenly apart and exist whole."""
    named = (i for axis in (rows, lanes) for i in (axis.offset, *axis.guards))
    env: dict[str, Any] = {name: workgroup for i in named for name in i.variables}
    along = env | {lanes.var: np.arange(lanes.window.lanes)}
    across = env | {rows.var: np.arange(rows.window.rows // height * height)}
    is_whole = np.ones(rows.window.rows // height * height, bool)
    for row, lane, size in zip(rows.guards, lanes.guards, rows.window.sizes, strict=True):
        least, most = np.min(lane.eval(along)), np.max(lane.eval(along))
        at = row.eval(across)
        is_whole &= (at + least >= 0) & (at + most < lin(size).bounds[0])
    offsets: np.ndarray[Any, Any] = np.broadcast_to(rows.offset.eval(across), is_whole.shape)
    apart = offsets.reshape(-1, height)
    is_even = (np.diff(apart, 2, axis=1) == 0).all(axis=1)
    return np.count_nonzero(is_even & is_whole.reshape(-1, height).all(axis=1)) / len(is_even)


def _equal_stretches(lanes: AxisOffsets, guards: Iterable[Lin], env: Mapping[str, Any], count: int) -> int:
    """The length of equal stretches of `count` lanes that lie together and pass each of the guards alike."""
    along = {**env, lanes.var: np.arange(count)}
    breaks = _moves(lanes.offset, along) != 1
    for guard in guards:
        breaks = breaks | (_moves(guard, along) != 0)
    return gcd(count, *(int(i) + 1 for i in np.flatnonzero(breaks)))


def _moves(index: Lin, env: dict[str, Any]) -> np.ndarray[Any, Any]:
    """How far the index moves from one value of an array of values to the next."""
    count = max(np.size(v) for v in env.values())
    values: np.ndarray[Any, Any] = np.broadcast_to(index.eval(env), (count,))
    return values[1:] - values[:-1]
