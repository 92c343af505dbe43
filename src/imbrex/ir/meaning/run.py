"""Run a function of a module on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.interpreters.func import FuncFunctions
from xdsl.interpreters.scf import ScfFunctions
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.ir.element import dtype_of
from imbrex.ir.literal import suggest
from imbrex.ir.meaning.constants import Arithmetic
from imbrex.ir.meaning.fault import Fault
from imbrex.ir.meaning.kernel import KernelFunctions
from imbrex.ir.meaning.memory import Array, View
from imbrex.ir.meaning.problem import ProblemFunctions
from imbrex.ir.shape import element_of
from imbrex.ir.slips import better
from imbrex.ir.source import FAULTS, InvalidOp, PassFault

FUNCTIONS = (ProblemFunctions, KernelFunctions, FuncFunctions, ScfFunctions, Arithmetic)


@dataclass
class _Running(Interpreter.Listener):
    """The operation that runs."""

    op: Operation

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        self.op = op


def execute(module: ModuleOp, arguments: Sequence[Array], function: str | None = None) -> None:
    """Call a function, the first one if not named, at whatever level it is.

    Its results are among the arguments, which must be contiguous.  InvalidOp at the operation where work
    items race in LDS, or an offset is outside of its buffer, or an element is used that nobody has written,
    or that has no meaning; PassFault where our own code breaks there.
    """
    found = function_of(module, function)
    name, types = found.sym_name.data, [dtype_of(element_of(arg)) for arg in found.args]
    views = [View.of(_counted(a, of), of) for a, of in zip(arguments, types, strict=True)]
    running = _Running(module)
    interpreter = Interpreter(module, listeners=(running,))
    for implemented in FUNCTIONS:
        interpreter.register_implementations(implemented())
    try:
        interpreter.call_op(name, tuple(views))
    except Fault as fault:
        raise InvalidOp(running.op, str(fault)) from None
    except InterpretationError as error:
        raise InvalidOp(running.op, f"cannot be executed: {better(str(error))}") from None
    except FAULTS as error:
        raise PassFault(running.op, error) from error


def _counted(array: Array, of: DType) -> Array:
    """The same memory in the packs that a function counts."""
    return array if of.array_row is None else array.view(of.numpy)


def function_of(module: ModuleOp, name: str | None = None) -> FuncOp:
    """A function with a body, the first one if not named; Diagnostic where there is none."""
    functions = {f.sym_name.data: f for f in module.walk() if isinstance(f, FuncOp) and not f.is_declaration}
    if not functions:
        raise Diagnostic("there is no function to execute")
    if name is not None and name not in functions:
        raise Diagnostic(f"there is no function '{name}'{suggest(name, functions)}")
    return functions[name] if name is not None else next(iter(functions.values()))
