"""Space: an operand's map as an array of few dims, each with the coordinate that a point has in it.

Law: a point exists where each coordinate is inside its axis, and lies at base + sum(coordinate * stride).

The axes are the array's own, of one with gaps those of what is no gap, brought to a short form by two steps
that keep the law.  An axis whose coordinates are all c modulo s becomes one of every s-th element, from the
c-th on.  An axis and the next inner one become one where their coordinates are the quotient and the remainder
of a single index: rows of pixels that follow one another with no padding between them are one long row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from imbrex.index.expr import Lin, lin, var
from imbrex.index.map import Layer, Map, Step
from imbrex.index.query import separate
from imbrex.index.rule import Embed, Guard, Merge, PassThrough, Rule, Slice, Unfold
from imbrex.view.tensor.form import Refused

__all__ = ["Axis", "Space", "is_steady", "joined_with", "space", "spaces"]

SAMPLE: Final = 1024
"""Places along a dim that are looked at, from the first on."""


@dataclass(frozen=True)
class Axis:
    """One dim: the coordinate along it, how many there are, elements from one to the next.

    each: of a run-time size there are so many for each one of it, and size is the most; 0: as many as ever.
    """

    coordinate: Lin
    size: int
    stride: int
    each: int = 0

    @property
    def is_open(self) -> bool:
        """Is how many there are told when the kernel runs?"""
        return self.each > 0

    @property
    def is_covered(self) -> bool:
        """Is every coordinate inside?"""
        low, high = self.coordinate.bounds
        return low >= 0 and high < self.size


@dataclass(frozen=True)
class Space:
    """axes: outermost first."""

    axes: tuple[Axis, ...]
    base: int


def spaces(map: Map, point: Sequence[Lin], inner: str | None = None) -> Iterator[Space | Refused]:
    """The map at a point as a Space, in each way there is; the point may lie beyond the map's upper dims.

    Besides the plain one: with axes joined where a part of their indices is a quotient and a remainder, as of
    groups and channels; and, where an upper dim `inner` is given and nothing lies outside of the innermost
    axis, with this as two that overlap, one of them along `inner`, as rows of a window do.
    """
    plain = space(map, point)
    yield plain
    if isinstance(plain, Refused):
        return
    joined = Space(_joined(plain.axes, _is_shorter), plain.base)
    if joined != plain:
        yield joined
    two = _overlapping(joined.axes[-1], inner) if inner else None
    if two:
        yield Space((*joined.axes[:-1], *two), plain.base)


def _overlapping(axis: Axis, inner: str) -> tuple[Axis, Axis] | None:
    """An axis as one that moves with `inner` alone and one of all else, a few elements apart."""
    parts = separate(axis.coordinate, frozenset((inner,)))
    if parts is None or not axis.is_covered:
        return None
    outer, along = parts
    apart = gcd(*(c for _, c in outer.terms))
    if axis.is_open or apart <= 1 or along.bounds[0] != 0 or outer.const % apart:
        return None
    outer = outer // apart
    return (
        Axis(outer, outer.bounds[1] + 1, apart * axis.stride),
        Axis(along, along.bounds[1] + 1, axis.stride),
    )


def is_steady(map: Map, inner: str, other: str, row: float) -> bool:
    """Do rows of so many neighbours along the upper dim `inner` begin at one place of an axis, from most of
    the places along `other` to the next, so that several are a box?  True as well where no axis holds them.
    """
    sizes = dict(map.upper)
    if sizes[other] == 1:
        return True

    point = [var(name, size) for name, size in sizes.items()]
    axes = [found.axes[-1].coordinate for found in spaces(map, point, inner) if isinstance(found, Space)]
    holding = [x for x in axes if row * np.count_nonzero(_changes(x, inner, sizes) != 1) <= SAMPLE]
    moved = [int(np.count_nonzero(_changes(x, other, sizes))) for x in holding]
    return not moved or 2 * min(moved) < min(SAMPLE, sizes[other])


def _changes(index: Lin, along: str, sizes: Mapping[str, int]) -> npt.NDArray[np.int64]:
    """How far an index moves from each place of a dim to the next, the others at their first."""
    coordinates = np.arange(min(SAMPLE, sizes[along]))
    values: Any = index.eval({**dict.fromkeys(sizes, 0), along: coordinates})
    return np.diff(np.broadcast_to(values, coordinates.shape)).astype(np.int64)


def space(map: Map, point: Sequence[Lin]) -> Space | Refused:
    """The map at a point as a Space; the point may lie beyond the map's upper dims."""
    memory = _memory(map)
    found = _overflowing(memory.map).at(point)
    ends = [(guard, lin(guard.size)) for guard in found.guards]
    fixed = [Guard(guard.index, size.const) for guard, size in ends if size.is_constant]
    coords = _guarded(list(found.coords), memory.sizes, fixed)
    if isinstance(coords, Refused):
        return coords
    open_guards = [guard for guard, size in ends if not size.is_constant]
    are_open = _are_open(coords, memory.sizes, open_guards)
    if isinstance(are_open, Refused):
        return are_open
    base, axes = memory.base, list[Axis]()
    given = zip(coords, memory.sizes, memory.strides, are_open, strict=True)
    for axis in (Axis(*one) for one in given):
        start, thinned = _thinned(axis)
        base += start
        axes += [thinned] if thinned.coordinate != lin(0) else []
    return Space(_joined(axes, _is_one), base)


