"""Candidates: the legal configurations of a request, with what the model says each costs.

    algorithm x tuning and schedule of each product x may it begin early

A problem of several products that differ (phases of a strided gradient) is looked at one product at a time:
the others have what the model takes for them, or all have what it ranks alike.  What cannot be is counted by
the rule that it breaks, an algorithm that does not serve is told with its reason.

Of what the model ranks far behind some is left out: MOST_OFFERS, MOST_WINDOWS.

Laws: the first candidate is what `configured` chooses.  No configuration stands twice.  Costs compare
candidates of one request only: a machine without a model of copies has candidates of one algorithm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import chain
from math import inf
from operator import attrgetter
from typing import Final, TypeAlias

from imbrex.chip import CpuMachine, GpuMachine, Machine
from imbrex.config import choose, schedule_choice, tuned_product
from imbrex.config.algorithm.choice import algorithm_of, alternatives, plain_of
from imbrex.config.algorithm.cost import in_all
from imbrex.config.algorithm.depthwise import strips_shape
from imbrex.config.algorithm.matrices import parts_to_try
from imbrex.config.algorithm.product import Lanes, Product, Products
from imbrex.config.algorithm.table import number_of, row_of
from imbrex.config.algorithm.task import gemm_task_of, task_of
from imbrex.config.algorithm.windows import priced_of
from imbrex.config.channel_cost import channel_cycles
from imbrex.config.configuration import Configuration, TunedProduct
from imbrex.config.configured import configured, family, is_in_place, schedule_of, with_overlap
from imbrex.config.context import GemmContext
from imbrex.config.general import choice as general_choice
from imbrex.config.halo.plan import WindowTuning
from imbrex.config.kinds import kind_of
from imbrex.config.legal import check
from imbrex.config.matrix_unit import has_matrix_instructions
from imbrex.config.outline import outline
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.schedule_choice import Offer
from imbrex.config.spent import Spent, behind, spent_of_all
from imbrex.config.tiles import TileSchedule
from imbrex.config.tuning import is_pipelined
from imbrex.config.warpgroup import choice as warpgroup_choice
from imbrex.config.window_strips import served_boxes, window_cycles
from imbrex.config.xdlops.at_once import clocks_together
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Conv2d

__all__ = ["Candidate", "Candidates", "candidates", "reasons", "spent"]

MOST_OFFERS: Final = 2048
"""Tunings and schedules of a product that are candidates, the cheapest by the model."""
MOST_WINDOWS: Final = 128
"""Tunings of windows that come into shared memory once: each has products of its own."""
BOTH_WAYS: Final = 16
"""How many of an algorithm's cheapest candidates are tried with an early launch and with a late one."""

Priced: TypeAlias = tuple[TunedProduct, float]


@dataclass(frozen=True)
class Candidate:
    """A configuration, and the model's cycles for the whole problem."""

    configuration: Configuration
    cycles: float


@dataclass(frozen=True)
class Candidates:
    """ranked: the model's pick, then the others, the cheapest first.  refused: tunings by the rule that they
    break first.  unserved: algorithms that do not serve, and why.
    """

    ranked: tuple[Candidate, ...]
    refused: Mapping[str, int]
    unserved: Mapping[str, str]


def candidates(request: Request) -> Candidates:
    """All that may be chosen within what a request asks for; a Diagnostic where nothing serves."""
    pick = configured(request)
    refused, unserved = Counter[str](), dict[str, str]()
    found = dict[Configuration, float]()
    for algorithm in _algorithms(request, pick.algorithm):
        try:
            served = algorithm_of(replace(request, algorithm=algorithm))
            found |= _of_algorithm(request, outline(request, served), refused)
        except Diagnostic as error:
            unserved[algorithm] = error.message
    first = Candidate(pick, found.pop(pick, min(found.values(), default=inf)))
    others = sorted((Candidate(c, cycles) for c, cycles in found.items()), key=attrgetter("cycles"))
    return Candidates((first, *others), refused, unserved)


