"""Terms: what is known of a warpgroup tuning of a problem under a schedule, in numbers of the model of
`cost`.

Law: they have no unit, and are by the machine table's own rates, whatever a calibration says: equal tunings
of equal problems have equal terms.  Sizes are powers of two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from imbrex.chip import SECTOR_BYTES, WARPGROUPS
from imbrex.config.warpgroup.cost import Scheduled
from imbrex.config.warpgroup.steps import Steps
from imbrex.config.warpgroup.tile import Tile
from imbrex.config.warpgroup.traffic import neighbours
from imbrex.config.warpgroup.tunings import Column, Tunings
from imbrex.view.work.streamk import CLUSTERED

__all__ = ["Terms", "terms"]


class Terms(NamedTuple):
    """rows to units: the tuning and the schedule; clusters and parts of K that share a tile.  steps: of K, of
    a unit.  filled: workgroups that run at a time, of the machine's multiprocessors; rounds: full ones, and
    what share the last one has.

    matrix to together, and chain: of a step of K, the share that each stream has of its cycles.  memory: of
    all cycles; epilogue: of a tile's.  cycles: all of them.

    wasted: multiplications of what hangs over the matrix, of those that are wanted; padded_k: K in whole
    steps over K.  a_crossing to b_inside: shares of rows in memory that go over a line's end, and that begin
    inside a sector; c_inside: do C's?  c_along: do its columns lie together?  results, start, fix_up, loads:
    of all cycles, what C takes of memory, and the slowest way of loads of the steps.  next_tile: a tile that
    follows another, whose loads go on while the other is stored, over one that is alone.  a_alike, b_alike:
    neighbours that load the same.  a_walked, b_walked: seen through windows.  step_bytes: of a step of K;
    a_row, b_row: of a row in shared memory, which is what the copy engine brings at a time.
    """

    rows: Column
    columns: Column
    stages: Column
    cluster_m: Column
    cluster_n: Column
    is_pingpong: Column
    is_swapped: Column
    mode: Column
    clusters: Column
    parts: Column
    units: Column
    steps: Column
    filled: Column
    rounds: Column
    last_round: Column
    matrix: Column
    shared: Column
    copies: Column
    given: Column
    hidden: Column
    together: Column
    memory: Column
    epilogue: Column
    cycles: Column
    a_along_k: Column
    b_along_k: Column
    wasted: Column
    chain: Column
    a_crossing: Column
    a_inside: Column
    b_crossing: Column
    b_inside: Column
    c_along: Column
    c_inside: Column
    results: Column
    start: Column
    fix_up: Column
    row_units: Column
    column_units: Column
    group: Column
    loads: Column
    a_alike: Column
    b_alike: Column
    next_tile: Column
    padded_k: Column
    a_walked: Column
    b_walked: Column
    step_bytes: Column
    a_row: Column
    b_row: Column


def terms(scheduled: Scheduled) -> Terms:
    """The terms of tunings of a problem, by the table's rates."""
    if scheduled.tunings.machine is not WARPGROUPS:
        tunings = scheduled.tunings.on(WARPGROUPS)
        scheduled = Scheduled(tunings, scheduled.mode, scheduled.workgroups)
    of, is_shared = scheduled.tunings, scheduled.mode != "data_parallel"
    started = scheduled.costs.clusters if is_shared else of.units
    resident = of.resident if is_shared else of.dealt
    step = scheduled.streams.at(np.minimum(started, resident) * of.cluster)
    full, last = np.divmod(of.units, resident)
    return Terms(
        **_of_tunings(of),
        mode=np.full(len(of), CLUSTERED.index(scheduled.mode)),
        clusters=np.log2(1 + scheduled.workgroups),
        filled=np.asarray(step.active) / WARPGROUPS.compute_units,
        rounds=np.log2(1 + full),
        last_round=last / resident,
        **_of_step(step),
        **_of_cycles(scheduled, step),
        **_of_rows(step),
    )


def _of_tunings(of: Tunings) -> dict[str, Column]:
    numbers = of.numbers
    return {
        "rows": np.log2(numbers.rows),
        "columns": np.log2(numbers.columns),
        "stages": numbers.stages,
        "cluster_m": of.cluster_m,
        "cluster_n": of.cluster_n,
        "is_pingpong": numbers.is_pingpong,
        "is_swapped": numbers.is_swapped,
        "group": np.log2(of.group),
        "units": np.log2(of.units),
        "row_units": np.log2(of.row_blocks),
        "column_units": np.log2(of.column_blocks),
        "steps": np.log2(numbers.k_iterations),
        "wasted": of.column(_wasted),
        "padded_k": of.column(_padded_k),
    }


