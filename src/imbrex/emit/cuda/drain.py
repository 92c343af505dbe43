"""How sums become C, as functions of a kernel's struct."""

from __future__ import annotations

from imbrex.dtype import F32, I32
from imbrex.emit import c
from imbrex.emit.cuda import beside
from imbrex.emit.cuda.geometry import WARPGROUP, staging
from imbrex.emit.cuda.matrix import sum_type
from imbrex.emit.cuda.member import boolean, method, static
from imbrex.emit.cuda.phases import column_of_sum
from imbrex.emit.cuda.work import splits_evenly
from imbrex.index.atom import Div, Mod, Select, Xor
from imbrex.index.expr import Lin, var
from imbrex.lower.warpgroup import WarpgroupGemm

__all__ = ["constants", "functions", "stores_boxes"]

ELEMENT = "int32_t batch, int32_t row, int32_t column"
SUM = "int32_t lane, int32_t place"
MOST_BYTES = 16


def constants(gemm: WarpgroupGemm) -> list[str]:
    """What the store's header asks for."""
    piece, out = staging(gemm), gemm.c
    flags = {
        "along_columns": piece.along_columns,
        "stores_boxes": stores_boxes(gemm),
        "is_scaled": (gemm.alpha, gemm.beta) != (1.0, 0.0),
        "adds_c": gemm.beta != 0.0,
        "adds_atomically": gemm.method == "atomic_add",
        "is_finished": out.finish is not None,
        "ends_in_relu": beside.ends_in_relu(gemm),
        "shares_tiles": gemm.plan is not None and bool(gemm.plan.shared),
        "splits_evenly": splits_evenly(gemm.plan),
    }
    width = min(out.width, MOST_BYTES // out.buffer.dtype.bytes)
    room = 0 if gemm.by_warps else piece.tile.bytes
    sums = F32 if sum_type(gemm.instruction) == F32.c_name else I32
    result = "sum" if out.finish is None else "float" if out.buffer.dtype.is_float else "int32_t"
    return [
        f"typedef {result} result;",
        f"static constexpr int piece_columns = {piece.columns}, piece_bytes = {room};",
        f"static constexpr int c_width = {width};",
        *(f"static constexpr bool {name} = {boolean(value)};" for name, value in flags.items()),
        static("sum", "alpha", "", c.number(gemm.alpha, sums), is_constant=True),
        static("sum", "beta", "", c.number(gemm.beta, sums), is_constant=True),
    ]


def stores_boxes(gemm: WarpgroupGemm) -> bool:
    """Does the copy engine store C?

    Pieces that overlap begin anywhere, and only where no coordinate wraps are they still boxes there.
    """
    form = gemm.c.access
    if form is None or gemm.method != "set":
        return False
    overlap = gemm.stored_columns % staging(gemm).columns != 0
    return not overlap or not any(_wraps(x) for p in form.pieces for x in p.coords)


def functions(gemm: WarpgroupGemm) -> list[str]:
    """Where sums are in their block of 64 rows, in their piece and in C, and the store of a piece."""
    out, tile = gemm.c, staging(gemm).tile
    kind = c.type_name(out.buffer.dtype)
    one = gemm.instruction
    place = var("place", one.c_elements * len(gemm.summed))
    _, row, column = one.c.at([var("lane", WARPGROUP), place % one.c_elements]).coords
    (element,) = tile.map.at([var("column", tile.k), var("row", tile.d)]).coords
    return [
        "// The row, the column and the column of B of a lane's sum; the byte of an element in its piece.",
        static("int32_t", "sum_row", SUM, c.index(row)),
        static("int32_t", "sum_column", SUM, c.index(column_of_sum(gemm, column, place // one.c_elements))),
        static("int32_t", "own_column", SUM, c.index(column)),
        static("uint32_t", "staged", "int32_t row, int32_t column", c.index(element * tile.element_bytes)),
        method("bool", "c_exists", ELEMENT, c.guards(out.guards)),
        method(f"{kind} *", "c_at", ELEMENT, f"c + ({c.index(out.offset)})"),
        *beside.arrays(gemm),
        *beside.finishing(gemm),
        f"IMBREX_MEMBER void store(uint32_t from, {ELEMENT}) const {{",
        *c.indented(_store(gemm) if stores_boxes(gemm) else []),
        "}",
        *_partial(gemm),
    ]


def _store(gemm: WarpgroupGemm) -> list[str]:
    """The boxes of a piece, one after the other."""
    form, lines = gemm.c.access, list[str]()
    assert form is not None and len(form.pieces) == 1, (
        f"a piece of C is one box, or several of one kind: {form}"
    )
    coords = form.pieces[0].coords
    row, column = var("row", gemm.row_tiles * gemm.rows), var("column", gemm.column_tiles * gemm.columns)
    for block in staging(gemm).tile.blocks:
        moved = {"row": row + block.d0, "column": column + block.k0}
        at = ", ".join(c.index(x.subs(moved)) for x in coords)
        place = f"from + {block.byte_offset}" if block.byte_offset else "from"
        rank = len(coords)
        lines.append(f"imbrex::store<{rank}>(c_map, {place}, imbrex::coordinates<{rank}>{{{{{at}}}}});")
    return lines


def _partial(gemm: WarpgroupGemm) -> list[str]:
    """A workgroup's places in what workgroups share."""
    if gemm.partials is None or gemm.flags is None:
        return []
    refs = {"partial": gemm.partials, "flag": gemm.flags}
    return [
        method(
            f"{c.type_name(ref.buffer.dtype)} *",
            f"{name}_of",
            "int32_t workgroup",
            f"{name}s + ({c.index(ref.offset)})",
        )
        for name, ref in refs.items()
    ]


def _wraps(x: Lin) -> bool:
    return any(isinstance(atom, Div | Mod | Select | Xor) for atom, _ in x.terms)
