"""How many workgroups a kernel of a run-time size starts: those of whose tile something exists.

Law: tiles of the run-time dimension are the slowest digit of a workgroup's number, so that the tiles that
exist are the first ones, and a guard that depends on the workgroup alone holds in all that are started.
"""

from __future__ import annotations

from collections.abc import Iterable

from imbrex.diagnostic import Diagnostic
from imbrex.index.atom import Div, Var
from imbrex.index.expr import Lin, lin
from imbrex.index.rule import COUNT, Guard

__all__ = ["grid_of", "is_of_count", "is_of_grid"]

WORKGROUP = "workgroup"


def is_of_count(guard: Guard) -> bool:
    """Does the guard compare with the run-time size?"""
    return lin(guard.size).mentions(COUNT)


def is_of_grid(guard: Guard) -> bool:
    """Does it hold in every workgroup that is started?"""
    return is_of_count(guard) and guard.index.variables <= {WORKGROUP}


def grid_of(guards: Iterable[Guard], most: int) -> Lin | None:
    """Workgroups that there are, of `most`, by the guards of what they store; None where no size is open."""
    found = [g for g in guards if is_of_count(g)]
    if not found:
        return None
    assert len(found) == 1, f"one run-time size, several guards: {found}"
    guard = found[0]
    terms = [(atom, step) for atom, step in guard.index.terms if WORKGROUP in atom.variables]
    rest = guard.index - sum((Lin((term,), 0) for term in terms), lin(0))
    if not terms:
        return lin(most)
    tiles = _tiles(terms[0][0]) if len(terms) == 1 else None
    if tiles is None or rest.bounds[0] != 0:
        message = f"tiles of a run-time size are not the slowest of the grid: {guard}"
        raise Diagnostic(message, hint="leave the schedule of tiles out")
    step = terms[0][1]
    return (lin(guard.size) + (step - 1)) // step * tiles


def _tiles(atom: object) -> int | None:
    """How many workgroups follow each other before the tile along the run-time dimension is the next one."""
    match atom:
        case Var():
            return 1
        case Div(num, den) if den.is_constant and not num.const and len(num.terms) == 1:
            ((inner, step),) = num.terms
            return den.const if isinstance(inner, Var) and step == 1 else None
        case _:
            return None
