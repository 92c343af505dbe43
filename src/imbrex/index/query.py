"""The questions that backends ask of a map; each is answered by substituting, simplifying and looking.

Nothing here is a heuristic: an answer is exact, or it is the safe one (width 1, not injective).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from math import gcd, prod
from typing import NamedTuple, TypeGuard, assert_never

import numpy as np

from imbrex.index import rule as rules
from imbrex.index.atom import Atom, Div
from imbrex.index.digits import row_major
from imbrex.index.expr import Lin, lin, var
from imbrex.index.map import Map, Point, Step
from imbrex.index.rule import Guard

EXHAUSTIVE_POINTS = 1 << 20


def linear(map: Map) -> tuple[Lin, tuple[Guard, ...]]:
    """Element offset in the lower buffer, and guards, at the map's own variables."""
    return row_major(map.symbolic.coords, [d.size for d in map.lower]), map.symbolic.guards


def vector_width(map: Map, dim: str, widest: int = 16) -> int:
    """Widest power of two w such that w neighbours along `dim`, from any multiple of w on, are w aligned
    neighbours in the lower buffer (compact, row-major, itself aligned to w elements).

    A guard must hold or fail for all w together: a pad that splits them forbids the width.
    1 where nothing wider is legal.
    """
    size = dict(map.upper)[dim]
    w = 1
    while w * 2 <= widest and size % (w * 2) == 0 and obstacle(map, dim, w * 2) is None:
        w *= 2
    return w


def stretch(map: Map, dim: str, longest: int) -> int:
    """Widest power of two w such that which of w neighbours along `dim`, from any multiple of w on, takes an
    own part of the offset, whatever the multiple, and no part in guards.

    A loop whose steps are such stretches moves all lanes' addresses by one scalar.
    """
    w = 1
    while w * 2 <= longest and dict(map.upper)[dim] % (w * 2) == 0 and _is_stretch(map, dim, w * 2):
        w *= 2
    return w


def _is_stretch(map: Map, dim: str, w: int) -> bool:
    lane, point = _within(map, dim, w)
    offset = row_major(point.coords, [d.size for d in map.lower])
    is_split = all(a.variables <= lane.variables or not a.variables & lane.variables for a, _ in offset.terms)
    return is_split and not any(guard.index.variables & lane.variables for guard in point.guards)