class Memory(NamedTuple):
    """A map to the dims of an array that may have gaps: their sizes, their strides, and the first element."""

    map: Map
    sizes: list[int]
    strides: list[int]
    base: int


def _memory(map: Map) -> Memory:
    """The dims that a view of whole rows slices, or that count the places of a row, so that gaps lie outside;
    without such a view the array's own.
    """
    last = map.layers[-1]
    sizes = [d.size for d in last.lower]
    strides = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    rules = [step.rule for step in last.steps]
    if len(map.layers) < 2 or not _has_gaps(rules, len(sizes)):
        return Memory(map, sizes, strides, 0)
    below = dict(zip((d.name for d in last.lower), strides, strict=True))
    base, apart = 0, dict[str, int]()
    for rule, upper, lower in last.steps:
        stride = below[lower[0]]
        coefs, offset = (rule.coefs, rule.offset) if isinstance(rule, Embed) else ((1,), 0)
        base += stride * (rule.begin if isinstance(rule, Slice) else offset)
        apart |= {name: stride * coef for name, coef in zip(upper, coefs, strict=True)}
    order = sorted(last.upper, key=lambda d: -apart[d.name])
    *above, top = map.layers[:-1]
    renamed = dict(zip((d.name for d in top.lower), (d.name for d in last.upper), strict=True))
    steps = tuple(step._replace(lower=tuple(renamed[n] for n in step.lower)) for step in top.steps)
    kept = Map((*above, Layer(top.upper, tuple(order), steps)))
    return Memory(kept, [d.size for d in order], [apart[d.name] for d in order], base)


def _has_gaps(rules: Sequence[Rule], rank: int) -> bool:
    if any(isinstance(rule, Slice) for rule in rules):
        return all(isinstance(rule, Slice | PassThrough) for rule in rules)
    return rank == 1 and any(isinstance(rule, Embed) and min(rule.coefs) > 0 for rule in rules)


def _overflowing(map: Map) -> Map:
    """The same map, of which what lies beyond a merged dim lies beyond a dim of more than one place.

    Beyond the end of (y=1, x=1, c) is c = C, then, and not y = 1.
    """

    def ordered(layer: Layer, step: Step) -> Step:
        sizes = dict(layer.lower)
        merges = isinstance(step.rule, Merge | Unfold)
        return step._replace(lower=tuple(sorted(step.lower, key=lambda n: merges and sizes[n] == 1)))

    layers = (Layer(x.upper, x.lower, tuple(ordered(x, s) for s in x.steps)) for x in map.layers)
    return Map(tuple(layers))


