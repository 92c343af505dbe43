"""The check on a device says what the check in NumPy says; here both on a CPU."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.problem.epilogue_function import FUNCTIONS
from imbrex.verify.compare import compare
from imbrex.verify.data import VALUES, Values, known, random_operands
from imbrex.verify.device.check import called, compared, drawn, poison_tensor, spoiled
from imbrex.verify.reference import reference

torch: Any = import_module("torch") if find_spec("torch") else None
pytestmark = pytest.mark.skipif(torch is None, reason="torch is not installed")

NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
WAY = {"pad_h": (1, 2), "pad_w": (0, 1), "stride": (2, 1), "dilation": (1, 2), "groups": 2, "dtype": "f16"}
PROBLEMS = [
    Gemm(5, 6, 7, dtype="f16"),
    Gemm(5, 6, 7, batch=3, transpose_a=True, alpha=2.0, beta=3.0),
    Gemm(5, 6, 8, transpose_b=True, dtype="i8"),
    Gemm(5, 6, 8, dtype="f8e4m3fn"),
    Gemm(5, 6, 8, dtype="tf32"),
    Gemm(5, 6, 8, dtype="bf16", epilogue="relu(x + bias)"),
    *(
        Gemm(5, 6, 8, dtype="f16", epilogue=f"{name}(x + bias)")
        for name in ("silu", "gelu", "gelu_tanh", "softplus", "hardswish")
    ),
    Gemm(5, 6, 8, dtype="f16", epilogue="leaky_relu(x + bias, 0.1)"),
    Gemm(5, 6, 7, dtype="f16", lda=9, ldc=11),
    Gemm(5, 6, 7, batch=3, lda=21, stride_a=7, stride_b=0, ldc=7, stride_c=40, alpha=2.0, beta=3.0),
    *(
        Conv2d(direction, 2, 4, 7, 8, 6, 3, 2, **WAY, **layouts)
        for direction in ("forward", "backward_data", "backward_weight")
        for layouts in ({}, NHWC)
    ),
]
NARROW = {"bfloat16": ml_dtypes.bfloat16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn}


def as_numpy(tensor: Any) -> np.ndarray:
    narrow = NARROW.get(str(tensor.dtype).removeprefix("torch."))
    if narrow is None:
        return tensor.numpy()
    return tensor.view(getattr(torch, f"uint{8 * tensor.element_size()}")).numpy().view(narrow)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.key())
def test_the_reference_in_numpy_is_right(problem: Problem, values: Values) -> None:
    tensors = drawn(problem, 1, values, "cpu")
    truth = reference(problem, {role: as_numpy(tensor) for role, tensor in tensors.items()})
    got = torch.from_numpy(np.asarray(truth.want, np.float64)).to(tensors[problem.written].dtype)
    assert compared(problem, tensors, got, values=values).is_right
    got.view(-1)[3] += 1000
    outcome = compared(problem, tensors, got, values=values)
    assert (outcome.wrong, outcome.unwritten) == (1, 0)
    assert outcome.first is not None and outcome.first.got == float(got.view(-1)[3])


@pytest.mark.parametrize("values", ["integer", "float"])
@pytest.mark.parametrize(
    "epilogue",
    [
        "gelu(x + bias) + residual",
        "gelu_tanh(x + bias)",
        "x * row_scale / (abs(bias) + 1)",
        "f32(silu(x) * 3)",
    ],
)
def test_bounds_are_those_of_numpy(epilogue: str, values: Values) -> None:
    """Where a bias or a residual takes nearly all of a sum away, what was rounded before counts, too."""
    problem = Gemm(40, 30, 8, dtype="f16", epilogue=epilogue)
    tensors = drawn(problem, 1, values, "cpu")
    truth = reference(problem, {role: as_numpy(tensor) for role, tensor in tensors.items()})
    got = torch.from_numpy(np.asarray(truth.want, np.float64)).to(tensors[problem.written].dtype)
    what = known(problem, values)
    here = compare(problem, as_numpy(got), truth, data=what.data, is_exact=what.is_exact)
    there = compared(problem, tensors, got, values=values)
    assert there.max_error_ratio == pytest.approx(here.max_error_ratio, rel=1e-6)
    assert here.is_right and there.is_right and not there.is_exact


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.key())
def test_probes_have_the_zeros_that_they_have_in_numpy(problem: Problem) -> None:
    tensors, arrays = drawn(problem, 1, "probe", "cpu"), random_operands(problem, 1, "probe").arrays
    for role in problem.roles:
        if role != problem.written:
            here, there = as_numpy(tensors[role]).astype(np.float64), arrays[role].astype(np.float64)
            assert np.array_equal(here == 0, there == 0) and 0 < np.count_nonzero(here)
            size = 127 if not problem.dtype.is_float else 2
            assert np.all((here == 0) | ((np.abs(here) >= 1) & (np.abs(here) < size)))


@pytest.mark.parametrize("name", [n for n, function in FUNCTIONS.items() if function.arity == 1])
def test_functions_keep_their_tails_and_reach_their_ends(name: str) -> None:
    """GPUs were called wrong where torch's own gelu gives 0, and its softplus infinity."""
    x = np.concatenate([np.linspace(-45, 45, 3001), [-np.inf, -1e9, -800, -746, 0, 700, 746, 3e38, np.inf]])
    with np.errstate(all="ignore"):
        want = FUNCTIONS[name].value(x)
    np.testing.assert_allclose(called(name, torch.from_numpy(x)).numpy(), want, rtol=1e-12, atol=1e-300)


def test_what_is_not_written_shows() -> None:
    problem = Gemm(5, 6, 7, dtype="f16")
    tensors = drawn(problem, 1, "integer", "cpu")
    got = tensors["c"].clone()
    poison_tensor(got)
    outcome = compared(problem, tensors, got)
    assert (outcome.wrong, outcome.unwritten) == (30, 30)


def test_what_is_written_in_a_gap_is_seen() -> None:
    problem = Gemm(5, 6, 7, dtype="f16", ldc=11)
    c = drawn(problem, 0, "integer", "cpu")["c"]
    c.fill_(1)
    assert spoiled(c, problem.result) == 0
    torch.as_strided(c, (11,), (1,))[6:8] = 0
    assert spoiled(c, problem.result) == 2
