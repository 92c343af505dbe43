"""Epilogues in code objects: bias along and across stored vectors, residuals, activations, other types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.pairs import in_turn, one_in

from imbrex.kernel import compile
from imbrex.problem import Conv2d, Gemm, Problem

Gpu = Callable[[str], Any]

NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
CASES: dict[str, Problem] = {
    "bias and relu": Gemm(33, 40, 20, dtype="f16", transpose_b=True, epilogue="relu(x + bias)"),
    "gelu, beta": Gemm(20, 33, 19, dtype="f16", batch=2, alpha=2.0, beta=-1.0, epilogue="gelu(x) * residual"),
    "f32, tanh": Gemm(17, 34, 33, epilogue="tanh(x) + silu(residual)"),
    "f16, softplus": Gemm(17, 34, 33, dtype="f16", epilogue="softplus(x) + hardswish(residual)"),
    "f32, gelus": Gemm(17, 34, 33, epilogue="gelu(x) - gelu_tanh(residual) + leaky_relu(x, 0.1)"),
    "i8 to i8": Gemm(34, 36, 33, dtype="i8", epilogue="i8(x * 0.001 + bias)"),
    "bf16 to f32": Gemm(34, 36, 33, dtype="bf16", epilogue="f32(clamp(x, -2, 6))"),
    "two results": Gemm(33, 40, 20, dtype="f16", transpose_b=True, epilogue="gelu(pre_activation(x + bias))"),
    "two results of i8": Gemm(34, 36, 33, dtype="i8", epilogue="i8(relu(pre_activation(x * 0.01)) + bias)"),
    "two results of a convolution": Conv2d(
        "forward", 1, 8, 6, 5, 12, 3, 3, pad_h=1, dtype="f16", epilogue="silu(pre_activation(x + bias))"
    ),
    "convolution": Conv2d("forward", 1, 8, 6, 5, 12, 3, 3, pad_h=1, dtype="f16", epilogue="relu(x + bias)"),
    "channels last": Conv2d(
        "forward", 1, 8, 6, 5, 16, 3, 3, dtype="f16", **NHWC, epilogue="relu(x + bias + residual)"
    ),
}


CHIPS = ("gfx90a", "gfx942", "gfx950")


@pytest.mark.parametrize(("case", "chip"), one_in(2, in_turn(list(CASES), CHIPS, whole=["gelu, beta"])))
def test_results_are_finished(case: str, chip: str, gpu: Gpu) -> None:
    """What finishes a sum is the same text on all chips."""
    hip = gpu(chip)
    kernel = compile(CASES[case], chip)
    for values in ("integer", "float"):
        outcome = kernel.check(3, values=values)  # pyright: ignore[reportArgumentType]
        assert outcome.is_right, str(outcome)
    assert not hip.memory


@pytest.mark.parametrize("epilogue", ["f32(x * 2 + bias)", "f32(pre_activation(x * 2) + bias)"])
def test_sums_of_several_workgroups_are_finished_once(epilogue: str, gpu: Gpu) -> None:
    gpu("gfx942")
    problem = Gemm(40, 48, 300, dtype="f16", epilogue=epilogue)
    assert compile(problem, "gfx942", schedule="stream_k:3").check().is_right
