"""Epilogue: what becomes of each element of a result before it is stored, as an expression.

    relu(x + bias)    gelu(x + bias) + residual    f16(clamp(x * 0.5, 0, 6))

    x          alpha * A B + beta * C, or the convolution's sum, in the accumulator's type
    bias       a vector along the result's channels: n of a product, k of a convolution
    residual   an array of the result's shape and type
    scale_a    and scale_b, scale_c: one number each, in the type of the arithmetic
    row_scale  such numbers along the result's rows, m of a product; channel_scale: along its channels
    TYPE(...)  around the whole: the type of the result

    pre_activation(...)  its argument, which is stored in the array of that name besides, as the result is

Operators are + - * / and the functions of `epilogue_function`; the rest are numbers.  The syntax is Python's.
Law: `parse(str(e)) == e`; the value is that of the expression in exact arithmetic on rounded operands.
"""

from __future__ import annotations

import ast
import math
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.dtype import DTYPES, E8M0, F32, F64, DType
from imbrex.limit import EPILOGUE_CHARACTERS, EPILOGUE_DEPTH
from imbrex.numeral import shown
from imbrex.problem.epilogue_array import ARRAYS, Array, lies_along
from imbrex.problem.epilogue_function import FUNCTIONS, Float
from imbrex.problem.field import constant
from imbrex.problem.operand import Operand

__all__ = ["Call", "Epilogue", "Expression", "Name", "Number", "operands", "parse", "parted", "wanted"]

NAMES: Final = ("x", *(name for name, row in ARRAYS.items() if not row.is_stored))
KEPT: Final = "pre_activation"
"""The function that stores its argument in the array of its name."""
DEEP: Final = f"an epilogue has at most {EPILOGUE_DEPTH} operators and functions inside each other"


OPERATORS: Final[Mapping[type[ast.operator], str]] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
}
SIGNS: Final = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
BINDING: Final = {"add": 1, "subtract": 1, "multiply": 2, "divide": 2, "negate": 3}


@dataclass(frozen=True)
class Name:
    """x, or an operand."""

    name: str


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True)
class Call:
    """A function, or an operator, of its arguments."""

    function: str
    arguments: tuple[Expression, ...]


Expression: TypeAlias = Name | Number | Call


@dataclass(frozen=True)
class Epilogue:
    """An expression and, where it is given, the type of the result."""

    expression: Expression
    result: DType | None = None

    def __str__(self) -> str:
        text = _text(self.expression)
        return text if self.result is None else f"{self.result}({text})"

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The operands that it reads, in the order of `ARRAYS`."""
        used = {node.name for node in walk(self.expression) if isinstance(node, Name)}
        return tuple(name for name in ARRAYS if name in used)

    @property
    def stored(self) -> tuple[Array, ...]:
        """The arrays that it writes beside the result."""
        used = {node.function for node in walk(self.expression) if isinstance(node, Call)}
        return tuple(name for name, row in ARRAYS.items() if row.is_stored and name in used)

    @property
    def before(self) -> Epilogue | None:
        """The epilogue whose result is the pre-activation; None where it stores none."""
        kept, _ = parted(self.expression)
        return None if kept is None else Epilogue(kept, self.result)

    @property
    def key(self) -> str:
        """Eight letters and digits that tell it from others, fit for a file name."""
        return f"{zlib.crc32(str(self).encode()):08x}"

    def evaluate(self, values: Mapping[str, Float]) -> Float:
        """The expression's value, in float64, for arrays by name that broadcast together."""
        return _value(self.expression, values)


def walk(expression: Expression) -> Iterator[Expression]:
    """Every node, outermost first."""
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from walk(argument)


def parted(expression: Expression) -> tuple[Expression | None, Expression]:
    """What is stored as the pre-activation, if anything, and the whole, where that has the array's name."""
    match expression:
        case Call(name, (argument,)) if name == KEPT:
            return argument, Name(KEPT)
        case Call(name, arguments):
            parts = [parted(argument) for argument in arguments]
            kept = next((one for one, _ in parts if one is not None), None)
            return kept, Call(name, tuple(rest for _, rest in parts))
        case _:
            return None, expression


def wanted(value: object, operand: DType) -> Epilogue | None:
    """The epilogue of a text, or of another one's text, for sums of that type's products; None for none."""
    if value is None:
        return None
    if not isinstance(value, Epilogue | str):
        message = f"epilogue must be a text such as 'relu(x + bias)', got {value!r}"
        raise Diagnostic(message, subject="epilogue")
    found = parse(value if isinstance(value, str) else str(value))
    for node in walk(found.expression):
        if isinstance(node, Number):
            constant("the epilogue's", node.value, F64 if operand == F64 else F32, subject="epilogue")
    used = [node.function for node in walk(found.expression) if isinstance(node, Call)]
    if operand == F64 and (narrow := [name for name in used if FUNCTIONS[name].is_f32]):
        raise Diagnostic(f"'{narrow[0]}' is computed in f32, and sums of f64 need more", subject="epilogue")
    return found


def operands(
    epilogue: Epilogue | None, result: Operand, operand: DType, channel: str, row: str
) -> tuple[Operand, ...]:
    """The arrays that the epilogue of `result` reads, then those that it stores, of sums of `operand`'s
    products.

    channel, row: the dimensions of the result along which biases and scales lie.
    """
    names = (*epilogue.arrays, *epilogue.stored) if epilogue else ()
    return tuple(
        Operand(
            name,
            *lies_along(ARRAYS[name].along, result, channel, row),
            ARRAYS[name].dtype(operand, result.dtype),
            ARRAYS[name].is_stored,
        )
        for name in names
    )


