"""The laws of the rules once more, in plain integers and without the algebra: what its tests compare with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import assert_never

import numpy as np
import pytest

from imbrex.index import rule as rules
from imbrex.index.map import Map
from imbrex.index.rule import Rule

Point = tuple[int, ...]
Law = Callable[[Rule, Sequence[int], Sequence[int], Sequence[int]], "Point | None"]
Walk = Callable[[Map, Sequence[int]], "Point | None"]


def naive_law(rule: Rule, u: Sequence[int], upper: Sequence[int], lower: Sequence[int]) -> Point | None:
    """The lower coordinates of upper ones, or None where there are none."""
    match rule:
        case rules.PassThrough():
            return (u[0],)
        case rules.Pad(before, _):
            return (u[0] - before,) if before <= u[0] < before + lower[0] else None
        case rules.Slice(begin, _):
            return (u[0] + begin,)
        case rules.Embed(coefs, offset):
            return (offset + sum(c * x for c, x in zip(coefs, u, strict=True)),)
        case rules.Quotient(coef, offset):
            return next(((x,) for x in range(lower[0]) if coef * x + offset == u[0]), None)
        case rules.Unmerge():
            return (int(np.ravel_multi_index(tuple(u), tuple(upper))),)
        case rules.Merge() | rules.Unfold():
            return tuple(int(x) for x in np.unravel_index(u[0], tuple(lower)))
        case rules.Broadcast():
            return ()
        case rules.Fixed(value):
            return (value,)
        case rules.Sunder():
            return (sum(upper[: u[-1]]) + u[u[-1]],)
        case rules.Xor(rows_per_step):
            return u[0], u[1] ^ (u[0] // rows_per_step & (upper[1] - 1))
        case _:
            assert_never(rule)


def naive_walk(map: Map, point: Sequence[int]) -> Point | None:
    """Layer after layer, each coordinate a plain integer; None as soon as one does not exist."""
    for layer in map.layers:
        given = dict(zip((d.name for d in layer.upper), point, strict=True))
        made: dict[str, int] = {}
        for step in layer.steps:
            u = [given[n] for n in step.upper]
            out = naive_law(step.rule, u, layer.upper_sizes(step), layer.lower_sizes(step))
            if out is None:
                return None
            made.update(zip(step.lower, out, strict=True))
        point = tuple(made[d.name] for d in layer.lower)
    return tuple(point)


@pytest.fixture(scope="session")
def law() -> Law:
    return naive_law


@pytest.fixture(scope="session")
def walk() -> Walk:
    return naive_walk


@pytest.fixture(scope="session")
def points() -> Callable[[Sequence[int]], Iterator[Point]]:
    """All points of a box, or a few thousand evenly spread ones of a large box."""

    def of(sizes: Sequence[int]) -> Iterator[Point]:
        stride = prod(sizes) // 3000 + 1
        return itertools.islice(itertools.product(*map(range, sizes)), 0, None, stride)

    return of
