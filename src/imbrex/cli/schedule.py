"""imbrex explain schedule: how workgroups could share output tiles, and what a model says of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from imbrex.chip import GpuMachine, Machine
from imbrex.cli.options import Choices, choices, format_option, sources
from imbrex.cli.table import print_table
from imbrex.cli.text import json_text
from imbrex.config import choose, schedule_choice, tile_order
from imbrex.config import tuning as tunings
from imbrex.config.context import GemmContext
from imbrex.config.general import choice as general_choice
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.schedule_choice import Offer, margin
from imbrex.config.tile_order import GAIN, RasterOffer
from imbrex.config.tiles import TileSchedule
from imbrex.config.warpgroup import choice as warpgroup_choice
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.explore.products import products
from imbrex.numeral import counted
from imbrex.pipeline import Request
from imbrex.problem import problem_text
from imbrex.problem.run_time import expect_fixed

__all__ = ["command"]

COLUMNS = (
    "schedule",
    "tiles",
    "steps of K",
    "longest",
    "efficiency",
    "partial sums",
    "fix-up",
    "cost",
    "tuning",
)
ORDER_COLUMNS = ("wgm", "along", "xcd", "found in L2")
MOST_ORDERS = 8


@click.command("schedule", short_help="compare the ways in which workgroups can share output tiles")
@sources
@choices
@format_option
def command(chosen: Choices, sources: tuple[str, ...], form: str) -> int:
    """Compare schedules of output tiles: each mode with the tuning that serves it best, its longest workgroup
    in steps over K, useful over issued steps, what adding partial sums costs, and the cost by the model,
    relative to data_parallel; and which one `--schedule auto` takes.  On a GPU also the orders in which
    data_parallel could begin tiles, and how many tiles of A and B each finds in L2.
    """
    documents: list[dict[str, Any]] = []
    for entry in chosen.problems(sources):
        request = chosen.options(entry).request()
        expect_fixed(entry.problem.run_time, "explain schedule")
        for product in products(request):
            found, taken, least = _offered(product.context, request)
            orders = tile_order.offers(found[0].tuning, product.context, request.machine)
            if form == "json":
                documents.append(
                    {
                        "problem": problem_text(entry.problem),
                        "offers": [_json(offer) for offer in found],
                        "taken": str(taken.schedule),
                        "orders": [_order_json(offer) for offer in orders],
                    }
                )
                continue
            click.echo(problem_text(entry.problem))
            print_table(COLUMNS, [_row(offer, found[0]) for offer in found])
            click.echo(_why(found, taken, least))
            if orders:
                print_table(ORDER_COLUMNS, [_order_row(offer) for offer in orders[:MOST_ORDERS]])
                at_a_time = tile_order.at_a_time(found[0].tuning, product.context, request.machine)
                click.echo(_order_why(orders, request.machine, at_a_time))
    if form == "json":
        click.echo(json_text(documents))
    return 0


def _row(offer: Offer, first: Offer) -> tuple[str, ...]:
    return (
        str(offer.schedule),
        str(offer.tiles.outputs),
        str(offer.tiles.k),
        str(offer.longest),
        f"{offer.efficiency:.1%}",
        str(offer.parts),
        f"{offer.fix_up / offer.cost:.1%}",
        f"{offer.cost / first.cost:.3f}",
        tunings.text(offer.tuning),
    )


def _json(offer: Offer) -> dict[str, Any]:
    return {
        "schedule": str(offer.schedule),
        "tuning": tunings.text(offer.tuning),
        "tiles": offer.tiles.outputs,
        "k_steps": offer.tiles.k,
        "workgroups": offer.workgroups,
        "longest": offer.longest,
        "efficiency": offer.efficiency,
        "partial_sums": offer.parts,
        "fix_up_cycles": offer.fix_up,
        "cycles": offer.cost,
    }


def _order_row(offer: RasterOffer) -> tuple[str, ...]:
    order = offer.order
    return str(order.group), order.along, str(order.xcds), f"{offer.hit_rate:.1%}"


def _order_json(offer: RasterOffer) -> dict[str, Any]:
    return {**asdict(offer.order), "hit_rate": offer.hit_rate}


def _order_why(orders: list[RasterOffer], machine: Machine, at_a_time: int) -> str:
    """The order that data_parallel takes, against the order of the tiles' numbers, which is first."""
    cache, plain = machine.l2, orders[0]
    assert cache is not None, machine.name
    size = f"{cache.bytes >> 20} MiB of L2"
    where = f"{counted(cache.xcds, 'die')} with {size} each" if cache.xcds > 1 else size
    found = f"the order of their numbers finds {plain.hit_rate:.1%} of tiles in L2"
    head = f"{where}, {counted(at_a_time, 'workgroup')} at a time: {found}"
    best = orders[1] if len(orders) > 1 else plain
    if best.hit_rate < plain.hit_rate + GAIN:
        return f"{head}, and no order {GAIN:.0%} more"
    return (
        f"{head}; taken: {TileSchedule('data_parallel', None, best.order)}, which finds {best.hit_rate:.1%}"
    )


def _offered(context: GemmContext, request: Request) -> tuple[list[Offer], Offer, float]:
    """Offers, the one that is taken, and what another than data_parallel has to save."""
    machine, given = request.machine, request.tuning
    family = choose.family_of(context, machine)
    if family == "warpgroup" and isinstance(machine, GpuMachine):
        if given is None or isinstance(given, WarpgroupTuning):
            found = warpgroup_choice.offers(context, machine, given)
            return found, warpgroup_choice.taken(found), warpgroup_choice.MARGIN
    elif isinstance(machine, GpuMachine) and machine.multiprocessor:
        if given is None or isinstance(given, GeneralTuning):
            whole = general_choice.offers(context, machine, given)
            return list(whole), general_choice.taken(whole), general_choice.MARGIN
    found = schedule_choice.offers(context, machine, family, given)
    return found, schedule_choice.best(context, machine, family, given), margin(found, context, machine)


def _why(found: list[Offer], taken: Offer, least_saved: float) -> str:
    first, *others = found
    if not others:
        return "taken: data_parallel, since one workgroup runs at a time and has nobody to share with"
    saved = 1 - others[0].cost / first.cost
    if taken is first or taken == first:
        busy = f"where {first.efficiency:.0%} of the machine is busy"
        least = f"less than {least_saved:.0%} is not worth it {busy}"
        if saved <= 0:
            return f"taken: data_parallel; {others[0].schedule}, the next, would cost {-saved:.1%} more"
        return f"taken: data_parallel; {others[0].schedule} would save {saved:.1%}, and {least}"
    return f"taken: {taken.schedule}, which saves {saved:.1%} of data_parallel's cycles"
