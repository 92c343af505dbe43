"""miopen.finish: what a pre-activation means at every level of every target."""

from __future__ import annotations

from typing import Any

import pytest

from imbrex.chip import CPU_ISAS, GPU_MACHINES
from imbrex.cli.meaning import executed
from imbrex.ir.from_problem import problem_module
from imbrex.ir.printed import print_module
from imbrex.ir.to_problem import problems_of
from imbrex.pipeline import Request
from imbrex.problem import Conv2d, Gemm, Problem

NHWC: dict[str, Any] = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
PROBLEMS: dict[str, Problem] = {
    "product": Gemm(19, 21, 13, beta=1.0, epilogue="relu(pre_activation(x + bias)) + residual"),
    "batch": Gemm(9, 7, 5, batch=2, dtype="f16", ldc=11, epilogue="f32(gelu(pre_activation(x)))"),
    "images": Conv2d("forward", 1, 8, 5, 4, 8, 3, 3, pad_h=1, **NHWC, epilogue="silu(pre_activation(x))"),
    "integers": Gemm(9, 16, 32, dtype="i8", epilogue="i8(relu(pre_activation(x * 0.25)) - bias)"),
}
MACHINES = {**CPU_ISAS, **GPU_MACHINES}


@pytest.mark.parametrize("target", ["avx2", "gfx942", "sm_90a"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_level_stores_both_results(name: str, target: str) -> None:
    problem = PROBLEMS[name]
    form = "cpu" if target in CPU_ISAS else target
    for level in executed(Request(problem, MACHINES[target], form)):
        assert level.comparison.is_right, f"{level.level}: {level.comparison}"
        assert level.comparison.elements == 2 * problem.result.elements


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_module_states_the_problem_that_it_is_made_of(name: str) -> None:
    (stated,) = problems_of(print_module(problem_module(PROBLEMS[name])))
    assert stated.problem == PROBLEMS[name]
