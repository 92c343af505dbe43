"""Which part of a padded window's rows is met in strips of its lanes: as evaluating every point says."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.config.convs import convolution

from imbrex.index.expr import var
from imbrex.index.met import MOST_KINDS, Guarded, guarded
from imbrex.view.conv.implicit_gemm import forward

WIDTHS = (1, 3, 4, 8, 50)


@pytest.mark.parametrize(
    "more", [{"dilation": 5, "pad": 5}, {"stride": 2, "pad": 1}, {"dilation": 2, "pad": 3}]
)
def test_what_is_met_is_counted(more: dict[str, int]) -> None:
    sizes = {"n": 2, "c": 2, "h": 9, "w": 7, "k": 3, "y": 3, "x": 3}
    view = forward(convolution(**sizes, **more)).b
    across, along = (d.name for d in view.upper[-2:])
    _, valid = view.evaluate(list(np.indices([d.size for d in view.upper])))
    found = guarded(view, across, along)
    assert found is not None
    for width in WIDTHS:
        last = valid.shape[-1] // width * width
        strips = [valid[..., i : i + width].any(axis=-1).mean() for i in range(0, valid.shape[-1], width)]
        assert found.met(width) == pytest.approx(np.mean(strips))
        whole = [valid[..., i : i + width].all(axis=-1).mean() for i in range(0, last, width)]
        assert found.cut(width) == pytest.approx(np.mean(strips) - np.sum(whole) / len(strips))


def test_nothing_is_said_of_a_window_without_padding() -> None:
    view = forward(convolution(n=1, c=2, h=9, w=7, k=3, y=3, x=3)).b
    assert guarded(view, *(d.name for d in view.upper[-2:])) is None


def test_all_is_met_where_rows_are_of_many_kinds() -> None:
    """Each row meets one lane of as many as there are rows."""
    for kinds, met in ((MOST_KINDS, 1 / MOST_KINDS), (MOST_KINDS + 1, 1.0)):
        row, lane = var("k", kinds), var("n", kinds)
        found = Guarded((row,), (-lane,), (1,), (("k", kinds),), (("n", kinds),))
        assert found.met(1) == pytest.approx(met)
