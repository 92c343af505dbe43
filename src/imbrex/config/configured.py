"""The configuration of a request: the one that is given, or the one that the models choose, once.

Law: `configured` is the only place where something is chosen; whoever lowers takes all of it from the result.
No pass runs: what an algorithm makes of a problem is known as values (`products`).
"""

from __future__ import annotations

from dataclasses import replace

from imbrex.chip import CpuMachine, GpuMachine, Machine
from imbrex.config import overlap, tuned_product
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.config.algorithm.product import Lanes, Product, Products
from imbrex.config.algorithm.table import row_of
from imbrex.config.choose import family_of
from imbrex.config.configuration import Configuration, TunedProduct
from imbrex.config.context import GemmContext
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.fitting import expect_fitting
from imbrex.config.kinds import Family
from imbrex.config.matrix_unit import has_matrix_instructions
from imbrex.config.outline import outline
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.schedule_choice import shared_cycles
from imbrex.config.tiles import AUTO, DATA_PARALLEL, Auto, TileSchedule
from imbrex.config.tuning import is_pipelined
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.xdlops.at_once import MOST, best_at_once, clocks_together
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.problem.operand import expect_addressable

__all__ = ["configured", "family", "is_in_place", "outlined", "schedule_of", "with_overlap"]


def configured(request: Request) -> Configuration:
    """The configuration that a request gives, or what is chosen within what it asks for.

    A Diagnostic where an algorithm, a tuning or a schedule that it asks for does not serve.
    """
    found = outlined(request)
    if request.config is not None:
        algorithm_of(replace(request, config=None, algorithm=request.config.algorithm))
        expect_fitting(request.config, request)
        return found
    made = products(request.problem, found, request.machine, request.tuning)
    if isinstance(made, Lanes):
        return found
    chosen = _at_once(tuple(_chosen(product, request) for product in made.products), made, request)
    return replace(found, in_place=is_in_place(found, made), products=with_overlap(chosen, made, request))


def outlined(request: Request) -> Configuration:
    """The configuration that a request gives, or the one that is chosen without its products."""
    expect_addressable(request.problem.operands)
    return request.config or outline(request, algorithm_of(request))


def schedule_of(request: Request) -> TileSchedule | Auto:
    """The schedule that is asked for.  Where none is: the model's on a GPU with a model of its kernels,
    unless a tuning is given; else data_parallel, but of few tiles on a CPU (`_chosen`).
    """
    if request.schedule is not None:
        return request.schedule
    has_model = request.machine.multiprocessor is not None or has_matrix_instructions(request)
    return AUTO if has_model and request.tuning is None else DATA_PARALLEL


def family(product: Product, request: Request) -> Family:
    """What a product is served by; warpgroups store elements of two and of four bytes."""
    found = family_of(product.context, request.machine)
    return "general" if found == "warpgroup" and product.stored.bytes == 1 else found


def is_in_place(of: Configuration, made: Products) -> bool:
    """Does backward weight by halo read its arrays where they are?"""
    row = row_of(of.algorithm)
    is_halo = row is not None and "halo" in row.passes
    return is_halo and not made.before and any(_sums_pixels(product) for product in made.products)


def with_overlap(
    chosen: tuple[TunedProduct, ...], made: Products, request: Request
) -> tuple[TunedProduct, ...]:
    """The same products, and of each whether it may begin before the launch ahead has ended."""
    machine = request.machine
    if not machine.overlaps_launches or not isinstance(machine, GpuMachine):
        return chosen
    rates = rates_of(machine).launch
    is_alone = not made.before and not made.filled
    found = list[TunedProduct]()
    for index, (tuned, product) in enumerate(zip(chosen, made.products, strict=True)):
        if not is_pipelined(tuned.tuning):
            found.append(tuned)
        elif is_alone and index == 0:
            is_early = overlap.of_first(tuned, request.problem, rates)
            is_early = is_early and not overlap.is_streamed_together(tuned, product.context, machine)
            found.append(replace(tuned, is_early=is_early))
        else:
            found.append(replace(tuned, is_early=overlap.behind_launch(tuned, product.context, rates)))
    return tuple(found)


def _at_once(chosen: tuple[TunedProduct, ...], made: Products, request: Request) -> tuple[TunedProduct, ...]:
    """The same products, or all by one tuning where a launch of all their tiles is faster by the model."""
    machine, is_open = request.machine, request.tuning is None and request.schedule is None
    if not is_open or not isinstance(machine, GpuMachine) or not 1 < len(chosen) <= MOST:
        return chosen
    if not all(isinstance(tuned.tuning, XdlopsTuning) for tuned in chosen):
        return chosen
    contexts = [product.context for product in made.products]
    pairs = list(zip(chosen, contexts, strict=True))
    each = [shared_cycles(tuned.schedule, tuned.tuning, context, machine) for tuned, context in pairs]
    found = best_at_once(contexts, machine, family(made.products[0], request))
    if found is None or found[1] >= clocks_together(chosen, contexts, each, machine):
        return chosen
    return tuple(tuned_product.whole(found[0], context, machine) for context in contexts)


def _chosen(product: Product, request: Request) -> TunedProduct:
    given, machine = request.tuning or product.tuning, request.machine
    wanted, schedule = family(product, request), schedule_of(request)
    found = tuned_product.chosen(product.context, machine, wanted, given, schedule)
    if request.schedule is None and given is None and _has_idle_threads(found, product.context, machine):
        return tuned_product.chosen(product.context, machine, wanted, given, AUTO)
    return found


def _has_idle_threads(of: TunedProduct, context: GemmContext, machine: Machine) -> bool:
    """Are there so few tiles that half of a CPU's threads would have none?"""
    if not isinstance(machine, CpuMachine) or not isinstance(of.tuning, CpuTuning):
        return False
    return 2 * of.tuning.plan(context).grid_size <= machine.threads


def _sums_pixels(product: Product) -> bool:
    return product.tuning is not None and product.tuning.kind == "halo_weight"
