"""Matrices of a call: read and written where they lie, if neighbours along a row, or along a column, are
neighbours in memory; rows may be any distance apart, and so may the matrices of a batch.

What lies otherwise, or begins at an address that a kernel cannot read, is copied where it is read, and
refused where it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from imbrex.dtype import DType
from imbrex.function.array import Laid, writable
from imbrex.function.memory import Memory

__all__ = ["Apart", "Matrices", "matrices", "result"]

Apart = tuple[int, int]
"""Elements from a row to the next, and from a matrix to the next."""


class Matrices(NamedTuple):
    """Rows of neighbours; is_transposed: op of a matrix is the transposed of what lies in memory."""

    laid: Laid
    is_transposed: bool
    apart: Apart | None = None
    """None: without gaps."""

    @property
    def rows(self) -> int:
        """Rows of op of the matrix."""
        return self.laid.array.shape[-1 if self.is_transposed else -2]

    @property
    def columns(self) -> int:
        return self.laid.array.shape[-2 if self.is_transposed else -1]

    def elements(self, pack: int) -> tuple[int, int]:
        """Rows and columns in single elements, of which memory holds so many neighbours of a row as one."""
        along_rows, along_columns = (pack, 1) if self.is_transposed else (1, pack)
        return self.rows * along_rows, self.columns * along_columns


def matrices(value: object, name: str, transposed: bool, memory: Memory) -> Matrices:
    """An argument of a product."""
    array = memory.taken(value, name)
    rank = array.ndim
    if rank not in (2, 3):
        raise ValueError(f"'{name}' should have 2 dimensions, or 3 with a batch first, got {rank}")
    plain = tuple(range(rank))
    swapped = (*plain[:-2], rank - 1, rank - 2)
    steps = memory.steps(array)
    orders = (swapped, plain) if name == "a" and _is_one_row(array.shape, steps) else (plain, swapped)
    for order in orders:
        if steps is not None and _are_rows(tuple(array.shape), steps, order):
            laid = Laid(memory.permuted(array, order), order, memory)
            apart = _apart(tuple(laid.array.shape), [steps[i] for i in order])
            return Matrices(laid, transposed != (order == swapped), apart)
    return Matrices(Laid(memory.contiguous(array), plain, memory), transposed)


def result(memory: Memory, shape: tuple[int, ...], element: DType, out: Any) -> Matrices:
    """Where a product goes: `out`, or a new array."""
    plain = tuple(range(len(shape)))
    if out is None:
        return Matrices(Laid(memory.empty(shape, element), plain, memory), False)
    array = writable(out, shape, element, memory)
    steps = memory.steps(array)
    if steps is None:
        raise ValueError(
            "'out' begins at an address at which no kernel can write; copy the result there instead"
        )
    if 0 not in shape and not _are_rows(shape, steps, plain):
        got = f"got strides {memory.strides(array)} for shape {shape}"
        raise ValueError(f"'out' should be row-major, its rows without gaps, {got}")
    return Matrices(Laid(array, plain, memory), False, _apart(shape, steps))


def _is_one_row(shape: Sequence[int], steps: Sequence[int] | None) -> bool:
    """Is a matrix of one column, by its strides, one row that is seen transposed?

    One kernel for any number of terms of a sum, which are rows of A in memory, so serves a single one, too.
    """
    rows, columns = shape[-2:]
    return steps is not None and columns == 1 < rows <= steps[-1] and steps[-2] == 1


def _apart(shape: tuple[int, ...], steps: Sequence[int]) -> Apart | None:
    """Strides of rows in order; a step that nothing is counted by is the dense one."""
    *batch, rows, columns = shape
    leading = steps[-2] if rows > 1 else columns
    matrix = steps[0] if batch and batch[0] > 1 else rows * leading
    return None if (leading, matrix) == (columns, rows * columns) else (leading, matrix)


def _are_rows(shape: tuple[int, ...], steps: Sequence[int], order: tuple[int, ...]) -> bool:
    """Do neighbours along the last dim of this order lie together, and rows behind one another?"""
    *_, rows, columns = (shape[i] for i in order)
    *apart, leading, along = (steps[i] for i in order)
    if 0 in shape:
        return False
    is_together = columns == 1 or along == 1
    is_forward = (rows == 1 or leading >= columns) and all(s >= 0 for s in apart)
    return is_together and is_forward