def reasons(request: Request, pick: Candidate, shown: Sequence[Candidate]) -> list[str]:
    """The part of the model that puts each candidate behind the pick; "" without one, and without a model."""
    if not 0 < pick.cycles < inf:
        return ["" for _ in shown]
    first = spent(request, pick)
    return [behind(first, spent(request, one)) if 0 < one.cycles < inf else "" for one in shown]


def spent(request: Request, one: Candidate) -> Spent:
    """What the model says a candidate's cycles are spent on."""
    of, machine = one.configuration, request.machine
    own = of.products[0].tuning if of.products else None
    given = own if isinstance(own, WindowTuning) else None
    made = products(request.problem, of, machine, given)
    if isinstance(made, Lanes):
        return Spent({}, {"strips": one.cycles})
    pairs = zip(of.products, made.products, strict=True)
    found = spent_of_all(_spent(tuned, product.context, machine) for tuned, product in pairs)
    return found.plus({"copies": in_all(request, of.algorithm, made, 0.0)}).of(one.cycles)


def _spent(tuned: TunedProduct, context: GemmContext, machine: Machine) -> Spent:
    kind = kind_of(tuned.tuning)
    return kind.spent(kind.plan(tuned.tuning, context, machine), machine, tuned.schedule)


def _algorithms(request: Request, picked: str) -> Iterable[str]:
    """The one that is asked for, or picked where no model compares them; else all that serve."""
    wanted, problem = request.algorithm, request.problem
    if wanted is not None or request.tuning is not None or not request.machine.has_warpgroups:
        return (picked,)
    if not has_matrix_instructions(request):
        return (picked,)
    if isinstance(problem, Conv2d):
        return dict.fromkeys((picked, plain_of(problem), *alternatives(problem)))
    parts = () if problem.run_time is not None else parts_to_try(gemm_task_of(problem))
    return dict.fromkeys((picked, "direct", "aligned", *(f"k_parts:{count}" for count in parts)))


def _of_algorithm(
    request: Request, of: Configuration, refused: Counter[str]
) -> Mapping[Configuration, float]:
    row = row_of(of.algorithm)
    if row is not None and "halo" in row.passes and request.tuning is None:
        return dict(_windows(request, of))
    made = products(request.problem, of, request.machine, request.tuning)
    if isinstance(made, Lanes):
        return _strips(request, of, made)
    known = dict[object, Sequence[Priced]]()
    for product in made.products:
        key = product.context, product.tuning, product.stored
        if key not in known:
            known[key] = _priced(product, request, refused)
    options = [known[p.context, p.tuning, p.stored] for p in made.products]
    found = dict[Configuration, float]()
    for chosen in chain(_combined(options), _of_one_tuning(options)):
        tuned = with_overlap(tuple(product for product, _ in chosen), made, request)
        whole = replace(of, in_place=is_in_place(of, made), products=tuned)
        multiplied = _together(tuned, made, [cost for _, cost in chosen], request.machine)
        found[whole] = in_all(request, of.algorithm, made, multiplied)
    return found | _other_ways(found, request)


def _combined(options: Sequence[Sequence[Priced]]) -> Iterator[Sequence[Priced]]:
    """The best of each product; each kind of product with its others in turn; all with what ranks alike."""
    if not all(options):
        return
    best = [each[0] for each in options]
    yield best
    kinds = list({id(each): each for each in options}.values())
    for kind in kinds:
        for option in kind[1:]:
            pairs = zip(options, best, strict=True)
            yield [option if each is kind else first for each, first in pairs]
    if len(kinds) > 1:
        for rank in range(1, min(map(len, kinds))):
            yield [each[rank] for each in options]


def _of_one_tuning(options: Sequence[Sequence[Priced]]) -> Iterator[Sequence[Priced]]:
    """All products by one tuning of waves, a workgroup a tile, which one launch may have."""
    if len(options) < 2:
        return
    by_tuning = [{p.tuning: (p, cost) for p, cost in each if not p.schedule.is_shared} for each in options]
    for tuning in by_tuning[0]:
        if isinstance(tuning, XdlopsTuning) and all(tuning in each for each in by_tuning):
            yield [each[tuning] for each in by_tuning]