def _guarded(coords: list[Lin], sizes: Sequence[int], guards: Sequence[Guard]) -> list[Lin] | Refused:
    """The coordinates, such that each guard is that one of them is inside.

    Of a dim of size 1, the coordinate is 0, and its guard says more.
    """
    for guard in guards:
        is_own = any(x == guard.index and size == guard.size for x, size in zip(coords, sizes, strict=True))
        if is_own or _is_outermost(guard, coords, sizes):
            continue
        single = next((i for i, x in enumerate(coords) if x == lin(0) and sizes[i] == guard.size == 1), None)
        if single is None:
            return Refused(f"that {guard} is not a bound of the array")
        coords[single] = guard.index
    return coords


def _are_open(coords: Sequence[Lin], sizes: Sequence[int], guards: Sequence[Guard]) -> list[int] | Refused:
    """1 for the dims that have as many places as is told when the kernel runs, else 0.

    A guard says so of the dim's index, or of a whole one whose quotient that is: p < count * d.
    """
    ends = list[tuple[Lin, int]]()
    for guard in guards:
        ((_, each),) = lin(guard.size).terms
        ends.append((guard.index // each, lin(guard.size).bounds[1] // each))
    found = [int(end in ends) for end in zip(coords, sizes, strict=True)]
    return found if sum(found) == len(ends) else Refused("a run-time size is not that of a dim of the array")


def _is_outermost(guard: Guard, coords: Sequence[Lin], sizes: Sequence[int]) -> bool:
    """Is an index of several dims inside of them where the first of its digits is inside of its own?"""
    low, _ = guard.index.bounds
    return low >= 0 and any(
        guard.size % size == 0 and guard.index // (guard.size // size) == x
        for x, size in zip(coords, sizes, strict=True)
    )


def _thinned(axis: Axis) -> tuple[int, Axis]:
    """The offset of the first element, and the axis of those that the coordinate reaches."""
    if axis.coordinate.is_constant and axis.is_covered and not axis.is_open:
        return axis.coordinate.const * axis.stride, Axis(lin(0), 1, axis.stride)
    step = gcd(*(c for _, c in axis.coordinate.terms))
    if step <= 1 or axis.is_open:
        return 0, axis
    first = axis.coordinate.const % step
    if first >= axis.size:
        return 0, axis
    size = (axis.size - 1 - first) // step + 1
    return first * axis.stride, Axis((axis.coordinate - first) // step, size, axis.stride * step)


def _joined(axes: Sequence[Axis], joins: Callable[[Axis, Axis, Axis], bool]) -> tuple[Axis, ...]:
    """Neighbouring axes as one, wherever one index runs through both; innermost ones first."""
    done: list[Axis] = []
    for axis in reversed(axes):
        inner = done[0] if done else None
        joined = inner and joined_with(axis, inner)
        if inner and joined and joins(joined, axis, inner):
            done[0] = joined
        else:
            done.insert(0, axis)
    return tuple(done)


def _is_one(joined: Axis, outer: Axis, inner: Axis) -> bool:
    """Is the joined coordinate a single index?"""
    return len(joined.coordinate.terms) == 1


def _is_shorter(joined: Axis, outer: Axis, inner: Axis) -> bool:
    """Do quotient and remainder of an index meet in the joined coordinate?"""
    return len(joined.coordinate.terms) < len(outer.coordinate.terms) + len(inner.coordinate.terms)


def joined_with(outer: Axis, inner: Axis) -> Axis | None:
    """Both as one axis; None where the outer one does not go on where the inner one ends."""
    if inner.is_open or outer.stride != inner.stride * inner.size or not inner.is_covered:
        return None
    index, size = outer.coordinate * inner.size + inner.coordinate, outer.size * inner.size
    return Axis(index, size, inner.stride, outer.each * inner.size)
