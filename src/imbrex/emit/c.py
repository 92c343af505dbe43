"""Indices and statements as C; the only place that spells C.

A quotient is printed as `/` because its numerator is never negative; a guard is one unsigned compare.
Arithmetic is 32-bit where every part of it provably fits, 64-bit otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import assert_never

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import F64, DType
from imbrex.index.atom import Atom, Div, Mod, Mul, Param, Select, Var, Xor
from imbrex.index.expr import Lin
from imbrex.index.rule import Guard
from imbrex.lower.stmt import Await, For, Join, Let, Signal

INT32_LIMIT = 1 << 31


def index(x: Lin) -> str:
    """C text of an index."""
    wide = not fits_32_bits(x)
    if not wide and not x.const and len(x.terms) == 1 and x.terms[0][1] == 1:
        return _atom(x.terms[0][0])
    parts = [_term(a, c, wide) for a, c in x.terms]
    if x.const or not parts:
        parts.append(str(x.const))
    return " + ".join(parts).replace("+ -", "- ")


def index_type(x: Lin) -> str:
    """The C type that holds every value of an index."""
    return "int32_t" if fits_32_bits(x) else "int64_t"


def fits_32_bits(x: Lin) -> bool:
    """Does the sum stay below 2^31 in magnitude, whatever the order of its terms?"""
    return abs(x.const) + sum(abs(c) * max(map(abs, a.bounds)) for a, c in x.terms) < INT32_LIMIT


def guard(g: Guard) -> str:
    """C text of `0 <= index < size`: a negative index wraps to a large unsigned one."""
    unsigned = "uint32_t" if fits_32_bits(g.index) else "uint64_t"
    if isinstance(g.size, int):
        return f"{unsigned}({index(g.index)}) < {g.size}u"
    unsigned = unsigned if fits_32_bits(g.size) else "uint64_t"
    return f"{unsigned}({index(g.index)}) < {unsigned}({index(g.size)})"


def guards(gs: Sequence[Guard]) -> str:
    return " && ".join(guard(g) for g in gs) if gs else "true"


def all_guards(gs: Sequence[Guard]) -> str:
    """The same with no branch between them, which keeps loads that follow one another apart."""
    return " & ".join(f"({guard(g)})" for g in gs) if gs else "true"


def loop(stmt: For) -> str:
    """The head of a loop; of a condition, where that is all it is."""
    if stmt.is_condition and stmt.end is not None:
        return f"if ({index(stmt.end)} > 0) {{"
    start = "0" if stmt.start is None else index(stmt.start)
    end = str(stmt.count) if stmt.end is None else index(stmt.end)
    step = f"++{stmt.var}" if stmt.stride == 1 else f"{stmt.var} += {stmt.stride}"
    return f"for (int32_t {stmt.var} = {start}; {stmt.var} < {end}; {step}) {{"


def flag(stmt: Signal | Await | Join) -> str:
    """What one work item does with a flag."""
    at = f"{stmt.flag.buffer.name} + ({index(stmt.flag.offset)})"
    if isinstance(stmt, Signal):
        return f"imbrex::signal({at});"
    if isinstance(stmt, Join):
        return f"imbrex::join({at}, {stmt.count});"
    return f"imbrex::await({at});" if stmt.count is None else f"imbrex::await_all({at}, {index(stmt.count)});"


def let(stmt: Let) -> str:
    return f"const {index_type(stmt.index)} {stmt.name} = {index(stmt.index)};"


def number(value: float, dtype: DType) -> str:
    """A constant as that type is computed with: a double, a float or an int32_t, the one nearest to `value`.

    The only place that spells one.  Of floats every value has a text, infinities and NaN too; an integer that
    is none of 32 bits is a Diagnostic, for nobody but IR written by hand states it.
    """
    if dtype.accumulator.is_float:
        return _real(dtype.accumulator.nearest(value), is_double=dtype.accumulator == F64)
    if not (float(value).is_integer() and -INT32_LIMIT <= value < INT32_LIMIT):
        raise Diagnostic(
            f"{value:g} is no whole number of 32 bits, and sums of {dtype} are computed in those"
        )
    return f"(-{INT32_LIMIT - 1} - 1)" if value == -INT32_LIMIT else str(int(value))


def _real(value: float, *, is_double: bool) -> str:
    suffix, sign = "" if is_double else "f", "-" if math.copysign(1.0, value) < 0 else ""
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(value):
        return f"{sign}__builtin_huge_val{suffix}()"
    is_whole = value.is_integer() and abs(value) < 2.0**24
    text = f"{abs(int(value))}." if is_whole else _hexadecimal(abs(value))
    return f"{sign}{text}{suffix}"


def _hexadecimal(value: float) -> str:
    """Text as C++17 reads it, without the zeros at the end of its digits."""
    digits, exponent = value.hex().split("p")
    return f"{digits.rstrip('0').rstrip('.')}p{exponent}"


def indented(lines: Sequence[str], depth: int = 1) -> Iterator[str]:
    return ("  " * depth + line if line else line for line in lines)


def comment(text: str) -> list[str]:
    return [f"// {line}".rstrip() for line in text.splitlines()]


def _term(a: Atom, c: int, wide: bool) -> str:
    text = f"int64_t({_atom(a)})" if wide else _operand(a)
    return text if c == 1 else f"{c} * {text}"


def _operand(a: Atom) -> str:
    return _atom(a) if isinstance(a, Var | Param) else f"({_atom(a)})"


def _atom(a: Atom) -> str:
    match a:
        case Var() | Param():
            return a.name
        case Div() | Mod():
            assert a.num.bounds[0] >= 0, f"division of an index that may be negative: {a}"
            return f"{_factor(a.num)} {'/' if isinstance(a, Div) else '%'} {_factor(a.den)}"
        case Mul():
            return f"{_operand(a.left)} * {_operand(a.right)}"
        case Select():
            return f"{index(a.cond)} >= 0 ? {index(a.then)} : {index(a.other)}"
        case Xor():
            return f"{_factor(a.left)} ^ {_factor(a.right)}"
        case _:
            assert_never(a)


def _factor(x: Lin) -> str:
    text = index(x)
    return text if text.isalnum() else f"({text})"
