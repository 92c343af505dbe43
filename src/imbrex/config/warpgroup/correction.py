"""What times of a GPU say of warpgroup tunings beyond the model of `cost`.

    time = cycles of the model * exp(sum over trees of the leaf that the tuning falls into)

The model's form is at its end where several of its streams are nearly the slowest: what one set of problems
gains by other rates another one loses.  So regression trees, boosted one after the other, are fitted to the
logarithm of time over cycles, less what all tunings of a problem have in common (benchmarks/correction.py;
`correction.json` says which times).  They know a tuning by `Terms`, numbers without a unit that the model has
anyway.

Laws: a correction ranks tunings of one problem and says nothing of the problem as a whole.  It is of the
model by the machine table's own rates, so that a calibration adds to it.  What is over NEARLY behind by the
model stays behind, and windows, types of other sizes and times out of CORRECTED_S stay as they are: there
trees gained nothing.

Source: Friedman, "Greedy Function Approximation: A Gradient Boosting Machine", 2001.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from math import exp, log2
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast

from imbrex.chip import WARPGROUPS
from imbrex.config.context import GemmContext
from imbrex.config.tiles import TileSchedule
from imbrex.config.warpgroup.cost import Priced
from imbrex.config.warpgroup.plan import WarpgroupPlan, WarpgroupTuning
from imbrex.config.warpgroup.rates import rates_of
from imbrex.view.work.streamk import WORDS

__all__ = ["Terms", "corrected", "is_corrected", "log_correction", "terms"]

NEARLY: Final = 1.25
"""Cycles over the fewest up to which candidates of a problem are corrected."""
CORRECTED_BITS: Final = 16
CORRECTED_S: Final = (4e-6, 100e-6)
"""Modelled time of what is corrected: the launch is most of what is shorter, and longer times are few."""
FILE: Final = Path(__file__).with_name("correction.json")

Node: TypeAlias = "float | tuple[int, float, Node, Node]"
"""A leaf, or (term, most, node where the term is at most that, node where it is more)."""


class Terms(NamedTuple):
    """What trees know of a tuning under a schedule.

    Sizes are powers of two: of the tile, of all units and of steps of K of one.  filled: workgroups that run
    at a time, of the machine's multiprocessors; rounds: full ones, and what share the last one has.  Of a
    step of K: the share that each stream has of its cycles.  Of all cycles: memory's, and a tile's epilogue.
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


def terms(plan: WarpgroupPlan, schedule: TileSchedule) -> Terms:
    """The terms of a tuning of a problem, by the table's rates."""
    priced = Priced(replace(plan, machine=WARPGROUPS) if plan.machine is not WARPGROUPS else plan)
    tuning, cost, resident = plan.tuning, priced.cost(schedule), priced.resident
    full, last = divmod(plan.units, resident)
    running = min(cost.clusters if schedule.is_shared else plan.units, resident) * tuning.cluster
    streams = priced.streams
    step = streams.at(running)
    return Terms(
        rows=log2(tuning.m_per_block),
        columns=log2(tuning.n_per_block),
        stages=tuning.stages,
        cluster_m=tuning.cluster_m,
        cluster_n=tuning.cluster_n,
        is_pingpong=tuning.pingpong,
        is_swapped=tuning.swapped,
        mode=WORDS.index(schedule.mode),
        clusters=log2(1 + (schedule.workgroups or 0)),
        parts=cost.parts,
        units=log2(plan.units),
        steps=log2(plan.k_iterations),
        filled=running / WARPGROUPS.compute_units,
        rounds=log2(1 + full),
        last_round=last / resident,
        matrix=step.matrix / step.step,
        shared=streams.shared / step.step,
        copies=streams.copies / step.step,
        given=step.given / step.step,
        hidden=streams.hidden / step.step,
        together=streams.together / step.step,
        memory=priced.memory_cycles / cost.cycles,
        epilogue=streams.epilogue / (step.step * max(1, cost.longest)),
        cycles=log2(cost.cycles),
        a_along_k=plan.a_tile.major == "k",
        b_along_k=plan.b_tile.major == "k",
    )


def is_corrected(plan: WarpgroupPlan) -> bool:
    """Is it of a product that times tell enough of: of 16-bit floats, and no window's?"""
    return plan.context.dtype.bits == CORRECTED_BITS and not Priced(plan).streams.is_walked


def log_correction(plan: WarpgroupPlan, schedule: TileSchedule) -> float:
    """The logarithm of what the cycles of the model are to be multiplied by."""
    if not is_corrected(plan):
        return 0.0
    return _log_correction(plan.tuning, plan.context, schedule)


@lru_cache(maxsize=4096)
def _log_correction(tuning: WarpgroupTuning, context: GemmContext, schedule: TileSchedule) -> float:
    """The same of a product of no windows, of which equal contexts are alike in all."""
    known = terms(tuning.plan(context), schedule)
    least, most = CORRECTED_S
    if not least <= 2**known.cycles / rates_of(WARPGROUPS).clock_hz <= most:
        return 0.0
    return sum(_leaf(tree, known) for tree in _trees())


def corrected(pairs: Sequence[tuple[Priced, TileSchedule]]) -> list[float]:
    """Cycles of candidates of one problem, in their order."""
    cycles = [priced.cost(schedule).cycles for priced, schedule in pairs]
    most = NEARLY * min(cycles, default=0.0)
    return [
        each if each > most else each * exp(log_correction(priced.plan, schedule))
        for each, (priced, schedule) in zip(cycles, pairs, strict=True)
    ]


def _leaf(node: Node, known: Terms) -> float:
    while isinstance(node, list | tuple):
        term, most, low, high = node
        node = low if known[term] <= most else high
    return node


@cache
def _trees() -> Sequence[Node]:
    read = json.loads(FILE.read_text(encoding="utf-8"))
    assert read["terms"] == list(Terms._fields), "correction.json is of other terms: make it anew"
    return cast("Sequence[Node]", read["trees"])
