"""Other indices for variables of a GPU's statements.

Law: a statement says what it did, of the place that the variables then have; names that statements make stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from imbrex.index.expr import Lin
from imbrex.index.rule import Guard
from imbrex.lower.stmt import (
    Alloc,
    Await,
    Barrier,
    Bit,
    Comment,
    Evaluate,
    Fill,
    For,
    Join,
    Let,
    Mark,
    MatrixMultiply,
    Move,
    MulAdd,
    Ref,
    Signal,
    Stmt,
    View,
)

__all__ = ["substituted"]

Env: TypeAlias = Mapping[str, Lin]


def substituted(stmt: Stmt, env: Env) -> Stmt:
    """The statement with these indices for the variables, in all that it holds."""
    match stmt:
        case Let():
            return replace(stmt, index=stmt.index.subs(env))
        case For():
            start, end = (None if bound is None else bound.subs(env) for bound in (stmt.start, stmt.end))
            body = tuple(substituted(s, env) for s in stmt.body)
            return replace(stmt, body=body, start=start, end=end)
        case Move():
            return replace(stmt, dest=_ref(stmt.dest, env), source=_ref(stmt.source, env))
        case Evaluate():
            values = tuple((name, _ref(ref, env), step) for name, ref, step in stmt.values)
            return replace(stmt, dest=_ref(stmt.dest, env), values=values)
        case Mark():
            return Mark(_ref(stmt.mask, env), stmt.bit.subs(env), _guards(stmt.guards, env))
        case Signal() | Join():
            return replace(stmt, flag=_ref(stmt.flag, env))
        case Await():
            count = None if stmt.count is None else stmt.count.subs(env)
            return replace(stmt, flag=_ref(stmt.flag, env), count=count)
        case MulAdd():
            return replace(stmt, c=_ref(stmt.c, env), a=_ref(stmt.a, env), b=_ref(stmt.b, env))
        case MatrixMultiply():
            return stmt.mapped(lambda ref: _ref(ref, env))
        case Comment() | Alloc() | View() | Fill() | Barrier():
            return stmt
        case _:
            raise AssertionError(f"no statement of a GPU's waves: {stmt}")


def _ref(ref: Ref, env: Env) -> Ref:
    bit = ref.missing
    missing = Bit(bit.buffer, bit.offset.subs(env), bit.bit.subs(env)) if bit is not None else None
    return Ref(ref.buffer, ref.offset.subs(env), _guards(ref.guards, env), missing)


def _guards(guards: tuple[Guard, ...], env: Env) -> tuple[Guard, ...]:
    return tuple(Guard(g.index.subs(env), g.size) for g in guards)
