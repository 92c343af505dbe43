"""A work item as a lane of a wave: what depends on the wave alone is the same in all its lanes.

Law: workitem = wave * (lanes of a wave) + lane.  A variable varies if it may differ between two lanes of one
wave; the others need no vector register.
"""

from __future__ import annotations

from dataclasses import replace

from imbrex.index.expr import Lin, var
from imbrex.index.rule import Guard
from imbrex.lower.stmt import (
    Await,
    Bit,
    For,
    Join,
    Kernel,
    Let,
    Mark,
    MatrixMultiply,
    Move,
    MulAdd,
    Ref,
    Signal,
    Stmt,
    walk,
)

WAVE, LANE = "wave", "lane"


def by_wave(kernel: Kernel) -> Kernel:
    """The kernel with its work item taken apart; itself where it is not of whole waves, or of one."""
    size, rest = divmod(kernel.block_size, kernel.wave)
    if rest or size == 1:
        return kernel
    item = var(kernel.workitem, kernel.block_size)
    env = {kernel.workitem: var(WAVE, size) * kernel.wave + var(LANE, kernel.wave)}
    ids = (Let(WAVE, item // kernel.wave), Let(LANE, item % kernel.wave))
    return replace(kernel, body=(*ids, *(_statement(s, env) for s in kernel.body)))


def varying(kernel: Kernel) -> frozenset[str]:
    """The variables that vary; names are given before they are used."""
    lane = var("lane'", kernel.wave)
    item = {kernel.workitem: var("wave'", -(-kernel.block_size // kernel.wave)) * kernel.wave + lane}
    found = {kernel.workitem, "lane'"}
    for stmt in walk(kernel.body):
        if isinstance(stmt, Let) and stmt.index.subs(item).variables & found:
            found.add(stmt.name)
    return frozenset(found)


def _statement(stmt: Stmt, env: dict[str, Lin]) -> Stmt:
    match stmt:
        case For():
            return replace(stmt, body=tuple(_statement(s, env) for s in stmt.body))
        case Move():
            return replace(stmt, dest=_ref(stmt.dest, env), source=_ref(stmt.source, env))
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
        case _:
            return stmt


def _ref(ref: Ref, env: dict[str, Lin]) -> Ref:
    bit = ref.missing
    missing = Bit(bit.buffer, bit.offset.subs(env), bit.bit.subs(env)) if bit is not None else None
    return Ref(ref.buffer, ref.offset.subs(env), _guards(ref.guards, env), missing)


def _guards(guards: tuple[Guard, ...], env: dict[str, Lin]) -> tuple[Guard, ...]:
    return tuple(Guard(g.index.subs(env), g.size) for g in guards)
