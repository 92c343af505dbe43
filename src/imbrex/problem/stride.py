"""Stride: where the rows of a matrix lie, and the matrices of a batch, in elements from one to the next.

Law: element (g, r, c) lies at g * batch + r * leading + c.  A stride that is the dense one, or that nothing
is counted by, is None: equal memory has equal strides.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from imbrex.diagnostic import Diagnostic
from imbrex.numeral import counted
from imbrex.problem.field import whole

__all__ = ["LEADING", "STRIDES", "Matrices", "Stride", "strided"]

LEADING: Final = {"a": "lda", "b": "ldb", "c": "ldc"}
STRIDES: Final = {"a": "stride_a", "b": "stride_b", "c": "stride_c"}
"""The fields of a Gemm, by role."""


class Matrices(NamedTuple):
    """`batch` matrices as they are stored."""

    batch: int
    rows: int
    columns: int


class Stride(NamedTuple):
    """leading: from a row to the next; batch: from a matrix to the next."""

    leading: int | None = None
    batch: int | None = None

    def of(self, matrices: Matrices) -> tuple[int, int, int]:
        """The strides of (batch, row, column)."""
        leading = matrices.columns if self.leading is None else self.leading
        return (leading * matrices.rows if self.batch is None else self.batch, leading, 1)


def strided(role: str, matrices: Matrices, leading: object, batch: object) -> Stride:
    """What is given of a role, checked; what says nothing new is None.

    A matrix that is written has no element twice; of one that is read, a batch may share elements.
    """
    rows, columns = matrices.rows, matrices.columns
    name = LEADING[role]
    row = columns if leading is None else whole(name, leading, least=1)
    if row < columns:
        stored = f"{counted(rows, 'row')} of {columns}"
        hint = f"{role} is stored as {stored}; give {columns} or more, or leave it out"
        message = f"{name} must be at least {columns}, the elements of a row of {role}, got {row}"
        raise Diagnostic(message, hint=hint, subject=name)
    matrix = row * rows if batch is None else whole(STRIDES[role], batch, least=0)
    if role == "c":
        _expect_apart(matrices, row, matrix)
    kept = None if row == columns or rows == 1 else row
    own = rows * (columns if kept is None else kept)
    return Stride(kept, None if matrices.batch == 1 or matrix == own else matrix)


def _expect_apart(matrices: Matrices, leading: int, batch: int) -> None:
    """Matrices one after another, or the rows of all of them in turn."""
    count, rows, columns = matrices
    reach = (rows - 1) * leading + columns
    in_turn = batch >= columns and (count - 1) * batch + columns <= leading
    if count == 1 or batch >= reach or in_turn:
        return
    message = f"stride_c = {batch} lets the {count} matrices of c overlap, each reaches over {reach} elements"
    hint = f"give {reach} or more, or leave it out for {rows * leading}"
    raise Diagnostic(message, hint=hint, subject=STRIDES["c"])
