"""Space: a point exists where each coordinate is inside, and lies where the strides say; at every point."""

from __future__ import annotations

import random

import numpy as np
import pytest

from imbrex.index.expr import var
from imbrex.index.map import Map
from imbrex.view.conv import implicit_gemm
from imbrex.view.gemm.product import plain
from imbrex.view.tensor.form import Refused
from imbrex.view.tensor.space import Axis, Space, joined_with, space, spaces

from ..points import Ints, offsets
from .operands import LAYOUTS, convolution
from .test_conv import random_convolution, views


def space_of(map: Map) -> Space:
    found = space(map, [var(d.name, d.size) for d in map.upper])
    assert not isinstance(found, Refused), found
    return found


def reached(found: Space, map: Map) -> Ints:
    """The offset at every upper point, -1 where a coordinate is outside."""
    shape = [d.size for d in map.upper]
    env = dict(zip(map.variables, np.indices(shape), strict=True))
    offset, exists = np.full(shape, found.base), np.ones(shape, np.bool_)
    for axis in found.axes:
        x = axis.coordinate.eval(env)
        offset, exists = offset + x * axis.stride, exists & (x >= 0) & (x < axis.size)
    return np.where(exists, offset, -1)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(4))
def test_operands_and_results_of_convolutions(layout: str, seed: int) -> None:
    rng = random.Random(f"{layout} {seed}")
    for _ in range(3):
        for _, view in views(random_convolution(rng, layout), multiple=16):
            for map in (view.a, view.b, view.c):
                assert np.array_equal(reached(space_of(map), map), offsets(map)), map
                for inner in (None, *(d.name for d in map.upper)):
                    for found in spaces(map, [var(d.name, d.size) for d in map.upper], inner):
                        assert not isinstance(found, Refused)
                        assert np.array_equal(reached(found, map), offsets(map)), (map, inner)


def test_what_runs_on_is_one_axis() -> None:
    """Pixels with no padding between rows; every other pixel as an axis of half as many."""
    assert [a.size for a in space_of(plain(6, 5, 4, 3).a).axes] == [3, 6, 4]
    pixels = implicit_gemm.forward(convolution("nhwc", 2, 8, 6, 6, 8, 1, 1)).b
    assert [(a.size, a.stride) for a in space_of(pixels).axes] == [(72, 8), (8, 1)]
    strided = implicit_gemm.forward(convolution("nhwc", 2, 8, 6, 5, 8, 1, 1, (2, 2))).b
    assert [(a.size, a.stride) for a in space_of(strided).axes] == [(6, 80), (3, 16), (8, 1)]
    padded = implicit_gemm.forward(convolution("nhwc", 2, 8, 6, 6, 8, 1, 1, padding=((1, 0), (0, 1)))).b
    assert len(space_of(padded).axes) == 4


def test_axes_with_a_gap_or_an_edge_between_them_stay_apart() -> None:
    outer, inner = var("i", 12) // 4, var("i", 12) % 4
    joined = joined_with(Axis(outer, 3, 4), Axis(inner, 4, 1))
    assert joined == Axis(var("i", 12), 12, 1)
    assert joined_with(Axis(outer, 3, 5), Axis(inner, 4, 1)) is None
    assert joined_with(Axis(outer, 3, 4), Axis(inner - 1, 4, 1)) is None


def test_control_another_base_or_stride_is_elsewhere() -> None:
    map = implicit_gemm.forward(convolution("nhwc", 2, 8, 6, 5, 8, 3, 3)).b
    found = space_of(map)
    first, *others = found.axes
    for wrong in (
        Space(found.axes, found.base + 1),
        Space((Axis(first.coordinate, first.size, first.stride + 1), *others), found.base),
        Space((Axis(first.coordinate, 1, first.stride), *others), found.base),
    ):
        assert not np.array_equal(reached(wrong, map), offsets(map))
