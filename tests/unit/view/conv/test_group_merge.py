"""Merged groups sum the products that the groups sum, and no other."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from imbrex.index.map import Map
from imbrex.view.conv import implicit_gemm
from imbrex.view.conv.group_merge import GroupMerge
from imbrex.view.gemm.product import GemmView

from ..points import all_products, offsets
from ..tensor.operands import convolution

LAYOUTS = ("nhwc grouped", "ngchw, channels last", "gnhwc")
DIRECTIONS = {
    "forward": ("filter", "input", "output"),
    "backward_data_v4r1": ("filter", "output", "input"),
    "backward_weight": ("output", "input", "filter"),
}


def views(shape: implicit_gemm.Convolution, direction: str) -> tuple[GemmView, ...]:
    found = getattr(implicit_gemm, direction)(shape, taps_first=True)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_the_products_are_those_of_the_groups(count: int, layout: str, direction: str) -> None:
    rng = random.Random(f"{count} {layout}")
    c, k, y = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 3)
    shape = convolution(layout, 2, c, 5, 4, k, y, 2, (rng.randint(1, 2), 1), (1, 1), ((1, 0), (0, 1)), g=6)
    parts = {role: GroupMerge(getattr(shape, role), count) for role in ("filter", "input", "output")}
    merged = replace(shape, **{role: of.merged for role, of in parts.items()})

    def through(view: GemmView) -> GemmView:
        maps = zip((view.a, view.b, view.c), DIRECTIONS[direction], strict=True)
        return GemmView(*(map.then(parts[role].map) for map, role in maps))

    found = all_products([through(view) for view in views(merged, direction)])
    assert np.array_equal(found, all_products(views(shape, direction)))


@pytest.mark.parametrize("last", ["k", "c"])
def test_a_filter_is_block_diagonal(last: str) -> None:
    of = GroupMerge(convolution("nhwc grouped", 1, 4, 3, 3, 2, 1, 1, g=6).filter, 3)
    dims, map = of.ordered(last)
    assert [d.name for d in dims][-1] == last and dict(dims) == {"g": 2, "k": 6, "y": 1, "x": 1, "c": 12}
    order = [[d.name for d in dims].index(n) for n in ("g", "k", "c", "y", "x")]
    found = offsets(map).transpose(order)[..., 0, 0]
    for group, k, c in np.ndindex(found.shape):
        here = k // 2 == c // 4
        assert found[group, k, c] == (((group * 3 + k // 2) * 2 + k % 2) * 4 + c % 4 if here else -1)


def test_control_another_number_of_groups_has_other_products() -> None:
    shape = convolution("nhwc grouped", 1, 2, 3, 3, 2, 2, 2, g=4)
    wrong = GroupMerge(shape.filter, 2)
    layers = [*wrong.map.layers]
    assert np.array_equal(np.unique(offsets(Map(tuple(layers)))), [-1, *range(4 * 2 * 2 * 2 * 2)])
