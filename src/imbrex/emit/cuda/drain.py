"""How sums become C, as functions of a kernel's struct."""

from __future__ import annotations

from typing import NamedTuple

from imbrex.chip import VECTOR_BYTES
from imbrex.dtype import F32, I32
from imbrex.emit import c
from imbrex.emit.cuda import epilogue_operands
from imbrex.emit.cuda.layout import staging
from imbrex.emit.cuda.member import ELEMENT, boolean, method, static
from imbrex.emit.cuda.multiply import sum_type
from imbrex.emit.cuda.row import elements_left
from imbrex.emit.cuda.sums import column_of_sum
from imbrex.index.atom import Div, Mod, Select, Xor
from imbrex.index.expr import Lin, var
from imbrex.lower.buffer import Ref
from imbrex.lower.warpgroup.parts import Planned
from imbrex.lower.warpgroup.pipeline import Pipeline
from imbrex.view.mma.hopper import WARPGROUP
from imbrex.view.stage.piece import are_shifted
from imbrex.view.tensor import Box

__all__ = ["constants", "functions", "stores_boxes"]

SUM = "int32_t lane, int32_t number"


def constants(pipeline: Pipeline) -> list[str]:
    """What the store's header asks for."""
    piece, out, work, arrays = staging(pipeline), pipeline.c, pipeline.work, _arrays(pipeline)
    flags = {
        "along_columns": piece.along_columns,
        "stores_boxes": stores_boxes(pipeline),
        "is_scaled": (out.alpha, out.beta) != (1.0, 0.0),
        "adds_c": out.beta != 0.0,
        "adds_atomically": pipeline.c.method == "atomic_add",
        "is_finished": out.finish is not None,
        "keeps": out.kept is not None,
        "ends_in_relu": epilogue_operands.ends_in_relu(pipeline),
        "shares_tiles": pipeline.workspace is not None,
        **{f"{a.name}_has_rows": a.left(pipeline) is not None for a in arrays},
    }
    sums = sum_type(pipeline.sums.layout)
    result = "sum" if out.finish is None else (F32 if out.buffer.dtype.is_float else I32).c_name
    return [
        f"typedef {result} result;",
        f"static constexpr int piece_columns = {piece.columns};",
        f"static constexpr int sharers = {work.sharers if isinstance(work, Planned) else 1};",
        *(f"static constexpr int {a.name}_width = {_width(pipeline, a.width)};" for a in arrays),
        *(f"static constexpr bool {name} = {boolean(value)};" for name, value in flags.items()),
        static("sum", "alpha", "", c.number(out.alpha, sums), is_constant=True),
        static("sum", "beta", "", c.number(out.beta, sums), is_constant=True),
    ]


def stores_boxes(pipeline: Pipeline) -> bool:
    """Does the copy engine store C, and what is kept beside it?

    Pieces that overlap begin anywhere, and only where no coordinate wraps are they still boxes there.
    """
    kept = pipeline.c.kept
    forms = [pipeline.c.access, *([] if kept is None else [kept.access])]
    if None in forms or pipeline.c.method != "set":
        return False
    overlap = pipeline.stored_columns % staging(pipeline).columns != 0
    coords = [x for form in forms if form is not None for p in form.pieces for x in p.coords]
    return not overlap or not any(map(_wraps, coords))


class _Array(NamedTuple):
    """C, or what is kept beside it: its element (row, column), `width` neighbours in one access."""

    name: str
    store: str
    ref: Ref
    width: int
    access: Box | None

    def left(self, pipeline: Pipeline) -> str | None:
        """How many elements of a piece's row, from one on, lie one after the other in memory and exist.

        None where they do not lie so, and where they are not shifted.
        """
        along, piece = pipeline.c.contiguous, staging(pipeline)
        if along is None or not are_shifted(self.width * piece.element_bytes, piece.row_bytes):
            return None
        tiles = pipeline.tiles
        sizes = {"row": tiles.row_tiles * tiles.rows, "column": tiles.column_tiles * tiles.columns}
        return elements_left(self.ref.offset, self.ref.guards, along, sizes[along])

    def functions(self, pipeline: Pipeline) -> list[str]:
        """Does an element exist, where is it, how much of its row is there; the store of a piece's boxes."""
        kind, at = self.ref.buffer.dtype.c_name, f"{self.name} + ({c.index(self.ref.offset)})"
        return [
            method("bool", f"{self.name}_exists", ELEMENT, c.guards(self.ref.guards)),
            method(f"{kind} *", f"{self.name}_at", ELEMENT, at),
            method("int32_t", f"{self.name}_left", ELEMENT, self.left(pipeline) or "0"),
            *_store(self.store, f"{self.name}_map", self.access, pipeline),
        ]


