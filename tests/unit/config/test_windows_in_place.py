"""Channels that come last: by all of them where arrays are larger than L2, by some where L1 holds these."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.chip import CPU_ISAS
from imbrex.config.algorithm.depthwise import strips_shape
from imbrex.config.algorithm.task import task_of
from imbrex.config.configuration import parse
from imbrex.config.cpu.crowding import stays_near
from imbrex.config.request import Request
from imbrex.config.strips import Box, Shape
from imbrex.config.window_strips import chosen_box, served_boxes
from imbrex.config.windows_in_place import lies
from imbrex.emit.bundle import device_headers
from imbrex.pipeline import lower
from imbrex.problem import parse_problem

LINE = (
    "conv -n 1 -c 512 -H 7 -W 14 -k 512 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -g 512 -F 1"
    " -f NHWC -I NHWC -O NHWC"
)
MACHINE = replace(CPU_ISAS["avx512"], threads=1, l1_bytes=48 << 10, l2_bytes=2 << 20)


def shape_of(channels: int, size: int, verb: str = "conv", n: int = 1, taps: int = 3) -> Shape:
    """A convolution forward, of channels of their own that come last."""
    given = f"-n {n} -c {channels} -k {channels} -g {channels} -H {size} -W {size} -y {taps} -x {taps}"
    pads = f"-p {taps // 2} -q {taps // 2} -u 1 -v 1 -l 1 -j 1 -F 1 -f NHWC -I NHWC -O NHWC"
    (conv,) = parse_problem(f"{verb} {given} {pads}")
    return strips_shape(task_of(conv))


@pytest.mark.parametrize(("channels", "size", "n"), [(32, 112, 4), (96, 112, 1), (144, 56, 1), (384, 56, 4)])
def test_large_arrays_are_read_as_they_lie(channels: int, size: int, n: int) -> None:
    box = chosen_box(shape_of(channels, size, n=n), MACHINE)
    assert (box.slots, box.columns) == (channels, size)


def test_what_l1_has_no_place_for_is_cut() -> None:
    box = chosen_box(shape_of(960, 7), MACHINE)
    assert box.slots < 960 and 3 * 9 * box.slots * 4 < MACHINE.l1_bytes


def test_rings_are_no_larger_than_before() -> None:
    """bf16 is widened in a ring, whatever else is served in place."""
    boxes = served_boxes(shape_of(144, 56, "convbfp16"), MACHINE)
    assert max(box.slots for box in boxes) <= 64 and {box.columns for box in boxes} == {56}
    wide = served_boxes(shape_of(144, 56), MACHINE)
    assert {16, 32, 48, 144} <= {box.slots for box in wide}


@pytest.mark.parametrize(
    ("box", "expected"),
    [(Box(16, 14, 14), False), (Box(512, 14, 14), True), (Box(16, 4, 14), True), (Box(24, 4, 14), False)],
)
def test_what_lies(box: Box, expected: bool) -> None:
    """512 channels: rows of 14 pixels share sets, all channels together do not; 24 are no whole vectors."""
    assert lies(shape_of(512, 14), box, 16) is expected


def test_what_is_widened_and_wide_rows_of_taps_do_not_lie() -> None:
    assert not lies(shape_of(32, 14, "convbfp16"), Box(32, 14, 14), 16)
    assert not lies(shape_of(32, 14, taps=9), Box(32, 14, 14), 16)


@pytest.mark.parametrize(
    ("line", "slots", "has_no_ring"),
    [
        (LINE, 512, True),
        (LINE, 32, False),  # whose rows of 14 pixels share sets
        (LINE.replace("512", "96"), 48, True),
        (LINE.replace("conv", "convbfp16"), 16, False),
    ],
)
def test_kernels_in_place_have_no_ring(line: str, slots: int, has_no_ring: bool) -> None:
    (problem,) = parse_problem(line)
    config = parse(f"v2:window_vectors+strips={slots},14,7,1,1")
    files = lower(Request(problem, MACHINE, config=config)).bundle.files
    assert any(", 1, 1, false, true> windows;" in text for text in files.values()) is has_no_ring


def test_the_device_says_the_same_of_what_stays_near() -> None:
    header = device_headers("cpu")["device/cpu/grid.h"]
    assert "lines = (step * int64_t(sizeof(T)) + 63) / 64, apart = lines & -lines," in header
    assert "sets = apart < 64 ? 64 / apart : 1;" in header
    assert "return 8 * sets * taps > 2 * rows * vectors;" in header
    assert stays_near(96 * 4, 3, 100, 3) and not stays_near(1024 * 4, 3, 16, 3)