def _within(map: Map, dim: str, w: int) -> tuple[Lin, Point]:
    """Which of w neighbours along `dim`, where w divides its size; and the map there."""
    fresh = "".join(map.variables) + "'"  # longer than any dim's name
    lane = var(fresh, w)
    block = var(fresh + "'", dict(map.upper)[dim] // w)
    at = [block * w + lane if d.name == dim else var(d.name, d.size) for d in map.upper]
    return lane, map.at(at)


class Obstacle(Enum):
    """Why neighbours are no vector: they do not lie together, or not at a multiple of their number."""

    APART = "apart"
    UNALIGNED = "unaligned"


def obstacle(map: Map, dim: str, w: int) -> Obstacle | Guard | None:
    """What keeps w neighbours along `dim` from being a vector, where w divides its size: a guard splits them,
    or an Obstacle; None where they are one.
    """
    lane, point = _within(map, dim, w)
    return _obstacle(row_major(point.coords, [d.size for d in map.lower]), point.guards, lane, w)


def moves_as_vector(offset: Lin, guards: Sequence[Guard], lane: Lin, w: int) -> bool:
    """Are the elements at lane = 0 .. w - 1 aligned neighbours that exist or fail to exist together?"""
    return _obstacle(offset, guards, lane, w) is None


def _obstacle(offset: Lin, guards: Sequence[Guard], lane: Lin, w: int) -> Obstacle | Guard | None:
    if w == 1:
        return None
    (name,) = lane.variables
    base = offset - lane
    if base.mentions(name) and (base := _in_one_quotient(base)).mentions(name):
        return Obstacle.APART
    if base.divisor % w:
        return Obstacle.UNALIGNED
    return next((g for g in guards if g.index.mentions(name) and not _is_uniform(g, lane, w)), None)


def _in_one_quotient(x: Lin) -> Lin:
    """The same value, where (s + e / k) / d is (k * s + e) / (k * d): what never reaches k * d then goes."""
    made = [(_quotient(a.num, a.den.const) if _is_quotient(a) else Lin(((a, 1),), 0), c) for a, c in x.terms]
    return sum((one * c for one, c in made), lin(x.const))


def _quotient(num: Lin, d: int) -> Lin:
    num = _in_one_quotient(num)
    for atom, c in num.terms:
        if c == 1 and _is_quotient(atom):
            k = atom.den.const
            return _quotient((num - Lin(((atom, 1),), 0)) * k + atom.num, k * d)
    return num // d


def _is_quotient(atom: Atom) -> TypeGuard[Div]:
    return isinstance(atom, Div) and atom.den.is_constant


def _is_uniform(guard: Guard, lane: Lin, w: int) -> bool:
    """Does a guard that mentions the lane give one answer for all w of them?

    `start + lane >= 0` does where w divides start, `start + lane < size` where w divides start - size.
    """
    start = guard.index - lane
    low, high = guard.index.bounds
    return (
        not start.variables & lane.variables
        and (low >= 0 or start.divisor % w == 0)
        and (high < lin(guard.size).bounds[0] or (start - guard.size).divisor % w == 0)
    )


def pointer_step(offset: Lin, loop: str, size: int, by: int = 1) -> Lin:
    """How far the offset moves when the loop variable moves forward by `by`: a constant is a pointer bump.

    For a move that stays inside the loop, from one of its `size` values to another.
    """
    assert by >= 0, by
    before = var(loop, max(1, size - by))
    moving = Lin(tuple((atom, c) for atom, c in offset.terms if loop in atom.variables), 0)
    step = moving.subs({loop: before + by}) - moving.subs({loop: before})
    return step.subs({loop: var(loop, size)})


def strides(map: Map) -> tuple[int, ...] | None:
    """Elements from one to the next along each upper dim, in the lower buffer; None where these differ from
    place to place.  Of a dim of one element, that of a view without gaps.
    """
    offset, _ = linear(map)
    found = [prod(d.size for d in map.upper[i + 1 :]) for i in range(len(map.upper))]
    for position, (name, size) in enumerate(map.upper):
        step = pointer_step(offset, name, size)
        if not step.is_constant:
            return None
        found[position] = step.const if size > 1 else found[position]
    return tuple(found)


class Separated(NamedTuple):
    """`index = row + lane`, the first part free of lane variables and the second of row variables."""

    row: Lin
    lane: Lin


def separate(index: Lin, lanes: frozenset[str]) -> Separated | None:
    """Split an index into a part without and a part of only `lanes`; None where one term mixes them.

    The constant goes to the row part.
    """
    row = lane = lin(0)
    for atom, c in index.terms:
        term = Lin(((atom, c),), 0)
        if not term.variables & lanes:
            row = row + term
        elif term.variables <= lanes:
            lane = lane + term
        else:
            return None
    return Separated(row + index.const, lane)


def is_injective(map: Map) -> bool:
    """Do different existing upper points have different lower points?

    True is a proof, layer by layer.  Where the layers do not prove it, small maps are tried at every
    point; a large one is called not injective, which costs atomics and never a wrong result.
    """
    point = tuple(var(d.name, d.size) for d in map.upper)
    for layer in map.layers:
        reach = {d.name: _reach(x, d.size) for x, d in zip(point, layer.upper, strict=True)}
        if not all(_step_is_injective(step, [reach[n] for n in step.upper]) for step in layer.steps):
            return prod(d.size for d in map.upper) <= EXHAUSTIVE_POINTS and not _collisions(map)
        point = layer.at(point).coords
    return True


def _collisions(map: Map) -> int:
    """How many existing upper points share their lower point with an earlier one."""
    grid = np.indices([d.size for d in map.upper], dtype=np.int64).reshape(len(map.upper), -1)
    coords, valid = map.evaluate(list(grid))
    flat = np.zeros(grid.shape[1], dtype=np.int64)
    for coord, dim in zip(coords, map.lower, strict=True):
        flat = flat * dim.size + coord
    kept = flat[np.broadcast_to(valid, flat.shape)]
    return int(kept.size - np.unique(kept).size)


def _reach(x: Lin, size: int) -> range:
    """The coordinates that an index can have in a dim of this size: less than all of them below a Slice."""
    low, high = x.bounds
    return range(max(low, 0), min(high, size - 1) + 1)


def _step_is_injective(step: Step, upper: Sequence[range]) -> bool:
    counts = [len(r) for r in upper]
    match step.rule:
        case rules.Embed(coefs, _):
            return _embed_is_injective(coefs, counts)
        case rules.Broadcast():
            return counts[0] <= 1
        case rules.Sunder():
            *pieces, selector = upper
            idle = [p for i, p in enumerate(pieces) if len(selector) != 1 or i not in selector]
            return all(len(p) <= 1 for p in idle)
        case (
            rules.PassThrough()
            | rules.Pad()
            | rules.Prefix()
            | rules.Slice()
            | rules.Quotient()
            | rules.Unmerge()
            | rules.Merge()
            | rules.Unfold()
            | rules.Fixed()
            | rules.Xor()
            | rules.Group()
            | rules.Ungroup()
            | rules.Deal()
            | rules.Undeal()
        ):
            return True
        case _:
            assert_never(step.rule)


def _embed_is_injective(coefs: Sequence[int], counts: Sequence[int]) -> bool:
    """Proved where each coefficient steps over all that the smaller ones reach; otherwise decided exactly for
    two terms, and by trying all sums for a few more.

    c1*d1 = c2*d2 has no solution but 0 with |d1| < n1, |d2| < n2 if c2/g >= n1 or c1/g >= n2, g their gcd.
    For backward data with dilation 1 this is `stride >= window`.
    """
    terms = sorted((abs(c), n) for c, n in zip(coefs, counts, strict=True) if n > 1)
    if all(c > sum(c2 * (n2 - 1) for c2, n2 in terms[:i]) for i, (c, _) in enumerate(terms)):
        return True
    if len(terms) == 2 and terms[0][0]:
        (c1, n1), (c2, n2) = terms
        return c2 // gcd(c1, c2) >= n1 or c1 // gcd(c1, c2) >= n2
    if (points := prod(n for _, n in terms)) > EXHAUSTIVE_POINTS:
        return False
    sums = np.zeros(1, dtype=np.int64)
    for c, n in terms:
        sums = np.unique(sums[:, None] + c * np.arange(n))
    return len(sums) == points
