"""Space: an operand's map as an array of few dims, each with the coordinate that a point has in it.

Law: a point exists where each coordinate is inside its axis, and lies at base + sum(coordinate * stride).

The axes are the array's own, brought to a short form by two steps that keep the law.  An axis whose
coordinates are all c modulo s becomes one of every s-th element, from the c-th on.  An axis and the next
inner one become one where their coordinates are the quotient and the remainder of a single index: rows of
pixels that follow one another with no padding between them are one long row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from imbrex.index.expr import Lin, lin
from imbrex.index.map import Layer, Map, Step
from imbrex.index.rule import Guard, Merge, Unfold
from imbrex.view.tensor.form import Refused

__all__ = ["Axis", "Space", "joined_with", "space"]


@dataclass(frozen=True)
class Axis:
    """One dim: the coordinate along it, how many there are, elements from one to the next."""

    coordinate: Lin
    size: int
    stride: int

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


def space(map: Map, point: Sequence[Lin]) -> Space | Refused:
    """The map at a point as a Space; the point may lie beyond the map's upper dims."""
    found = _overflowing(map).at(point)
    sizes = [d.size for d in map.lower]
    strides = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    coords = _guarded(list(found.coords), sizes, found.guards)
    if isinstance(coords, Refused):
        return coords
    base, axes = 0, list[Axis]()
    for axis in (Axis(*given) for given in zip(coords, sizes, strides, strict=True)):
        start, thinned = _thinned(axis)
        base += start
        axes += [thinned] if thinned.coordinate != lin(0) else []
    return Space(_joined(axes), base)


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
        if (guard.index, guard.size) in zip(coords, sizes, strict=True):
            continue
        single = next((i for i, x in enumerate(coords) if x == lin(0) and sizes[i] == guard.size == 1), None)
        if single is None:
            return Refused(f"that {guard} is not a bound of the array")
        coords[single] = guard.index
    return coords


def _thinned(axis: Axis) -> tuple[int, Axis]:
    """The offset of the first element, and the axis of those that the coordinate reaches."""
    if axis.coordinate.is_constant and axis.is_covered:
        return axis.coordinate.const * axis.stride, Axis(lin(0), 1, axis.stride)
    step = gcd(*(c for _, c in axis.coordinate.terms))
    if step <= 1:
        return 0, axis
    first = axis.coordinate.const % step
    if first >= axis.size:
        return 0, axis
    size = (axis.size - 1 - first) // step + 1
    return first * axis.stride, Axis((axis.coordinate - first) // step, size, axis.stride * step)


def _joined(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Neighbouring axes as one, wherever one index runs through both; innermost ones first."""
    done: list[Axis] = []
    for axis in reversed(axes):
        inner = done[0] if done else None
        joined = inner and joined_with(axis, inner)
        if joined and len(joined.coordinate.terms) == 1:
            done[0] = joined
        else:
            done.insert(0, axis)
    return tuple(done)


def joined_with(outer: Axis, inner: Axis) -> Axis | None:
    """Both as one axis; None where the outer one does not go on where the inner one ends."""
    if outer.stride != inner.stride * inner.size or not inner.is_covered:
        return None
    return Axis(outer.coordinate * inner.size + inner.coordinate, outer.size * inner.size, inner.stride)
