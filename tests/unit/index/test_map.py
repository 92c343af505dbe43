"""Maps: composition and inverse at every point, guards that say exactly what exists, what a layer refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imbrex.index.expr import Lin, lin, var, without_simplification
from imbrex.index.map import (
    Dim,
    Entry,
    Layer,
    Map,
    Step,
    identity,
    layer_over,
    passing,
    replacing,
    unchanged,
)
from imbrex.index.rule import (
    Broadcast,
    Embed,
    Fixed,
    Merge,
    Pad,
    PassThrough,
    Rule,
    Slice,
    Sunder,
    Unfold,
    Unmerge,
    Xor,
)

Point = tuple[int, ...]
Walk = Callable[[Map, Sequence[int]], "Point | None"]
Points = Callable[[Sequence[int]], Iterator[Point]]
Maps = st.SearchStrategy[Map]
P = PassThrough()

# Deterministic, so that a run repeats.  A failure prints its map.
random_maps = settings(max_examples=200, deadline=None, derandomize=True)


def _dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(n, s) for n, s in sizes.items())


def _grid(map: Map) -> list[Any]:
    return list(np.indices([d.size for d in map.upper]).reshape(len(map.upper), -1))


def _check(whole: Map, walk: Walk, points: Points) -> None:
    """R(i) = B(A(i)) layer by layer at every point, and the naive walk at many of them."""
    grid = _grid(whole)
    shape = grid[0].shape
    got, valid = whole.evaluate(grid)
    coords: Sequence[Any] = grid
    exists = np.ones(shape, dtype=bool)
    for layer in whole.layers:
        coords, more = Map((layer,)).evaluate(coords)
        exists = exists & more
    assert (np.broadcast_to(valid, shape) == exists).all(), "guards of the whole and of its layers"
    for x, want in zip(got, coords, strict=True):
        assert (np.broadcast_to(x, shape) == want)[exists].all(), "coordinates of the whole and of its layers"
    sizes = [d.size for d in whole.upper]
    some = list(points(sizes))[:: prod(sizes) // 150 + 1]
    for point in some:
        want = walk(whole, point)
        i = np.ravel_multi_index(point, sizes)
        assert np.broadcast_to(valid, shape)[i] == (want is not None), f"guards at {point}"
        if want is not None:
            assert tuple(int(np.broadcast_to(x, shape)[i]) for x in got) == want, f"coordinates at {point}"
            assert all(0 <= x < d.size for x, d in zip(want, whole.lower, strict=True))


@random_maps
@given(st.data())
def test_random_maps_at_every_point(maps: Maps, walk: Walk, points: Points, data: st.DataObject) -> None:
    _check(data.draw(maps), walk, points)


@random_maps
@given(st.data())
def test_at_a_point_is_evaluate_there(maps: Maps, points: Points, data: st.DataObject) -> None:
    whole = data.draw(maps)
    for point in list(points([d.size for d in whole.upper]))[::37]:
        at = whole.at(point)
        coords, valid = whole.evaluate(point)
        assert all(x.is_constant for x in at.coords)
        assert bool(valid) == all(0 <= g.index.const < g.size for g in at.guards)
        if valid:
            assert tuple(x.const for x in at.coords) == coords


@random_maps
@given(st.data())
def test_the_simplifier_off_gives_the_same_answers(maps: Maps, data: st.DataObject) -> None:
    whole = data.draw(maps)
    grid = _grid(whole)
    coords, valid = whole.evaluate(grid)
    with without_simplification():
        plain = Map(whole.layers)
        plain_coords, plain_valid = plain.evaluate(grid)
    valid = np.broadcast_to(valid, grid[0].shape)
    assert (valid == plain_valid).all()
    for x, y in zip(coords, plain_coords, strict=True):
        assert (np.broadcast_to(x, valid.shape) == np.broadcast_to(y, valid.shape))[valid].all()


@random_maps
@given(st.data())
def test_then_joins_layers_of_equal_sizes(maps: Maps, data: st.DataObject) -> None:
    one, other = data.draw(maps), data.draw(maps)
    assert identity(one.upper).then(one).symbolic == one.symbolic
    assert one.then(identity(one.lower)).symbolic == one.symbolic
    if [d.size for d in one.lower] != [d.size for d in other.upper]:
        with pytest.raises(ValueError, match="a layer makes sizes"):
            one.then(other)


@random_maps
@given(st.data())
def test_inverse_after_map_is_the_identity(one_to_one_maps: Maps, data: st.DataObject) -> None:
    whole = data.draw(one_to_one_maps)
    back = whole.inverse()
    assert (back.upper, back.lower) == (whole.lower, whole.upper)
    there = _grid(whole)
    coords, exists = whole.evaluate(there)
    exists = np.broadcast_to(exists, there[0].shape)
    again, returns = back.evaluate(coords)
    assert np.broadcast_to(returns, exists.shape)[exists].all(), "what exists below is reached from below"
    for x, y in zip(again, there, strict=True):
        assert (np.broadcast_to(x, y.shape) == y)[exists].all()


def _tile_of_a_window() -> Map:
    """gemm (k, n) of a 3x3 convolution of 8x8 padded by one, NCHW."""
    image = layer_over(
        _dims(b=2, c=3, h=8, w=8),
        (P, "b", "b"),
        (P, "c", "c"),
        (Pad(1, 1), "hp", "h"),
        (Pad(1, 1), "wp", "w"),
    )
    window = layer_over(
        image.upper, (P, "b", "b"), (P, "c", "c"),
        (Embed((1, 1)), "y ho", "hp"), (Embed((1, 1)), "x wo", "wp"), y=3, x=3, ho=8, wo=8,
    )  # fmt: skip
    return Map((layer_over(window.upper, (Merge(), "k", "c y x"), (Merge(), "n", "b ho wo")), window, image))


def _sizes_of(whole: Map) -> tuple[list[int], list[int]]:
    return [d.size for d in whole.upper], [d.size for d in whole.lower]


# upper map, lower map: as pycute tests its composition, R(i) = B(A(i))
COMPOSED: list[tuple[Map, Map]] = [
    (identity(_dims(a=4)), identity(_dims(a=4))),
    (
        Map((layer_over(_dims(a=24), (Unmerge(), "x y", "a"), x=4, y=6),)),
        Map((layer_over(_dims(p=2, q=3, r=4), (Merge(), "a", "p q r")),)),
    ),
    (
        Map((layer_over(_dims(a=6, b=4), (Merge(), "x", "a b")),)),
        Map((layer_over(_dims(p=6, q=4), (P, "b", "q"), (P, "a", "p"), order=("a", "b")),)),
    ),
    (
        Map((layer_over(_dims(a=27, b=128), (Slice(3, 20), "s", "a"), (Slice(60, 100), "t", "b")),)),
        _tile_of_a_window(),
    ),
    (
        Map((layer_over(_dims(a=9), (Embed((2, 1)), "y o", "a"), y=2, o=7),)),
        Map((layer_over(_dims(h=6), (Pad(1, 2), "a", "h")),)),
    ),
    (
        Map((layer_over(_dims(a=10), (Sunder(), "first second which", "a"), first=4, second=6, which=2),)),
        Map((layer_over(_dims(r=5, c=2), (Unfold(), "a", "r c")),)),
    ),
    (
        Map((layer_over(_dims(a=8, b=4), (Xor(), "a b", "a b")),)),
        Map((layer_over(_dims(o=32), (Unmerge(), "a b", "o"), a=8, b=4),)),
    ),
]


@pytest.mark.parametrize(("above", "below"), COMPOSED)
def test_composition(above: Map, below: Map, walk: Walk, points: Points) -> None:
    whole = above.then(below)
    assert (whole.upper, whole.lower) == (above.upper, below.lower)
    _check(whole, walk, points)
    for point in points([d.size for d in whole.upper]):
        middle, exists = above.evaluate(point)
        want, below_exists = below.evaluate(middle)
        got, whole_exists = whole.evaluate(point)
        assert bool(whole_exists) == bool(exists & below_exists)
        assert not whole_exists or got == want


def test_control_a_wrong_layer_is_seen(walk: Walk, points: Points) -> None:
    whole = _tile_of_a_window()
    _check(whole, walk, points)

    def moved(layer: Layer, old: Rule, new: Rule) -> Layer:
        return Layer(
            layer.upper,
            layer.lower,
            tuple(Step(new if s.rule == old else s.rule, *s[1:]) for s in layer.steps),
        )

    *above, image = whole.layers
    for old, new in ((Pad(1, 1), Pad(0, 2)), (Pad(1, 1), Pad(2, 0))):
        other = Map((*above, moved(image, old, new)))
        with pytest.raises(AssertionError, match=r"(guards|coordinates) at"):
            _check(whole, lambda _, point, other=other: walk(other, point), points)


def test_guards_are_exactly_what_exists(walk: Walk, points: Points) -> None:
    whole = _tile_of_a_window()
    guards = whole.symbolic.guards
    assert [str(g) for g in guards] == [
        "0 <= ((k / 3) % 3) + ((n / 8) % 8) - 1 < 8",
        "0 <= (k % 3) + (n % 8) - 1 < 8",
    ]
    for missing in range(len(guards)):
        kept = guards[:missing] + guards[missing + 1 :]
        loose = [
            point
            for point in points([27, 128])
            if all(0 <= g.index.eval(dict(zip("kn", point, strict=True))) < g.size for g in kept)
            and walk(whole, point) is None
        ]
        assert loose, "a guard that can be left out is one too many"


def test_equal_guards_are_kept_once() -> None:
    twice = Map((layer_over(_dims(a=4, b=4), (Pad(1, 0), "a", "a"), (Pad(1, 0), "b", "b")),))
    u = var("u", 5)
    assert len(twice.at([u, u]).guards) == 1
    assert len(twice.at([u, u + 0]).guards) == 1
    assert len(twice.symbolic.guards) == 2


def test_pads_over_pads_leave_one_guard(walk: Walk, points: Points) -> None:
    """The tightest on each side, wherever in the chain it comes from."""

    def chain(*rules: tuple[Rule, int]) -> Map:
        layers = [layer_over(_dims(x=size), (rule, "x", "x")) for rule, size in rules]
        return Map(tuple(layers))

    for whole, guards in (
        (chain((Pad(2, 3), 9), (Pad(1, 3), 5)), ["0 <= x - 3 < 5"]),
        (chain((Pad(0, 4), 9), (Pad(3, 0), 6)), ["0 <= x - 3 < 6"]),
        (chain((Pad(2, 2), 6), (Slice(3, 9), 12), (Pad(1, 5), 6)), ["0 <= x - 2 < 4"]),
        (chain((Pad(2, 2), 6), (Slice(5, 11), 12), (Pad(0, 3), 9)), ["0 <= x - 2 < 4"]),
        (chain((Pad(3, 0), 4), (Slice(0, 4), 8), (Pad(6, 0), 2)), ["0 <= x - 9 < 0"]),
    ):
        assert [str(g) for g in whole.symbolic.guards] == guards
        _check(whole, walk, points)


SIMPLIFIES: list[Map] = [
    Map((layer_over(_dims(a=4, b=6, c=5), (Merge(), "x", "a b c")),)),
    Map(
        (
            layer_over(
                _dims(m=32, k=16), (Unmerge(), "mo mi", "m"), (Unmerge(), "ko ki", "k"),
                mo=2, mi=16, ko=4, ki=4,
            ),
            layer_over(_dims(m=32, k=16), (P, "m", "m"), (P, "k", "k")),
        )
    ),
    Map(
        (
            layer_over(_dims(mo=2, ki=4, mi=16, ko=4), (Merge(), "p", "mo ki mi ko")),
            layer_over(
                _dims(m=32, k=16), (Unmerge(), "mo mi", "m"), (Unmerge(), "ko ki", "k"),
                order=("mo", "ki", "mi", "ko"), mo=2, mi=16, ko=4, ki=4,
            ),
        )
    ),
    Map((layer_over(_dims(r=16, c=8), (Xor(), "r c", "r c")),)),
    Map((layer_over(_dims(a=9), (Embed((-1,), 8), "x", "a"), x=9),)),
]  # fmt: skip


@pytest.mark.parametrize("whole", SIMPLIFIES)
def test_map_then_inverse_simplifies_to_the_identity(whole: Map) -> None:
    """As expressions: nothing is left but the dims' own names."""
    point = whole.then(whole.inverse()).symbolic
    assert [str(x) for x in point.coords] == [d.name for d in whole.upper]
    assert not point.guards or isinstance(whole.layers[0].steps[0].rule, Embed)


