"""One case on a GPU, in a process of its own: launches, comparisons, and what lies around the arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpu_case import TARGET, Case

from imbrex.bench.gpu.replay import wait
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel, compile
from imbrex.problem import Problem
from imbrex.verify.data import Values
from imbrex.verify.device.check import drawn
from imbrex.verify.device.guarded import Guarded, compared_results, fault_of, is_same
from imbrex.verify.unit import Unit


def checked(case: Case) -> str | None:
    """None where everything is right, else the first thing that is not."""
    try:
        kernel = compile(case.problem, TARGET, case.tuning, schedule=case.schedule, algorithm=case.algorithm)
    except Diagnostic as error:
        return f"refused: {error}"
    tunings = " ".join(kernel.tuning_texts)
    for seed, values in _launches(case):
        try:
            told = _told(kernel, case, seed, values)
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {tunings}") from None
        if told is not None:
            return f"{values} data, seed {seed}, {tunings}: {told}"
    return None


def _told(kernel: Kernel, case: Case, seed: int, values: Values) -> str | None:
    if values == "integer" or case.problem.epilogue is None:
        return launched(kernel, case.problem, seed, values, case.unit)
    outcome = kernel.check(seed, values=values)
    return None if outcome.is_right else str(outcome)


def _launches(case: Case) -> Iterator[tuple[int, Values]]:
    """Different data each time, on the same kernel."""
    for values in case.values:
        yield 0, values
    yield 1, case.values[0]


def launched(
    kernel: Callable[..., object], problem: Problem, seed: int, values: Values, unit: Unit | None = None
) -> str | None:
    before = drawn(problem, seed, values, "cuda", unit)
    arrays = {o.role: Guarded(o, before[o.role]) for o in problem.operands}
    _call(kernel, problem, arrays)
    wait()
    results = {o.role: arrays[o.role].tensor.clone() for o in problem.operands if o.is_written}
    got = {role: array.tensor for role, array in arrays.items()}
    outcome = compared_results(problem, before, got, values=values, unit=unit)
    if not outcome.is_right:
        return str(outcome)
    return fault_of(problem, arrays, before) or _again(kernel, problem, arrays, before, results)


def _again(
    kernel: Callable[..., object],
    problem: Problem,
    arrays: Mapping[str, Guarded],
    before: Mapping[str, Any],
    results: Mapping[str, Any],
) -> str | None:
    """The same data three times more, without waiting between: every bit of each result the same."""
    found: list[tuple[str, Any]] = []
    for _ in range(3):
        for role in results:
            arrays[role].tensor.copy_(before[role])
        _call(kernel, problem, arrays)
        found += [(role, arrays[role].tensor.clone()) for role in results]
    wait()
    other = next((role for role, one in found if not is_same(one, results[role])), None)
    return None if other is None else f"the same data gave another '{other}' in another run"


def _call(kernel: Callable[..., object], problem: Problem, arrays: Mapping[str, Guarded]) -> None:
    kernel(*(arrays[o.role].tensor for o in problem.operands))
