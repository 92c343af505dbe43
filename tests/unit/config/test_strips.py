"""The strips that are chosen: legal for every shape, enough work items, registers for all."""

from __future__ import annotations

from itertools import product

import pytest

from imbrex.chip import WARPGROUPS
from imbrex.config.strips import HELD, HIGH, Box, Direction, Shape, box_of, even, strips_of
from imbrex.index.map import Dim
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.work.numbering import Shared

DIRECTIONS: tuple[Direction, ...] = ("forward", "backward_data", "backward_weight")
SIZES = [  # images, channels, image, window, stride
    (128, 512, 14, 3, 1),
    (128, 256, 56, 3, 2),
    (128, 384, 28, 7, 1),
    (1, 19, 9, 5, 3),
    (2, 6, 7, 3, 2),
    (3, 1, 1, 1, 1),
]


def shape(sizes: tuple[int, ...], direction: Direction, order: str, element_bytes: int = 2) -> Shape:
    n, g, size, taps, stride = sizes
    out = (size + 2 * (taps // 2) - taps) // stride + 1
    lengths = {
        "n": n,
        "g": g,
        "c": 1,
        "k": 1,
        "y": taps,
        "x": taps,
        "hi": size,
        "wi": size,
        "ho": out,
        "wo": out,
    }

    def dims(names: str) -> tuple[Dim, ...]:
        return tuple(Dim(name, lengths[name]) for name in names.split())

    inputs, outputs = ("n hi wi g c", "n ho wo g k") if order == "nhwc" else ("n g c hi wi", "n g k ho wo")
    pads = ((taps // 2, taps // 2), (taps // 2, taps // 2))
    conv = Convolution(dims("g k c y x"), dims(inputs), dims(outputs), (stride, stride), (1, 1), pads)
    return Shape(conv, direction, element_bytes)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("order", "element_bytes"), [("nhwc", 2), ("nhwc", 4), ("nchw", 2)])
def test_every_shape_has_strips(sizes: tuple[int, ...], order: str, element_bytes: int) -> None:
    for direction in DIRECTIONS:
        of = shape(sizes, direction, order, element_bytes)
        box, strips = box_of(of, WARPGROUPS), strips_of(of)
        assert box.slots * sizes[3] ** 2 <= HELD and sizes[1] % box.slots == 0
        assert box.slots * element_bytes <= 8 and (order == "nhwc" or box.slots == box.lanes == 1)
        for axis in (strips.height, strips.width):
            assert axis.strips == 1 or axis.strip % (sizes[4] if of.is_back else 1) == 0
        assert strips.numbering.workgroups >= 1


@pytest.mark.parametrize(("sizes", "direction", "order"), [*product(SIZES[:3], DIRECTIONS, ["nhwc", "nchw"])])
def test_large_problems_keep_all_multiprocessors_busy(
    sizes: tuple[int, ...], direction: Direction, order: str
) -> None:
    strips = strips_of(shape(sizes, direction, order))
    assert strips.numbering.workgroups * strips.workitems >= 50_000


def test_small_problems_have_short_strips() -> None:
    assert box_of(shape((1, 64, 14, 3, 1), "forward", "nhwc"), WARPGROUPS).rows == 1
    assert box_of(shape((128, 512, 14, 3, 1), "forward", "nhwc"), WARPGROUPS).rows == 7


def test_a_sum_takes_turns_and_no_more_than_there_are() -> None:
    for sizes, order in product(SIZES, ["nhwc", "nchw"]):
        of = shape(sizes, "backward_weight", order)
        numbering = strips_of(of).numbering
        assert isinstance(numbering, Shared)
        once = strips_of(of, box_of(of, WARPGROUPS)._replace(images=1)).numbering
        assert isinstance(once, Shared) and numbering.turns <= once.shares


def test_workgroups_leave_no_work_item_idle_where_a_size_divides() -> None:
    strips = strips_of(shape((128, 512, 14, 3, 1), "forward", "nchw"), Box(1, 2, 14))
    assert strips.numbering.workgroups * strips.workitems == 128 * 512 * 7


def test_strips_leave_little_over() -> None:
    assert [even(size, 8, 1, 3) for size in (28, 14, 9, 8)] == [7, 7, 5, 8]
    assert even(56, 14, 2, 3) == 14 and even(7, 4, 2, 3) == 4


@pytest.mark.parametrize(("taps", "columns"), [(7, 4), (8, 2)])
def test_a_high_strip_is_as_wide_as_registers_hold(taps: int, columns: int) -> None:
    box = box_of(shape((128, 384, 28, taps, 1), "forward", "nhwc"), WARPGROUPS)
    assert box.rows > HIGH and box.columns == columns
