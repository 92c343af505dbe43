"""Where the clocks of products go on an AMD GPU by the model: useful matrix clocks, and what is lost beside.

    useful     matrix clocks of the multiply-adds that are asked for, all compute units at work
    overhang   those of what tiles have beyond the product
    loop       clocks of loops in which the matrix unit waits
    start      prologues of workgroups
    results    sums and results on their way to memory, and back where they are added
    idle       compute units that have no tile, or fewer than others; and launches behind the first

Law: the parts sum to the clocks by which configurations are compared; bytes at the rate of memory, and the
first launch, are not in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from imbrex.chip import GpuMachine
from imbrex.config.configuration import TunedProduct
from imbrex.config.context import GemmContext
from imbrex.config.schedule_choice import shared_cycles
from imbrex.config.xdlops.at_once import clocks_together, is_at_once
from imbrex.config.xdlops.cost import bounds_of, product_of, rounds_of, step_trip
from imbrex.config.xdlops.loop import modelled
from imbrex.config.xdlops.plan import XdlopsPlan, XdlopsTuning
from imbrex.config.xdlops.reduce import pieces_of, reduced
from imbrex.config.xdlops.residency import resident_groups
from imbrex.timing.kernel import device_of

__all__ = ["Lost", "lost_of"]


@dataclass(frozen=True)
class Lost:
    """Clocks by part.  in_loop: the matrix unit's share of the loop.  held: what else takes most of it,
    loads or LDS.
    """

    useful: float
    overhang: float
    loop: float
    start: float
    results: float
    idle: float
    in_loop: float
    held: str

    @property
    def parts(self) -> Mapping[str, float]:
        """What is lost, by name."""
        of_loop = f"loop ({self.held})"
        parts = {"overhang": self.overhang, of_loop: self.loop, "start": self.start}
        return {**parts, "results": self.results, "idle": self.idle}

    @property
    def clocks(self) -> float:
        """The whole."""
        return self.useful + sum(self.parts.values())


def lost_of(tuned: Sequence[TunedProduct], contexts: Sequence[GemmContext], machine: GpuMachine) -> Lost:
    """The parts of all products, by waves that multiply matrices; of the largest what holds up the loop."""
    pairs = list(zip(tuned, contexts, strict=True))
    each = [shared_cycles(one.schedule, one.tuning, of, machine) for one, of in pairs]
    clocks = clocks_together(tuned, contexts, each, machine)
    groups = None
    if is_at_once(tuned):
        plans = (one.tuning.plan(of, machine) for one, of in pairs if isinstance(one.tuning, XdlopsTuning))
        groups = min(map(resident_groups, plans))
    found = [_alone(one, of, machine, alone, groups) for (one, of), alone in zip(pairs, each, strict=True)]
    useful, overhang = sum(part.useful for part in found), sum(part.overhang for part in found)
    loop, start = sum(part.loop for part in found), sum(part.start for part in found)
    results = sum(part.results for part in found)
    in_loop = sum(part.in_loop * part.useful for part in found) / useful
    idle = clocks - useful - overhang - loop - start - results
    largest = max(found, key=lambda part: part.useful)
    return Lost(useful, overhang, loop, start, results, idle, in_loop, largest.held)


def _alone(
    one: TunedProduct, context: GemmContext, machine: GpuMachine, clocks: float, groups: int | None
) -> Lost:
    """The parts of a product of so many clocks, as if all compute units had as much of each to do; idle: the
    rest.  groups: that a compute unit holds, where not its own alone say so.
    """
    assert isinstance(one.tuning, XdlopsTuning), one
    plan, device = one.tuning.plan(context, machine), device_of(modelled(machine))
    workgroups, steps = _dealt(one, plan)
    rounds = list(rounds_of(plan, workgroups))
    groups = groups or max(of for _, of in rounds)
    trip, units = step_trip(plan, groups), machine.compute_units
    padded = context.multiplies / plan.useful / _multiplies_a_clock(plan, machine)
    loop = plan.grid_size * plan.k_iterations * trip.clocks / groups / units
    start = workgroups * device.prologue / groups / units
    results = plan.grid_size * product_of(plan).stored_bytes / device.stored_bytes / units
    idle = clocks - loop - start - results
    if one.schedule.is_shared:  # sums are passed on, too
        idle = sum(count * steps * step_trip(plan, of).clocks for count, of in rounds) - loop
        results = clocks - loop - start - idle
    bounds = {part: bound for part, bound in bounds_of(plan, groups).items() if part != "matrix"}
    held, useful = max(bounds, key=lambda part: bounds[part]), padded * plan.useful
    return Lost(useful, padded - useful, loop - padded, start, results, idle, trip.busy, held)


def _dealt(one: TunedProduct, plan: XdlopsPlan) -> tuple[int, float]:
    """Workgroups, and steps of K of the longest."""
    schedule = one.schedule
    if schedule.workgroups is None:
        return plan.grid_size, plan.k_iterations
    if pieces_of(plan, schedule) > 1:
        cut = reduced(plan, schedule.workgroups)
        return cut.workgroups, cut.steps
    return schedule.workgroups, -(-plan.grid_size * plan.k_iterations // schedule.workgroups)


def _multiplies_a_clock(plan: XdlopsPlan, machine: GpuMachine) -> float:
    """Multiply-adds of all matrix units, by the plan's instruction."""
    assert plan.wave_tiles is not None, plan.tuning
    used = plan.wave_tiles.instruction
    each = used.m * used.n * used.k * used.blocks / used.cycles[machine.chip]
    return each * machine.simds * machine.compute_units
