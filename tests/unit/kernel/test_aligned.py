"""Products for NVIDIA GPUs that copy rows which no tensor map shows: when, how, and where that is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.pairs import one_in

from imbrex.chip import GPU_MACHINES
from imbrex.config import tuning
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.diagnostic import Diagnostic
from imbrex.ir.from_problem import problem_module
from imbrex.ir.printed import print_module
from imbrex.ir.to_problem import problems_of
from imbrex.kernel import compile
from imbrex.pipeline import Request, lower
from imbrex.problem import Conv2d, Gemm, Problem

HOPPER = GPU_MACHINES["sm_90a"]
ODD = Gemm(4096, 4096, 4095, dtype="f16")
TUNING = "v1:warpgroup:64,64,64,4,1,1,1,cooperative,straight,1"


def chosen(
    problem: Gemm, asked: str | None = None, given: str | None = None, chip: str = "sm_90a"
) -> str | None:
    parsed = None if given is None else tuning.parse(given)
    return algorithm_of(Request(problem, GPU_MACHINES[chip], chip, parsed, asked))


def test_it_is_chosen_where_it_helps() -> None:
    large = (
        ODD,
        replace(ODD, k=4094, transpose_b=True),
        Gemm(4095, 4097, 4093, dtype="bf16"),
        Gemm(1111, 2222, 3333, dtype="f16"),
        Gemm(4095, 4096, 4096, transpose_a=True, dtype="f16"),
        Gemm(1001, 1001, 1001, batch=8, dtype="f16"),
        Gemm(4096, 4096, 4096, dtype="i8"),
    )
    assert {chosen(problem) for problem in one_in(2, large)} == {"aligned"}
    others = {
        "aligned as it is": replace(ODD, k=4096),
        "only the result is odd": Gemm(4095, 4096, 4096, dtype="f16"),
        "little": Gemm(16, 16, 15, dtype="f16"),
        "k together": Gemm(4096, 4096, 4096, transpose_b=True, dtype="i8"),
        "not multiplied by warpgroups": replace(ODD, dtype="f32"),
    }
    assert {name: chosen(problem) for name, problem in others.items()} == dict.fromkeys(others)


def test_who_says_how_is_obeyed() -> None:
    assert chosen(ODD, "direct") is None
    assert chosen(ODD, given=TUNING) is None
    assert chosen(ODD, "aligned", TUNING) == "aligned"
    assert chosen(Gemm(16, 16, 15, dtype="f16"), "aligned") == "aligned"
    assert chosen(ODD, chip="gfx942") is None


@pytest.mark.parametrize("transposed", [(a, b) for a in (False, True) for b in (False, True)])
@pytest.mark.parametrize("dtype", ["f16", "tf32", "f8e4m3fn", "i8"])
def test_the_product_reads_by_tensor_maps(dtype: str, transposed: tuple[bool, bool]) -> None:
    problem = Gemm(137, 131, 139, dtype=dtype, transpose_a=transposed[0], transpose_b=transposed[1], batch=2)
    for algorithm, launches in (("aligned", 2), ("direct", 1)):
        lowered = lower(Request(problem, HOPPER, "sm_90a", tuning.parse(TUNING), algorithm))
        text = lowered.bundle.files[lowered.bundle.units[2]]
        assert len(lowered.steps) == launches
        assert f"has_lanes = {'true' if algorithm == 'direct' else 'false'}" in text


def test_a_kernel_tells_what_it_does() -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")
    kernel = compile(Gemm(1000, 1001, 1003, dtype="f16"), "sm_90a")
    assert kernel.algorithm == kernel.report["algorithm"] == "aligned"
    assert kernel.launches == 2 and [k["spill_store_bytes"] for k in kernel.report["kernels"]] == [0, 0]
    assert kernel.workspace_bytes >= 2 * (1000 * 1008 + 1003 * 1008)
    direct = compile(Gemm(1000, 1001, 1003, dtype="f16"), "sm_90a", algorithm="direct")
    assert (direct.algorithm, direct.launches) == (None, 1)


def test_a_module_says_so() -> None:
    (stated,) = problems_of(print_module(problem_module(ODD, algorithm="aligned")))
    assert (stated.problem, stated.algorithm) == (ODD, "aligned")


CONV = Conv2d("forward", 2, 16, 9, 7, 24, 3, 3, dtype="f16")
REFUSED = [
    (ODD, "cpu", "aligned", "is for warpgroups, and a CPU has none"),
    (ODD, "gfx942", "aligned", "is for warpgroups, and gfx942 has none"),
    (replace(ODD, k=4096), "sm_90a", "aligned", "has nothing to copy: rows of both operands are"),
    (replace(ODD, dtype="f32"), "sm_90a", "aligned", "and sm_90a has none that multiplies f32"),
    (CONV, "sm_90a", "aligned", "'aligned' is one of a product, this is a convolution"),
    (ODD, "sm_90a", "alinged", "unknown algorithm 'alinged'"),
]


@pytest.mark.parametrize(("problem", "target", "algorithm", "message"), REFUSED)
def test_what_is_refused(problem: Problem, target: str, algorithm: str, message: str) -> None:
    with pytest.raises(Diagnostic) as refused:
        compile(problem, target, algorithm=algorithm)
    assert message in refused.value.message
