"""Products over whole images have the terms of the convolution, in another order, and zeros between."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.index.map import Dim
from imbrex.view.conv import implicit_gemm
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.conv.whole_images import serves, whole_images

from ..points import products


def dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(name, size) for name, size in sizes.items())


def pointwise(h: int = 4, w: int = 10, c: int = 8, k: int = 16, **changed: object) -> Convolution:
    return Convolution(
        **{
            "filter": dims(k=k, c=c, y=1, x=1),
            "input": dims(n=2, c=c, hi=h, wi=w),
            "output": dims(n=2, k=k, ho=h, wo=w),
            "strides": (1, 1),
            "dilations": (1, 1),
            "padding": ((0, 0), (0, 0)),
            **changed,
        }  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("multiple", [16, 8, 1])
def test_they_sum_the_same_terms(multiple: int) -> None:
    layer = pointwise(3, 5)
    (only,) = implicit_gemm.backward_data_v4r1(layer)
    for direction, want in {
        "forward": implicit_gemm.forward(layer),
        "backward_data": only,
        "backward_weight": implicit_gemm.backward_weight(layer),
    }.items():
        assert np.array_equal(products(whole_images(layer, direction, multiple)), products(want))


def test_an_image_ends_with_a_row_of_shared_memory() -> None:
    view = whole_images(pointwise(3, 5), "backward_weight", 16)
    assert (view.m, view.n, view.k) == (16, 8, 2 * 16)
    _, exists = view.a.evaluate([np.arange(32), 0])
    assert exists.tolist() == ([True] * 15 + [False]) * 2


@pytest.mark.parametrize(
    ("side", "size", "is_so"),
    [(28, 2, True), (12, 2, True), (14, 2, False), (7, 2, False), (8, 2, False), (14, 4, True)],
)
def test_planes_of_whole_vectors_but_not_of_whole_rows(side: int, size: int, is_so: bool) -> None:
    assert serves(pointwise(side, side), size) == is_so


@pytest.mark.parametrize(
    "layer",
    [
        pointwise(strides=(2, 2)),
        pointwise(padding=((1, 1), (0, 0))),
        pointwise(filter=dims(k=16, c=8, y=3, x=1)),
        pointwise(input=dims(n=2, hi=4, wi=10, c=8)),
        pointwise(output=dims(k=16, n=2, ho=4, wo=10)),
        pointwise(filter=dims(g=1, k=16, c=8, y=1, x=1)),
    ],
)
def test_control_others_are_not_served(layer: Convolution) -> None:
    assert serves(pointwise(), 2)
    assert not serves(layer, 2)
