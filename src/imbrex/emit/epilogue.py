"""Epilogues as C: the expression of an `Evaluate`, on elements that the target names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from imbrex.dtype import F32, F64, DType
from imbrex.emit import c
from imbrex.index.expr import Lin, lin, var
from imbrex.lower.stmt import Evaluate, Pipeline, Product, Program, Ref, Stmt, Unpack, Windows, walk
from imbrex.problem.epilogue import SIGNS, Call, Expression, Name, Number

__all__ = ["has_epilogue", "lines", "stored", "text"]

SPELLED: Final = {"min": "minimum", "max": "maximum", "abs": "magnitude", "tanh": "hyperbolic_tangent"}
"""Functions of the header by other names than their own: those of C are not to be hidden."""
GRADED: Final = frozenset({"sigmoid", "silu", "softplus", "gelu"})
"""Functions of the header that are told whether what is stored shows the last bits of f32."""
ELEMENT: Final = "element"


def has_epilogue(program: Program) -> bool:
    """Does it compute any?"""
    return any(_computes(s) for k in program.kernels for s in walk(k.body))


def _computes(stmt: Stmt) -> bool:
    match stmt:
        case Pipeline():
            return stmt.c.finish is not None
        case Unpack() | Product() | Windows():
            return stmt.finish is not None
        case _:
            return isinstance(stmt, Evaluate)


def lines(stmt: Evaluate, element: Callable[[Ref], str], exists: Callable[[Ref], str]) -> list[str]:
    """A loop over the neighbours.  element: C text of an element; exists: of its guards, "" for none."""
    held = (stmt.dest, *(ref for name, ref, _ in stmt.values if name == "x"))
    computed = F64 if any(ref.buffer.dtype == F64 for ref in held) else F32
    lane = var(ELEMENT, stmt.width) if stmt.width > 1 else lin(0)
    kind = computed.c_name
    values = {name: _value(ref, lane * step, kind, element, exists) for name, ref, step in stmt.values}
    dest = element(_moved(stmt.dest, lane))
    body = f"{dest} = {stored(text(stmt.expression, values, computed, stmt.stored), stmt.stored)};"
    if stmt.width == 1:
        return [body]
    return [f"for (int32_t {ELEMENT} = 0; {ELEMENT} < {stmt.width}; ++{ELEMENT}) {{", f"  {body}", "}"]


def _value(
    ref: Ref, at: Lin, computed: str, element: Callable[[Ref], str], exists: Callable[[Ref], str]
) -> str:
    moved = _moved(ref, at)
    text = f"{computed}(imbrex::widen({element(moved)}))"
    guard = exists(moved)
    return f"({guard} ? {text} : {computed}(0))" if guard else text


def _moved(ref: Ref, more: Lin) -> Ref:
    return Ref(ref.buffer, ref.offset + more, ref.guards, ref.missing)


def stored(value: str, dtype: DType) -> str:
    """A value as an element of that type."""
    if dtype.is_float:
        return value
    return f"imbrex::saturated<{dtype.c_name}>({value})"


def text(expression: Expression, values: Mapping[str, str], computed: DType, stored: DType) -> str:
    """C text of an expression, whose names have these values, in arithmetic of the type `computed`.

    stored: the type of the result in memory.
    """
    match expression:
        case Name(name):
            return values[name]
        case Number(value):
            return f"({number})" if (number := c.number(value, computed)).startswith("-") else number
        case Call("negate", (operand,)):
            return f"(-{text(operand, values, computed, stored)})"
        case Call(name, (left, right)) if name in SIGNS:
            a, b = (text(side, values, computed, stored) for side in (left, right))
            return f"({a} {SIGNS[name]} {b})"
        case Call(name, arguments):
            given = ", ".join(text(a, values, computed, stored) for a in arguments)
            grade = f"<{str(stored == F32).lower()}>" if name in GRADED else ""
            return f"imbrex::{SPELLED.get(name, name)}{grade}({given})"
