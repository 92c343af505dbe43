"""Orders of tiles in kernels: grids that nothing divides, batches, dies, with and without a plan along k."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.host_tuning import for_host
from tests.pairs import in_turn, one_in

from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel, compile
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.verify.compare import compare
from imbrex.verify.data import random_operands
from imbrex.verify.reference import reference

CPU = for_host("v1:cpu:4,16,8,32,16,16,k_blocked,a,straight")
SWAPPED = for_host("v1:cpu:4,16,8,32,16,16,k_major,b,swapped")
GENERAL = "v1:general:64,32,32,4,2,2"
WAVES = "v1:xdlops:32,32,4,16,16,4"
CONV = Conv2d("forward", n=2, c=5, h=9, w=8, k=40, y=3, x=2, stride=(2, 1), pad_h=(1, 0), pad_w=(1, 1))
PROBLEMS: dict[str, Problem] = {
    "ragged": Gemm(131, 167, 70, alpha=2.0, beta=3.0),
    "one column": Gemm(200, 20, 33),
    "one row": Gemm(20, 200, 33),
    "one tile": Gemm(20, 20, 33),
    "batches": Gemm(70, 101, 40, batch=3, transpose_a=True),
    "forward": CONV,
    "backward data": replace(CONV, direction="backward_data"),
    "backward weight": replace(CONV, direction="backward_weight"),
}
ORDERS = ("wgm=1/along=n", "wgm=2", "wgm=3/along=n", "wgm=99")
DIES = ("wgm=1/xcd=8", "wgm=2/xcd=3", "wgm=3/along=n/xcd=8", "wgm=1/xcd=64")


def is_right(kernel: Kernel) -> bool:
    outcome = kernel.check(1)
    return outcome.is_right and outcome.is_exact


ON_THE_CPU = (
    (CPU, "data_parallel/wgm=2"),
    (SWAPPED, "data_parallel/wgm=3/along=n"),
    (CPU, "stream_k:7/wgm=1/along=n"),
    (SWAPPED, "two_tile:3/wgm=99"),
)


@pytest.mark.parametrize(("name", "order"), one_in(2, in_turn(list(PROBLEMS), ON_THE_CPU, whole=["ragged"])))
def test_the_cpu(name: str, order: tuple[str, str]) -> None:
    text, schedule = order
    kernel = compile(PROBLEMS[name], tuning=text, schedule=schedule, threads=2)
    assert kernel.schedules[0] == schedule and is_right(kernel)


OF_A_GPU = ("data_parallel/wgm=2/xcd=3", "two_tile:5/wgm=3/along=n/xcd=8")


@pytest.mark.parametrize(("schedule", "name"), in_turn(OF_A_GPU, list(PROBLEMS), whole=["ragged"]))
def test_a_gpus_schedule(schedule: str, name: str) -> None:
    kernel = compile(PROBLEMS[name], "gfx942", GENERAL, emulate=True, schedule=schedule, threads=2)
    assert is_right(kernel)


MODES = ("data_parallel", "stream_k:13", "split_k:40")


@pytest.mark.parametrize(("mode", "order"), in_turn(MODES, (*ORDERS, *DIES)))
def test_matrix_instructions(mode: str, order: str) -> None:
    """One thread: whoever is waited for has started earlier, whatever the order."""
    problem = Gemm(131, 167, 100, dtype="f16")
    kernel = compile(problem, "gfx942", WAVES, emulate=True, schedule=f"{mode}/{order}", threads=1)
    assert is_right(kernel)


GIVEN = ("data_parallel/wgm=2/runtime", "stream_k:7/wgm=2/runtime/along=n")


@pytest.mark.parametrize(("schedule", "target"), in_turn(GIVEN, ["gfx942", "cpu"]))
def test_one_kernel_for_all_groups(schedule: str, target: str) -> None:
    """The number lies in the workspace; whatever stands there, every tile is computed once."""
    problem = PROBLEMS["ragged"]
    text = CPU if target == "cpu" else GENERAL
    kernel = compile(problem, target, text, emulate=target != "cpu", schedule=schedule, threads=2)
    assert is_right(kernel)
    for rows in (-5, 0, 1, 2, 3, 5, 99, (1 << 31) - 1):
        found = random_operands(problem, rows & 7, "integer").arrays
        truth = reference(problem, {name: array.copy() for name, array in found.items()})
        scratch = [np.zeros(p.shape, p.dtype) for p in kernel.loaded.workspace]
        (number,) = [a for a, p in zip(scratch, kernel.loaded.workspace, strict=True) if p.name == "wgm"]
        number[0] = rows
        arrays = [*(found[o.role] for o in problem.operands), *scratch]
        assert kernel.loaded.entry(*(a.ctypes.data for a in arrays), 2) == 0
        assert compare(problem, found[problem.written], truth, is_exact=True).is_right, rows


def test_the_plain_order_is_no_order() -> None:
    kernels = [compile(PROBLEMS["ragged"], tuning=CPU, schedule=s) for s in (None, "data_parallel/wgm=1")]
    assert [k.schedules for k in kernels] == [("data_parallel",)] * 2


def test_a_cpu_has_no_dies() -> None:
    with pytest.raises(Diagnostic, match="'xcd=8' is for GPUs of several dies"):
        compile(PROBLEMS["ragged"], tuning=CPU, schedule="data_parallel/xcd=8")
