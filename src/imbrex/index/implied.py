"""Does a guard hold wherever others do?

Law: True is a proof.  As d * (x / d) <= x, d times the sum c * (x / d + r) is at most c * (x + d * r); where
x + d * r is no more than the index of a guard that holds, the guard's size bounds the sum, a multiple of c.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from imbrex.index.atom import Div
from imbrex.index.expr import Lin, lin
from imbrex.index.rule import Guard

__all__ = ["is_implied"]


def is_implied(guard: Guard, held: Iterable[Guard]) -> bool:
    """Does `guard` hold for all values of its variables for which those of constant size do?"""
    low, high = guard.index.bounds
    least_size = lin(guard.size).bounds[0]
    if low < 0:
        return False
    return high < least_size or any(most < least_size for most in _greatest(guard.index, held))


def _greatest(index: Lin, held: Iterable[Guard]) -> Iterator[int]:
    """Bounds of an index from above, by each of its quotients and each guard."""
    known = [(each.index, lin(each.size).const) for each in held if lin(each.size).is_constant]
    for atom, count in index.terms:
        if not (isinstance(atom, Div) and atom.den.is_constant and count > 0):
            continue
        rest, den = index - Lin(((atom, count),), 0), atom.den.const
        if rest.divisor % count:
            continue
        for bounded, size in known:
            if (atom.num * count + rest * den - bounded * count).bounds[1] <= 0:
                yield count * ((size - 1) // den)
