"""Predicted clocks of an XDLOPS tuning: its loop on a simulated compute unit, and rounds of workgroups.

A step of K is what `imbrex.timing` says of the plan's loop where a compute unit holds so many workgroups; a
round has a prologue and stores its tile of C.  In the last round a compute unit may hold fewer.  A simulation
takes milliseconds: `best_first` leaves it to tunings that their bounds do not put far behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from typing import Final, TypeAlias

from imbrex.chip import Device
from imbrex.config.spent import Spent, spent_of_all
from imbrex.config.xdlops.loop import loop_of, modelled
from imbrex.config.xdlops.plan import XdlopsPlan
from imbrex.config.xdlops.residency import resident_groups
from imbrex.timing.compute_unit import Trip
from imbrex.timing.kernel import Prediction, Product, device_of, predicted, residents_of, step_of
from imbrex.timing.least import least_clocks, soonest_clocks
from imbrex.timing.operation import Operation, counted, matrix_clocks

__all__ = [
    "Cost",
    "TileCost",
    "bound_cycles",
    "bounds_of",
    "closer_cycles",
    "closer_tile_cost",
    "filled",
    "least_dealt_cycles",
    "least_tile_cost",
    "mostly_cycles",
    "prediction_of",
    "rounds_of",
    "spent",
    "step_trip",
    "tile_cost",
    "wave_cycles",
]

ODD_STEP: Final = 0.5
"""Work of indices where a step crosses stretches of memory, in proportion to the step."""
TRAFFIC: Final = 0.04
"""What loads take of the clock where they come at the rate of L2, in proportion: power that goes into them is
not there for products.  A guess, which decides between tiles that are equally busy.
"""


@dataclass(frozen=True)
class TileCost:
    """Clocks of a step of K of all workgroups that a compute unit holds, and of their round besides steps."""

    step: float
    start: float


Cost: TypeAlias = Callable[[XdlopsPlan, int], TileCost]
"""What a tile of a plan costs where a compute unit holds so many workgroups, or no more than that."""


@lru_cache(maxsize=1024)
def product_of(plan: XdlopsPlan) -> Product:
    """The plan's tiles as a chip sees them."""
    t, waves = plan.tuning, -(-plan.block_size // plan.machine.wave_size)
    stored = t.m_per_block * t.n_per_block * plan.context.stored_bytes
    return Product(loop_of(plan), waves, resident_groups(plan), plan.grid_size, plan.k_iterations, stored)


def prediction_of(plan: XdlopsPlan) -> Prediction:
    """The whole kernel, one workgroup a tile."""
    return predicted(product_of(plan), modelled(plan.machine))


def step_trip(plan: XdlopsPlan, groups: int, *, whole_lines: bool = False) -> Trip:
    """A step of K where a compute unit holds so many workgroups.  whole_lines: as if loads used all of each
    line of memory, as assembly seems to.
    """
    product = product_of(plan)
    if whole_lines:
        product = replace(product, loop=tuple(replace(op, factor=1.0) for op in product.loop))
    return step_of(product, groups, modelled(plan.machine))


@lru_cache(maxsize=4096)
def tile_cost(plan: XdlopsPlan, groups: int) -> TileCost:
    """Infinite where no instruction fits."""
    if plan.wave_tiles is None:
        return TileCost(inf, inf)
    return _tile_cost(plan, groups, step_of(product_of(plan), groups, modelled(plan.machine)).clocks)


def least_tile_cost(plan: XdlopsPlan, groups: int) -> TileCost:
    """No more than `tile_cost`: a step takes what the busiest pipe takes, or what a wave waits for."""
    if plan.wave_tiles is None:
        return TileCost(inf, inf)
    busy, waits = _least(plan)
    return _tile_cost(plan, groups, max(groups * busy, waits))


def closer_tile_cost(plan: XdlopsPlan, groups: int) -> TileCost:
    """No more than `tile_cost`, and no less than `least_tile_cost`, at a price between theirs."""
    if plan.wave_tiles is None:
        return TileCost(inf, inf)
    busy, waits = _least(plan)
    return _tile_cost(plan, groups, max(groups * busy, waits, _soonest(plan)))


@lru_cache(maxsize=1024)
def _least(plan: XdlopsPlan) -> tuple[float, float]:
    """Clocks that a step of a workgroup keeps a part of a compute unit busy, and that a wave takes for it."""
    rates = modelled(plan.machine).rates
    assert rates is not None, plan.machine.name
    return max(bounds_of(plan, 1).values()), least_clocks(product_of(plan).loop, rates)


@lru_cache(maxsize=1024)
def _soonest(plan: XdlopsPlan) -> float:
    """Clocks of a step of one wave."""
    product, gpu = product_of(plan), modelled(plan.machine)
    return soonest_clocks(product.loop, gpu, residents_of(product.waves, 1, gpu).simds)


def _tile_cost(plan: XdlopsPlan, groups: int, step: float) -> TileCost:
    """step: clocks of the loop alone."""
    device, product = _device(plan), product_of(plan)
    step += TRAFFIC * groups * _loaded_bytes(plan) / device.l2_bytes
    if _crosses(plan):
        step *= 1 + ODD_STEP
    return TileCost(step, device.prologue + groups * product.stored_bytes / device.stored_bytes)


def wave_cycles(plan: XdlopsPlan) -> float:
    """Clocks of the whole product, one workgroup a tile; infinite where no instruction fits."""
    return _in_rounds(plan, tile_cost)


def bound_cycles(plan: XdlopsPlan) -> float:
    """No more than `wave_cycles`, without a simulation."""
    return _in_rounds(plan, least_tile_cost)


def closer_cycles(plan: XdlopsPlan) -> float:
    """No more than `wave_cycles`, and no less than `bound_cycles`."""
    return _in_rounds(plan, closer_tile_cost)


def mostly_cycles(plan: XdlopsPlan) -> float:
    """No more than `wave_cycles`, and no less than `closer_cycles`: only where a compute unit holds as many
    workgroups as it can are they simulated.
    """
    most = resident_groups(plan)
    return _in_rounds(
        plan, lambda of, groups: (tile_cost if groups == most else closer_tile_cost)(of, groups)
    )


def _in_rounds(plan: XdlopsPlan, cost: Cost) -> float:
    if plan.wave_tiles is None:
        return inf
    costs = ((count, cost(plan, groups)) for count, groups in _rounds(plan))
    return sum(count * (plan.k_iterations * of.step + of.start) for count, of in costs)


def filled(plan: XdlopsPlan) -> float:
    """Clocks that the product would take were its last round as full as the others, over those that it takes;
    where a compute unit holds fewer workgroups, these hide less of each other's waits.
    """
    most = resident_groups(plan)
    full, rounds = tile_cost(plan, most), plan.grid_size / (plan.machine.compute_units * most)
    return min(1.0, rounds * (plan.k_iterations * full.step + full.start) / wave_cycles(plan))


def bounds_of(plan: XdlopsPlan, groups: int) -> dict[str, float]:
    """Clocks that a step of so many workgroups keeps each part of a compute unit busy, at least."""
    product, device, gpu = product_of(plan), _device(plan), modelled(plan.machine)
    rates, many = gpu.rates, groups * product.waves
    assert rates is not None, gpu.name
    moved = sum(count * _lds_bytes(op) for op, count in _operations(plan)) * gpu.wave_size * many
    return {
        "matrix": matrix_clocks(_operations(plan)) * many / gpu.simds,
        "LDS": moved / rates.lds_bytes,
        "loads": groups * _loaded_bytes(plan) / min(rates.l1_bytes, device.l2_bytes),
    }


def spent(plan: XdlopsPlan) -> Spent:
    """The parts of the rounds: what keeps a step's pipes busy, and what each round has besides steps."""
    device, stored = _device(plan), product_of(plan).stored_bytes
    return spent_of_all(
        Spent(bounds_of(plan, groups), {}).times(count * plan.k_iterations)
        .plus({"rounds": count * device.prologue, "results": count * groups * stored / device.stored_bytes})
        for count, groups in _rounds(plan)
    )  # fmt: skip


def least_dealt_cycles(plan: XdlopsPlan, of: Cost = least_tile_cost) -> float:
    """Clocks that no way to deal the steps of a product out to workgroups undercuts: each compute unit has an
    even share of all steps and results.  of: a bound of a tile.
    """
    if plan.wave_tiles is None:
        return inf
    t, groups, device = plan.tuning, resident_groups(plan), _device(plan)
    bytes_each = min(
        product_of(plan).stored_bytes, t.m_per_block * t.n_per_block * plan.context.dtype.accumulator.bytes
    )
    each = plan.k_iterations * of(plan, groups).step / groups + bytes_each / device.stored_bytes
    return device.prologue + plan.grid_size * each / plan.machine.compute_units


def _rounds(plan: XdlopsPlan) -> Iterator[tuple[int, int]]:
    return rounds_of(plan, plan.grid_size)


def rounds_of(plan: XdlopsPlan, workgroups: int) -> Iterator[tuple[int, int]]:
    """How many rounds a compute unit holds how many of so many workgroups."""
    units, most = plan.machine.compute_units, resident_groups(plan)
    full, rest = divmod(workgroups, units * most)
    if full:
        yield full, most
    if rest:
        yield 1, -(-rest // units)


@lru_cache(maxsize=1024)
def _operations(plan: XdlopsPlan) -> Sequence[tuple[Operation, int]]:
    """The loop's operations, each with how many times it comes."""
    return counted(product_of(plan).loop)


@lru_cache(maxsize=1024)
def _loaded_bytes(plan: XdlopsPlan) -> float:
    """Bytes that a workgroup loads in a step."""
    product = product_of(plan)
    loads = ((op, count) for op, count in _operations(plan) if op.unit in ("load", "direct"))
    of_lane = sum(count * op.lane_bytes * op.factor for op, count in loads)
    return of_lane * plan.machine.wave_size * product.waves


def _lds_bytes(op: Operation) -> float:
    return op.lane_bytes * op.factor if op.unit in ("read", "write", "direct") else 0.0


def _device(plan: XdlopsPlan) -> Device:
    return device_of(modelled(plan.machine))


def _crosses(plan: XdlopsPlan) -> bool:
    """Does a step of K go over the end of stretches of memory, so that lanes' elements exist or not apart?

    Channels of a convolution are such stretches: a step that divides them stays at one tap of the filter.
    """
    k = plan.tuning.k_copied
    stretches = [access.run[0] for access in (plan.oriented.a, plan.oriented.b) if access.step[0] == 1]
    return any(1 < run < plan.context.k and run % k for run in stretches)