def _wasted(tile: Tile) -> float:
    context = tile.plan.context
    return context.wasted(*tile.plan.tuning.tile) / (context.m * context.n * context.k)


def _padded_k(tile: Tile) -> float:
    return tile.k_iterations * tile.plan.tuning.k_per_block / tile.plan.context.k


def _of_step(step: Steps) -> dict[str, Column]:
    streams = step.of
    return {
        "matrix": step.matrix / step.step,
        "chain": streams.numbers.chain / step.step,
        "shared": streams.numbers.shared / step.step,
        "copies": streams.copies / step.step,
        "given": step.given / step.step,
        "hidden": streams.numbers.hidden / step.step,
        "together": streams.together / step.step,
        "next_tile": _next_tile(step) / step.tile,
    }


def _of_cycles(scheduled: Scheduled, step: Steps) -> dict[str, Column]:
    cost, numbers = scheduled.costs, scheduled.tunings.numbers
    loads = np.maximum(np.maximum(step.given, step.of.copies), numbers.hidden)
    return {
        "parts": cost.parts,
        "memory": scheduled.memory_cycles / cost.cycles,
        "epilogue": numbers.epilogue / (step.step * np.maximum(1, cost.longest)),
        "cycles": np.log2(cost.cycles),
        "results": _results(scheduled) / cost.cycles,
        "start": scheduled.start(np.asarray(step.active)) / cost.cycles,
        "fix_up": cost.fix_up / cost.cycles,
        "loads": cost.longest * loads / cost.cycles,
    }


def _of_rows(step: Steps) -> dict[str, Column]:
    of = step.of.tunings
    a_alike, b_alike = neighbours(of, step.neighbours)
    return {
        "a_along_k": of.column(lambda tile: tile.plan.a_tile.major == "k"),
        "b_along_k": of.column(lambda tile: tile.plan.b_tile.major == "k"),
        "a_crossing": of.column(lambda tile: tile.a.rows.crossing),
        "a_inside": of.column(lambda tile: tile.a.rows.inside),
        "b_crossing": of.column(lambda tile: tile.b.rows.crossing),
        "b_inside": of.column(lambda tile: tile.b.rows.inside),
        "c_along": of.column(_c_along),
        "c_inside": of.column(_c_inside),
        "a_walked": of.column(lambda tile: tile.a.rows.is_walked),
        "b_walked": of.column(lambda tile: tile.b.rows.is_walked),
        "step_bytes": np.log2(of.column(_step_bytes)),
        "a_row": np.log2(of.column(lambda tile: tile.plan.a_tile.row_bytes)),
        "b_row": np.log2(of.column(lambda tile: tile.plan.b_tile.row_bytes)),
        "a_alike": np.log2(a_alike),
        "b_alike": np.log2(b_alike),
    }


def _step_bytes(tile: Tile) -> float:
    return tile.plan.tuning.k_per_block * tile.plan.context.dtype.bytes


def _c_along(tile: Tile) -> bool:
    c = tile.plan.oriented.c
    return c.vector[1] >= c.vector[0]


def _c_inside(tile: Tile) -> bool:
    c = tile.plan.oriented
    pitch_bytes = (c.n if _c_along(tile) else c.m) * c.dtype.output.bytes
    return pitch_bytes % SECTOR_BYTES != 0


def _results(scheduled: Scheduled) -> float:
    """Cycles of memory for C."""
    c = scheduled.tunings.context
    return c.g * c.m * c.n * c.dtype.output.bytes / scheduled.rates.memory_bytes


def _next_tile(step: Steps) -> Column:
    """Cycles of a tile that follows another.  A cooperative one's first loads, of as many steps as there are
    stages, go on while the other is on its way to memory.
    """
    numbers = step.of.numbers
    ahead = np.minimum(numbers.stages, numbers.k_iterations) * step.step
    multiplied = numbers.k_iterations * step.matrix + numbers.epilogue
    after = np.maximum(multiplied, step.tile - np.minimum(numbers.epilogue, ahead))
    return np.where(numbers.is_pingpong, step.next_tile, after)
