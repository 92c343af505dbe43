"""One case on a GPU, in a process of its own: launches, comparisons, and what lies around the arrays.

Every array lies between two margins of bytes that read as NaN, as do the gaps between its rows: a read beyond
an operand shows in the result, a write beyond the output in its margins or gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from gpu_case import TARGET, Case

from imbrex.bench.gpu.replay import wait
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel, compile
from imbrex.problem import Operand, Problem
from imbrex.verify.data import Values
from imbrex.verify.device.check import beside, compared, drawn, element_type, placed

MARGIN = 4096
CANARY = 0xFF


class Guarded:
    """A tensor for an operand; `holds`: are the margins and the gaps as they were?"""

    def __init__(self, operand: Operand, values: Any) -> None:
        size = operand.reach * operand.dtype.bytes
        self._bytes = torch.full((size + 2 * MARGIN,), CANARY, dtype=torch.uint8, device="cuda")
        inner = self._bytes[MARGIN : MARGIN + size]
        self._memory = inner.view(element_type(operand.dtype))
        self._operand = operand
        self.tensor = placed(self._memory, operand, values)
        self._end = MARGIN + size

    def holds(self) -> bool:
        around = torch.cat((self._bytes[:MARGIN], self._bytes[self._end :]))
        return bool((around == CANARY).all()) and (self._operand.strides is None or self._keeps_gaps())

    def _keeps_gaps(self) -> bool:
        gaps = beside(self._memory, self._operand)
        each = self._memory.view(torch.uint8).view(-1, self._operand.dtype.bytes)
        return bool((each[gaps] == CANARY).all())


def checked(case: Case) -> str | None:
    """None where everything is right, else the first thing that is not."""
    try:
        kernel = compile(case.problem, TARGET, case.tuning, schedule=case.schedule, algorithm=case.algorithm)
    except Diagnostic as error:
        return f"refused: {error}"
    tunings = " ".join(kernel.tuning_texts)
    for seed, values in _launches(case):
        try:
            told = _told(kernel, case.problem, seed, values)
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {tunings}") from None
        if told is not None:
            return f"{values} data, seed {seed}, {tunings}: {told}"
    return None


def _told(kernel: Kernel, problem: Problem, seed: int, values: Values) -> str | None:
    if values == "integer" or problem.epilogue is None:
        return launched(kernel, problem, seed, values)
    outcome = kernel.check(seed, values="float")
    return None if outcome.is_right else str(outcome)


def _launches(case: Case) -> Iterator[tuple[int, Values]]:
    """Different data each time, on the same kernel."""
    for values in case.values:
        yield 0, values
    yield 1, case.values[0]


def launched(kernel: Callable[..., object], problem: Problem, seed: int, values: Values) -> str | None:
    before = drawn(problem, seed, values, "cuda")
    arrays = {o.role: Guarded(o, before[o.role]) for o in problem.operands}
    _call(kernel, problem, arrays)
    wait()
    result = arrays[problem.written].tensor.clone()
    outcome = compared(problem, before, result, values=values)
    if not outcome.is_right:
        return str(outcome)
    for role, array in arrays.items():
        if not array.holds():
            return f"something was written before or after '{role}', or between its rows"
        if role != problem.written and not _same(array.tensor, before[role]):
            return f"operand '{role}' was written"
    return _again(kernel, problem, arrays, before, result)


def _again(
    kernel: Callable[..., object],
    problem: Problem,
    arrays: Mapping[str, Guarded],
    before: Mapping[str, Any],
    result: Any,
) -> str | None:
    """The same data three times more, without waiting between: every bit the same."""
    found = []
    for _ in range(3):
        arrays[problem.written].tensor.copy_(before[problem.written])
        _call(kernel, problem, arrays)
        found.append(arrays[problem.written].tensor.clone())
    wait()
    if all(_same(one, result) for one in found):
        return None
    return "the same data gave another result in another run"


def _call(kernel: Callable[..., object], problem: Problem, arrays: Mapping[str, Guarded]) -> None:
    kernel(*(arrays[o.role].tensor for o in problem.operands))


def _same(one: Any, other: Any) -> bool:
    bits = getattr(torch, f"int{8 * one.element_size()}")
    return bool(torch.equal(one.contiguous().view(bits), other.contiguous().view(bits)))