def _arrays(pipeline: Pipeline) -> list[_Array]:
    out, kept = pipeline.c, pipeline.c.kept
    found = [_Array("c", "store", Ref(out.buffer, out.offset, out.guards), out.width, out.access)]
    if kept is not None:
        found.append(_Array("kept", "store_kept", kept.ref, kept.width, kept.access))
    return found


def _width(pipeline: Pipeline, width: int) -> int:
    """Elements of one access."""
    return min(width, VECTOR_BYTES // pipeline.c.buffer.dtype.bytes)


def functions(pipeline: Pipeline) -> list[str]:
    """Where sums are in their block of 64 rows, in their piece and in C, and the store of a piece."""
    tile = staging(pipeline).tile
    one = pipeline.sums.layout
    number = var("number", one.c_elements * len(pipeline.phases.summed))
    _, row, column = one.c.at([var("lane", WARPGROUP), number % one.c_elements]).coords
    stored = column_of_sum(pipeline, column, number // one.c_elements)
    (element,) = tile.map.at([var("column", tile.k), var("row", tile.d)]).coords
    return [
        "// The row, the column and the column of B of a lane's sum; the byte of an element in its piece.",
        static("int32_t", "sum_row", SUM, c.index(row)),
        static("int32_t", "sum_column", SUM, c.index(stored)),
        static("int32_t", "own_column", SUM, c.index(column)),
        static("uint32_t", "staged", "int32_t row, int32_t column", c.index(element * tile.element_bytes)),
        *epilogue_operands.arrays(pipeline),
        *epilogue_operands.finishing(pipeline),
        *(line for array in _arrays(pipeline) for line in array.functions(pipeline)),
        *_partial(pipeline),
    ]


def _store(name: str, tensor: str, form: Box | None, pipeline: Pipeline) -> list[str]:
    """A function that stores the boxes of a piece, one after the other; an empty one where lanes do."""
    body = _boxes(tensor, form, pipeline) if stores_boxes(pipeline) else []
    return [f"IMBREX_MEMBER void {name}(uint32_t from, {ELEMENT}) const {{", *c.indented(body), "}"]


def _boxes(tensor: str, form: Box | None, pipeline: Pipeline) -> list[str]:
    tiles, lines = pipeline.tiles, list[str]()
    assert form is not None and len(form.pieces) == 1, (
        f"a piece of C is one box, or several of one kind: {form}"
    )
    coords = form.pieces[0].coords
    row, column = var("row", tiles.row_tiles * tiles.rows), var("column", tiles.column_tiles * tiles.columns)
    for block in staging(pipeline).tile.blocks:
        moved = {"row": row + block.d0, "column": column + block.k0}
        at = ", ".join(c.index(x.subs(moved)) for x in coords)
        address = f"from + {block.byte_offset}" if block.byte_offset else "from"
        rank = len(coords)
        lines.append(f"imbrex::store<{rank}>({tensor}, {address}, imbrex::coordinates<{rank}>{{{{{at}}}}});")
    return lines


def _partial(pipeline: Pipeline) -> list[str]:
    """Where a workgroup finds its sums and its flag in what workgroups share."""
    if pipeline.workspace is None:
        return []
    refs = {"partial": pipeline.workspace.partials, "flag": pipeline.workspace.flags}
    return [
        method(
            f"{ref.buffer.dtype.c_name} *",
            f"{name}_of",
            "int32_t workgroup",
            f"{name}s + ({c.index(ref.offset)})",
        )
        for name, ref in refs.items()
    ]


def _wraps(x: Lin) -> bool:
    return any(isinstance(atom, Div | Mod | Select | Xor) for atom, _ in x.terms)
