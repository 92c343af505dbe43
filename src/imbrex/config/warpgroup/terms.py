"""Terms: what is known of a warpgroup tuning of a problem under a schedule, in numbers of the model of
`cost`.

Law: they have no unit, and are by the machine table's own rates, whatever a calibration says: equal tunings
of equal problems have equal terms.  Sizes are powers of two.
"""

from __future__ import annotations

from dataclasses import replace
from math import log2
from typing import NamedTuple

from imbrex.chip import SECTOR_BYTES, WARPGROUPS
from imbrex.config.tiles import TileSchedule
from imbrex.config.warpgroup.cost import Priced
from imbrex.config.warpgroup.plan import WarpgroupPlan
from imbrex.config.warpgroup.steps import Steps
from imbrex.config.warpgroup.traffic import neighbours
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
    neighbours that load the same.
    """

    rows: float
    columns: float
    stages: float
    cluster_m: float
    cluster_n: float
    is_pingpong: float
    is_swapped: float
    mode: float
    clusters: float
    parts: float
    units: float
    steps: float
    filled: float
    rounds: float
    last_round: float
    matrix: float
    shared: float
    copies: float
    given: float
    hidden: float
    together: float
    memory: float
    epilogue: float
    cycles: float
    a_along_k: float
    b_along_k: float
    wasted: float
    chain: float
    a_crossing: float
    a_inside: float
    b_crossing: float
    b_inside: float
    c_along: float
    c_inside: float
    results: float
    start: float
    fix_up: float
    row_units: float
    column_units: float
    group: float
    loads: float
    a_alike: float
    b_alike: float
    next_tile: float
    padded_k: float


def terms(priced: Priced, schedule: TileSchedule) -> Terms:
    """The terms of a tuning of a problem, by the table's rates."""
    if priced.plan.machine is not WARPGROUPS:
        priced = Priced(replace(priced.plan, machine=WARPGROUPS))
    plan, resident = priced.plan, priced.resident
    started = plan.units if not schedule.is_shared else priced.cost(schedule).clusters
    step = priced.streams.at(min(started, resident) * plan.tuning.cluster)
    full, last = divmod(plan.units, resident)
    return Terms(
        **_of_tuning(plan),
        mode=CLUSTERED.index(schedule.mode),
        clusters=log2(1 + (schedule.workgroups or 0)),
        filled=step.active / WARPGROUPS.compute_units,
        rounds=log2(1 + full),
        last_round=last / resident,
        **_of_step(step),
        **_of_cycles(priced, schedule, step),
        **_of_rows(priced, step),
    )


def _of_tuning(plan: WarpgroupPlan) -> dict[str, float]:
    tuning, context = plan.tuning, plan.context
    return {
        "rows": log2(tuning.m_per_block),
        "columns": log2(tuning.n_per_block),
        "stages": tuning.stages,
        "cluster_m": tuning.cluster_m,
        "cluster_n": tuning.cluster_n,
        "is_pingpong": tuning.pingpong,
        "is_swapped": tuning.swapped,
        "group": log2(tuning.group),
        "units": log2(plan.units),
        "row_units": log2(plan.blocks[0]),
        "column_units": log2(plan.blocks[1]),
        "steps": log2(plan.k_iterations),
        "wasted": context.wasted(*tuning.tile) / (context.m * context.n * context.k),
        "padded_k": plan.k_iterations * tuning.k_per_block / context.k,
    }


def _of_step(step: Steps) -> dict[str, float]:
    streams = step.of
    return {
        "matrix": step.matrix / step.step,
        "chain": streams.chain / step.step,
        "shared": streams.shared / step.step,
        "copies": streams.copies / step.step,
        "given": step.given / step.step,
        "hidden": streams.hidden / step.step,
        "together": streams.together / step.step,
        "next_tile": _next_tile(step) / step.tile,
    }


def _of_cycles(priced: Priced, schedule: TileSchedule, step: Steps) -> dict[str, float]:
    cost, streams = priced.cost(schedule), priced.streams
    loads = max(step.given, streams.copies, streams.hidden)
    return {
        "parts": cost.parts,
        "memory": priced.memory_cycles / cost.cycles,
        "epilogue": streams.epilogue / (step.step * max(1, cost.longest)),
        "cycles": log2(cost.cycles),
        "results": _results(priced) / cost.cycles,
        "start": priced.start(int(step.active)) / cost.cycles,
        "fix_up": cost.fix_up / cost.cycles,
        "loads": cost.longest * loads / cost.cycles,
    }


def _of_rows(priced: Priced, step: Steps) -> dict[str, float]:
    plan, c = priced.plan, priced.plan.oriented
    a, b = priced.streams.rows
    a_alike, b_alike = neighbours(plan, step.neighbours)
    is_along = c.c.vector[1] >= c.c.vector[0]
    pitch_bytes = (c.n if is_along else c.m) * c.dtype.output.bytes
    return {
        "a_along_k": plan.a_tile.major == "k",
        "b_along_k": plan.b_tile.major == "k",
        "a_crossing": a.crossing,
        "a_inside": a.inside,
        "b_crossing": b.crossing,
        "b_inside": b.inside,
        "c_along": is_along,
        "c_inside": pitch_bytes % SECTOR_BYTES != 0,
        "a_alike": log2(a_alike),
        "b_alike": log2(b_alike),
    }


def _results(priced: Priced) -> float:
    """Cycles of memory for C."""
    c = priced.plan.context
    return c.g * c.m * c.n * c.dtype.output.bytes / priced.rates.memory_bytes


def _next_tile(step: Steps) -> float:
    """Cycles of a tile that follows another.  A cooperative one's first loads, of as many steps as there are
    stages, go on while the other is on its way to memory.
    """
    streams, plan = step.of, step.of.plan
    if plan.tuning.pingpong:
        return step.next_tile
    ahead = min(plan.tuning.stages, plan.k_iterations) * step.step
    return max(plan.k_iterations * step.matrix + streams.epilogue, step.tile - min(streams.epilogue, ahead))
