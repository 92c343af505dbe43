"""Phases put together: each element of the input once, from the phase that has it, in its place."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.index.map import Dim, Map
from imbrex.index.query import vector_width
from imbrex.view.conv import implicit_gemm
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.copy.interleave import Interleave, interleaves

from ..points import Ints, offsets


def convolution(
    image: tuple[int, int], window: tuple[int, int], stride: tuple[int, int], pad: int = 0, dilation: int = 1
) -> Convolution:
    outs = [
        (size + 2 * pad - dilation * (w - 1) - 1) // s + 1
        for size, w, s in zip(image, window, stride, strict=True)
    ]
    sizes = {
        "filter": {"k": 4, "c": 3, "y": window[0], "x": window[1]},
        "input": {"n": 2, "c": 3, "hi": image[0], "wi": image[1]},
        "output": {"n": 2, "k": 4, "ho": outs[0], "wo": outs[1]},
    }
    arrays = [tuple(Dim(name, size) for name, size in of.items()) for of in sizes.values()]
    return Convolution(*arrays, stride, (dilation, dilation), ((pad, pad), (pad, pad)))


CASES = {
    "halves": convolution((8, 8), (3, 3), (2, 2), pad=1),
    "odd sizes": convolution((7, 9), (3, 3), (2, 2), pad=1),
    "one tap": convolution((8, 12), (1, 1), (2, 2)),
    "stride 3": convolution((9, 12), (2, 3), (3, 3)),
    "rows as they are": convolution((5, 6), (3, 3), (1, 2), pad=1),
    "dilated": convolution((9, 8), (3, 2), (2, 4), dilation=2),
}


def filled(view: Interleave) -> tuple[Ints, Ints]:
    """What lies at each place of the input: the number of its phase and the offset there, -1 for zeros; and
    how often each place is written.
    """
    written = offsets(view.written)
    kept = [np.full((*written.shape[:2], *(d.size for d in view.box)), -1) for _ in range(2)]
    for number, phase in enumerate(implicit_gemm.phases(view.conv)):
        read = offsets(view.read(*phase))
        to = offsets(Map((view.kept(*phase),)))
        for box, values in zip(kept, (np.where(read >= 0, number, -1), read), strict=True):
            box.reshape(*written.shape[:2], -1)[:, :, to] = values
    stored = offsets(Map((view.stored,)))
    count = np.prod([d.size for d in view.conv.input])
    found, times = np.full((2, count), -2), np.zeros(count, int)
    is_there = written >= 0
    np.add.at(times, written[is_there], 1)
    for which, box in enumerate(kept):
        found[which][written[is_there]] = box.reshape(*written.shape[:2], -1)[:, :, stored][is_there]
    return found, times


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("name", CASES)
def test_every_element_is_that_of_its_phase(name: str, size: int) -> None:
    view = Interleave(CASES[name], size, workitems=32)
    found, times = filled(view)
    assert (times == 1).all()
    want = np.full_like(found, -1)
    for number, (product, phase) in enumerate(
        zip(implicit_gemm.backward_data_v4r1(view.conv), implicit_gemm.phases(view.conv), strict=True)
    ):
        dims = view.phase(*phase)
        places = offsets(Map(product.c.layers[-1:])).reshape(-1)
        assert places.size == np.prod([d.size for d in dims])
        want[0][places], want[1][places] = number, np.arange(places.size)
    assert np.array_equal(found, want)


def test_both_sides_are_as_wide_as_rows_allow() -> None:
    view = Interleave(convolution((16, 48), (3, 3), (2, 2), pad=1), 2)
    (phase, *_) = implicit_gemm.phases(view.conv)
    assert (view.columns, view.slots) == (4, 8)
    assert vector_width(view.written, "slot") == 8
    assert vector_width(view.read(*phase), "column") == 4


def test_control_odd_columns_are_read_one_by_one() -> None:
    assert Interleave(CASES["odd sizes"], 2).columns == 1


@pytest.mark.parametrize(
    ("layer", "is_so"), [("halves", True), ("rows as they are", True), ("dilated", True)]
)
def test_columns_with_gaps(layer: str, is_so: bool) -> None:
    assert interleaves(CASES[layer]) == is_so


def test_control_no_gaps() -> None:
    assert not interleaves(convolution((8, 8), (3, 3), (2, 1), pad=1))
    last = CASES["halves"].input[2:] + CASES["halves"].input[:2]
    assert not interleaves(Convolution(**{**vars(CASES["halves"]), "input": last}))
