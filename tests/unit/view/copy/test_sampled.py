"""Of an image, what windows of one tap read: the same elements, in the same places of the product."""

from __future__ import annotations

import pytest

from imbrex.index.map import Dim, Map
from imbrex.view.conv import implicit_gemm
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.copy.sampled import sampled

from ..points import offsets


def dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(name, size) for name, size in sizes.items())


def convolution(
    window: tuple[int, int], stride: tuple[int, int], pad: tuple[int, int] = (0, 0)
) -> Convolution:
    """Of an image of 7 x 8, padded by `pad` before and after."""
    outs = [(size + 2 * p - w) // s + 1 for size, p, w, s in zip((7, 8), pad, window, stride, strict=True)]
    return Convolution(
        dims(k=4, c=3, y=window[0], x=window[1]),
        dims(n=2, c=3, hi=7, wi=8),
        dims(n=2, k=4, ho=outs[0], wo=outs[1]),
        stride,
        (1, 1),
        ((pad[0], pad[0]), (pad[1], pad[1])),
    )


CASES = {
    "pointwise": convolution((1, 1), (2, 2)),
    "of both axes another stride": convolution((1, 1), (3, 2)),
    "padded": convolution((1, 1), (2, 2), (1, 2)),
    "one axis": convolution((1, 3), (2, 2), (0, 1)),
    "one axis, the other dense": convolution((3, 1), (1, 3), (1, 0)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_products_read_the_same_elements(name: str) -> None:
    whole = CASES[name]
    found = sampled(whole)
    assert found is not None
    for product in (implicit_gemm.forward, implicit_gemm.backward_weight):
        small, large = product(found.conv).b, product(whole).b
        assert offsets(Map((*small.layers, *found.map.layers))).tolist() == offsets(large).tolist()


def test_it_is_as_large_as_what_is_read() -> None:
    found = sampled(CASES["pointwise"])
    assert found is not None
    assert found.conv.input == dims(n=2, c=3, hi=4, wi=4)
    assert (found.conv.strides, found.conv.padding) == ((1, 1), ((0, 0), (0, 0)))


@pytest.mark.parametrize("whole", [convolution((3, 3), (2, 2), (1, 1)), convolution((1, 1), (1, 1))])
def test_control_where_all_is_read_there_is_none(whole: Convolution) -> None:
    assert sampled(whole) is None
