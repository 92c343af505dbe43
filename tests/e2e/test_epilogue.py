"""Epilogues, from the problem to the array: every function, type and schedule, by kernels that run here."""

from __future__ import annotations

import numpy as np
import pytest
from tests.pairs import in_turn, one_in

from imbrex.diagnostic import Diagnostic
from imbrex.kernel import compile
from imbrex.problem import Conv2d, Gemm, Problem

SIZES = (2, 6, 9, 8, 10, 3, 3)
NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
CASES: dict[str, Problem] = {
    "bias": Gemm(9, 7, 5, epilogue="relu(x + bias)"),
    "batch, beta": Gemm(65, 33, 19, batch=2, alpha=2.0, beta=-1.0, epilogue="gelu(x + bias) * residual"),
    "f16 to f32": Gemm(33, 40, 17, dtype="f16", epilogue="f32(tanh(x) + sigmoid(residual))"),
    "bf16": Gemm(130, 17, 40, dtype="bf16", transpose_b=True, epilogue="silu(x + bias)"),
    "f16 to i8": Gemm(30, 20, 64, dtype="f16", epilogue="i8(x * 1.5 + bias)"),
    "i8, rows apart": Gemm(30, 20, 64, beta=1.0, ldc=23, epilogue="i8(x / 2)"),
    "f64": Gemm(20, 30, 9, dtype="f64", epilogue="max(x, residual) - bias / 3"),
    "one row": Gemm(1, 40, 9, beta=2.0, epilogue="relu(x + bias)"),
    "one column": Gemm(40, 1, 9, epilogue="x - bias"),
    "no array": Gemm(17, 19, 23, epilogue="clamp(x * 0.5, -2, 2)"),
    "gelu by tanh": Gemm(17, 19, 23, epilogue="gelu_tanh(-x)"),
    "softplus": Gemm(17, 19, 23, epilogue="softplus(x) - leaky_relu(x, 0.01)"),
    "f64, hardswish": Gemm(17, 19, 23, dtype="f64", epilogue="hardswish(x) + leaky_relu(bias, -2)"),
    "convolution": Conv2d("forward", *SIZES, pad_h=1, epilogue="relu(x + bias + residual)"),
    "groups": Conv2d("forward", *SIZES, groups=2, stride=2, pad_w=1, epilogue="min(x + bias, 3)"),
    "channels last": Conv2d("forward", 1, 16, 7, 7, 24, 3, 3, pad_h=1, **NHWC, epilogue="relu(x + bias)"),
    "pads on one side": Conv2d("forward", *SIZES, pad_h=(1, 0), dtype="f16", epilogue="abs(x) + residual"),
    "i8 to i8": Gemm(34, 70, 33, dtype="i8", epilogue="i8(x * 0.001 + bias)"),
    "i8 to f16": Gemm(34, 70, 33, dtype="i8", epilogue="f16(silu(x * 0.001))"),
    "i8, scaled by row and column": Gemm(
        34, 70, 33, dtype="i8", batch=2, epilogue="f16(x * row_scale * channel_scale + bias)"
    ),
    "numbers as scales": Gemm(17, 19, 23, beta=1.0, epilogue="relu(x * scale_a * scale_b) * scale_c"),
    "scales in f64": Gemm(9, 7, 5, dtype="f64", transpose_a=True, epilogue="x * row_scale + residual"),
    "groups, scaled": Conv2d("forward", *SIZES, groups=2, epilogue="x * channel_scale * scale_a + bias"),
    "i8 to i32": Gemm(34, 70, 33, dtype="i8", epilogue="relu(x)"),
    "two results": Gemm(33, 40, 17, epilogue="gelu(pre_activation(x + bias))"),
    "two results, beta": Gemm(
        65, 33, 19, batch=2, alpha=2.0, beta=-1.0, epilogue="gelu(pre_activation(x + bias)) * residual"
    ),
    "two results, one with gaps": Gemm(33, 40, 17, ldc=47, epilogue="silu(pre_activation(x + bias))"),
    "two results of f64": Gemm(20, 30, 9, dtype="f64", epilogue="max(pre_activation(x + bias), residual)"),
    "two results of i8": Gemm(34, 70, 33, dtype="i8", epilogue="i8(relu(pre_activation(x * 0.01)) + bias)"),
    "two results of i32": Gemm(34, 70, 33, dtype="i8", beta=1.0, epilogue="relu(pre_activation(x + bias))"),
    "two results of one column": Gemm(40, 1, 9, epilogue="relu(pre_activation(x + bias))"),
    "two results, another type": Gemm(
        33, 40, 17, dtype="f16", epilogue="f32(tanh(pre_activation(x)) + bias)"
    ),
    "two results of groups": Conv2d(
        "forward", *SIZES, groups=2, stride=2, pad_w=1, epilogue="silu(pre_activation(x + bias))"
    ),
    "two results, channels last": Conv2d(
        "forward", 1, 16, 7, 7, 24, 3, 3, pad_h=1, **NHWC, epilogue="silu(pre_activation(x + bias))"
    ),
    "two results, depthwise": Conv2d(
        "forward", 1, 32, 7, 7, 32, 3, 3, pad_h=1, groups=32, **NHWC, epilogue="silu(pre_activation(x))"
    ),
    "two results of planes, depthwise": Conv2d(
        "forward", 1, 9, 7, 7, 9, 3, 3, pad_h=1, groups=9, epilogue="silu(pre_activation(x))"
    ),
}