def parse(text: str) -> Epilogue:
    """The epilogue that `text` spells; a Diagnostic with carets under the part that is wrong."""
    if len(text) > EPILOGUE_CHARACTERS:
        long = f"an epilogue of {len(text)} characters is longer than {EPILOGUE_CHARACTERS}"
        raise _wrong(text, 0, 1, long)
    tree = _tree(text)
    result = None
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in DTYPES:
        if len(tree.args) != 1 or tree.keywords:
            raise _at(text, tree, f"a type goes around one expression, as in {tree.func.id}(relu(x))")
        result, tree = DTYPES[tree.func.id], tree.args[0]
        if result.is_microscaled or result.pack > 1 or result == E8M0:
            raise _at(
                text, tree, f"no result is stored as {result.name}", "f32, f16 and bf16 are, and others"
            )
    found = Epilogue(_read(text.strip(), tree), result)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    kept = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id == KEPT]
    if len(kept) > 1:
        last = max(kept, key=lambda node: node.col_offset)
        raise _at(text.strip(), last, f"an epilogue has one '{KEPT}', and this is another")
    return found


def _tree(text: str) -> ast.expr:
    """What Python's own parser makes of it; nested no deeper than EPILOGUE_DEPTH."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `1if x`: Python says that it is no style
            tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise _wrong(text, (error.offset or 1) - 1, 1, f"no expression: {error.msg}") from None
    except ValueError:  # a null character, for Python 3.11
        raise _wrong(text, 0, 1, "no expression: it holds what is no text") from None
    except (RecursionError, MemoryError):  # of Python's parser
        raise _wrong(text, 0, 1, DEEP) from None
    level, depth = [tree], 0
    while level:
        depth += 1
        for node in level:
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and abs(node.value) >= 2**1024:
                raise _at(text, node, f"{shown(node.value)} is beyond every type of floats")
        level = [n for node in level for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
    if depth > EPILOGUE_DEPTH:
        raise _wrong(text, 0, 1, DEEP)
    return tree


def _read(text: str, node: ast.expr) -> Expression:
    match node:
        case ast.Name(id=name) if name in NAMES:
            return Name(name)
        case ast.Name(id=name):
            if name in FUNCTIONS and name not in SIGNS:
                example = ", ".join(["x", "0", "6"][: FUNCTIONS[name].arity])
                raise _at(text, node, f"'{name}' is a function", f"write {name}({example})")
            hint = did_you_mean(name, NAMES) or f"known: {', '.join(NAMES)}"
            raise _at(text, node, f"an epilogue has no '{name}'", hint)
        case ast.Constant():
            return _number(text, node)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as positive):
            return Number(-_number(text, positive).value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Call("negate", (_read(text, operand),))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return Call(OPERATORS[type(op)], (_read(text, left), _read(text, right)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            _expect_function(text, node, name, arguments)
            return Call(name, tuple(_read(text, a) for a in arguments))
        case _:
            raise _at(
                text, node, f"an epilogue has + - * /, functions, numbers and names ({', '.join(NAMES)})"
            )


def _number(text: str, node: ast.Constant) -> Number:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _at(text, node, f"{shown(value)} is no number")
    try:
        found = float(value)
    except OverflowError:  # below 2^1024, and nearer to it than to the largest float
        found = math.inf
    if math.isinf(found):
        raise _at(text, node, "the number is beyond every type of floats")
    return Number(found)


def _expect_function(text: str, node: ast.expr, name: str, arguments: Sequence[ast.expr]) -> None:
    spoken = [f for f in FUNCTIONS if f not in (*SIGNS, "negate")]
    if name in DTYPES:
        raise _at(text, node, f"'{name}' is the type of the result and goes around the whole expression")
    if name not in spoken:
        hint = did_you_mean(name, spoken) or f"known: {', '.join(spoken)}"
        raise _at(text, node, f"an epilogue has no function '{name}'", hint)
    if len(arguments) != FUNCTIONS[name].arity:
        arity = FUNCTIONS[name].arity
        plural = "" if arity == 1 else "s"
        raise _at(text, node, f"'{name}' takes {arity} argument{plural}, got {len(arguments)}")


def _value(expression: Expression, values: Mapping[str, Float]) -> Float:
    match expression:
        case Name(name):
            return values[name]
        case Number(value):
            return np.float64(value)  # pyright: ignore[reportReturnType]  # a scalar broadcasts
        case Call(name, arguments):
            return FUNCTIONS[name].value(*(_value(a, values) for a in arguments))


def _text(expression: Expression, binding: int = 0) -> str:
    match expression:
        case Name(name):
            return name
        case Number(value):
            is_short = value.is_integer() and 0 < abs(value) < 2**53
            return repr(int(value)) if is_short else repr(value).removesuffix(".0")
        case Call("negate", (operand,)):
            return _within(f"-{_text(operand, BINDING['negate'])}", BINDING["negate"], binding)
        case Call(name, arguments) if name in SIGNS:
            own = BINDING[name]
            left, right = _text(arguments[0], own), _text(arguments[1], own + 1)
            return _within(f"{left} {SIGNS[name]} {right}", own, binding)
        case Call(name, arguments):
            return f"{name}({', '.join(_text(a) for a in arguments)})"


def _within(text: str, own: int, binding: int) -> str:
    return f"({text})" if own < binding else text


def _at(text: str, node: ast.expr, message: str, hint: str | None = None) -> Diagnostic:
    end: Any = node.end_col_offset
    data = text.encode()  # Python counts bytes
    start, stop = (len(data[:offset].decode()) for offset in (node.col_offset, end))
    return _wrong(text, start, stop - start, message, hint)


def _wrong(text: str, start: int, length: int, message: str, hint: str | None = None) -> Diagnostic:
    return Diagnostic(
        message, file="<epilogue>", line=1, col=start + 1, source=text, length=length, hint=hint
    )
