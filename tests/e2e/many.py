"""Many problems on the lane-level build, compiled together: a header is read once, and no solver is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from imbrex.build.shared import build_shared
from imbrex.pipeline import Request, lower
from imbrex.problem import Problem, parse_problem, problem_text
from imbrex.run.cpu import Parameter, load
from imbrex.schedule.target import GPU_TARGETS
from imbrex.schedule.tuning import parse
from imbrex.verify.compare import compare
from imbrex.verify.data import random_operands
from imbrex.verify.poison import poison
from imbrex.verify.reference import reference

UNITS = 2
FLAGS = ("-Wall", "-Wextra", "-Werror", "-O1")


@dataclass(frozen=True)
class Case:
    """A problem, the tuning that it is built with, and the chip whose schedule it is."""

    problem: Problem
    tuning: str | None
    chip: str = "gfx942"
    algorithm: str | None = None

    @staticmethod
    def of(line: str, tuning: str | None, chip: str = "gfx942", algorithm: str | None = None) -> Case:
        (problem,) = parse_problem(line)
        return Case(problem, tuning, chip, algorithm)

    def __str__(self) -> str:
        return f"{problem_text(self.problem)} with {self.tuning} on {self.chip}"

    def request(self, name: str) -> Request:
        tuning = None if self.tuning is None else parse(self.tuning)
        return Request(self.problem, GPU_TARGETS[self.chip], "emulate", tuning, self.algorithm, name)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(Parameter(o.role, o.shape, o.dtype.numpy, o.is_written) for o in self.problem.operands)


def wrong(cases: Sequence[Case], seed: int = 0, damage: tuple[str, str] = ("", "")) -> list[str]:
    """What is said of each case whose result, on whole numbers and a poisoned output, is not exact.

    damage: what is put in place of a part of the algorithm.
    """
    files: dict[str, str] = {}
    units = [""] * min(UNITS, len(cases))
    for i, case in enumerate(cases):
        made = lower(case.request(f"case_{i}")).bundle
        files |= {n: text for n, text in made.files.items() if n not in made.units}
        algorithm = made.files[f"case_{i}.hpp"]
        assert damage[0] in algorithm, f"there is no '{damage[0]}' to break"
        algorithm = algorithm.replace(*damage) if damage[0] else algorithm
        files |= {f"case_{i}.hpp": algorithm, f"case_{i}.inc": made.files[f"case_{i}.cpp"]}
        units[i % len(units)] += f'#include "case_{i}.inc"\n'
    files |= {f"unit_{i}.cpp": text for i, text in enumerate(units)}
    library = build_shared(files, flags=FLAGS).path
    found: list[str] = []
    for i, case in enumerate(cases):
        result = _run(case, load(library, f"case_{i}", case.parameters), seed + i)
        found += [] if result.is_right else [f"{case}: {result}"]
    return found


def _run(case: Case, kernel: Any, seed: int) -> Any:
    operands = random_operands(case.problem, seed, "integer")
    assert operands.is_exact, f"{case}: sums are not exact"
    arrays: dict[str, np.ndarray[Any, Any]] = {n: a.copy() for n, a in operands.arrays.items()}
    truth = reference(case.problem, {n: a.copy() for n, a in arrays.items()})
    (written,) = [o.role for o in case.problem.operands if o.is_written]
    if not getattr(case.problem, "beta", 0):
        poison(arrays[written])
    kernel(*(arrays[o.role] for o in case.problem.operands), threads=2)
    return compare(case.problem, arrays[written], truth, is_exact=True, data="any")
