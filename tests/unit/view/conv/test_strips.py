"""Work items write each element once, read what the convolution says, and find their filter's taps."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest

from imbrex.index.map import Dim, Map
from imbrex.view.conv.slide import Slide
from imbrex.view.conv.strips import Strips

from ..points import Ints, offsets

N, G, IMAGE, TAPS, STRIDE, PAD = 3, 6, (9, 8), (3, 2), (2, 1), (1, 1)
OUT = ((IMAGE[0] + 2 * PAD[0] - TAPS[0]) // STRIDE[0] + 1, (IMAGE[1] + 2 * PAD[1] - TAPS[1]) // STRIDE[1] + 1)
ORDERS = {"nhwc": "n h w g c", "nchw": "n g c h w"}


def dims(order: str, size: tuple[int, int]) -> list[Dim]:
    sizes = {"n": N, "g": G, "c": 1, "h": size[0], "w": size[1]}
    return [Dim(name, sizes[name]) for name in ORDERS[order].split()]


def strips(order: str, is_back: bool, turns: int | None = None) -> Strips:
    sizes = (OUT, IMAGE) if is_back else (IMAGE, OUT)
    height, width = (
        Slide(sizes[0][i], sizes[1][i], TAPS[i], STRIDE[i], 1, PAD[i], 4, is_back) for i in range(2)
    )
    slots, lanes = (2, 2) if order == "nhwc" else (1, 1)
    return Strips(height, width, N, G, slots, lanes, 2 if turns is None else 1, 1, 64, turns)


def at(of: Strips, map: Map) -> Ints:
    """Offsets by (work item of all, image or turn, row, column, slot)."""
    found = offsets(map)
    return found.reshape(found.shape[0] * found.shape[1], *found.shape[2:])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("is_back", [False, True])
@pytest.mark.parametrize("turns", [None, 1, 3])
def test_each_element_is_of_one_work_item(order: str, is_back: bool, turns: int | None) -> None:
    of = strips(order, is_back, turns)
    size = IMAGE if is_back else OUT
    found = offsets(Map(of.strip(dims(order, size), "h", "w")))
    assert found.shape[:2] == (of.numbering.workgroups, of.workitems)
    assert np.array_equal(np.sort(found[found >= 0]), np.arange(N * G * size[0] * size[1]))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("is_back", [False, True])
@pytest.mark.parametrize("turns", [None, 3])
def test_windows_hold_what_strips_meet(order: str, is_back: bool, turns: int | None) -> None:
    of = strips(order, is_back, turns)
    sizes = (OUT, IMAGE) if is_back else (IMAGE, OUT)
    window = at(of, Map(of.window(dims(order, sizes[0]), "h", "w")))
    strip = at(of, Map(of.strip(dims(order, sizes[1]), "h", "w")))
    assert window.shape[2:4] == of.window_size
    met = {
        (y, x, int(read), int(written))
        for y, x in product(range(TAPS[0]), range(TAPS[1]))
        for (r, row), (c, column) in product(of.height.met(y), of.width.met(x))
        for read, written in zip(
            window[:, :, r - of.low[0], c - of.low[1]].ravel(), strip[:, :, row, column].ravel(), strict=True
        )
        if read >= 0 and written >= 0
    }
    assert met == defined(order, is_back)


@pytest.mark.parametrize("order", ORDERS)
def test_windows_by_taps_hold_the_same(order: str) -> None:
    of = strips(order, False)
    window = at(of, Map(of.window(dims(order, IMAGE), "h", "w")))
    tall = at(of, Map(of.tall_window(dims(order, IMAGE), "h", "w")))
    for tap in range(TAPS[0]):
        for read, written in of.height.met(tap):
            assert np.array_equal(tall[:, :, tap, written], window[:, :, read - of.low[0]])


def test_windows_by_taps_of_a_gradient_run_backwards() -> None:
    of = replace(strips("nhwc", True), height=Slide(9, 9, 3, 1, 1, 1, 4, True))
    memory = [Dim(n, s) for n, s in zip("nhwgc", (N, 9, OUT[1], G, 1), strict=True)]
    window, tall = (at(of, Map(view(memory, "h", "w"))) for view in (of.window, of.tall_window))
    for tap in range(3):
        for read, written in of.height.met(tap):
            assert np.array_equal(tall[:, :, tap, written], window[:, :, read - of.low[0]])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("is_back", [False, True])
def test_windows_by_all_taps_hold_what_elements_meet(order: str, is_back: bool) -> None:
    of = strips(order, is_back)
    sizes = (OUT, IMAGE) if is_back else (IMAGE, OUT)
    depth = [Dim("k" if is_back and d.name == "c" else d.name, d.size) for d in dims(order, sizes[0])]
    windows = at(of, Map(of.windows(depth, "h", "w")))[..., 0, :]
    strip = at(of, Map(of.strip(dims(order, sizes[1]), "h", "w")))
    met = {
        (y, x, int(read), int(written))
        for y, x in product(range(TAPS[0]), range(TAPS[1]))
        for read, written in zip(windows[:, :, :, y, :, x].ravel(), strip.ravel(), strict=True)
        if read >= 0 and written >= 0
    }
    assert met == defined(order, is_back)


def defined(order: str, is_back: bool) -> set[tuple[int, int, int, int]]:
    """(y, x, offset that is read, offset that is written), from the definition."""
    found: set[tuple[int, int, int, int]] = set()
    for n, g, y, x, h, w in product(range(N), range(G), *map(range, (*TAPS, *OUT))):
        row, column = h * STRIDE[0] + y - PAD[0], w * STRIDE[1] + x - PAD[1]
        if 0 <= row < IMAGE[0] and 0 <= column < IMAGE[1]:
            image, out = offset(order, IMAGE, n, g, row, column), offset(order, OUT, n, g, h, w)
            found.add((y, x, out, image) if is_back else (y, x, image, out))
    return found


def offset(order: str, size: tuple[int, ...], n: int, g: int, h: int, w: int) -> int:
    if order == "nhwc":
        return ((n * size[0] + h) * size[1] + w) * G + g
    return ((n * G + g) * size[0] + h) * size[1] + w


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("places", ["slot y x", "y x slot"])
@pytest.mark.parametrize("turns", [None, 1])
def test_taps_are_of_the_channels_that_are_written(order: str, places: str, turns: int | None) -> None:
    of = strips(order, False, turns)
    memory = [Dim("g", G), Dim("k", 1), Dim("y", TAPS[0]), Dim("c", 1), Dim("x", TAPS[1])]
    if turns is None:
        taps = offsets(Map(of.filter(memory, places))).reshape(-1, of.slots * 6)
        strip = at(of, Map(of.strip(dims(order, OUT), "h", "w")))[:, 0, 0, 0]
        sizes = {"slot": of.slots, "y": TAPS[0], "x": TAPS[1]}
        taps = np.moveaxis(
            taps.reshape(-1, *(sizes[n] for n in places.split())), 1 + places.split().index("slot"), 1
        )
        channels = strip % G if order == "nhwc" else strip // (OUT[0] * OUT[1]) % G
        wanted = channels[:, :, None] * 6 + np.arange(6)
        here = np.broadcast_to(strip[:, :, None] >= 0, wanted.shape)
        assert here.any() and np.array_equal(taps.reshape(wanted.shape)[here], wanted[here])
    else:
        channels = Map(of.places(memory, places))
        assert np.array_equal(np.sort(offsets(channels)[offsets(channels) >= 0]), np.arange(G * 6))


def test_a_pair_that_is_not_of_the_convolution_is_seen() -> None:
    of = strips("nhwc", False)
    wrong: Any = replace(of, height=replace(of.height, before=0))
    window = at(wrong, Map(wrong.window(dims("nhwc", IMAGE), "h", "w")))
    assert not np.array_equal(window, at(of, Map(of.window(dims("nhwc", IMAGE), "h", "w"))))


@pytest.mark.parametrize("is_back", [False, True])
@pytest.mark.parametrize("along", ["n", "k"])
def test_registers_of_taps_are_those_that_they_meet(is_back: bool, along: Literal["n", "k"]) -> None:
    of = strips("nhwc", is_back)
    met: dict[int, list[tuple[int, int]]] = {}
    for taps, window, strip in of.met_columns(along):
        for number, i in product(range(taps.taps), range(taps.run.length)):
            at = {"n": [0, number, i], "k": [0, i, number]}[along]
            column = int(Map((window,)).evaluate(at)[0][0]) + of.low[1]
            written = int(Map((strip,)).evaluate({"n": [0, 0, 0, i], "k": [0, 0, i, 0]}[along])[0][1])
            met.setdefault(taps.first + number * taps.apart, []).append((column, written))
    assert met == {tap: found for tap in range(TAPS[1]) if (found := list(of.width.met(tap)))}
