"""A product of a column and a row in registers: loops over the tile that a work item holds, seen as one step.

A language that takes it whole chooses the order of its multiply-adds.
"""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.index.expr import lin, var
from imbrex.lower.stmt import For, MulAdd, Ref

__all__ = ["Outer", "outer_of"]


@dataclass(frozen=True)
class Outer:
    """c[i][j] += a[i] * b[j] for rows x columns; a row of c begins `pitch` elements after the one before."""

    c: Ref
    a: Ref
    b: Ref
    rows: int
    columns: int
    pitch: int


def outer_of(stmt: For) -> Outer | None:
    """The product that a loop around a loop is; None where it is anything else."""
    if len(stmt.body) != 1 or not isinstance(inner := stmt.body[0], For):
        return None
    if len(inner.body) != 1 or not isinstance(product := inner.body[0], MulAdd):
        return None
    refs = (product.c, product.a, product.b)
    if any(r.buffer.space != "private" or r.guards for r in refs):
        return None
    row, column = var(stmt.var, stmt.count), var(inner.var, inner.count)
    c, a, b = (r.offset.subs({stmt.var: lin(0), inner.var: lin(0)}) for r in refs)
    pitch = product.c.offset.subs({stmt.var: lin(1), inner.var: lin(0)}) - c
    if not pitch.is_constant:
        return None
    if [r.offset for r in refs] != [c + row * pitch.const + column, a + row, b + column]:
        return None
    sums, rows, columns = (Ref(r.buffer, start) for r, start in zip(refs, (c, a, b), strict=True))
    return Outer(sums, rows, columns, stmt.count, inner.count, pitch.const)
