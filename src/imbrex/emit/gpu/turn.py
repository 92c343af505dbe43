"""Transposition in registers: loops over a matrix that a work item holds, seen as one step.

A compiler that sees the elements one by one takes each out of its register and puts it into another.  Seen
whole, four registers of four bytes take eight byte permutations, two of two halves take two.
"""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.index.expr import Lin, var
from imbrex.lower.stmt import For, Move, Ref

__all__ = ["Turn", "turn_of"]


@dataclass(frozen=True)
class Turn:
    """dest, rows x columns and row-major, is source, columns x rows, transposed; both are private."""

    dest: Ref
    source: Ref
    rows: int
    columns: int


def turn_of(stmt: For) -> Turn | None:
    """The transposition that a loop around a loop is; None where it is anything else."""
    if len(stmt.body) != 1 or not isinstance(inner := stmt.body[0], For):
        return None
    if len(inner.body) != 1 or not isinstance(move := inner.body[0], Move):
        return None
    spaces = {r.buffer.space for r in (move.dest, move.source)}
    is_plain = (move.width, move.method, move.alpha, move.beta) == (1, "set", 1.0, 0.0)
    if spaces != {"private"} or not is_plain or move.dest.buffer.dtype != move.source.buffer.dtype:
        return None
    row, column = var(stmt.var, stmt.count), var(inner.var, inner.count)
    dest = move.dest.offset - row * inner.count - column
    source = move.source.offset - column * stmt.count - row
    if {stmt.var, inner.var} & (dest.variables | source.variables):
        return None
    return Turn(_at(move.dest, dest), _at(move.source, source), stmt.count, inner.count)


def _at(ref: Ref, offset: Lin) -> Ref:
    return Ref(ref.buffer, offset)
