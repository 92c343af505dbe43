"""Drops the buffers that nothing reads or writes, and the names that nothing mentions."""

from __future__ import annotations

from dataclasses import replace

from imbrex.lower.stmt import (
    Alloc,
    Evaluate,
    Exchange,
    Fill,
    For,
    Kernel,
    Let,
    MatrixMultiply,
    Move,
    MulAdd,
    Pack,
    PanelGemm,
    Pipeline,
    Product,
    Stmt,
    Unpack,
    View,
    Windows,
    indices,
    walk,
)


def pruned(kernel: Kernel) -> Kernel:
    """The kernel without unused names, allocations and views; the last two stand outside of all loops."""
    used = {name for stmt in walk(kernel.body) for name in _touched(stmt)}
    for stmt in reversed(kernel.body):
        if isinstance(stmt, View) and stmt.buffer.name in used:
            used.add(stmt.base.name)
    kept = tuple(s for s in kernel.body if not isinstance(s, Alloc | View) or s.buffer.name in used)
    return replace(kernel, body=_named(kept))


def _named(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements without names that nothing mentions."""
    mentioned = {name for stmt in walk(body) for index in indices(stmt) for name in index.variables}
    kept = _without(body, {s.name for s in walk(body) if isinstance(s, Let)} - mentioned)
    return kept if kept == body else _named(kept)


def _without(body: tuple[Stmt, ...], names: set[str]) -> tuple[Stmt, ...]:
    inner = (replace(s, body=_without(s.body, names)) if isinstance(s, For) else s for s in body)
    return tuple(s for s in inner if not (isinstance(s, Let) and s.name in names)) if names else body


def _touched(stmt: Stmt) -> tuple[str, ...]:
    match stmt:
        case Move() | Exchange():
            return stmt.dest.buffer.name, stmt.source.buffer.name
        case Evaluate():
            return stmt.dest.buffer.name, *(ref.buffer.name for _, ref, _ in stmt.values)
        case MatrixMultiply():
            return tuple(ref.buffer.name for ref in (stmt.c, *stmt.read))
        case MulAdd() | PanelGemm():
            return stmt.c.buffer.name, stmt.a.buffer.name, stmt.b.buffer.name
        case Pack():
            return (stmt.dest.buffer.name,)
        case Unpack():
            return (stmt.tile.buffer.name,)
        case Windows():
            return tuple(grid.base.buffer.name for grid in (stmt.c, stmt.filter, stmt.window))
        case Product():
            return (stmt.c.buffer.name,)
        case Fill():
            return (stmt.buffer.name,)
        case Pipeline():
            return stmt.a.buffer.name, stmt.b.buffer.name, stmt.c.buffer.name
        case _:
            return ()
