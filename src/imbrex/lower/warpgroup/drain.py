"""Where C goes: ordinary stores, which always serve, and where there is one the tensor map of a piece."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from imbrex.chip import VECTOR_BYTES
from imbrex.config.access import access_of
from imbrex.dtype import DType
from imbrex.index.atom import Var
from imbrex.index.digits import row_major
from imbrex.index.expr import Lin, var
from imbrex.index.map import Map
from imbrex.index.query import vector_width
from imbrex.ir.chain import finish_of, named_under
from imbrex.ir.ops.standard import SSAValue
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.lower.buffer import Ref
from imbrex.lower.reader import Reader, number
from imbrex.lower.warpgroup.pipeline import Drain, Finish, Kept
from imbrex.lower.warpgroup.stage import DIMS, grown_over, operand
from imbrex.problem.epilogue import parted
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.piece import ROW_BYTES, piece_columns
from imbrex.view.stage.shared_tile import SWIZZLES
from imbrex.view.tensor import Box, Refused, store_access

__all__ = ["drain"]

STORED_BYTES: Final = (2, 4)
"""Bytes of the elements of C that lanes stage for a TMA store."""


def drain(op: WarpgroupGemmOp, reader: Reader) -> Drain:
    """Where C of an operation goes, and what becomes of its sums."""
    grid = op.grid_
    buffer, map = operand(op, "c", reader)
    dtype = buffer.dtype
    rows, columns = grid.m_blocks * grid.m_per_block, grid.n_blocks * grid.n_per_block * op.phase_count
    grown = grown_over(map, {"gemmM": rows, "gemmN": columns})
    indices = {"gemmG": var("batch", grid.g), "gemmM": var("row", rows), "gemmN": var("column", columns)}
    point = grown.at([indices[dim.name] for dim in grown.upper])
    offset = row_major(point.coords, [dim.size for dim in map.lower])
    sizes = {"gemmM": rows, "gemmN": columns}
    finish = _finish(op.c, sizes, indices, reader)
    factors, method = (number(op.alpha, 1.0), number(op.beta, 0.0)), number(op.store_method, "set")
    lies = access_of(map, dtype)
    rows_run, columns_run = (run * (step == 1) for run, step in zip(lies.run, lies.step, strict=True))
    together: Literal["row", "column"] = "column" if columns_run >= rows_run else "row"
    if not max(rows_run, columns_run):
        near = None if not any(lies.step) else "column" if lies.step[1] else "row"
        reason = "no neighbours of C lie together"
        return Drain(buffer, offset, point.guards, near, 1, None, reason, finish, *factors, method)
    along = "gemmN" if together == "column" else "gemmM"
    width = vector_width(grown, along, VECTOR_BYTES // dtype.bytes)
    stored = _stored(op, map, dtype, together)
    if finish is not None and finish.kept is not None:
        ((_, other),) = _other_results(op.c)
        own = vector_width(grown_over(other, sizes), along, VECTOR_BYTES // dtype.bytes)
        form = _stored(op, other, dtype, together)
        stored = form if isinstance(form, Refused) else stored  # pieces go one way
        box = None if isinstance(stored, Refused) or isinstance(form, Refused) else form
        finish = replace(finish, kept=replace(finish.kept, width=own, access=box))
    box, reason = (None, stored.reason) if isinstance(stored, Refused) else (stored, "")
    return Drain(buffer, offset, point.guards, together, width, box, reason, finish, *factors, method)


def _other_results(value: SSAValue) -> list[tuple[SSAValue, Map]]:
    """Arrays that the epilogue of C stores, and the maps to them."""
    found = finish_of(value)
    stored = () if found is None else found.stored
    return [(base, named_under(map, DIMS["c"])) for base, map in stored if map is not None]


def _finish(value: SSAValue, sizes: dict[str, int], indices: dict[str, Lin], reader: Reader) -> Finish | None:
    """The epilogue through which C is stored, its arrays where the element of C is."""
    found = finish_of(value)
    if found is None:
        return None

    def placed(base: SSAValue, map: Map) -> Ref:
        grown = grown_over(map, sizes)
        return reader.element(base, grown, [indices[dim.name] for dim in grown.upper])

    arrays: list[tuple[str, Ref]] = []
    for name, (base, map) in zip(found.epilogue.arrays, found.arrays, strict=True):
        assert map is not None, "C is a view, and so is all that is seen beside it"
        arrays.append((name, placed(base, named_under(map, DIMS["c"]))))
    kept, expression = parted(found.epilogue.expression)
    if kept is None:
        return Finish(expression, tuple(arrays))
    ((name, (base, map)),) = zip(found.epilogue.stored, _other_results(value), strict=True)
    return Finish(expression, tuple(arrays), Kept(name, kept, placed(base, map), 1, None))


def _stored(op: WarpgroupGemmOp, map: Map, dtype: DType, together: Literal["row", "column"]) -> Box | Refused:
    """The TMA store of a staged piece."""
    if number(op.beta, 0.0) or number(op.store_method, "set") != "set":
        return Refused("C is read, or added to")
    if dtype.bytes not in STORED_BYTES:
        return Refused(f"no TMA store of {dtype}")
    grid, whole = op.grid_, op.tuning_.n_per_block * op.phase_count
    columns = op.tuning_.own_columns * op.phase_count // (1 if op.sharing is None else op.sharing.parts)
    if together == "column":
        piece = piece_columns(columns, dtype.bytes)
        swizzle = next((s for s in SWIZZLES if s == piece * dtype.bytes), 0)
        found = store_access(map, ROWS, piece, dtype, swizzle)
    else:
        piece, along = (min(x, ROW_BYTES // dtype.bytes) for x in (columns, ROWS))
        found = store_access(map, piece, along, dtype, names=("gemmN", "gemmM"))
        rows = grid.m_blocks * grid.m_per_block
        found = _exchanged(found, rows, grid.n_blocks * whole) if isinstance(found, Box) else found
    if isinstance(found, Box) and columns % piece and not _is_affine(found):
        return Refused(f"pieces of {piece} columns do not divide {columns}, and C's columns are several dims")
    return found


def _exchanged(form: Box, rows: int, columns: int) -> Box:
    """Coordinates over rows and columns, given those of a store that had exchanged the two."""
    return form.over({"row": var("column", columns), "column": var("row", rows)})


def _is_affine(form: Box) -> bool:
    """Does a piece lie anywhere in C as it does at whole multiples of its size?"""
    return all(isinstance(atom, Var) for p in form.pieces for x in p.coords for atom, _ in x.terms)
