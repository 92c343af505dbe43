"""Checked: one pass over a kernel: random operands, a call that is watched, and its result compared.

Law: what a kernel may do is to write its results.  On a CPU, a pass of whole numbers and one of probes are
calls in a process of their own, where arrays end, or begin, at pages that nobody may touch (`run.guarded`);
floats are a call like any other.  There and on a GPU, inputs have to stay bit by bit, on a GPU margins too,
and on a CPU the control words of the calling thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

import numpy as np

from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.tuning import parse
from imbrex.kernel.target import Target
from imbrex.problem import Problem
from imbrex.run.arrays import Array, in_memory
from imbrex.run.cpu import CpuKernel
from imbrex.run.device import ALIGNMENT
from imbrex.run.guarded import IS_POSSIBLE, Outcome, Side, guarded
from imbrex.run.guarded_call import changed, control_words, environment, restore
from imbrex.verify.compare import compare_results
from imbrex.verify.data import Values, random_operands
from imbrex.verify.poison import spoiled_in
from imbrex.verify.reference import reference
from imbrex.verify.unit import PLAIN, Unit, unit_of
from imbrex.verify.verdict import Pass
from imbrex.view.mma.vector import CPU_UNITS

__all__ = ["passed"]

GUARDS: Final[dict[Values, Side]] = {"integer": "after", "probe": "before"}
"""Kinds of values whose pass is a call between guards, and where they touch the arrays."""


class Checked(Protocol):
    """What is asked of a kernel."""

    @property
    def problem(self) -> Problem: ...
    @property
    def target(self) -> Target: ...
    @property
    def threads(self) -> int: ...
    @property
    def loaded(self) -> Any: ...
    @property
    def tuning_texts(self) -> tuple[str, ...]: ...
    def __call__(self, *arrays: Any, threads: int | None = None) -> Any: ...


def passed(kernel: Checked, seed: int, values: Values, threads: int | None) -> Pass:
    """The pass with these values."""
    problem = kernel.problem
    unit = _unit(kernel)
    if kernel.target.is_cuda:
        from imbrex.verify.device.check import is_for_device

        if is_for_device(problem):
            from imbrex.verify.device.guarded import checked

            return checked(problem, kernel, seed, values, unit)
    operands = random_operands(problem, seed, values, unit)
    truth = reference(problem, operands.arrays, magnitude=operands.data == "any", flushes=unit.flushes)
    outcome = _called(kernel, [operands.arrays[o.role] for o in problem.operands], values, threads)
    if not outcome.results:
        return Pass(values, None, outcome.fault)
    found = compare_results(problem, outcome.results, truth, operands, unit)
    result = problem.result
    if result.strides is not None:
        gap_writes = spoiled_in(in_memory(outcome.results[0]), result.shape, result.strides)
        found = replace(found, gap_writes=gap_writes)
    return Pass(values, found, outcome.fault)


def _unit(kernel: Checked) -> Unit:
    """How the products of this kernel are added."""
    tunings = map(parse, kernel.tuning_texts)
    own = [CPU_UNITS[t.unit].adder for t in tunings if isinstance(t, CpuTuning)]
    if own and own[0] != PLAIN:
        return own[0]
    return unit_of(None if kernel.target.is_native else kernel.target.chip, kernel.problem.dtype)


def _called(kernel: Checked, arrays: Sequence[Array], values: Values, threads: int | None) -> Outcome:
    loaded: object = kernel.loaded
    count = kernel.threads if threads is None else threads
    if not isinstance(loaded, CpuKernel):
        return _on_gpu(kernel, arrays, values)
    if values in GUARDS and IS_POSSIBLE:
        alignment = 1 if kernel.target.kind == "cpu" else ALIGNMENT
        return guarded(loaded, arrays, GUARDS[values], alignment=alignment, threads=count)
    before, thread = [in_memory(array).copy() for array in arrays], environment()
    kernel(*arrays, threads=count)
    fault = changed(control_words(thread), control_words(environment()))
    restore(thread)
    for array, was, p in zip(arrays, before, loaded.parameters, strict=True):
        if not p.is_written and not _is_same(in_memory(array), was):
            fault = f"it writes into its input '{p.name}'"
    return Outcome(_results(kernel, arrays), fault)


def _on_gpu(kernel: Checked, arrays: Sequence[Array], values: Values) -> Outcome:
    """Whole numbers in memory that ends with each array, others between margins."""
    loaded: Any = kernel.loaded
    faults: list[str] | None = None if values == "integer" else []
    with loaded.resident(*arrays, faults=faults) as call:
        call()
    return Outcome(_results(kernel, arrays), faults[0] if faults else None)


def _results(kernel: Checked, arrays: Sequence[Array]) -> tuple[Array, ...]:
    return tuple(a for a, o in zip(arrays, kernel.problem.operands, strict=True) if o.is_written)


def _is_same(one: Array, other: Array) -> bool:
    """Bit by bit."""
    return bool(np.array_equal(one.reshape(-1).view(np.uint8), other.reshape(-1).view(np.uint8)))
