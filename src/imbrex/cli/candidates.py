"""What `imbrex explain --configs N` shows: the candidates of a problem, and what the model says of each."""

from __future__ import annotations

from math import inf
from typing import Any

import click

from imbrex.cli.table import print_table
from imbrex.config.candidates import Candidates, candidates, reasons
from imbrex.numeral import counted
from imbrex.pipeline import Request
from imbrex.problem import problem_text

__all__ = ["candidates_json", "print_candidates"]

COLUMNS = ("rank", "of the pick's cycles", "most of it by", "configuration")


def print_candidates(request: Request, count: int) -> None:
    """A table of the first candidates, then what else there is, and what cannot be."""
    found = candidates(request)
    click.echo(click.style(problem_text(request.problem), bold=True))
    shown = found.ranked[:count]
    rows = enumerate(zip(shown, _costs(found), reasons(request, found.ranked[0], shown), strict=False))
    print_table(COLUMNS, [(str(rank), ratio, why, str(of.configuration)) for rank, (of, ratio, why) in rows])
    notes = [f"{len(shown)} of {counted(len(found.ranked), 'candidate')} on {request.machine.name}"]
    if any(one.cycles < found.ranked[0].cycles for one in found.ranked):
        notes.append("what costs less than the pick does not save enough to be sure of")
    notes += [f"{counted(times, 'tuning')} refused by {rule}" for rule, times in found.refused.items()]
    notes += [f"{name} does not serve: {why}" for name, why in found.unserved.items()]
    click.echo("\n".join(f"  {line}" for line in notes))


def candidates_json(request: Request, count: int) -> dict[str, Any]:
    """The same as plain JSON."""
    found = candidates(request)
    shown = found.ranked[:count]
    return {
        "problem": problem_text(request.problem),
        "machine": request.machine.name,
        "candidates": len(found.ranked),
        "ranked": [
            {"configuration": str(of.configuration), "cycles": of.cycles, "behind_by": why}
            for of, why in zip(shown, reasons(request, found.ranked[0], shown), strict=True)
        ],
        "refused": dict(found.refused),
        "unserved": dict(found.unserved),
    }


def _costs(found: Candidates) -> list[str]:
    first = found.ranked[0].cycles
    return [f"{one.cycles / first:.3f}" if 0 < first < inf else "" for one in found.ranked]
