"""Code objects of workgroups that share output tiles or begin them in another order, executed one workgroup
after the other in the order in which hardware starts them; those that wait for later ones sleep meanwhile.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest
from tests.pairs import in_turn

from imbrex.kernel import compile
from imbrex.problem import Conv2d, Gemm, Problem

Gpu = Callable[[str], Any]

WEIGHTS = Conv2d("backward_weight", 2, 8, 7, 6, 16, 3, 3, pad_h=1, pad_w=1, dtype="f16")
WAVES = "v1:xdlops:32,32,4,16,16,4"
CASES: list[tuple[Problem, str]] = [
    (Gemm(37, 41, 60), "v1:general:64,32,32,4,2,2"),
    (Gemm(40, 70, 100, dtype="f16", alpha=2.0, beta=3.0), WAVES),
    (WEIGHTS, WAVES),
]


REDUCED: list[tuple[Problem, int]] = [
    (Gemm(57, 41, 280, dtype="f16"), 1),
    (Gemm(40, 70, 284, dtype="bf16", batch=2, alpha=2.0, beta=3.0), 4),
    (Conv2d("backward_weight", 8, 8, 6, 6, 16, 3, 3, pad_h=1, pad_w=1, dtype="f16"), 2),
    (Gemm(60, 61, 288, dtype="f16", epilogue="relu(x + bias)"), 1),
    (Gemm(60, 61, 570, dtype="i8"), 1),
]
"""Products of nine steps of K, and the tiles of their results."""

SCHEDULES = (
    "stream_k:5",
    "stream_k:5/wgm=2/xcd=3",
    "data_parallel/wgm=2/along=n",
    "data_parallel/wgm=3/xcd=8",
)


CHIPS = ("gfx90a", "gfx942", "gfx950")


@pytest.mark.parametrize(
    ("case", "chip"), in_turn(in_turn(CASES, SCHEDULES, whole=[CASES[1]]), CHIPS), ids=str
)
def test_equals_the_reference(case: tuple[tuple[Problem, str], str], chip: str, gpu: Gpu) -> None:
    gpu(chip)
    (problem, tuning), schedule = case
    kernel = compile(problem, chip, tuning, schedule=schedule)
    for seed in (1, 2):
        outcome = kernel.check(seed)
        assert outcome.is_right and outcome.is_exact, str(outcome)


@pytest.mark.parametrize(("reduced", "chip"), in_turn(REDUCED, CHIPS), ids=str)
def test_sums_that_a_second_launch_adds(reduced: tuple[Problem, int], chip: str, gpu: Gpu) -> None:
    """Of nine pieces of K, so that eight are added at once and one after them."""
    gpu(chip)
    problem, outputs = reduced
    pack = 16 // problem.dtype.bytes
    kernel = compile(problem, chip, f"v1:xdlops:64,64,4,32,32,{pack}", schedule=f"reduce_k:{9 * outputs}")
    assert kernel.grid_sizes[-2:] == (9 * outputs, 16 * outputs)
    for seed in (1, 2):
        outcome = kernel.check(seed)
        assert outcome.is_right and outcome.is_exact, str(outcome)


@pytest.mark.parametrize(("reduced", "pieces", "chip"), in_turn(REDUCED, (2, 3, 9), CHIPS), ids=str)
def test_sums_that_workgroups_who_meet_add(
    reduced: tuple[Problem, int], pieces: int, chip: str, gpu: Gpu
) -> None:
    """In one launch; of two pieces, four vectors at once."""
    gpu(chip)
    problem, outputs = reduced
    pack = 16 // problem.dtype.bytes
    schedule = f"scatter_k:{pieces * outputs}"
    kernel = compile(problem, chip, f"v1:xdlops:64,64,4,32,32,{pack}", schedule=schedule)
    assert kernel.grid_sizes[-1] == pieces * outputs
    for seed in (1, 2):
        outcome = kernel.check(seed)
        assert outcome.is_right and outcome.is_exact, str(outcome)


SHARED = [
    *((problem, tuning, "stream_k:5") for problem, tuning in CASES),
    (CASES[1][0], WAVES, "scatter_k:18"),
]


@pytest.mark.parametrize(("problem", "tuning", "schedule"), SHARED, ids=str)
def test_flags_are_down_again(problem: Problem, tuning: str, schedule: str, gpu: Gpu) -> None:
    """Whoever awaits one lowers it, so that each that was raised was awaited; of those who meet the last."""
    hip = gpu("gfx942")
    clear, free = hip.hipMemsetAsync, hip.hipFree
    flags, left = dict[int, int](), list[bytes]()

    def cleared(address: int, value: int, count: int, stream: object) -> Any:
        flags[address] = count
        return clear(address, value, count, stream)

    def freed(address: int) -> Any:
        if address in flags:
            left.append(ctypes.string_at(address, flags.pop(address)))
        return free(address)

    hip.hipMemsetAsync, hip.hipFree = cleared, freed
    kernel = compile(problem, "gfx942", tuning, schedule=schedule)
    assert kernel.check(1).is_right
    assert left and not any(map(any, left))


@pytest.mark.parametrize("rows", [0, 1, 3, 99])
def test_a_group_that_the_host_gives(rows: int, gpu: Gpu) -> None:
    """One code object: the number of tiles of a group lies in the workspace."""
    hip = gpu("gfx942")

    def memset(address: int, value: int, count: int, stream: object) -> tuple[int]:
        ctypes.c_int32.from_address(address).value = rows
        assert (value, count) == (0, 4)
        return (0,)

    hip.hipMemsetAsync = memset
    kernel = compile(Gemm(101, 170, 40), "gfx942", CASES[0][1], schedule="data_parallel/wgm=2/runtime")
    outcome = kernel.check(1)
    assert outcome.is_right and outcome.is_exact, str(outcome)
