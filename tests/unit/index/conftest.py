"""What the tests of the algebra share: the laws of the rules once more, in plain integers and without the
algebra, and random maps.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, assert_never

import numpy as np
import pytest
from hypothesis import strategies as st

from imbrex.index import rule as rules
from imbrex.index.map import Dim, Layer, Map, identity, layer_over
from imbrex.index.rule import Rule

Point = tuple[int, ...]
Law = Callable[[Rule, Sequence[int], Sequence[int], Sequence[int]], "Point | None"]
Walk = Callable[[Map, Sequence[int]], "Point | None"]
Sizes = dict[str, int]
Entry = tuple[Rule, str, str]

POINTS_UP = 4000
ONE_DIM = ("pass", "pad", "slice", "unmerge", "broadcast", "embed", "flip", "quotient", "fixed", "sunder")
ONE_TO_ONE = ("pass", "pad", "slice", "unmerge", "flip")


def naive_law(rule: Rule, u: Sequence[int], upper: Sequence[int], lower: Sequence[int]) -> Point | None:
    """The lower coordinates of upper ones, or None where there are none; of a prefix one more than the least
    exist.
    """
    match rule:
        case rules.PassThrough():
            return (u[0],)
        case rules.Pad(before, _):
            return (u[0] - before,) if before <= u[0] < before + lower[0] else None
        case rules.Prefix(least):
            return (u[0],) if u[0] < least + 1 else None
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
        case rules.Group(rows):
            return _walked(rows, lower)[u[0]]
        case rules.Ungroup(rows):
            return (_walked(rows, upper).index((u[0], u[1])),)
        case rules.Deal(ways):
            return (_hands(ways, lower[0]).index(u[0]),)
        case rules.Undeal(ways):
            return (_hands(ways, lower[0])[u[0]],)
        case _:
            assert_never(rule)


def _walked(rows: Any, sizes: Sequence[int]) -> list[Point]:
    """The places of a grid, column by column within groups of rows."""
    starts = range(0, sizes[0], rows)
    return [(r, c) for s in starts for c in range(sizes[1]) for r in range(s, min(s + rows, sizes[0]))]


def _hands(ways: int, size: int) -> list[int]:
    """Cards dealt to so many hands in turn, one hand after the other."""
    return [card for hand in range(ways) for card in range(hand, size, ways)]


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


def _over_one(draw: Callable[..., Any], kind: str, low: Dim, up: str) -> tuple[list[Entry], Sizes]:
    """Entries above one lower dim, and the sizes that they do not settle."""
    number = lambda a, b: draw(st.integers(a, b))  # noqa: E731
    match kind:
        case "pad":
            return [(rules.Pad(number(0, 2), number(0, 3)), up, low.name)], {}
        case "slice":
            begin = number(0, low.size - 1)
            return [(rules.Slice(begin, number(begin + 1, low.size)), up, low.name)], {}
        case "unmerge":
            inner = draw(st.sampled_from([f for f in range(1, low.size + 1) if low.size % f == 0]))
            sizes = {f"{up}a": low.size // inner, f"{up}b": inner}
            return [(rules.Unmerge(), " ".join(sizes), low.name)], sizes
        case "broadcast":
            entries: list[Entry] = [(rules.PassThrough(), up, low.name), (rules.Broadcast(), f"{up}b", "")]
            return entries, {f"{up}b": number(1, 3)}
        case "embed":
            c1, c2, n1 = number(0, 3), number(1, 2), number(1, 3)
            n1 = min(n1, (low.size - 1) // c1 + 1) if c1 else n1
            n2 = (low.size - 1 - c1 * (n1 - 1)) // c2 + 1
            return [(rules.Embed((c1, c2)), f"{up}a {up}b", low.name)], {f"{up}a": n1, f"{up}b": n2}
        case "flip":
            return [(rules.Embed((-1,), low.size - 1), up, low.name)], {up: low.size}
        case "quotient":
            return [(rules.Quotient(draw(st.sampled_from((-2, 1, 2, 3))), number(-1, 3)), up, low.name)], {
                up: number(1, 9)
            }
        case "fixed":
            return [(rules.Fixed(number(0, low.size - 1)), "", low.name)], {}
        case "sunder" if low.size > 1:
            first = number(1, low.size - 1)
            sizes = {f"{up}a": first, f"{up}b": low.size - first, f"{up}s": 2}
            return [(rules.Sunder(), " ".join(sizes), low.name)], sizes
        case _:
            return [(rules.PassThrough(), up, low.name)], {}


def _layer(draw: Callable[..., Any], lower: tuple[Dim, ...], depth: int, kinds: Sequence[str]) -> Layer:
    entries: list[Entry] = []
    sizes: Sizes = {}
    rest = list(lower)
    while rest:
        up = f"l{depth}_{len(entries)}"
        if len(rest) > 1 and draw(st.integers(0, 2)) == 0:
            one, two = rest.pop(0), rest.pop(0)
            if two.size & (two.size - 1) == 0 and draw(st.booleans()):
                entries.append((rules.Xor(draw(st.integers(1, 2))), f"{up}r {up}c", f"{one.name} {two.name}"))
            else:
                merge = draw(st.sampled_from((rules.Merge(), rules.Unfold())))
                entries.append((merge, up, f"{one.name} {two.name}"))
        else:
            more, given_sizes = _over_one(draw, draw(st.sampled_from(kinds)), rest.pop(0), up)
            entries += more
            sizes |= given_sizes
    names = [n for _, up, _ in entries for n in up.split()]
    return layer_over(lower, *entries, order=draw(st.permutations(names)), **sizes)


@st.composite
def random_map(draw: Callable[..., Any], kinds: Sequence[str] = ONE_DIM) -> Map:
    """Chains of layers, built from the memory up; every layer is legal by construction."""
    lower = tuple(Dim(f"m{i}", draw(st.integers(1, 8))) for i in range(draw(st.integers(1, 3))))
    layers: list[Layer] = []
    for depth in range(draw(st.integers(1, 4))):
        layer = _layer(draw, lower, depth, kinds)
        if not layer.upper or prod(d.size for d in layer.upper) > POINTS_UP:
            break
        layers.insert(0, layer)
        lower = layer.upper
    return Map(tuple(layers)) if layers else identity(lower)


@pytest.fixture(scope="session")
def maps() -> st.SearchStrategy[Map]:
    """Maps of any rules."""
    return random_map()


@pytest.fixture(scope="session")
def one_to_one_maps() -> st.SearchStrategy[Map]:
    """Maps whose every layer has an inverse."""
    return random_map(ONE_TO_ONE)
