"""cluster_k: tiles whose K is shared out among the workgroups of a cluster; when it is legal, and for which
tuning it serves best.

Each of S workgroups multiplies its steps of the tile; then each gets, through the shared memory of the
cluster, what all have of its S-th of the columns, adds it up and stores it.  The sums come to where the
stages were.

Law: the schedule's number and the tuning's cluster together are a cluster of the GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from imbrex.chip import GpuMachine
from imbrex.config.context import GemmContext
from imbrex.config.rules import Illegal, Reasons
from imbrex.config.tiles import TileSchedule
from imbrex.config.warpgroup.consumers import SUM_BYTES
from imbrex.config.warpgroup.correction import corrected
from imbrex.config.warpgroup.cost import Scheduled
from imbrex.config.warpgroup.instruction import columns_of
from imbrex.config.warpgroup.plan import WarpgroupPlan, WarpgroupTuning
from imbrex.config.warpgroup.space import legal_tunings
from imbrex.config.warpgroup.tunings import Column, Tunings
from imbrex.diagnostic import Diagnostic
from imbrex.numeral import counted
from imbrex.view.stage.shared_tile import ATOM_ROWS

__all__ = ["broken", "scheduled", "serves"]


def scheduled(
    context: GemmContext, machine: GpuMachine, given: WarpgroupTuning | None, schedule: TileSchedule
) -> WarpgroupTuning:
    """The tuning that is given, or the one that serves `schedule` best; a Diagnostic where none does."""
    parts = schedule.workgroups
    assert schedule.mode == "cluster_k" and parts is not None, schedule
    if given is not None:
        if reasons := broken(given.plan(context, machine), parts):
            raise Diagnostic(f"{schedule} is illegal: {'; '.join(map(str, reasons))}")
        return given
    found = legal_tunings(context, machine)
    served = None if found is None else found.taken(serves(found, parts))
    if served is None or not len(served):
        plans = [] if found is None else [found.plan(index) for index in range(len(found))]
        why = {str(reason): 0 for plan in plans for reason in broken(plan, parts)}
        listed = "; ".join(list(why)[:3]) or "no tuning of warpgroups is legal"
        raise Diagnostic(f"no tuning serves {schedule}: {listed}")
    (cycles,) = corrected([Scheduled.alike(served, schedule)])
    return served.plan(int(cycles.argmin())).tuning


def serves(tunings: Tunings, parts: int) -> Column:
    """Do so many parts of K break no rule?"""
    is_legal = tunings.column(lambda tile: next(_reasons(tile.plan, parts, OF_TILES), None) is None)
    return is_legal & (parts * tunings.cluster <= tunings.machine.most_in_cluster)


def broken(plan: WarpgroupPlan, parts: int) -> tuple[Illegal, ...]:
    """All rules that so many parts of K break."""
    return tuple(_reasons(plan, parts, (cluster, *OF_TILES)))


def _reasons(
    plan: WarpgroupPlan, parts: int, rules: Sequence[Callable[[WarpgroupPlan, int], Reasons]]
) -> Iterator[Illegal]:
    for rule in rules:
        yield from (Illegal(rule.__name__, reason) for reason in rule(plan, parts))


def consumers(plan: WarpgroupPlan, parts: int) -> Reasons:
    """A workgroup has one tile."""
    if plan.tuning.pingpong:
        yield "pingpong consumers have a tile each, and a workgroup has one; cooperative ones would do"


def cluster(plan: WarpgroupPlan, parts: int) -> Reasons:
    """Clusters are not too large."""
    count, most = parts * plan.tuning.cluster, plan.machine.most_in_cluster
    if count > most:
        of = f"{parts} parts of clusters of {plan.tuning.cluster_m} x {plan.tuning.cluster_n}"
        yield f"{of} are {count} workgroups > {most}"


def steps(plan: WarpgroupPlan, parts: int) -> Reasons:
    """Every workgroup has some step of K."""
    count = plan.k_iterations
    piece = -(-count // parts)
    if (parts - 1) * piece >= count:
        parted = f"of K in {parts} parts of {piece}"
        leave = "leaves" if count == 1 else "leave"
        yield f"{counted(count, 'step')} {parted} {leave} a workgroup without any"


def columns(plan: WarpgroupPlan, parts: int) -> Reasons:
    """Every workgroup stores whole columns of the fragments."""
    n, whole = plan.tuning.n_per_block, ATOM_ROWS * parts
    if n % whole:
        legal = [c for c in columns_of(plan.context.dtype, plan.machine) if c % whole == 0]
        near = [c for c in legal if c < n][-1:] + [c for c in legal if c > n][:1]
        instead = f"; {' or '.join(map(str, near))} would do" if near else ""
        yield f"n_per_block {n} does not divide into {parts} parts of whole {ATOM_ROWS} columns{instead}"


def ring(plan: WarpgroupPlan, parts: int) -> Reasons:
    """The sums of all parts that a workgroup stores are as large as a tile, and come to the stages."""
    t, layout = plan.tuning, plan.layout
    sums, stages_bytes = t.m_per_block * t.n_per_block * SUM_BYTES, layout.stages * layout.stage_bytes
    if sums > stages_bytes:
        yield f"sums of {sums} bytes > {stages_bytes} of {layout.stages} stages"


def lds_bytes(plan: WarpgroupPlan, parts: int) -> Reasons:
    """The barriers by which workgroups wait for each other's sums fit, too."""
    machine, needed = plan.machine, replace(plan.layout, parts=parts).bytes
    if needed > machine.lds_bytes:
        yield f"lds_bytes {needed} with the barriers of {parts} parts > {machine.lds_bytes} on {machine.name}"


OF_TILES: Final = (consumers, steps, columns, ring, lds_bytes)
"""Rules that a tile keeps to or breaks, whatever its cluster."""
