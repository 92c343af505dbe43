"""Estimated cycles of an algorithm: on warpgroups its products, and the copies before and after them; of
waves its products; on a CPU its products, or its windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from imbrex.chip import SECTOR_BYTES, CpuMachine, GpuMachine
from imbrex.config import choose, schedule_choice
from imbrex.config.algorithm.product import Lanes, Product, Products
from imbrex.config.algorithm.table import row_of
from imbrex.config.channel_cost import channel_cycles
from imbrex.config.configuration import Configuration
from imbrex.config.halo.plan import WindowTuning
from imbrex.config.kinds import kind_of
from imbrex.config.matrix_unit import has_matrix_instructions
from imbrex.config.outline import outline
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.tiles import AUTO, Auto, TileSchedule
from imbrex.config.warpgroup import choice as warpgroup_choice
from imbrex.config.warpgroup.cost import copy_cycles
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.window_strips import window_team
from imbrex.config.xdlops.at_once import MOST, best_at_once
from imbrex.config.xdlops.loop import modelled
from imbrex.problem import Conv2d, Problem
from imbrex.timing.kernel import device_of

__all__ = ["cheapest", "cycles", "in_all"]


def cycles(request: Request, algorithm: str | None) -> float:
    """What the model says of a problem's products and of the copies before and after them."""
    of = outline(request, algorithm)
    return _cycles(request, of, products(request.problem, of, request.machine, request.tuning))


def cheapest(request: Request, algorithms: Sequence[str]) -> str:
    """The algorithm of the fewest cycles, the first of several.  Those of few products are counted first, and
    another one's products until they cost more.
    """
    outlines = {name: outline(request, name) for name in algorithms}
    made = {n: products(request.problem, o, request.machine, request.tuning) for n, o in outlines.items()}
    costs, least = dict[str, float](), inf
    for name in sorted(made, key=lambda name: _count(made[name])):
        costs[name] = _cycles(request, outlines[name], made[name], least)
        least = min(least, costs[name])
    return min(algorithms, key=lambda name: costs[name])


def _count(made: Products | Lanes) -> int:
    return 0 if isinstance(made, Lanes) else len(made.products)


def _cycles(request: Request, of: Configuration, made: Products | Lanes, most: float = inf) -> float:
    """What `cycles` says; of products on warpgroups at least, where it is more than `most`."""
    machine = request.machine
    if isinstance(machine, CpuMachine):
        return _on_vectors(of, made, machine)
    assert isinstance(machine, GpuMachine), machine
    if isinstance(made, Lanes):
        return channel_cycles(made.shape, machine)
    if not machine.has_warpgroups:
        return _waves_cycles(request, made.products, machine)
    multiplied, found = 0.0, in_all(request, of.algorithm, made, 0.0)
    by_items = not has_matrix_instructions(request)
    for product in made.products:
        multiplied += _item_cycles(product, machine) if by_items else _product_cycles(product, machine)
        if (found := in_all(request, of.algorithm, made, multiplied)) > most:
            break
    return found


def _on_vectors(of: Configuration, made: Products | Lanes, machine: CpuMachine) -> float:
    if isinstance(made, Lanes):
        assert of.strips is not None, of
        return window_team(made.shape, of.strips, machine)
    total = 0.0
    for product in made.products:
        tuning = choose.choose(product.context, machine, "cpu")
        total += kind_of(tuning).cost(tuning, product.context, machine)
    return total


def in_all(request: Request, algorithm: str | None, made: Products, multiplied: float) -> float:
    """Cycles of everything, given those that the models of tunings say of all products together."""
    machine, whole = request.machine, 1.0
    if isinstance(machine, GpuMachine) and (algorithm or "").startswith("whole_images"):
        whole = rates_of(machine).product.whole_rows
    return _other_cycles(request, algorithm, made) + whole * multiplied


def _other_cycles(request: Request, algorithm: str | None, made: Products) -> float:
    """Cycles besides the products: of copies, zeros, and elements that are written apart; 0 where no model
    knows them.
    """
    machine = request.machine
    if not isinstance(machine, GpuMachine) or not machine.has_warpgroups:
        return 0.0
    moved = made.moved_bytes + made.filled * request.problem.dtype.bytes
    scattered = copy_cycles(_scattered_bytes(request.problem, algorithm), 0, machine)
    launches = len(made.launches) + (made.filled > 0)
    return copy_cycles(moved, launches, machine) + scattered


def _scattered_bytes(problem: Problem, algorithm: str | None) -> int:
    """Bytes of a filter's gradient whose channels do not come last: neighbouring lanes write an element each,
    with what lies between, or a sector.  512 x 512 x 3 x 3 took 16 us longer so on an H200.
    """
    row = row_of(algorithm)
    is_copied = row is not None and row.copies == "what is read, and the result"
    if not isinstance(problem, Conv2d) or problem.direction != "backward_weight" or is_copied:
        return 0
    taps = problem.y * problem.x
    if taps == 1 or problem.filter_layout[-1] == "c":
        return 0
    elements = problem.k * (problem.c // problem.groups) * taps
    return elements * min(SECTOR_BYTES, taps * problem.dtype.bytes)


def _waves_cycles(request: Request, made: Sequence[Product], machine: GpuMachine) -> float:
    """Cycles of products by waves or by work items: of launches that follow each other, or of one."""
    total = sum(_wave_cycles(product, machine, request.schedule or AUTO) for product in made)
    if not 1 < len(made) <= MOST or request.schedule is not None or not has_matrix_instructions(request):
        return total
    contexts = [product.context for product in made]
    found = best_at_once(contexts, machine, choose.family_of(contexts[0], machine))
    apart = total + (len(made) - 1) * device_of(modelled(machine)).launch
    return apart if found is None else min(apart, found[1])


def _wave_cycles(product: Product, machine: GpuMachine, schedule: TileSchedule | Auto) -> float:
    """Cycles of a product by waves or by work items, with the best tuning of a schedule."""
    context, family = product.context, choose.family_of(product.context, machine)
    if not isinstance(schedule, TileSchedule):
        return schedule_choice.best(context, machine, family).cost
    tuning = schedule_choice.tuning_for(schedule, context, machine, family)
    return schedule_choice.shared_cycles(schedule, tuning, context, machine)


def _item_cycles(product: Product, machine: GpuMachine) -> float:
    """Cycles of a product by work items, with its launch: it waits for the one before."""
    return _wave_cycles(product, machine, AUTO) + copy_cycles(0, 1, machine)


def _product_cycles(product: Product, machine: GpuMachine) -> float:
    own = product.tuning
    if isinstance(own, WindowTuning):
        return kind_of(own).cost(own, product.context, machine)
    offers = warpgroup_choice.offers(product.context, machine)
    return warpgroup_choice.taken(offers).cost if offers else inf