def _together(
    tuned: Sequence[TunedProduct], made: Products, each: Sequence[float], machine: Machine
) -> float:
    """Cycles of the multiplying of all products."""
    is_of_waves = all(isinstance(product.tuning, XdlopsTuning) for product in tuned)
    if not isinstance(machine, GpuMachine) or not is_of_waves or len(tuned) < 2:
        return sum(each)
    return clocks_together(tuned, [product.context for product in made.products], each, machine)


def _priced(product: Product, request: Request, refused: Counter[str]) -> Sequence[Priced]:
    """The tunings and schedules of a product, the cheapest by the model first."""
    machine, context = request.machine, product.context
    given, kind = request.tuning or product.tuning, family(product, request)
    if given is not None:
        return ((tuned_product.chosen(context, machine, kind, given, schedule_of(request)), 0.0),)
    broken = (check(t, context, machine) for t in choose.candidates(context, machine, kind))
    refused.update(reasons[0].rule for reasons in broken if reasons)
    wanted = (offer for offer in _offers(product, request) if _has_schedule(offer, request))
    cheapest = nsmallest(MOST_OFFERS, wanted, key=attrgetter("cost"))
    return [(tuned_product.of_offer(offer, context, machine), offer.cost) for offer in cheapest]


def _has_schedule(offer: Offer, request: Request) -> bool:
    """Has it the schedule that is asked for, where one is?"""
    wanted = request.schedule
    if not isinstance(wanted, TileSchedule):
        return True
    return offer.schedule.mode == wanted.mode and wanted.workgroups in (None, offer.schedule.workgroups)


def _offers(product: Product, request: Request) -> Iterator[Offer]:
    machine, kind = request.machine, family(product, request)
    if kind == "warpgroup":
        assert isinstance(machine, GpuMachine), machine
        return warpgroup_choice.every(product.context, machine)
    if isinstance(machine, GpuMachine) and machine.multiprocessor:
        return general_choice.every(product.context, machine)
    return schedule_choice.every(product.context, machine, kind)


def _windows(request: Request, of: Configuration) -> Iterator[tuple[Configuration, float]]:
    """Windows that come into shared memory once: each tuning has products of its own."""
    problem, machine = request.problem, request.machine
    assert isinstance(problem, Conv2d), problem
    priced = priced_of(task_of(problem), number_of(of.algorithm))
    for tuning in nsmallest(MOST_WINDOWS, priced, key=lambda tuning: priced[tuning]):
        made = products(problem, of, machine, tuning)
        assert isinstance(made, Products), made
        if any(check(tuning, product.context, machine) for product in made.products):
            continue
        tuned = with_overlap(tuple(TunedProduct(tuning) for _ in made.products), made, request)
        cycles = in_all(request, of.algorithm, made, priced[tuning] * len(made.products))
        yield replace(of, in_place=is_in_place(of, made), products=tuned), cycles


def _strips(request: Request, of: Configuration, made: Lanes) -> Mapping[Configuration, float]:
    """Strips of lanes: those of the outline, and the others that suit memory and registers; 0 cycles on a GPU
    of whose lanes no rates are known.
    """
    machine = request.machine
    assert isinstance(request.problem, Conv2d) and of.strips is not None, of
    served = served_boxes(strips_shape(task_of(request.problem)), machine)
    if isinstance(machine, CpuMachine):
        return {replace(of, strips=box): window_cycles(made.shape, box, machine) for box in served}
    boxes = (box._replace(images=of.strips.images, lanes=of.strips.lanes) for box in served)
    cost = channel_cycles(made.shape, machine) if machine.lane_rates is not None else 0.0
    return {replace(of, strips=box): cost for box in chain((of.strips,), boxes)}


def _other_ways(found: Mapping[Configuration, float], request: Request) -> dict[Configuration, float]:
    """The cheapest, their first launch early where it was late, and late where it was early."""
    if not request.machine.overlaps_launches:
        return {}
    turned = dict[Configuration, float]()
    launching = [configuration for configuration in found if configuration.products]
    for of in nsmallest(BOTH_WAYS, launching, key=lambda configuration: found[configuration]):
        first, *others = of.products
        if is_pipelined(first.tuning):
            other = replace(first, is_early=not first.is_early)
            turned[replace(of, products=(other, *others))] = found[of]
    return turned
