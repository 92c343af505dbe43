"""imbrex explain schedule: how workgroups could share output tiles, and what a model says of it."""

from __future__ import annotations

from typing import Any

import click

from imbrex.cli.explain import request_of
from imbrex.cli.options import Choices, choices, format_option, sources
from imbrex.cli.products import products
from imbrex.cli.table import print_table
from imbrex.cli.text import json_text
from imbrex.problem import problem_text
from imbrex.schedule import choose, share_cost
from imbrex.schedule import tuning as tunings
from imbrex.schedule.share_cost import MARGIN, Offer

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


@click.command("schedule", short_help="compare the ways in which workgroups can share output tiles")
@sources
@choices
@format_option
def command(chosen: Choices, sources: tuple[str, ...], form: str) -> int:
    """Compare schedules of output tiles: each mode with the tuning that serves it best, its longest workgroup
    in steps over K, useful over issued steps, what adding partial sums costs, and the cost by the model,
    relative to data_parallel; and which one `--schedule auto` takes.
    """
    told: list[dict[str, Any]] = []
    for asked in chosen.problems(sources):
        request = request_of(chosen, asked)
        for product in products(request):
            family = choose.family_of(product.context, request.machine)
            found = share_cost.offers(product.context, request.machine, family, request.tuning)
            taken = share_cost.best(product.context, request.machine, family, request.tuning)
            if form == "json":
                rows = [_json(offer) for offer in found]
                told.append(
                    {"problem": problem_text(asked.problem), "offers": rows, "taken": str(taken.schedule)}
                )
                continue
            click.echo(problem_text(asked.problem))
            print_table(COLUMNS, [_row(offer, found[0]) for offer in found])
            click.echo(_why(found, taken))
    if form == "json":
        click.echo(json_text(told))
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


def _why(found: list[Offer], taken: Offer) -> str:
    first, *others = found
    if not others:
        return "taken: data_parallel, since one workgroup runs at a time and has nobody to share with"
    saved = 1 - others[0].cost / first.cost
    if taken is first or taken == first:
        least = f"less than {MARGIN:.0%} is not worth it"
        return f"taken: data_parallel; {others[0].schedule} would save {saved:.1%}, and {least}"
    return f"taken: {taken.schedule}, which saves {saved:.1%} of data_parallel's cycles"
