"""Vector widths, pointer steps, guards by depth: never more than brute force allows, and as much as kernels
need.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imbrex.index.digits import digits, row_major
from imbrex.index.expr import Lin, lin, param, var, xor
from imbrex.index.map import Dim, Map, identity, layer_over
from imbrex.index.query import (
    linear,
    moves_as_vector,
    pointer_step,
    separate,
    stretch,
    vector_width,
)
from imbrex.index.rule import (
    Broadcast,
    Embed,
    Fixed,
    Guard,
    Merge,
    Pad,
    PassThrough,
    Rule,
    Slice,
    Unmerge,
    Xor,
)

P = PassThrough()
Maps = st.SearchStrategy[Map]
random_maps = settings(max_examples=200, deadline=None, derandomize=True)


def _dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(n, s) for n, s in sizes.items())


def _over(lower: Sequence[Dim], *entries: tuple[Rule, str, str], **sizes: int) -> Map:
    return Map((layer_over(lower, *entries, **sizes),))


def _one(rule: Rule, lower: int, upper: str = "u", **sizes: int) -> Map:
    return _over(_dims(x=lower), (rule, upper, "x"), **sizes)


def _image(
    layout: str,
    *,
    n: int = 2,
    c: int = 8,
    h: int = 6,
    w: int = 6,
    window: int = 1,
    pad: int = 0,
    stride: int = 1,
) -> Map:
    """gemm (k, n) of a convolution's input; k runs over the window in the order of the layout."""
    sizes = {"n": n, "c": c, "h": h, "w": w}
    stored = tuple(Dim(d, sizes[d]) for d in layout)
    out = [(s + 2 * pad - window) // stride + 1 for s in (h, w)]
    padded = layer_over(stored, *((Pad(pad, pad), f"{d}p", d) if d in "hw" else (P, d, d) for d in layout))
    slid = layer_over(
        padded.upper, (P, "n", "n"), (P, "c", "c"),
        (Embed((1, stride)), "y ho", "hp"), (Embed((1, stride)), "x wo", "wp"),
        y=window, x=window, ho=out[0], wo=out[1],
    )  # fmt: skip
    k = "y x c" if layout.endswith("c") else "c y x"
    return Map((layer_over(slid.upper, (Merge(), "k", k), (Merge(), "n", "n ho wo")), slid, padded))


def _points(map: Map) -> tuple[list[Any], Any, Any]:
    """Every upper point, its offset in the lower buffer, and whether it exists."""
    grid = list(np.indices([d.size for d in map.upper]))
    coords, valid = map.evaluate(grid)
    offset = np.zeros(grid[0].shape, dtype=np.int64)
    for x, d in zip(coords, map.lower, strict=True):
        offset = offset * d.size + x
    return grid, offset, np.broadcast_to(valid, offset.shape)


def _legal(map: Map, dim: str, w: int) -> bool:
    """Is every block of w along `dim` either absent, or present in w aligned neighbours?"""
    axis = [d.name for d in map.upper].index(dim)
    _, offset, valid = _points(map)
    if offset.shape[axis] % w:
        return False
    at = np.moveaxis(offset, axis, -1).reshape(-1, w)
    exists = np.moveaxis(valid, axis, -1).reshape(-1, w)
    aligned = (at[:, 0] % w == 0) & (at == at[:, :1] + np.arange(w)).all(axis=1)
    return bool(((exists.all(axis=1) & aligned) | ~exists.any(axis=1)).all())


def _widest(map: Map, dim: str) -> int:
    return max(
        w for w in (1, 2, 4, 8, 16) if all(_legal(map, dim, v) for v in (1, 2, 4, 8, 16) if 1 < v <= w)
    )


@random_maps
@given(st.data())
def test_no_vector_is_wider_than_legal(maps: Maps, data: st.DataObject) -> None:
    map = data.draw(maps)
    for d in map.upper:
        assert _legal(map, d.name, vector_width(map, d.name)), d.name


def _flips(times: int) -> Map:
    layers = [layer_over(_dims(x=8), (Embed((-1,), 7), "x", "x"), x=8) for _ in range(times)]
    return Map(tuple(layers))


def _over_edge(m: int) -> Map:
    """A gemm operand of m columns under tiles of 32: the overhang is a Pad."""
    return _over(_dims(k=3, m=m), (P, "k", "k"), (Pad(0, -m % 32), "m", "m"))


def _window(size: int, before: int, after: int, window: int, out: int) -> Map:
    pad = layer_over(_dims(w=size), (Pad(before, after), "wp", "w"))
    return Map((layer_over(pad.upper, (Embed((1, 1)), "x wo", "wp"), x=window, wo=out), pad))


def _read_twice(outer: str, inner: str) -> Map:
    """2 * inner - outer + 2: neighbours only if the names of the dims get mixed up."""
    return _over(_dims(x=9), (Embed((2, -1), 2), f"{inner} {outer}", "x"), **{inner: 4, outer: 2})


# what, map, dim, width: each is also the widest that brute force allows
WIDTHS: list[tuple[str, Map, str, int]] = [
    ("a row", identity(_dims(a=3, b=8)), "b", 8),
    ("a column", identity(_dims(a=8, b=3)), "a", 1),
    ("a column of a single row", identity(_dims(a=8, b=1)), "a", 8),
    ("rows whose length is no multiple", identity(_dims(a=4, b=12)), "b", 4),
    ("rows of 6", identity(_dims(a=4, b=6)), "b", 2),
    ("merged rows", _over(_dims(a=4, b=4), (Merge(), "x", "a b")), "x", 16),
    ("merged out of order", _over(_dims(a=4, b=4), (Merge(), "x", "b a")), "x", 1),
    ("merged with a gap between", _over(_dims(a=2, b=3, c=8), (P, "b", "b"), (Merge(), "x", "a c")), "x", 8),
    ("NHWC 3x3 padded, k", _image("nhwc", window=3, pad=1), "k", 8),
    ("NHWC 3x3 padded, n", _image("nhwc", window=3, pad=1), "n", 1),
    ("NHWC 3x3 of 12 channels, k", _image("nhwc", window=3, pad=1, c=12), "k", 4),
    ("NHWC 1x1, k", _image("nhwc", c=16), "k", 16),
    ("NCHW 1x1 14x14, n", _image("nchw", h=14, w=14), "n", 4),
    ("NCHW 1x1 14x14, k", _image("nchw", h=14, w=14), "k", 1),
    ("NCHW 1x1 7x7, n", _image("nchw", h=7, w=7), "n", 1),
    ("NCHW 1x1 8x8, n", _image("nchw", h=8, w=8), "n", 16),
    ("NCHW 1x1 8x8 stride 2, n", _image("nchw", h=8, w=8, stride=2), "n", 1),
    ("NCHW 1x1 8x8 padded by 1, n", _image("nchw", h=8, w=8, pad=1), "n", 1),
    ("NCHW 1x1 8x8 padded by 2, n", _image("nchw", h=8, w=8, pad=2), "n", 2),
    ("NCHW 1x1 8x8 padded by 4, n", _image("nchw", h=8, w=8, pad=4), "n", 4),
    ("NCHW 3x3 padded, n", _image("nchw", window=3, pad=1), "n", 1),
    ("NCHW 3x3 padded, k", _image("nchw", window=3, pad=1), "k", 1),
    ("CNHW 1x1 6x6 of 4 images, n", _image("cnhw", n=4), "n", 16),
    ("filter KCYX, k", _over(_dims(k=4, c=8, y=3, x=3), (P, "m", "k"), (Merge(), "k", "c y x")), "k", 8),
    ("filter KCYX, m", _over(_dims(k=4, c=8, y=3, x=3), (P, "m", "k"), (Merge(), "k", "c y x")), "m", 1),
    ("pad of one", _one(Pad(1, 1), 6), "u", 1),
    ("pad of two", _one(Pad(2, 2), 12), "u", 2),
    ("pad of four", _one(Pad(4, 4), 8), "u", 4),
    ("pad before by less than the vector", _one(Pad(2, 0), 6), "u", 2),
    ("pad after by less than the vector", _one(Pad(0, 2), 4, ), "u", 2),
    ("pad after an odd size", _one(Pad(0, 3), 5), "u", 1),
    ("pad after an odd size of rows", _over(_dims(a=2, b=5), (P, "a", "a"), (Pad(0, 3), "b", "b")), "b", 1),
    ("pad over pad", _one(Pad(2, 3), 9).then(_one(Pad(0, 3), 6)), "u", 2),
    ("window over pads: the pair 3, 4 straddles", _window(4, 0, 2, 2, 4), "wo", 1),
    ("window over a pad of two", _window(4, 2, 2, 1, 8), "wo", 2),
    ("embed 2, 1", _one(Embed((2, 1)), 10, "a b", a=4, b=4), "b", 2),
    ("embed 4, 1", _one(Embed((4, 1)), 16, "a b", a=4, b=4), "b", 4),
    ("embed 4, 1 off by 2", _one(Embed((4, 1), 2), 18, "a b", a=4, b=4), "b", 2),
    ("embed 1, 1", _one(Embed((1, 1)), 11, "a b", a=4, b=8), "b", 1),
    ("embed -4, 1", _one(Embed((-4, 1), 12), 16, "a b", a=4, b=4), "b", 4),
    ("embed 2 of its own", _one(Embed((2,)), 15, u=8), "u", 1),
    ("flipped", _flips(1), "x", 1),
    ("flipped twice", _flips(2), "x", 8),
    ("slice from an odd place", _one(Slice(1, 9), 9), "u", 1),
    ("slice from 4", _one(Slice(4, 12), 12), "u", 4),
    ("pad below a slice that undoes it", _one(Slice(3, 11), 11).then(_one(Pad(3, 0), 8)), "u", 8),
    ("unmerged, inner", _one(Unmerge(), 24, "a b", a=3, b=8), "b", 8),
    ("unmerged, outer", _one(Unmerge(), 24, "a b", a=8, b=3), "a", 1),
    ("broadcast", _over(_dims(x=4), (P, "x", "x"), (Broadcast(), "s", ""), s=8), "s", 1),
    ("fixed row", _over(_dims(a=3, b=8), (Fixed(1), "", "a"), (P, "b", "b")), "b", 8),
    ("gemm edge of 100 under tiles of 32", _over_edge(100), "m", 4),
    ("gemm edge of 102", _over_edge(102), "m", 2),
    ("gemm edge of 101", _over_edge(101), "m", 1),
    ("gemm edge of 96", _over_edge(96), "m", 16),
    ("xor of rows, elements", _over(_dims(r=8, c=8), (Xor(), "r c", "r c")), "c", 1),
    ("xor of rows, inside chunks of 4", Map((
        layer_over(_dims(r=8, c=8, e=4), (P, "r", "r"), (Merge(), "x", "c e")),
        layer_over(_dims(r=8, c=8, e=4), (Xor(), "r c", "r c"), (P, "e", "e")),
    )), "x", 4),
    ("a dim named like the query's own variable", _read_twice("lane", "block"), "block", 1),
    ("the same with the names changed over", _read_twice("block", "lane"), "lane", 1),
    ("rows of a dim named lane", identity(_dims(block=4, lane=8)), "lane", 8),
]  # fmt: skip


@pytest.mark.parametrize(("map", "dim", "width"), [w[1:] for w in WIDTHS], ids=[w[0] for w in WIDTHS])
def test_vector_width(map: Map, dim: str, width: int) -> None:
    assert vector_width(map, dim) == width
    assert _widest(map, dim) == width, "brute force"


def test_widest_bounds_the_width() -> None:
    assert [vector_width(identity(_dims(a=64)), "a", widest) for widest in (1, 2, 3, 4, 64, 128)] == [
        1,
        2,
        2,
        4,
        64,
        64,
    ]


def test_a_dim_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(KeyError, match="b"):
        vector_width(identity(_dims(a=4)), "b")


def test_a_vector_whose_guard_is_known_from_its_block_moves_as_one() -> None:
    lane, block, row = var("lane", 4), var("block", 8), var("row", 5)
    offset = 32 * row + 4 * block + lane
    cases: list[tuple[list[Guard], bool]] = [
        ([], True),
        ([Guard(row - 1, 3)], True),
        ([Guard(4 * block + lane, 20)], True),
        ([Guard(4 * block + lane, 21)], False),
        ([Guard(4 * block + lane - 4, 28)], True),
        ([Guard(4 * block + lane - 2, 28)], False),
        ([Guard(4 * block + lane - 2, 40)], False),  # only its lower side can fail
        ([Guard(4 * block + lane - 4, 40)], True),
        ([Guard(4 * block + lane + 2, 22)], True),  # only its upper side can fail
        ([Guard(2 * lane + block, 16)], False),  # true, yet not proved
        ([Guard(2 * lane + block, 10)], False),
    ]
    for guards, want in cases:
        assert moves_as_vector(offset, guards, lane, 4) == want, guards
        envs = itertools.product(range(8), range(5))
        ok = [
            [
                all(0 <= g.index.eval({"lane": i, "block": b, "row": r}) < g.size for g in guards)
                for i in range(4)
            ]
            for b, r in envs
        ]
        uniform = all(len(set(answers)) == 1 for answers in ok)
        assert uniform or not want, "brute force"
    assert moves_as_vector(offset + 1, [], lane, 4) is False
    assert moves_as_vector(offset + 1, [Guard(row - 1, 1)], lin(0), 1) is True


@pytest.mark.parametrize(("width", "is_legal"), [(2, True), (4, True), (8, False)])
def test_quotients_of_quotients_are_looked_at_as_one(width: int, is_legal: bool) -> None:
    """Rows of 7 are counted, then 28 of them: 4 neighbours meet the end of a row, and never that of 196."""
    block, lane = var("block", 98 // width * 4), var("lane", width)
    place = block * width + lane
    start = var("tile", 5) * 56
    image = (start // 7 + place // 7) // 28
    offset = image * 1024 + place
    assert image.mentions("lane")
    assert moves_as_vector(offset, (), lane, width) == is_legal
    places = itertools.product(range(5), range(98 // width * 4))
    images = [
        {int(image.eval({"tile": tile, "block": number, "lane": i})) for i in range(width)}
        for tile, number in places
    ]
    assert all(len(found) == 1 for found in images) == is_legal, "brute force"


def test_control_a_wider_vector_is_seen() -> None:
    for _, map, dim, width in WIDTHS:
        size = dict(map.upper)[dim]
        if width < 16 and size % (2 * width) == 0:
            assert not _legal(map, dim, 2 * width)


def _k_loop(map: Map, k_per_block: int) -> tuple[Lin, tuple[Guard, ...], int]:
    """The offset under a loop over k in steps of the block."""
    size = dict(map.upper)["k"] // k_per_block
    step = layer_over(map.upper, (Unmerge(), "t kk", "k"), (P, "n", "n"), t=size, kk=k_per_block)
    offset, guards = linear(Map((step,)).then(map))
    return offset, guards, size


@pytest.mark.parametrize(
    ("map", "k_per_block", "step"),
    [
        (_image("nchw", n=16, c=64, h=56, w=56), 16, "50176"),
        (_image("nhwc", c=64), 16, "16"),
        (_image("nchw", n=1, c=8, h=8, w=8, window=3), 72, "0"),
        (_image("nchw", n=1, c=8, h=8, w=8, window=3), 36, "256"),
        # two steps: the only one there is crosses from x = 0 to x = 1
        (_image("nhwc", n=1, c=8, h=1, w=2, window=1), 4, "4"),
    ],
)
def test_constant_pointer_steps(map: Map, k_per_block: int, step: str) -> None:
    offset, _, size = _k_loop(map, k_per_block)
    assert str(pointer_step(offset, "t", size)) == step


def test_a_step_over_window_rows_depends_on_the_loop_only() -> None:
    offset, _, size = _k_loop(_image("nhwc", n=4, c=64, h=56, w=56, window=3, pad=1), 16)
    step = pointer_step(offset, "t", size)
    assert step.variables == {"t"}
    assert {step.eval({"t": t}) for t in range(size - 1)} == {16, 16 + (56 - 3) * 64}


@random_maps
@given(st.data(), st.integers(0, 3))
def test_pointer_step_is_the_difference(maps: Maps, data: st.DataObject, by: int) -> None:
    map = data.draw(maps)
    offset, _ = linear(map)
    for axis, d in enumerate(map.upper):
        step = pointer_step(offset, d.name, d.size, by)
        grid = list(np.indices([e.size for e in map.upper]))
        stays = grid[axis] + by < d.size
        env = {e.name: g[stays] for e, g in zip(map.upper, grid, strict=True)}
        moved = {**env, d.name: env[d.name] + by}
        assert np.all(step.eval(env) == offset.eval(moved) - offset.eval(env)), (d.name, step)


W, L, N = var("wg", 40), var("lane", 64), param("n", 1, 9)


@pytest.mark.parametrize(
    ("index", "row", "lane"),
    [
        (lin(7), "7", "0"),
        (W + 3, "wg + 3", "0"),
        (L // 8 * 12 + L % 8 - 5, "-5", "(12*(lane / 8)) + (lane % 8)"),
        (100 * W + N + L, "100*wg + n", "lane"),
        ((8 * W + L // 8) % 5 + L, None, None),
        (W * L, None, None),
        (xor(W, L), None, None),
        ((64 * W + L) // 4, "16*wg", "lane / 4"),
    ],
)
def test_separate(index: Lin, row: str | None, lane: str | None) -> None:
    parts = separate(index, frozenset({"lane"}))
    if parts is None:
        assert row is None and lane is None
    else:
        assert (str(parts.row), str(parts.lane)) == (row, lane)
        assert parts.row + parts.lane == index


@random_maps
@given(st.data())
def test_separated_parts_add_up_to_the_index(maps: Maps, data: st.DataObject) -> None:
    map = data.draw(maps)
    offset, _ = linear(map)
    lanes = frozenset(d.name for d in map.upper[::2])
    parts = separate(offset, lanes)
    if parts is None:
        assert any(a.variables & lanes and a.variables - lanes for a, _ in offset.terms)
    else:
        assert parts.row + parts.lane == offset
        assert not parts.row.variables & lanes and parts.lane.variables <= lanes


def _is_stretch(map: Map, dim: str, w: int) -> bool:
    """Do aligned blocks of w along `dim` differ within alike, wherever the block is, and exist as one?"""
    axis = [d.name for d in map.upper].index(dim)
    _, offset, valid = _points(map)
    others = offset.shape[:axis] + offset.shape[axis + 1 :]
    blocks, exists = (np.moveaxis(x, axis, -1).reshape(*others, -1, w) for x in (offset, valid))
    within = blocks - blocks[..., :1]
    is_even = (within == within[..., :1, :]).all()
    return bool(is_even and (exists.all(axis=-1) == exists.any(axis=-1)).all())


@random_maps
@given(st.data())
def test_no_stretch_is_longer_than_its_addresses_are_even(maps: Maps, data: st.DataObject) -> None:
    map = data.draw(maps)
    for d in map.upper:
        assert _is_stretch(map, d.name, stretch(map, d.name, 16)), d.name


@pytest.mark.parametrize(
    ("order", "images", "found"),
    [
        ("n ho wo", 8, 1),  # whether a pixel is beside the image differs within a row
        ("ho wo n", 8, 8),
        ("ho wo n", 12, 4),
        ("ho wo n", 64, 16),  # as long as is asked for
    ],
)
def test_pixels_before_images_are_even_for_as_many_images(order: str, images: int, found: int) -> None:
    whole = _image("nhwc", n=images, c=2, window=3, pad=1)
    slid = whole.layers[1].upper
    entries = [(Merge(), "k", order), (Merge(), "n", "y x c")]
    map = Map((layer_over(slid, *entries), *whole.layers[1:]))
    assert stretch(map, "k", 16) == found
    assert _is_stretch(map, "k", found) and _is_stretch(map, "k", 2 * found) == (found == 16)


def test_address_is_row_major() -> None:
    coords = [var("a", 3), var("b", 4), var("c", 5)]
    assert str(row_major(coords, (3, 4, 5))) == "20*a + 5*b + c"
    assert row_major([], ()) == lin(0)
    with pytest.raises(ValueError, match="zip"):
        row_major(coords, (3, 4))


@pytest.mark.parametrize("tap", [1, 3])
def test_the_step_of_a_dim_of_one_element_parts_no_neighbours(tap: int) -> None:
    """gemmK of one tap and 8 channels, padded to whole tiles: no tap but the first is ever read."""
    array = Map((layer_over(_dims(x=8 + tap), (Embed((tap, 1)), "tap c", "x"), tap=1, c=8),))
    merged = layer_over(array.upper, (Merge(), "k", "tap c"))
    padded = layer_over(merged.upper, (Pad(0, 24), "k", "k"))
    narrow = Map((merged, *array.layers))
    assert vector_width(narrow, "k") == vector_width(Map((padded, *narrow.layers)), "k") == 8


def test_dims_of_one_element_take_no_part_in_a_merge() -> None:
    """What lies beyond goes on in equal steps along the first dim that has more than one element."""
    x = var("x", 40)
    assert digits(x, (1, 1, 5, 3)) == (lin(0), lin(0), *digits(x, (5, 3)))
    assert [int(d.eval({"x": 31})) for d in digits(x, (1, 5, 3))] == [0, 10, 1]
    assert digits(lin(0), (1, 1)) == (lin(0), lin(0))
