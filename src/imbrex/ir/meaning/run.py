"""Run a function of a module on arrays."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter
from xdsl.interpreters.arith import ArithFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.interpreters.scf import ScfFunctions

from imbrex.ir.element import dtype_of
from imbrex.ir.meaning.kernel import KernelFunctions
from imbrex.ir.meaning.memory import Array, View
from imbrex.ir.meaning.problem import ProblemFunctions
from imbrex.ir.shape import memref_type


def execute(module: ModuleOp, arguments: Sequence[Array], function: str | None = None) -> None:
    """Call a function (the only one, if not named) at whatever level it is; its outputs are among the arguments."""
    functions = {f.sym_name.data: f for f in module.walk() if isinstance(f, FuncOp)}
    name = function if function is not None else next(iter(functions))
    types = [memref_type(arg).get_element_type() for arg in functions[name].args]
    views = [View.of(a, dtype_of(t)) for a, t in zip(arguments, types, strict=True)]
    interpreter = Interpreter(module)
    for implemented in (
        ProblemFunctions(),
        KernelFunctions(),
        FuncFunctions(),
        ScfFunctions(),
        ArithFunctions(),
    ):
        interpreter.register_implementations(implemented)
    interpreter.call_op(name, tuple(views))