def test_no_inverse() -> None:
    with pytest.raises(ValueError) as caught:
        _tile_of_a_window().inverse()
    assert str(caught.value) == "'embed' of 'y', 'ho' has no inverse"


A4, B6 = Dim("a", 4), Dim("b", 6)

REFUSED: list[tuple[Callable[[], object], str]] = [
    (
        lambda: Layer((A4, A4), (A4,), (Step(P, ("a",), ("a",)),)),
        "upper dimension 'a' is named twice in ['a', 'a']",
    ),
    (
        lambda: Layer((A4,), (A4, A4), (Step(P, ("a",), ("a",)),)),
        "lower dimension 'a' is named twice in ['a', 'a']",
    ),
    (
        lambda: Layer((A4, B6), (A4,), (Step(P, ("a",), ("a",)),)),
        "the steps connect upper dimensions ['a'], the layer has ['a', 'b']",
    ),
    (
        lambda: Layer((A4,), (A4, Dim("c", 4)), (Step(P, ("a",), ("a",)), Step(P, ("a",), ("c",)))),
        "the steps connect upper dimensions ['a', 'a'], the layer has ['a']",
    ),
    (
        lambda: Layer((A4,), (A4, B6), (Step(P, ("a",), ("a",)),)),
        "the steps connect lower dimensions ['a'], the layer has ['a', 'b']",
    ),
    (
        lambda: Layer((A4,), (A4,), (Step(P, ("x",), ("a",)),)),
        "the steps connect upper dimensions ['x'], the layer has ['a']",
    ),
    (
        lambda: Layer((Dim("a", 0),), (Dim("b", 0),), (Step(P, ("a",), ("b",)),)),
        "upper dimension 'a' needs a positive size, got 0",
    ),
    (
        lambda: Layer((A4,), (Dim("b", -4),), (Step(P, ("a",), ("b",)),)),
        "lower dimension 'b' needs a positive size, got -4",
    ),
    (
        lambda: Layer((A4,), (B6,), (Step(P, ("a",), ("b",)),)),
        "'passthrough' of 'a' makes upper size [6] of lower size [6], got [4]",
    ),
    (
        lambda: Layer((A4, B6), (Dim("c", 8),), (Step(Embed((1, 1)), ("a", "b"), ("c",)),)),
        "'embed' of 'a', 'b' reaches [0, 8] of a dimension of size 8",
    ),
    (
        lambda: Layer((), (A4,), (Step(Fixed(4), (), ("a",)),)),
        "'fixed' of 'a' holds coordinate 4 of a dimension of size 4",
    ),
    (lambda: Map(()), "a map needs at least one layer; 'identity' makes one that changes nothing"),
    (
        lambda: identity([A4, B6]).then(identity([B6, A4])),
        "a layer makes sizes [4, 6] for a layer that takes [6, 4]",
    ),
    (
        lambda: layer_over([A4], (Embed((1, 1)), "x y", "a"), x=2),
        "'embed((1, 1), 0)' does not settle the size of 'y': give it",
    ),
    (
        lambda: layer_over([A4], (P, "x", "b")),
        "there is no dimension 'b' below, only ['a']",
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_refusals(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value) == message


def test_a_point_needs_a_coordinate_for_each_dim() -> None:
    with pytest.raises(ValueError, match="zip"):
        identity([A4, B6]).at([lin(0)])
    with pytest.raises(ValueError, match="zip"):
        identity([A4, B6]).evaluate([0])


def test_text_names_dims_rules_and_sizes() -> None:
    tile = Map((layer_over(_dims(h=6, w=4), (Pad(1, 2), "hp", "h"), (P, "w", "w")),))
    assert str(tile) == "(hp=9, w=4)\n  hp -> pad(1, 2) -> h; w -> passthrough -> w\n(h=6, w=4)"


def test_values_of_a_window() -> None:
    """The address of an implicit GEMM's input, as it is printed."""
    coords = _tile_of_a_window().symbolic.coords
    assert [str(x) for x in coords] == [
        "n / 64",
        "k / 9",
        "((k / 3) % 3) + ((n / 8) % 8) - 1",
        "(k % 3) + (n % 8) - 1",
    ]
    assert all(isinstance(x, Lin) for x in coords)


def test_other_dims_pass_after_the_entries_or_in_their_places() -> None:
    lower = (Dim("n", 2), Dim("h", 6), Dim("w", 5))
    split: Entry = (Unmerge(), "row near", "h")
    first = passing(lower, split, row=3, near=2)
    placed = replacing(lower, split, row=3, near=2)
    assert [d.name for d in first.upper] == ["row", "near", "n", "w"]
    assert [d.name for d in placed.upper] == ["n", "row", "near", "w"]
    assert first == layer_over(lower, split, *unchanged("nw"), row=3, near=2)
    merged: Entry = (Merge(), "pixel", "h w")
    assert [d.name for d in replacing(lower, merged).upper] == ["n", "pixel"]
    again: Entry = (Broadcast(), "again", "")
    assert [d.name for d in replacing(lower, again, again=4).upper] == ["n", "h", "w", "again"]
    with pytest.raises(ValueError, match="there is no dimension 'x' below"):
        passing(lower, (Unmerge(), "row near", "x"), row=3, near=2)
