"""store_access: how TMA stores a sub-tile of C from shared memory, derived from C's map.

Law, checked by evaluation: what is written is exactly the elements of C that the map has in the sub-tile.
A row of the array must be whole pieces of 16 bytes: of the last piece of a row, an H200 writes all, what lies
outside of the tensor map, too, while it reads zeros there.
"""

from __future__ import annotations

from dataclasses import replace

from imbrex.chip import VECTOR_BYTES
from imbrex.index.expr import var
from imbrex.index.map import Map
from imbrex.view.tensor.box import along_inner, boxed
from imbrex.view.tensor.check import differs, misplaced
from imbrex.view.tensor.form import Box, ElementType, Refused
from imbrex.view.tensor.limit import beyond_limits
from imbrex.view.tensor.space import spaces
from imbrex.view.tensor.tiling import INNER, ROW, Run

__all__ = ["store_access"]


def store_access(
    map: Map,
    rows: int,
    columns: int,
    dtype: ElementType,
    swizzle: int = 128,
    names: tuple[str, str] = ("gemmM", "gemmN"),
) -> Box | Refused:
    """How TMA stores `rows` x `columns` of C, staged as rows of neighbours along the columns.

    map: C's own, from (gemmG?, gemmM, gemmN) to a compact array.  The coordinates are over `batch` and the
    sub-tile's first `row` and `column`, multiples of its sizes.  Where neighbours along C's rows lie together
    in memory, exchange the `names`: then `rows` count columns of C.
    """
    sizes, (row_name, column_name) = dict(map.upper), names
    counts = {"row": -(-sizes[row_name] // rows), "column": -(-sizes[column_name] // columns)}
    variables = {"batch": sizes.get("gemmG", 1), **counts}
    batch, row, column = (var(name, size) for name, size in variables.items())
    at = {
        "gemmG": batch,
        row_name: row * rows + var(ROW, rows),
        column_name: column * columns + var(INNER, columns),
    }
    run = Run(at, rows, columns)
    grown = sizes | {row_name: counts["row"] * rows, column_name: counts["column"] * columns}
    corner = {row_name: var("row", grown[row_name]), column_name: var("column", grown[column_name])}
    reasons = list[str]()
    for found in spaces(map, [var(name, grown[name]) for name in sizes]):
        if isinstance(found, Refused):
            return found
        if reason := along_inner(found.axes[-1], column_name):
            return Refused(reason)
        answer = boxed(found, [run], swizzle, column_name)
        if isinstance(answer, Refused):
            reasons.append(answer.reason)
            continue
        reason = beyond_limits(answer, dtype.bytes) or _in_pieces(answer, dtype.bytes)
        reason = reason or misplaced(answer, [run], variables, dtype.bytes)
        reason = reason or differs(answer, map, [run], variables, free=None)
        if reason is None:
            return boxed(found, [replace(run, corner={"gemmG": batch, **corner})], swizzle, column_name)
        reasons.append(reason)
    return Refused(reasons[0])


def _in_pieces(form: Box, element_bytes: int) -> str | None:
    """Why rows are not written in whole pieces, or None."""
    row = form.sizes[0] * element_bytes
    return f"rows of {row} bytes end inside of a piece of {VECTOR_BYTES}" if row % VECTOR_BYTES else None
