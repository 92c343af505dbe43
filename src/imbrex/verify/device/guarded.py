"""Guarded: a call on a GPU whose arrays lie between bytes that read as NaN, and what has to stay as it was.

A read beyond an operand shows in the result, a write beyond the output in its margins or in the gaps between
its rows.  All arrays are torch's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from imbrex.problem import Operand, Problem
from imbrex.run.guarded import CANARY
from imbrex.run.watched import MARGIN
from imbrex.verify.compare import Comparison
from imbrex.verify.data import Values, problem_before
from imbrex.verify.device.check import compared, drawn, element_type, gaps, operand_view
from imbrex.verify.device.reference import Tensor
from imbrex.verify.unit import Unit
from imbrex.verify.verdict import Pass

__all__ = ["Guarded", "checked", "compared_results", "fault_of", "is_same"]


class Guarded:
    """A tensor for an operand; `holds`: are the margins and the gaps as they were?"""

    def __init__(self, operand: Operand, values: Tensor) -> None:
        torch: Any = import_module("torch")
        size = operand.reach * operand.dtype.bytes
        self._bytes = torch.full((size + 2 * MARGIN,), CANARY, dtype=torch.uint8, device=values.device)
        inner = self._bytes[MARGIN : MARGIN + size]
        self._memory = inner.view(element_type(operand.dtype))
        self._operand = operand
        self.tensor = operand_view(self._memory, operand, values)
        self._end = MARGIN + size

    def fault(self) -> str | None:
        """What was written beside the array."""
        role = self._operand.role
        if not bool((self._bytes[:MARGIN] == CANARY).all()):
            return f"it writes before the start of '{role}'"
        if not bool((self._bytes[self._end :] == CANARY).all()):
            return f"it writes beyond the end of '{role}'"
        if self._operand.strides is not None and not self._keeps_gaps():
            return f"it writes between the rows of '{role}'"
        return None

    def _keeps_gaps(self) -> bool:
        torch: Any = import_module("torch")
        between = gaps(self._memory, self._operand)
        each = self._memory.view(torch.uint8).view(-1, self._operand.dtype.bytes)
        return bool((each[between] == CANARY).all())


def fault_of(problem: Problem, arrays: Mapping[str, Guarded], before: Mapping[str, Tensor]) -> str | None:
    """What a call did beside its result.  before: the operands as they were."""
    written = {o.role for o in problem.operands if o.is_written}
    for role, array in arrays.items():
        if fault := array.fault():
            return fault
        if role not in written and not is_same(array.tensor, before[role]):
            return f"it writes into its input '{role}'"
    return None


def checked(
    problem: Problem, call: Callable[..., object], seed: int, values: Values, unit: Unit | None = None
) -> Pass:
    """`call` on operands drawn on the GPU, in the order of `problem.operands`, against float64 there."""
    torch: Any = import_module("torch")
    before = drawn(problem, seed, values, "cuda", unit)
    arrays = {o.role: Guarded(o, before[o.role]) for o in problem.operands}
    call(*(arrays[o.role].tensor for o in problem.operands))
    torch.cuda.synchronize()
    got = {role: array.tensor for role, array in arrays.items()}
    found = compared_results(problem, before, got, values=values, unit=unit)
    return Pass(values, found, fault_of(problem, arrays, before))


def compared_results(
    problem: Problem,
    before: Mapping[str, Tensor],
    got: Mapping[str, Tensor],
    *,
    values: Values = "integer",
    unit: Unit | None = None,
) -> Comparison:
    """All arrays that a kernel wrote, by role, against the truth, as `compared` has it of one."""
    found = compared(problem, before, got[problem.written], values=values, unit=unit)
    kept = problem_before(problem)
    if kept is None:
        return found
    role = problem.operands[-1].role
    return found.joined(role, compared(kept, before, got[role], values=values, unit=unit))


def is_same(one: Tensor, other: Tensor) -> bool:
    """Bit by bit."""
    torch: Any = import_module("torch")
    bits = getattr(torch, f"int{8 * one.element_size()}")
    return bool(torch.equal(one.contiguous().view(bits), other.contiguous().view(bits)))
