"""Builds a problem for the CPU and runs it against the float64 reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from imbrex.build.isa import isa as isa_of
from imbrex.build.shared_library import build_shared
from imbrex.config.tuning import Tuning
from imbrex.kernel.recipe import Workspace
from imbrex.pipeline import Request, lower, machine_for
from imbrex.problem import Problem
from imbrex.run.cpu import CpuKernel, Parameter, load
from imbrex.run.host_machine import host_machine
from imbrex.symbol import symbol_of
from imbrex.verify.compare import Comparison, compare
from imbrex.verify.data import random_operands
from imbrex.verify.poison import poison
from imbrex.verify.reference import reference


@dataclass(frozen=True)
class Built:
    """A kernel of one problem."""

    problem: Problem
    kernel: CpuKernel
    tunings: tuple[Tuning, ...]

    def run(self, seed: int, kind: str = "integer", threads: int = 2) -> Comparison:
        """One call on fresh data and a poisoned output, compared element by element."""
        operands = random_operands(self.problem, seed, kind)  # type: ignore[arg-type]
        arrays: dict[str, np.ndarray[Any, Any]] = {name: a.copy() for name, a in operands.arrays.items()}
        truth = reference(self.problem, {name: a.copy() for name, a in arrays.items()})
        (written,) = [o.role for o in self.problem.operands if o.is_written]
        if not getattr(self.problem, "beta", 0):
            poison(arrays[written])
        self.kernel(*(arrays[o.role] for o in self.problem.operands), threads=threads)
        return compare(self.problem, arrays[written], truth, is_exact=operands.is_exact, data=operands.data)


@pytest.fixture
def build() -> Any:
    def built(
        problem: Problem,
        target: str = "cpu",
        tuning: Tuning | None = None,
        algorithm: str | None = None,
        level: str = "native",
    ) -> Built:
        m, isa = host_machine(), isa_of(level)
        machine = machine_for(target, isa.level, 2, m.l2_bytes, m.l3_bytes, isa.fma_per_cycle)
        lowered = lower(Request(problem, machine, target, tuning, algorithm))
        library = build_shared(lowered.bundle.files, flags=("-Wall", "-Wextra", "-Werror"), isa=isa)
        parameters = tuple(Parameter(o.role, o.shape, o.dtype.numpy, o.is_written) for o in problem.operands)
        workspace = tuple(
            Workspace(b.name, b.elements, b.dtype.name, b.name in lowered.zeroed).parameter
            for b in lowered.workspace
        )
        kernel = load(library.path, symbol_of("kernel"), parameters, workspace)
        return Built(problem, kernel, lowered.tunings)

    return built
