"""Work items of products of many groups meet each element of C once, and read A and B of it."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.index.map import Dim, Map
from imbrex.view.channel_items import ChannelItems

from .points import offsets


@pytest.mark.parametrize(("groups", "columns"), [(16, 12), (40, 81), (3, 5), (512, 7), (4096, 3)])
def test_each_element_is_met_once(groups: int, columns: int) -> None:
    items = ChannelItems(groups, columns, slots=8, pixels=4, workitems=64)
    sizes = {"gemmG": groups, "gemmK": 5, "gemmM": 1, "gemmN": columns}
    dims = {n: [Dim(f"gemm{x}", sizes[f"gemm{x}"]) for x in f"G{n}"] for n in ("MN", "KN", "KM")}
    c, b, a = (Map(items.layers(d)) for d in dims.values())
    assert [d.name for d in c.upper] == ["workgroup", "workitem", "pixel", "slot"]
    met = offsets(c)
    assert met.shape[:2] == (items.workgroups, 64)
    assert np.array_equal(np.sort(met[met >= 0]), np.arange(groups * columns))
    of_b, of_a = offsets(b), offsets(a)  # workgroup, item, k, (pixel,) slot
    here = met[:, :, None] >= 0
    group, column, k = met[:, :, None] // columns, met[:, :, None] % columns, np.arange(5)[:, None, None]
    assert np.array_equal(of_b[np.broadcast_to(here, of_b.shape)], ((group * 5 + k) * columns + column)[
        np.broadcast_to(here, of_b.shape)])  # fmt: skip
    wanted = np.broadcast_to(group * 5 + k, of_b.shape)
    read = np.broadcast_to(of_a[:, :, :, None], of_b.shape)
    assert np.array_equal(read[np.broadcast_to(here, of_b.shape)], wanted[np.broadcast_to(here, of_b.shape)])
