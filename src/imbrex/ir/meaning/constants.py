"""Meaning of arithmetic: xDSL's, but that a constant is read once, since a loop asks for it at each turn."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.arith import ConstantOp
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.interpreters.arith import ArithFunctions

__all__ = ["Arithmetic"]


@register_impls
@dataclass
class Arithmetic(ArithFunctions):
    """values: of the constants met so far."""

    values: dict[ConstantOp, PythonValues] = field(default_factory=lambda: dict[ConstantOp, PythonValues]())

    @impl(ConstantOp)
    def run_constant(self, interpreter: Interpreter, op: ConstantOp, args: PythonValues) -> PythonValues:
        if op not in self.values:
            self.values[op] = super().run_constant(interpreter, op, args).values
        return self.values[op]
