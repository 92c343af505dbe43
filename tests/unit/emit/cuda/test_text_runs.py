"""The text of CUDA kernels, run by a CPU thread by thread, gives the problems' results."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pairs import one_in
from tests.unit.emit.cuda.on_fibers import ran

from imbrex.chip import GPU_MACHINES
from imbrex.config import tiles, tuning
from imbrex.pipeline import Request
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.problem.conv import Direction

HOPPER = GPU_MACHINES["sm_90a"]
NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
SMALL, WIDE = "v1:general:64,64,64,8,4,4", "v1:general:256,128,128,8,4,4"
HALF = "v1:general:64,64,32,8,4,2"
QUARTER = "v1:general:64,32,32,4,4,4"
TYPES = ("f32", "f64", "f16", "bf16", "i8", "f8e4m3fn", "f8e5m2")
SIZES = ("f32", "f64", "f16", "f8e4m3fn")
"""One type of each number of bytes, for cases about addresses and vectors; `guards` has all types."""


def request(
    problem: Problem, text: str = SMALL, schedule: str = "data_parallel", algorithm: str | None = None
) -> Request:
    """With a smaller tile for f64, and for floats of 8 bits, whose conversions are long."""
    smaller = {"f64": HALF, "f8e4m3fn": QUARTER, "f8e5m2": QUARTER} if text == SMALL else {}
    chosen = tuning.parse(smaller.get(problem.dtype.name, text))
    shared = tiles.parse(schedule)
    return Request(problem, HOPPER, "sm_90a", chosen, algorithm, schedule=shared)


def odd(dtype: str = "f16", **given: Any) -> Request:
    return request(Gemm(70, 77, 67, dtype=dtype, **given), algorithm="aligned")


def conv(direction: Direction, dtype: str = "f32", **given: Any) -> Conv2d:
    return Conv2d(direction, 2, 16, 14, 13, 32, 3, 3, pad_h=1, pad_w=2, dtype=dtype, **given)


def lanes(direction: Direction, dtype: str = "f16", **given: Any) -> Request:
    shape = Conv2d(direction, 2, 40, 9, 7, 40, 3, 3, pad_h=1, stride=2, groups=40, dtype=dtype, **given)
    return request(shape, algorithm="channel_vectors")


CASES = {
    **{f"guards {t}": request(Gemm(100, 75, 77, dtype=t, transpose_a=True)) for t in TYPES},
    **{f"vectors {t}": request(Gemm(128, 128, 64, dtype=t, transpose_b=True), WIDE) for t in SIZES[:3]},
    **{f"forward {t}": request(conv("forward", t)) for t in SIZES},
    "scaled": request(Gemm(64, 100, 40, alpha=0.5, beta=2.0)),
    "scaled f16": request(Gemm(64, 64, 40, dtype="f16", alpha=0.5, beta=2.0)),
    "batches": request(Gemm(50, 64, 64, batch=3, transpose_a=True, transpose_b=True)),
    "stream_k": request(Gemm(128, 128, 256), schedule="stream_k:7"),
    "two_tile f16": request(Gemm(128, 192, 128, dtype="f16", beta=1.0), schedule="two_tile:5"),
    "split_k i8": request(Gemm(64, 64, 256, dtype="i8"), schedule="split_k:4"),
    "groups": request(conv("forward", groups=4, **NHWC)),
    "v4r1": request(conv("backward_data", stride=2), algorithm="v4r1"),
    "v1r1": request(conv("backward_data", "f32", dilation=2), algorithm="v1r1"),
    "aligned": odd(),
    "aligned batches": odd(transpose_a=True, transpose_b=True, batch=2),
    "aligned, scaled": odd("bf16", transpose_a=True, alpha=2.0, beta=1.0),
    "aligned, finished": odd(transpose_a=True, epilogue="relu(x + bias) + residual"),
    "aligned i8": odd("i8", transpose_a=True),
    "aligned tf32": odd("tf32", transpose_b=True),
    "depthwise": lanes("forward"),
    "depthwise, finished": lanes("forward", epilogue="relu(x + bias)"),
    "depthwise, backward data bf16": lanes("backward_data", dtype="bf16", **NHWC),
    "depthwise f32": lanes("forward", dtype="f32", **NHWC),
    "depthwise, backward weight": lanes("backward_weight"),
    "depthwise, backward weight bf16": lanes("backward_weight", dtype="bf16", **NHWC),
    "weight": request(conv("backward_weight", "bf16", **NHWC)),
}


@pytest.mark.parametrize("case", one_in(2, list(CASES)))
def test_results(case: str) -> None:
    result = ran(CASES[case])
    assert result.is_right, str(result)


def test_a_row_cut_short_is_wrong() -> None:
    damage = ("8 * i1 + slot) < 67u", "8 * i1 + slot) < 66u")
    assert not ran(odd(transpose_b=True), damage=damage).is_right


@pytest.mark.parametrize(
    "damage",
    [
        ("imbrex::barrier();", ""),
        ("(thread_b_3, matrix_block_b_odd", "(thread_b_3, matrix_block_b_even"),
    ],
    ids=["no barrier", "wrong buffer"],
)
def test_a_damaged_kernel_is_wrong(damage: tuple[str, str]) -> None:
    assert not ran(CASES["stream_k"], damage=damage).is_right
