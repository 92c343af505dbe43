"""What `imbrex explain --configs N` shows: the candidates of a problem, and what the model says of each."""

from __future__ import annotations

from typing import Any

import click

from imbrex.cli.table import print_table
from imbrex.config.candidates import Candidates, candidates
from imbrex.pipeline import Request
from imbrex.problem import problem_text

__all__ = ["candidates_json", "print_candidates"]

COLUMNS = ("rank", "of the pick's cycles", "configuration")


def print_candidates(request: Request, count: int) -> None:
    """A table of the first candidates, then what else there is, and what cannot be."""
    found = candidates(request)
    click.echo(click.style(problem_text(request.problem), bold=True))
    rows = enumerate(zip(found.ranked[:count], _costs(found), strict=False))
    print_table(COLUMNS, [(str(rank), ratio, str(of.configuration)) for rank, (of, ratio) in rows])
    notes = [f"{min(count, len(found.ranked))} of {len(found.ranked)} candidates on {request.machine.name}"]
    if any(one.cycles < found.ranked[0].cycles for one in found.ranked):
        notes.append("what costs less than the pick does not save enough to be sure of")
    notes += [f"{times} tunings refused by {rule}" for rule, times in found.refused.items()]
    notes += [f"{name} does not serve: {why}" for name, why in found.unserved.items()]
    click.echo("\n".join(f"  {line}" for line in notes))


def candidates_json(request: Request, count: int) -> dict[str, Any]:
    """The same as plain JSON."""
    found = candidates(request)
    return {
        "problem": problem_text(request.problem),
        "machine": request.machine.name,
        "candidates": len(found.ranked),
        "ranked": [
            {"configuration": str(of.configuration), "cycles": of.cycles} for of in found.ranked[:count]
        ],
        "refused": dict(found.refused),
        "unserved": dict(found.unserved),
    }


def _costs(found: Candidates) -> list[str]:
    first = found.ranked[0].cycles
    return [f"{one.cycles / first:.3f}" if 0 < first < float("inf") else "" for one in found.ranked]
