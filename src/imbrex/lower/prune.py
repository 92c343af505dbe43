"""Drops the buffers that nothing reads or writes, so that a kernel declares what it uses."""

from __future__ import annotations

from dataclasses import replace

from imbrex.lower.stmt import (
    Alloc,
    Exchange,
    Fill,
    Kernel,
    MatrixMultiply,
    Move,
    MulAdd,
    Pack,
    PanelGemm,
    Product,
    Stmt,
    Unpack,
    View,
    walk,
)


def pruned(kernel: Kernel) -> Kernel:
    """The kernel without unused allocations and views; both stand outside of all loops."""
    used = {name for stmt in walk(kernel.body) for name in _touched(stmt)}
    for stmt in reversed(kernel.body):
        if isinstance(stmt, View) and stmt.buffer.name in used:
            used.add(stmt.base.name)
    kept = tuple(s for s in kernel.body if not isinstance(s, Alloc | View) or s.buffer.name in used)
    return replace(kernel, body=kept)


def _touched(stmt: Stmt) -> tuple[str, ...]:
    match stmt:
        case Move() | Exchange():
            return stmt.dest.buffer.name, stmt.source.buffer.name
        case MulAdd() | MatrixMultiply() | PanelGemm():
            return stmt.c.buffer.name, stmt.a.buffer.name, stmt.b.buffer.name
        case Pack():
            return (stmt.dest.buffer.name,)
        case Unpack():
            return (stmt.tile.buffer.name,)
        case Product():
            return (stmt.c.buffer.name,)
        case Fill():
            return (stmt.buffer.name,)
        case _:
            return ()
