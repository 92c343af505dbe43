"""Run a function of a module on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.interpreters.arith import ArithFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.interpreters.scf import ScfFunctions
from xdsl.ir import Operation

from imbrex.ir.element import dtype_of
from imbrex.ir.meaning.kernel import KernelFunctions
from imbrex.ir.meaning.memory import Array, View
from imbrex.ir.meaning.problem import ProblemFunctions
from imbrex.ir.meaning.races import Race
from imbrex.ir.shape import element_of
from imbrex.ir.source import InvalidOp

FUNCTIONS = (ProblemFunctions, KernelFunctions, FuncFunctions, ScfFunctions, ArithFunctions)


@dataclass
class _Place(Interpreter.Listener):
    """The operation that runs."""

    op: Operation

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        self.op = op


def execute(module: ModuleOp, arguments: Sequence[Array], function: str | None = None) -> None:
    """Call a function, the first one if not named, at whatever level it is.

    Its results are among the arguments, which must be contiguous.  InvalidOp where work items race in LDS.
    """
    functions = {f.sym_name.data: f for f in module.walk() if isinstance(f, FuncOp)}
    name = function if function is not None else next(iter(functions))
    types = [element_of(arg) for arg in functions[name].args]
    views = [View.of(a, dtype_of(t)) for a, t in zip(arguments, types, strict=True)]
    place = _Place(module)
    interpreter = Interpreter(module, listeners=(place,))
    for implemented in FUNCTIONS:
        interpreter.register_implementations(implemented())
    try:
        interpreter.call_op(name, tuple(views))
    except Race as race:
        raise InvalidOp(place.op, str(race)) from None
