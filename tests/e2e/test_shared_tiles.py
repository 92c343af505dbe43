"""Workgroups that share output tiles, on real threads: the CPU target, and GPU schedules lane by lane.

Each kernel runs twice with one workspace and other data, so that flags that stay up are found; outputs start
poisoned.  Delays before and after each flag make threads meet in every order; a kernel that does not wait is
the control.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.e2e.many import together
from tests.host_tuning import for_host
from tests.pairs import in_turn

from imbrex.build.shared_library import build_shared
from imbrex.config import tiles, tuning
from imbrex.dtype import dtype
from imbrex.pipeline import Lowered, Request, lower, machine_for
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.run.cpu import Parameter, load
from imbrex.run.host_machine import host_machine
from imbrex.symbol import symbol_of
from imbrex.verify.compare import compare
from imbrex.verify.data import random_operands
from imbrex.verify.poison import poison
from imbrex.verify.reference import reference

CPU = for_host("v1:cpu:4,16,8,32,16,16,k_blocked,a,straight")
CPU_F64 = for_host("v1:cpu:4,16,8,32,16,8,k_blocked,a,straight")
PLAIN = for_host("v1:cpu:4,16,8,32,16,16,k_major,b,straight")
GENERAL = "v1:general:64,32,32,4,2,2"
WAVES = "v1:xdlops:32,32,4,16,16,4"
ONE_BUFFER = "v1:xdlops:32,32,4,16,16,4,auto,xor,staged,straight,1,1"
MODES = (
    "split_k:9",
    "split_k:50",
    "stream_k:3",
    "stream_k:7",
    "two_tile:2",
    "two_tile_dp_first:3",
    "stream_k:50",
)
CONV = Conv2d("forward", n=2, c=5, h=9, w=8, k=7, y=3, x=2, stride=(2, 1), pad_h=(1, 0), pad_w=(1, 1))
PROBLEMS: dict[str, Problem] = {
    "gemm": Gemm(37, 70, 100, alpha=2.0, beta=3.0),
    "gemm of many": Gemm(20, 37, 50, batch=3, transpose_a=True),
    "forward": CONV,
    "backward data": replace(CONV, direction="backward_data"),
    "backward weight": replace(CONV, direction="backward_weight"),
}
WARNINGS = ("-Wall", "-Wextra", "-Werror")
DELAY = """
static inline void dawdle(const void *seed) {
  static thread_local uint32_t state = uint32_t(reinterpret_cast<uintptr_t>(&state) >> 4) | 1;
  state = state * 1664525u + 1013904223u + uint32_t(reinterpret_cast<uintptr_t>(seed));
  for (uint32_t i = (state >> 16) % 20000; i > 0; --i) relax();
  if (state >> 30 == 0) sched_yield();
}
static inline void signal(int32_t *flag) {
  dawdle(flag);"""


LATE = """
static inline void signal(int32_t *flag) {
  for (uint32_t i = 0; i < 2000000; ++i) relax();"""
SIGNAL = "static inline void signal(int32_t *flag) {"


@dataclass(frozen=True)
class Shared:
    """A kernel with its workspace: flags that must come back as zeros, sums that are poisoned."""

    problem: Problem
    kernel: Any

    def arrays(self, seed: int, values: str = "integer") -> dict[str, np.ndarray[Any, Any]]:
        found = random_operands(self.problem, seed, values).arrays  # type: ignore[arg-type]
        if not getattr(self.problem, "beta", 0):
            poison(found[self.problem.written])
        return found

    def workspace(self) -> list[np.ndarray[Any, Any]]:
        made = [np.zeros(p.shape, p.dtype) for p in self.kernel.workspace]
        for array, p in zip(made, self.kernel.workspace, strict=True):
            if not p.is_zeroed:
                poison(array)
        return made

    def run(self, arrays: dict[str, Any], workspace: list[Any], threads: int) -> np.ndarray[Any, Any]:
        given = [*(arrays[o.role] for o in self.problem.operands), *workspace]
        assert self.kernel.entry(*(a.ctypes.data for a in given), threads) == 0
        for array, p in zip(workspace, self.kernel.workspace, strict=True):
            assert not p.is_zeroed or not array.any(), "a flag stays up"
        return arrays[self.problem.written]

    def is_right(self, seed: int, workspace: list[Any], threads: int) -> bool:
        arrays = self.arrays(seed)
        truth = reference(self.problem, {name: a.copy() for name, a in arrays.items()})
        found = self.run(arrays, workspace, threads)
        return compare(self.problem, found, truth, is_exact=True).is_right


def shared(
    problem: Problem,
    schedule: str,
    text: str | None,
    target: str = "cpu",
    *changes: tuple[str, str],
) -> Shared:
    """changes: of the header of flags, each a text and what takes its place."""
    made = lowered(problem, schedule, text, target, "kernel")
    files = dict(made.bundle.files)
    for old, new in changes:
        header = files["device/cpu/flag.h"]
        assert old in header
        files["device/cpu/flag.h"] = header.replace(old, new)
    return loaded(problem, made, build_shared(files, flags=WARNINGS).path, "kernel")


def lowered(problem: Problem, schedule: str, text: str | None, target: str, name: str) -> Lowered:
    m = host_machine()
    machine = machine_for(target, m.isa.level, 2, m.l2_bytes, m.l3_bytes, m.isa.fma_per_cycle)
    given = None if text is None else tuning.parse(text)
    return lower(Request(problem, machine, target, given, name=name, schedule=tiles.parse(schedule)))


def loaded(problem: Problem, made: Lowered, library: Path, name: str) -> Shared:
    parameters = tuple(Parameter(o.role, o.shape, o.dtype.numpy, o.is_written) for o in problem.operands)
    workspace = tuple(
        Parameter(b.name, (b.elements,), b.dtype.numpy, True, b.name in made.zeroed) for b in made.workspace
    )
    return Shared(problem, load(library, symbol_of(name), parameters, workspace))


ROWS = [(*row, (CPU, PLAIN)[i % 2]) for i, row in enumerate(in_turn(list(PROBLEMS), MODES, whole=["gemm"]))]
"""Problems, schedules and tunings; the kernels of a problem are compiled together."""


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_cpu(name: str) -> None:
    rows = [row for row in ROWS if row[0] == name]
    made = [lowered(PROBLEMS[name], *row[1:], "cpu", f"of_{i}") for i, row in enumerate(rows)]
    library = build_shared(together([one.bundle for one in made]), flags=WARNINGS).path
    kernels = [loaded(PROBLEMS[name], one, library, f"of_{i}") for i, one in enumerate(made)]
    assert [row for row, kernel in zip(rows, kernels, strict=True) if not agrees(kernel)] == []


def agrees(built: Shared) -> bool:
    """Twice and once more with one workspace and other data, by several threads."""
    workspace = built.workspace()
    return all(built.is_right(seed, workspace, threads) for seed, threads in ((1, 2), (2, 7), (3, 1)))


@pytest.mark.parametrize("kind", ["f64", "f16", "bf16", "i8"])
def test_types_of_the_cpu(kind: str) -> None:
    built = shared(Gemm(37, 70, 100, dtype=kind), "stream_k:5", CPU_F64 if kind == "f64" else CPU)
    workspace = built.workspace()
    assert built.is_right(1, workspace, 3) and built.is_right(2, workspace, 3)


@pytest.mark.parametrize(
    ("schedule", "name"), in_turn(["stream_k:7", "two_tile:2"], list(PROBLEMS), whole=["gemm"])
)
def test_a_gpus_schedule(schedule: str, name: str) -> None:
    assert agrees(shared(PROBLEMS[name], schedule, GENERAL, "emulate"))


@pytest.mark.parametrize(("schedule", "text"), in_turn(MODES, [WAVES, ONE_BUFFER], whole=["stream_k:7"]))
def test_matrix_instructions(text: str, schedule: str) -> None:
    assert agrees(shared(Gemm(70, 40, 200, dtype="f16"), schedule, text, "emulate"))


@pytest.mark.parametrize("direction", ["forward", "backward_data", "backward_weight"])
def test_matrix_instructions_of_a_convolution(direction: str) -> None:
    problem = replace(CONV, direction=direction, c=16, k=16, dtype=dtype("f16"))
    built = shared(problem, "stream_k:5", WAVES, "emulate")
    workspace = built.workspace()
    assert built.is_right(1, workspace, 3) and built.is_right(2, workspace, 2)


@pytest.mark.parametrize(("text", "target"), [(CPU, "cpu"), (GENERAL, "emulate")])
def test_a_result_does_not_depend_on_timing(text: str, target: str) -> None:
    """Floats, bit for bit, whatever the number of threads and their delays."""
    delayed = shared(Gemm(37, 70, 300), "stream_k:11", text, target, (SIGNAL, DELAY))
    workspace, plain = delayed.workspace(), shared(Gemm(37, 70, 300), "stream_k:11", text, target)
    first = plain.run(plain.arrays(5, "float"), plain.workspace(), 1)
    for threads in (1, 2, 3, 11, 16):
        for _ in range(4):
            again = delayed.run(delayed.arrays(5, "float"), workspace, threads)
            assert again.tobytes() == first.tobytes()


def test_who_does_not_wait_is_found() -> None:
    """The control: where signals come late, and nobody waits, results are wrong or flags stay up."""
    problem = Gemm(37, 70, 300)
    late = shared(problem, "stream_k:11", CPU, "cpu", (SIGNAL, LATE))
    assert late.is_right(1, late.workspace(), 11)
    hasty = shared(problem, "stream_k:11", CPU, "cpu", (SIGNAL, LATE), ("ACQUIRE) == 0;", "ACQUIRE) == 7;"))
    assert any(_is_found(hasty, seed) for seed in range(30))


def _is_found(built: Shared, seed: int) -> bool:
    try:
        return not built.is_right(seed, built.workspace(), 11)
    except AssertionError:
        return True
