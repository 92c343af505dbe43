"""Convolutions that copy what they read to channels last, on the lane-level build: awkward sizes, directions,
groups, types; when the copy is chosen, and where it is refused.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.e2e.many import Case, wrong
from tests.pairs import in_turn

import imbrex
from imbrex import Conv2d, Diagnostic
from imbrex.chip import GPU_MACHINES
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.pipeline import Request

SHAPES = {
    "one element": "-n 1 -c 1 -H 1 -W 1 -k 1 -y 1 -x 1 -p 0 -q 0",
    "primes": "-n 2 -c 7 -H 13 -W 11 -k 17 -y 3 -x 3 -p 1 -q 1",
    "a pack and one": "-n 1 -c 17 -H 5 -W 13 -k 33 -y 1 -x 2 -p 0 -q 0",
    "whole packs": "-n 2 -c 32 -H 8 -W 8 -k 64 -y 3 -x 3 -p 1 -q 1",
    "stride, dilation, groups, asymmetric pads": (
        "-n 2 -c 20 -H 11 -W 13 -k 24 -y 3 -x 5 -p 2,0 -q 1,3 -u 2 -v 3 -l 2 -j 1 -g 2"
    ),
    "stride beyond the window": "-n 1 -c 9 -H 9 -W 8 -k 10 -y 1 -x 2 -p 0 -q 0 -u 3 -v 3",
    "depthwise": "-n 2 -c 5 -H 9 -W 9 -k 5 -y 3 -x 3 -p 1 -q 1 -g 5",
    "stem": "-n 1 -c 3 -H 15 -W 17 -k 17 -y 7 -x 7 -p 3 -q 3 -u 2 -v 2",
}
LAYOUTS = ("", " -I CNHW -f CKYX -O HWNK", " -I NHWC -f KCYX -O NKHW")
CHIPS = ("gfx90a", "gfx942", "gfx950")


def case(op: str, shape: str, direction: int, layout: str = "", chip: str = "gfx942") -> Case:
    return Case.of(f"{op} {SHAPES[shape]} -F {direction}{layout}", None, chip, "channels_last")


HARDEST = "stride, dilation, groups, asymmetric pads"
DIRECTIONS = (1, 2, 4)
IN_TURN = in_turn(list(SHAPES), DIRECTIONS, whole=[HARDEST])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_half_precision(direction: int) -> None:
    shapes = [s for s, d in IN_TURN if d == direction and not (s == "one element" and direction == 4)]
    cases = [
        case("convfp16" if i % 2 else "convbfp16", shape, direction, "", CHIPS[i % 3])
        for i, shape in enumerate(shapes)
    ]
    assert wrong(cases, seed=direction) == []


def test_bytes() -> None:
    """MIOpen's int8 is forward only."""
    cases = [case("convint8", shape, 1, "", CHIPS[i % 3]) for i, shape in enumerate(SHAPES)]
    assert wrong(cases) == []


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_other_layouts(direction: int) -> None:
    plain = " -I HWNC -f KCYX -O NKHW"
    forms = [("convfp16", LAYOUTS[1]), ("convfp16", plain), ("conv", "")]
    cases = [
        case(op, "primes", direction, layout)
        for (op, layout), way in in_turn(forms, DIRECTIONS)
        if way == direction
    ]
    assert wrong([*cases, case("conv", HARDEST, direction)], seed=7) == []


PLANES = (
    "-n 3 -c 32 -H 7 -W 7 -k 64 -y 3 -x 3 -p 1 -q 1",
    "-n 2 -c 24 -H 13 -W 14 -k 40 -y 3 -x 1 -p 1 -q 0 -u 2 -v 2",
    "-n 1 -c 32 -H 9 -W 5 -k 48 -y 3 -x 3 -p 1 -q 1 -g 2",
)
"""Of no whole 16 bytes, and channels that are."""


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_results_whose_planes_begin_anywhere(direction: int) -> None:
    """In half precision the second time, in the other directions than in single."""
    turns = [("conv", *row) for row in in_turn(PLANES, DIRECTIONS)]
    turns += [("convfp16", *row) for row in in_turn(PLANES, (2, 4, 1))]
    cases = [
        Case.of(f"{op} {shape} -F {way}", None, CHIPS[i % 3], "all_last")
        for i, (op, shape, way) in enumerate(turns)
        if way == direction
    ]
    assert wrong(cases, seed=direction) == []


def test_control_a_box_that_is_not_turned_is_seen() -> None:
    """16 channels of the input go through registers."""
    small = [Case.of("convfp16 -n 2 -c 16 -H 8 -W 8 -k 64 -y 3 -x 3 -F 1", None, "gfx942", "channels_last")]
    assert wrong(small) == []
    assert len(wrong(small, damage=("8 * slot_6 + other_2", "8 * other_2 + slot_6"))) == 1


