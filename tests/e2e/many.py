"""Many problems compiled together, most on the lane-level build: a header is read once, a solver never."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from imbrex.build.shared_library import build_shared
from imbrex.chip import GPU_MACHINES
from imbrex.config.tuning import parse
from imbrex.emit.bundle import Bundle
from imbrex.pipeline import Request, lower
from imbrex.problem import Problem, parse_problem, problem_text
from imbrex.run.cpu import CpuKernel, Parameter, load
from imbrex.symbol import symbol_of
from imbrex.verify.compare import Comparison, compare
from imbrex.verify.data import Values, random_operands
from imbrex.verify.poison import poison
from imbrex.verify.reference import reference

UNITS = 2
FLAGS = ("-Wall", "-Wextra", "-Werror")


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
        return Request(self.problem, GPU_MACHINES[self.chip], "emulate", tuning, self.algorithm, name)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(Parameter(o.role, o.shape, o.dtype.numpy, o.is_written) for o in self.problem.operands)


def wrong(
    cases: Sequence[Case],
    seed: int = 0,
    values: Sequence[Values] = ("integer",),
    damage: tuple[str, str] = ("", ""),
) -> list[str]:
    """What is said of each case whose result, in a poisoned output, is not right: exact on whole numbers.

    damage: what is put in place of a part of the algorithm.
    """
    lowered = [lower(case.request(f"case_{i}")) for i, case in enumerate(cases)]
    library = build_shared(together([one.bundle for one in lowered], damage), flags=FLAGS).path
    found: list[str] = []
    for (i, case), kind in product(enumerate(cases), values):
        zeroed = lowered[i].zeroed
        workspace = tuple(
            Parameter(b.name, (b.elements,), b.dtype.numpy, True, b.name in zeroed)
            for b in lowered[i].workspace
        )
        kernel = load(library, symbol_of(f"case_{i}"), case.parameters, workspace)
        result = _run(case, kernel, seed + i, kind)
        found += [] if result.is_right else [f"{case}, {kind} values: {result}"]
    return found


def together(bundles: Sequence[Bundle], damage: tuple[str, str] = ("", "")) -> dict[str, str]:
    """A few units that include the entry points of all bundles, in turn.  damage: of their algorithms."""
    files: dict[str, str] = {}
    units = [""] * min(UNITS, len(bundles))
    for i, made in enumerate(bundles):
        _, entry, algorithm = (made.files[unit] for unit in made.units)
        assert damage[0] in algorithm, f"there is no '{damage[0]}' to break"
        files |= {name: text for name, text in made.files.items() if name not in made.units}
        files[f"{made.name}.hpp"] = algorithm.replace(*damage) if damage[0] else algorithm
        files[f"{made.name}.inc"] = entry
        units[i % len(units)] += f'#include "{made.name}.inc"\n'
    return files | {f"unit_{i}.cpp": text for i, text in enumerate(units)}


def _run(case: Case, kernel: CpuKernel, seed: int, values: Values) -> Comparison:
    operands = random_operands(case.problem, seed, values)
    assert operands.is_exact or values != "integer", f"{case}: sums are not exact"
    arrays: dict[str, np.ndarray[Any, Any]] = {n: a.copy() for n, a in operands.arrays.items()}
    truth = reference(case.problem, {n: a.copy() for n, a in arrays.items()})
    (written,) = [o.role for o in case.problem.operands if o.is_written]
    if not getattr(case.problem, "beta", 0):
        poison(arrays[written])
    kernel(*(arrays[o.role] for o in case.problem.operands), threads=2)
    return compare(case.problem, arrays[written], truth, is_exact=operands.is_exact, data=operands.data)
