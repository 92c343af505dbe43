"""Do two elements of one array ever meet, each over all values of its own variables?

Law: True is a proof.  If the two were equal, the difference of their sums would be 0.  What of it is left
when all multiples of some m are taken away lies in an interval, and is a multiple of m, too.  Where the
interval holds none, the two never meet.  Where it holds one alone, that is what is left, and the same is
asked of less.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from imbrex.index.atom import Atom, Interval
from imbrex.index.expr import Lin, lin
from imbrex.index.rule import Guard

__all__ = ["GuardedOffset", "are_apart"]


class GuardedOffset(NamedTuple):
    """The elements at `offset`, where the guards hold."""

    offset: Lin
    guards: Sequence[Guard] = ()


class _Term(NamedTuple):
    """coefficient * x, low <= x <= high."""

    coefficient: int
    low: int
    high: int

    @property
    def ends(self) -> Interval:
        low, high = sorted((self.coefficient * self.low, self.coefficient * self.high))
        return low, high


def are_apart(one: GuardedOffset, other: GuardedOffset) -> bool:
    """Is there no element that both are at?"""
    terms = [*_terms(one, 1), *_terms(other, -1)]
    const = one.offset.const - other.offset.const
    while terms:
        found = next(filter(None, (_less(terms, const, m) for m in _moduli(terms))), None)
        if found is None:
            return False
        count, terms, const = found
        if count == 0:
            return True
    return const != 0


def _less(terms: Sequence[_Term], const: int, m: int) -> tuple[int, list[_Term], int] | None:
    """How many multiples of m the rest may be, 0 or 1, and the rest less that one; None for more of them."""
    rest = [term for term in terms if term.coefficient % m]
    low, high = const + sum(t.ends[0] for t in rest), const + sum(t.ends[1] for t in rest)
    first = -(-low // m)
    count = max(0, high // m - first + 1)
    return None if count > 1 else (count, rest, const - first * m)


def _moduli(terms: Iterable[_Term]) -> list[int]:
    return sorted({abs(term.coefficient) for term in terms}, reverse=True)


def _terms(of: GuardedOffset, sign: int) -> list[_Term]:
    bounds = [_within(atom, of.guards) for atom, _ in of.offset.terms]
    return [_Term(sign * k, *b) for (_, k), b in zip(of.offset.terms, bounds, strict=True)]


def _within(atom: Atom, guards: Iterable[Guard]) -> Interval:
    """Values of an atom that guards of nothing but it leave."""
    low, high = atom.bounds
    for guard in guards:
        if guard.index.terms == ((atom, 1),):
            most = lin(guard.size).bounds[1]
            low, high = max(low, -guard.index.const), min(high, most - 1 - guard.index.const)
    return low, high
