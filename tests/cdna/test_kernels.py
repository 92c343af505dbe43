"""Code objects, executed as on a GPU: every family, direction and type, on every chip, at awkward sizes.

Launches run with the race detector on, and with memory as late as the waits allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.pairs import in_turn, one_in

from imbrex.kernel import compile
from imbrex.problem import Conv2d, Gemm, Problem

Gpu = Callable[[str], Any]

CHIPS = ("gfx90a", "gfx942", "gfx950")
TYPES = ("f32", "f16", "bf16", "f64", "i8")
NARROW = {"gfx942": ("f8e4m3fnuz", "f8e5m2fnuz"), "gfx950": ("f8e4m3fn", "f8e5m2")}
"""fp8 has other bits on these two chips, and no instruction on the older one."""

CONV = Conv2d("forward", 2, 6, 9, 7, 10, 3, 2, stride=(2, 1), dilation=(1, 2), pad_h=(1, 0), pad_w=(0, 2))
IMAGES_LAST = Conv2d(
    "backward_weight", 64, 16, 5, 4, 24, 3, 2, stride=(2, 1), dilation=(1, 2), pad_h=(1, 0), pad_w=(0, 2),
    filter_layout="KYXC", input_layout="NHWC", output_layout="NHWK",
)  # fmt: skip
PROBLEMS: dict[str, Problem] = {
    "gemm": Gemm(37, 41, 29, transpose_a=True),
    "gemm of many": Gemm(33, 70, 52, transpose_b=True, batch=2),
    "one element": Gemm(1, 1, 1),
    "forward": CONV,
    "forward, grouped": replace(CONV, groups=2),
    "backward data": replace(CONV, direction="backward_data"),
    "backward weight": replace(CONV, direction="backward_weight"),
    "backward weight, images last": IMAGES_LAST,
}
FAMILIES = {"general": "v1:general:64,32,32,4,2,2", "chosen": None}


def case(family: str, name: str, dtype: str, chip: str) -> Any:
    return pytest.param(family, name, dtype, chip, id=f"{family}-{name}-{dtype}-{chip}")


WHERE = [(family, chip) for chip in CHIPS for family in FAMILIES]
CASES = [
    *(
        case(family, name, dtype, chip)
        for (name, dtype), (family, chip) in in_turn(
            in_turn(list(PROBLEMS), TYPES, whole=["gemm", "backward data"]), WHERE
        )
        if not (dtype == "i8" and name.startswith("backward"))
    ),
    *(
        case("chosen", name, dtype, chip)
        for chip, types in NARROW.items()
        for dtype, name in in_turn(types, ("gemm", "gemm of many"))
    ),
]


@pytest.mark.parametrize(("family", "name", "dtype", "chip"), one_in(2, CASES))
def test_equals_the_reference(family: str, name: str, dtype: str, chip: str, gpu: Gpu) -> None:
    hip = gpu(chip)
    kernel = compile(replace(PROBLEMS[name], dtype=dtype), chip, FAMILIES[family])
    outcome = kernel.check(1)
    assert outcome.is_right and outcome.is_exact, str(outcome)
    assert len(hip.launched) == kernel.launches * len(outcome.passes) and not hip.memory


@pytest.mark.parametrize(("dtype", "chip"), in_turn(["f32", "f64"], CHIPS))
def test_sums_in_memory(dtype: str, chip: str, gpu: Gpu) -> None:
    """Backward data whose windows overlap, added atomically to what a first step clears."""
    gpu(chip)
    problem = replace(PROBLEMS["backward data"], dtype=dtype)
    assert compile(problem, chip, algorithm="v1r1").check(2).is_right


@pytest.mark.parametrize(("family", "chip"), in_turn(list(FAMILIES), CHIPS))
def test_a_result_that_is_read(family: str, chip: str, gpu: Gpu) -> None:
    gpu(chip)
    problem = Gemm(45, 39, 20, alpha=2.0, beta=3.0, dtype="f16")
    assert compile(problem, chip, FAMILIES[family]).check(3).is_right


@pytest.mark.parametrize("chip", CHIPS)
def test_random_floats_are_within_their_bound(chip: str, gpu: Gpu) -> None:
    gpu(chip)
    outcome = compile(Gemm(37, 41, 129, dtype="f16"), chip).check(4, values="float")
    assert outcome.is_right and not outcome.is_exact, str(outcome)


def test_a_weight_gradient_whose_images_come_last_is_read_ahead(gpu: Gpu) -> None:
    """A step of 64 images at one pixel; windows leave the image on every side."""
    gpu("gfx950")
    layer = replace(IMAGES_LAST, c=128, k=40, y=2, h=3, w=3, stride=(1, 1), pad_h=(1, 1), dtype="f16")
    kernel = compile(
        layer, "gfx950", "v1:xdlops:128,128,8,64,64,8,mfma_f32_32x32x16_f16,xor,ahead,swapped,1,3"
    )
    assert "+images_last" in kernel.configuration
    outcome = kernel.check(1)
    assert outcome.is_right and outcome.is_exact, str(outcome)
