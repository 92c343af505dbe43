"""A convolution's views sum its products and no others, each once: every point of random convolutions.

The definition here: filter tap y and output row ho meet input row `ho * stride + y * dilation - pad`, where
there is one, and likewise for columns; n, k and c (of a group g) are free.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations
from math import prod

import numpy as np
import pytest

from imbrex.index import query
from imbrex.index.map import Dim
from imbrex.view.conv import implicit_gemm
from imbrex.view.conv.implicit_gemm import Axis, Convolution
from imbrex.view.gemm.product import GemmView

from ..points import Ints, all_products, existing, products, row_major, written

DIMS = {"filter": "k c y x", "input": "n c hi wi", "output": "n k ho wo"}
BATCHES = range(12)
EACH = 12


def random_convolution(rng: random.Random) -> Convolution:
    """Every size small, every layout in any order, a window that fits."""
    while True:
        axes = [_random_axis(rng) for _ in range(2)]
        if min(axis.out for axis in axes) > 0:
            break
    h, w = axes
    sizes = {"n": rng.randint(1, 2), "c": rng.randint(1, 3), "k": rng.randint(1, 3), "g": rng.randint(2, 3)}
    sizes |= {"hi": h.image, "wi": w.image, "ho": h.out, "wo": w.out, "y": h.window, "x": w.window}
    is_grouped = rng.random() < 0.3
    arrays: list[tuple[Dim, ...]] = []
    for names in DIMS.values():
        order = [*names.split(), *(["g"] if is_grouped else [])]
        rng.shuffle(order)
        arrays.append(tuple(Dim(name, sizes[name]) for name in order))
    pads = ((h.before, h.after), (w.before, w.after))
    return Convolution(*arrays, (h.stride, w.stride), (h.dilation, w.dilation), pads)


def _random_axis(rng: random.Random) -> Axis:
    image, window = rng.randint(1, 7), rng.randint(1, 4)
    stride, dilation = rng.randint(1, 4), rng.randint(1, 4)
    before, after = rng.randint(0, 3), rng.randint(0, 3)
    out = (image + before + after - dilation * (window - 1) - 1) // stride + 1
    return Axis(image, out, window, stride, dilation, before, after)


def convolutions(batch: int) -> list[Convolution]:
    rng = random.Random(batch)
    return [random_convolution(rng) for _ in range(EACH)]


def definition(shape: Convolution) -> dict[str, Ints]:
    """Offsets in filter, input and output of every product; -1 for an input element that is padding."""
    sizes = dict(shape.filter) | dict(shape.input) | dict(shape.output)
    names = [n for n in ("g", "n", "k", "c", "ho", "wo", "y", "x") if n in sizes]
    at = dict(zip(names, np.indices([sizes[n] for n in names]), strict=True))
    exists = np.ones(at["n"].shape, bool)
    for i, (image, out, window) in enumerate((("hi", "ho", "y"), ("wi", "wo", "x"))):
        at[image] = at[out] * shape.strides[i] + at[window] * shape.dilations[i] - shape.padding[i][0]
        exists &= (at[image] >= 0) & (at[image] < sizes[image])
    arrays = {"filter": shape.filter, "input": shape.input, "output": shape.output}
    flat = {
        role: row_major([at[d.name] for d in dims], [d.size for d in dims]) for role, dims in arrays.items()
    }
    return flat | {"input": np.where(exists, flat["input"], -1)}


def wanted(shape: Convolution, a: str, b: str, c: str) -> Ints:
    found = definition(shape)
    return existing(found[a], found[b], found[c])


def elements(dims: tuple[Dim, ...]) -> int:
    return prod(d.size for d in dims)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("taps_first", [False, True])
def test_forward_sums_every_product_once(batch: int, taps_first: bool) -> None:
    for shape in convolutions(batch):
        view = implicit_gemm.forward(shape, taps_first)
        assert np.array_equal(products(view), wanted(shape, "filter", "input", "output")), shape
        assert np.all(written([view], elements(shape.output)) == 1), shape
        assert query.is_injective(view.c)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("images_last", [False, True])
def test_backward_weight_sums_every_product_once(batch: int, images_last: bool) -> None:
    for shape in convolutions(batch):
        view = implicit_gemm.backward_weight(shape, images_last=images_last)
        assert np.array_equal(products(view), wanted(shape, "output", "input", "filter")), shape
        assert np.all(written([view], elements(shape.filter)) == 1), shape
        assert query.is_injective(view.c)


@pytest.mark.parametrize("batch", BATCHES)
def test_v1r1_adds_every_product_once_and_knows_where_windows_overlap(batch: int) -> None:
    for shape in convolutions(batch):
        view = implicit_gemm.backward_data_v1r1(shape)
        assert np.array_equal(products(view), wanted(shape, "filter", "output", "input")), shape
        overlaps = written([view], elements(shape.input)).max() > 1
        assert query.is_injective(view.c) == (not overlaps), shape


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("taps_first", [False, True])
def test_phases_of_v4r1_sum_every_product_once_and_never_meet(batch: int, taps_first: bool) -> None:
    for shape in convolutions(batch):
        views = implicit_gemm.backward_data_v4r1(shape, taps_first)
        want = wanted(shape, "filter", "output", "input")
        assert np.array_equal(all_products(views) if views else want[:0], want), shape
        count = written(views, elements(shape.input))
        assert count.max(initial=0) <= 1, shape
        assert (count.min() == 1) == implicit_gemm.writes_everything(shape), shape
        assert all(query.is_injective(view.c) for view in views), shape


@pytest.mark.parametrize("batch", BATCHES[:4])
def test_phases_of_v4r1_store_without_guards(batch: int) -> None:
    for shape in convolutions(batch):
        for view in implicit_gemm.backward_data_v4r1(shape):
            assert not view.c.symbolic.guards and not view.a.symbolic.guards, shape


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("multiple", [2, 4])
def test_channels_beyond_the_last_one_are_no_products(batch: int, multiple: int) -> None:
    """Counted up to a multiple, a stretch of that many stays at one tap; nothing else changes."""
    for shape in convolutions(batch):
        view = implicit_gemm.forward(shape, taps_first=True, channel_multiple=multiple)
        assert np.array_equal(products(view), wanted(shape, "filter", "input", "output")), shape
        assert view.k % multiple == 0 or implicit_gemm.forward(shape).k == view.k
        view = implicit_gemm.backward_weight(shape, channel_multiple=multiple)
        assert np.array_equal(products(view), wanted(shape, "output", "input", "filter")), shape
        assert np.all(written([view], elements(shape.filter)) == 1), shape
        views = implicit_gemm.backward_data_v4r1(shape, taps_first=True, channel_multiple=multiple)
        want = wanted(shape, "filter", "output", "input")
        assert np.array_equal(all_products(views) if views else want[:0], want), shape


def test_channels_are_counted_up_only_when_asked_and_where_there_are_several_taps() -> None:
    one, several = _tall(Axis(5, 5, 1, 1, 1, 0, 0)), _tall(Axis(5, 3, 3, 1, 1, 0, 0))
    assert implicit_gemm.forward(one, channel_multiple=4) == implicit_gemm.forward(one)
    assert implicit_gemm.forward(several, channel_multiple=1) == implicit_gemm.forward(several)
    assert (implicit_gemm.forward(several).k, implicit_gemm.forward(several, channel_multiple=4).k) == (3, 12)


def axes() -> list[Axis]:
    """Every axis of small numbers in which a window fits."""
    rng = range(1, 5)
    found = [
        Axis(image, (image + b + a - d * (w - 1) - 1) // s + 1, w, s, d, b, a)
        for image in (1, 2, 5)
        for w in rng
        for s in rng
        for d in rng
        for b in range(4)
        for a in (0, 2)
        if image + b + a >= d * (w - 1) + 1
    ]
    assert len(found) > 800
    return found


def test_zeros_are_needed_first_exactly_where_a_phase_has_no_taps() -> None:
    """Over every small axis: rows that the phases leave out are those of a residue that no tap has."""
    answers = set[bool]()
    for axis in axes():
        shape = _tall(axis)
        missed = written(implicit_gemm.backward_data_v4r1(shape), elements(shape.input)) == 0
        reached = {
            (tap * axis.dilation - axis.before + axis.stride * i) % axis.stride
            for tap in range(axis.window)
            for i in range(axis.stride)
        }
        assert missed.tolist() == [row % axis.stride not in reached for row in range(axis.image)], axis
        assert implicit_gemm.writes_everything(shape) == (not missed.any()), axis
        answers.add(implicit_gemm.writes_everything(shape))
    assert answers == {True, False}


def test_rows_that_no_window_meets_are_stored_as_zeros() -> None:
    """A stride may leave the last row untouched: a phase stores it, with no product."""
    shape = _tall(Axis(image=5, out=2, window=2, stride=2, dilation=1, before=0, after=0))
    assert implicit_gemm.writes_everything(shape)
    touched = np.unique(all_products(implicit_gemm.backward_data_v4r1(shape))[:, 2])
    assert touched.tolist() == [0, 1, 2, 3]


def _tall(axis: Axis) -> Convolution:
    """A convolution of one column."""
    return Convolution(
        (Dim("k", 1), Dim("c", 1), Dim("y", axis.window), Dim("x", 1)),
        (Dim("n", 1), Dim("c", 1), Dim("hi", axis.image), Dim("wi", 1)),
        (Dim("n", 1), Dim("k", 1), Dim("ho", axis.out), Dim("wo", 1)),
        (axis.stride, 1),
        (axis.dilation, 1),
        ((axis.before, axis.after), (0, 0)),
    )


RESNET = Convolution(
    (Dim("k", 4), Dim("c", 8), Dim("y", 3), Dim("x", 3)),
    (Dim("n", 1), Dim("c", 8), Dim("hi", 8), Dim("wi", 8)),
    (Dim("n", 1), Dim("k", 4), Dim("ho", 4), Dim("wo", 4)),
    (2, 2),
    (1, 1),
    ((1, 1), (1, 1)),
)


def test_taps_first_keeps_a_stretch_of_channels_at_one_tap() -> None:
    """NCHW: in memory order neighbours along gemmK are taps, each with guards of its own."""
    image, result = {"c": 16, "hi": 8, "wi": 8}, {"k": 4, "ho": 8, "wo": 8}
    filters = tuple(Dim(n, s) for n, s in (("k", 4), ("c", 16), ("y", 3), ("x", 3)))
    arrays = [tuple(Dim(n, s) for n, s in (("n", 2), *sizes.items())) for sizes in (image, result)]
    shape = Convolution(filters, *arrays, (1, 1), (1, 1), ((1, 1), (1, 1)))
    for taps_first, per_stretch in ((False, 9), (True, 1)):
        _, exists = implicit_gemm.forward(shape, taps_first).b.evaluate(list(np.indices((16 * 9, 2 * 8 * 8))))
        rows = np.broadcast_to(exists, (16 * 9, 2 * 8 * 8)).reshape(9, 16, -1)
        assert max(len(np.unique(stretch, axis=0)) for stretch in rows) == per_stretch


def test_phases_do_no_work_beyond_their_residue() -> None:
    """Stride 2 makes four phases; their rows and columns add up to the image, with nothing over."""
    views = implicit_gemm.backward_data_v4r1(RESNET)
    assert [(v.m, v.n, v.k) for v in views] == [(8, 16, 16), (8, 16, 8), (8, 16, 8), (8, 16, 4)]


@pytest.mark.parametrize("order", list(permutations(("n", "hi", "wi", "c")))[::5])
def test_digits_follow_memory(order: tuple[str, ...]) -> None:
    """A 1x1 convolution whose channels lie together reads vectors along gemmK, any other along gemmN."""
    sizes = {"n": 4, "c": 8, "hi": 8, "wi": 8, "k": 4, "y": 1, "x": 1, "ho": 8, "wo": 8}
    image = {"hi": "ho", "wi": "wo", "c": "k", "n": "n"}
    shape = Convolution(
        tuple(Dim(n, sizes[n]) for n in "kcyx"),
        tuple(Dim(n, sizes[n]) for n in order),
        tuple(Dim(image[n], sizes[image[n]]) for n in order),
        (1, 1),
        (1, 1),
        ((0, 0), (0, 0)),
    )
    b = implicit_gemm.forward(shape).b
    fast = "gemmK" if order[-1] == "c" else "gemmN"
    assert [dim for dim in ("gemmK", "gemmN") if query.vector_width(b, dim, 4) == 4] == [fast]


RIGHT = Convolution(
    (Dim("k", 2), Dim("c", 3), Dim("y", 3), Dim("x", 3)),
    (Dim("n", 1), Dim("c", 3), Dim("hi", 8), Dim("wi", 8)),
    (Dim("n", 1), Dim("k", 2), Dim("ho", 3), Dim("wo", 3)),
    (3, 3),
    (1, 1),
    ((1, 2), (1, 2)),
)
WRONG = {
    "stride": replace(RIGHT, strides=(3, 2)),
    "dilation": replace(RIGHT, dilations=(1, 2)),
    "pad": replace(RIGHT, padding=((1, 2), (0, 3))),
    "layout": replace(RIGHT, input=(*RIGHT.input[:2], RIGHT.input[3], RIGHT.input[2])),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_control_a_wrong_parameter_is_seen(wrong: str) -> None:
    views: dict[str, tuple[GemmView, ...]] = {
        "filter input output": (implicit_gemm.forward(WRONG[wrong]),),
        "output input filter": (implicit_gemm.backward_weight(WRONG[wrong]),),
        "filter output input": (implicit_gemm.backward_data_v1r1(WRONG[wrong]),),
    }
    for roles, given in views.items():
        assert not np.array_equal(all_products(given), wanted(RIGHT, *roles.split())), roles


def test_control_a_missing_phase_is_seen() -> None:
    views, want = implicit_gemm.backward_data_v4r1(RESNET), wanted(RESNET, "filter", "output", "input")
    assert np.array_equal(all_products(views), want)
    assert not np.array_equal(all_products(views[:-1]), want)
    assert written([*views, views[0]], elements(RESNET.input)).max() == 2