def test_control_a_plane_that_is_not_turned_is_seen() -> None:
    """The filter's planes of 3 x 3 go through shared memory."""
    small = [case("convfp16", "whole packs", 1)]
    assert len(wrong(small, damage=("9 * slot_3", "8 * slot_3"))) == 1


PROBLEM = Conv2d("forward", 2, 16, 9, 7, 24, 3, 3, dtype="f16")
NAMES = ("forward", "backward_data", "backward_weight")


def chosen(problem: Conv2d, chip: str = "gfx942") -> str | None:
    return algorithm_of(Request(problem, GPU_MACHINES[chip], chip))


@pytest.mark.parametrize("direction", NAMES)
def test_it_is_chosen_where_it_helps(direction: str) -> None:
    problem = replace(PROBLEM, direction=direction)
    direct = "v4r1" if direction == "backward_data" else "v4r4"
    last = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
    assert chosen(problem) == "channels_last"
    others = {
        "f32": replace(problem, dtype="f32"),
        "channels last": replace(problem, **last),
        "few channels": replace(problem, c=7, k=7),
        "depthwise": replace(problem, k=16, groups=16),
    }
    by_rows = {"channels last": "row_halo:1"} if direction == "forward" else {}
    assert {name: chosen(other) for name, other in others.items()} == dict.fromkeys(others, direct) | by_rows


def test_pointwise_arrays_are_wide_as_they_are() -> None:
    pointwise = Conv2d("forward", 2, 16, 8, 8, 24, 1, 1, dtype="f16")
    assert chosen(pointwise) == "v4r4"
    assert chosen(replace(pointwise, h=7, w=7)) == "channels_last"


def test_a_kernel_tells_what_it_does() -> None:
    kernel = imbrex.compile(PROBLEM, "gfx942")
    assert kernel.algorithm == kernel.report["algorithm"] == "channels_last"
    assert kernel.launches == 2 and len(kernel.report["kernels"]) == 2
    assert kernel.workspace_bytes == 2 * (24 * 9 * 16 + 2 * 63 * 16)
    direct = imbrex.compile(PROBLEM, "gfx942", algorithm="v4r4")
    assert (direct.algorithm, direct.launches, direct.workspace_bytes) == ("v4r4", 1, 0)
    assert imbrex.compile(PROBLEM).algorithm == "v4r4"


def test_nothing_of_one_call_reaches_the_next() -> None:
    """Not through the channels that are added, either."""
    problem = Conv2d("forward", 1, 9, 3, 3, 9, 1, 1, dtype="f16")
    kernel = imbrex.compile(problem, "emulate", algorithm="channels_last")
    kernel(np.full((9, 9, 1, 1), 60000, np.float16), np.full((1, 9, 3, 3), 60000, np.float16))
    image = np.arange(81, dtype=np.float16).reshape(1, 9, 3, 3)
    assert np.array_equal(kernel(np.eye(9, dtype=np.float16).reshape(9, 9, 1, 1), image), image)


REFUSED = [
    (PROBLEM, "cpu", "channels_last", "packs for matrix instructions, and a CPU has none"),
    (replace(PROBLEM, dtype="f64"), "gfx908", "channels_last", "gfx908 has none that multiplies f64"),
    (
        replace(PROBLEM, filter_layout="KYXC", input_layout="NHWC"),
        "gfx942",
        "channels_last",
        "has nothing to pack: channels run fastest in all that is read",
    ),
    (replace(PROBLEM, h=10, w=10), "gfx942", "all_last", "has nothing to pack: the result's planes"),
    (PROBLEM, "gfx942", "channel_last", "unknown algorithm 'channel_last'"),
    (PROBLEM, "gfx942", "v4r1", "'v4r1' is one of backward data, this is forward"),
    (
        replace(PROBLEM, direction="backward_data"),
        "gfx942",
        "v4r4",
        "'v4r4' is one of forward and backward weight, this is backward data",
    ),
    (imbrex.Gemm(5, 5, 5), "gfx942", "channels_last", "is one of a convolution, this is a product"),
]


@pytest.mark.parametrize(("problem", "target", "algorithm", "message"), REFUSED)
def test_what_is_refused(problem: imbrex.Problem, target: str, algorithm: str, message: str) -> None:
    with pytest.raises(Diagnostic) as refused:
        imbrex.compile(problem, target, algorithm=algorithm)
    assert message in refused.value.message


def test_gaps_of_a_result_that_is_copied_are_cleared() -> None:
    """Strides leave pixels that no phase writes, in an array between the launches."""
    problem = Conv2d("backward_data", 1, 16, 6, 5, 4, 1, 3, pad_h=1, stride=(2, 1), dtype="f16")
    assert imbrex.compile(problem, "gfx942", emulate="isa", algorithm="all_last").check(1).is_right