@pytest.mark.parametrize(("case", "values"), one_in(2, in_turn(list(CASES), ["integer", "float"])))
def test_on_the_cpu(case: str, values: str) -> None:
    found = compile(CASES[case], threads=2).check(values=values)  # pyright: ignore[reportArgumentType]
    assert found.is_right, found


STEPS: dict[str, Problem] = {
    "f32": Gemm(5, 39, 9001, beta=2.0, alpha=0.5, epilogue="relu(x + bias) + residual"),
    "i8": Gemm(5, 39, 33001, dtype="i8", alpha=3.0, epilogue="x + bias - residual"),
    "i8, beta": Gemm(5, 39, 33001, dtype="i8", beta=-1.0, epilogue="max(x, bias)"),
    "two results": Gemm(5, 39, 9001, beta=2.0, alpha=0.5, epilogue="relu(pre_activation(x + bias)) - 1"),
    "two results by columns": Gemm(70, 5, 9001, transpose_a=True, epilogue="relu(pre_activation(x + bias))"),
    "C by columns": Gemm(70, 5, 9001, transpose_a=True, epilogue="max(x, 0) + residual"),
}


@pytest.mark.parametrize("case", STEPS)
def test_sums_that_c_holds_between_steps_are_finished_in_the_last(case: str) -> None:
    found = compile(STEPS[case], threads=2).check()
    assert found.is_right, found


@pytest.mark.parametrize("case", one_in(4, list(CASES)))
def test_by_the_schedule_of_a_gpu(case: str) -> None:
    """Half of them: what finishes a sum is the same text in tests/cdna/test_epilogue.py."""
    kernel = compile(CASES[case], "emulate")
    for values in ("integer", "float"):
        found = kernel.check(values=values)  # pyright: ignore[reportArgumentType]
        assert found.is_right, found


@pytest.mark.parametrize(
    ("schedule", "target"), in_turn(["stream_k:3", "split_k:4", "two_tile:2"], ["cpu", "emulate"])
)
def test_sums_of_several_workgroups_are_finished_once(target: str, schedule: str) -> None:
    problem = Gemm(70, 90, 300, epilogue="x * 2 + bias")
    found = compile(problem, target, schedule=schedule).check()
    assert found.is_right, found


def test_a_call_takes_the_further_arrays() -> None:
    kernel = compile(Gemm(3, 4, 5, epilogue="relu(x + bias) - residual"))
    random = np.random.default_rng(0)
    a, b = random.random((3, 5), np.float32), random.random((5, 4), np.float32)
    bias, residual = random.random(4, np.float32), random.random((3, 4), np.float32)
    got = kernel(a, b, bias, residual)
    assert np.allclose(got, np.maximum(a @ b + bias, 0) - residual, rtol=1e-5)


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(Diagnostic, match="'gelu' is computed in f32"):
        Gemm(2, 2, 2, dtype="f64", epilogue="gelu(x)")
