"""Products of phases that share tiles are the gradient of the input, for every window."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from imbrex.dtype import F16
from imbrex.index.map import Dim, Map
from imbrex.index.query import vector_width
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.conv.phase_box import PhaseBox
from imbrex.view.conv.phase_tiles import PhaseTile, phase_count, phase_tile
from imbrex.view.stage.shared_tile import SharedTile
from imbrex.view.tensor import Walk, access

Array = npt.NDArray[Any]
CHANNELS, FILTERS, IMAGES = 2, 3, 2
SIZES = ((5, 7), (8, 6), (8, 4))
WINDOWS = ((1, 1), (2, 3), (3, 5), (3, 1))
STRIDES = ((2, 2), (1, 2), (3, 3), (2, 4))
DILATIONS = ((1, 1), (2, 1), (1, 2), (3, 3))
PADS = (((0, 0), (0, 0)), ((1, 1), (1, 1)), ((0, 2), (3, 0)))


def dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(name, size) for name, size in sizes.items())


def window(
    size: tuple[int, int],
    taps: tuple[int, int],
    strides: tuple[int, int] = (2, 2),
    dilations: tuple[int, int] = (1, 1),
    padding: tuple[tuple[int, int], tuple[int, int]] = ((1, 1), (1, 1)),
    channels: tuple[int, int] = (CHANNELS, FILTERS),
) -> Convolution | None:
    """None where no window fits."""
    ho, wo = (
        (i + sum(p) - d * (t - 1) - 1) // s + 1
        for i, t, s, d, p in zip(size, taps, strides, dilations, padding, strict=True)
    )
    if min(ho, wo) < 1:
        return None
    c, k = channels
    return Convolution(
        dims(k=k, c=c, y=taps[0], x=taps[1]),
        dims(n=IMAGES, c=c, hi=size[0], wi=size[1]),
        dims(n=IMAGES, ho=ho, wo=wo, k=k),
        strides,
        dilations,
        padding,
    )


def gradient(conv: Convolution, filters: Array, output: Array) -> Array:
    """By its definition."""
    h, w = conv.height, conv.width
    padded = np.zeros(
        (IMAGES, CHANNELS, h.image + h.before + h.after, w.image + w.before + w.after), np.int64
    )
    for y, x in product(range(h.window), range(w.window)):
        rows = slice(y * h.dilation, y * h.dilation + h.stride * (h.out - 1) + 1, h.stride)
        columns = slice(x * w.dilation, x * w.dilation + w.stride * (w.out - 1) + 1, w.stride)
        padded[:, :, rows, columns] += np.einsum("nhwk,kc->nchw", output, filters[:, :, y, x])
    return padded[:, :, h.before : h.before + h.image, w.before : w.before + w.image]


def places(map: Map) -> tuple[tuple[Array, ...], Array]:
    """Coordinates of every point, and whether it exists; a batch of one where there is none."""
    shape = [d.size for d in map.upper]
    coords, exists = map.evaluate(np.ix_(*(np.arange(size) for size in shape)))
    *found, valid, _ = np.broadcast_arrays(*coords, exists, np.zeros(shape))
    whole = shape if len(shape) == 3 else [1, *shape]
    return tuple(x.reshape(whole) for x in found), valid.reshape(whole)


def loaded(map: Map, array: Array) -> Array:
    coords, exists = places(map)
    return np.where(exists, array[tuple(np.where(exists, x, 0) for x in coords)], 0)


def computed(tile: PhaseTile, filters: Array, output: Array) -> Array:
    a, b = loaded(tile.view.a, filters), loaded(tile.view.b, output)
    length = a.shape[1] // len(tile.phases.of)
    found = np.zeros((a.shape[0], a.shape[2], b.shape[2] * tile.view.phases), np.int64)
    columns = np.arange(b.shape[2])
    for batch, (number, phase) in product(range(a.shape[0]), enumerate(tile.phases.of)):
        first, taken = number * length, tile.phases.lengths[batch % len(tile.phases.lengths)]
        assert not a[batch, first + taken : first + length].any(), "what is left out of a part is zero"
        part = slice(first, first + taken)
        (stored,), _ = tile.phases.box.stored_columns(columns.size).evaluate([columns, phase])
        found[batch][:, stored] += a[batch, part].T @ b[batch, part]
    return found


@pytest.mark.parametrize("strides", STRIDES, ids=str)
@pytest.mark.parametrize("dilations", DILATIONS, ids=str)
def test_all_tiles_are_the_gradient(strides: tuple[int, int], dilations: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    for size, taps, padding in product(SIZES, WINDOWS, PADS):
        conv = window(size, taps, strides, dilations, padding)
        if conv is None or not phase_count(conv):
            continue
        filters = rng.integers(-3, 4, [d.size for d in conv.filter])
        output = rng.integers(-3, 4, [d.size for d in conv.output])
        found = np.zeros([d.size for d in conv.input], np.int64)
        written = np.zeros_like(found)
        tile = phase_tile(conv, channel_multiple=4, vector=8)
        coords, exists = places(tile.view.c)
        at = tuple(x[exists] for x in coords)
        found[at] = computed(tile, filters, output)[exists]
        np.add.at(written, at, 1)
        assert (written == 1).all(), conv
        np.testing.assert_array_equal(found, gradient(conv, filters, output), str(conv))


def test_phases_in_another_order_are_not() -> None:
    conv = window((8, 6), (3, 3))
    assert conv is not None
    rng = np.random.default_rng(0)
    filters, output = (rng.integers(1, 4, [d.size for d in array]) for array in (conv.filter, conv.output))
    tile = phase_tile(conv)
    other = replace(tile, phases=replace(tile.phases, of=(0, 1, 1)))
    assert (tile.phases.of, tile.phases.lengths) == ((1, 0, 1), (FILTERS, 2 * FILTERS))
    assert not np.array_equal(computed(tile, filters, output), computed(other, filters, output))


@pytest.mark.parametrize(("size", "width"), [(56, 8), (28, 4), (14, 2), (13, 1)])
def test_neighbours_of_a_row_are_neighbours_in_memory(size: int, width: int) -> None:
    """And the output's gradient is one walk, though taps of several phases see other pixels."""
    conv = window((size, size), (3, 3), channels=(64, 128))
    assert conv is not None
    tile = phase_tile(conv, channel_multiple=64)
    assert vector_width(tile.view.c, "gemmN") == width
    assert isinstance(access(tile.view.b, SharedTile(64, 128, 2, "k", 128), F16), Walk)


@pytest.mark.parametrize(
    ("taps", "strides", "phases"), [(1, 2, 4), (2, 2, 2), (2, 3, 0), (3, 3, 3), (1, 1, 1)]
)
def test_rows_that_no_tap_meets(taps: int, strides: int, phases: int) -> None:
    conv = window((8, 8), (taps, taps), (strides, strides))
    assert conv is not None and phase_count(conv) == phases


def test_rows_of_a_single_tap_have_zeros_beside_them() -> None:
    conv = window((8, 56), (1, 1), padding=((0, 0), (0, 0)))
    assert conv is not None and phase_count(conv) == 4
    tile = phase_tile(conv, vector=8)
    assert (tile.phases.of, tile.phases.box) == ((0,), PhaseBox(rows=2, run=4, residues=2))
    assert vector_width(tile.view.c, "gemmN") == 8
