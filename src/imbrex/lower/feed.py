"""From the product of a workgroup to its statement: how A and B come into shared memory, and where C goes.

An operand's map is asked three times: for a tensor map (`view.tensor`), and where that is refused for the
offsets, guards and widths of ordinary loads; for C the other way round, since ordinary stores always serve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd
from typing import Final, Literal

from imbrex.config.access import access_of
from imbrex.config.warpgroup.plan import ROWS, instruction_of, shared_tile, stretch
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.index.atom import Var
from imbrex.index.expr import Lin, lin, var
from imbrex.index.map import Map
from imbrex.index.query import address, vector_width
from imbrex.ir.chain import finish_of, named_map, named_under
from imbrex.ir.ops.phases import phase_box_of
from imbrex.ir.ops.standard import SSAValue
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.lower.lines import by_lines
from imbrex.lower.reader import Reader, element_type, number, sizes
from imbrex.lower.stmt import Buffer, Ref
from imbrex.lower.taps import plane_filters, plane_pixels, plane_stage, taps
from imbrex.lower.warpgroup import Drain, Feed, Finish, Lanes, WarpgroupGemm, piece_columns
from imbrex.view.gemm import product
from imbrex.view.stage.shared_tile import Swizzle
from imbrex.view.tensor import Box, Product, Refused, access, halo_access, store_access

__all__ = ["warpgroup_gemm"]

MOST_BYTES: Final = 16
"""The widest access of a thread."""
PIECE_BYTES: Final = 128
"""A row of what a TMA store takes at a time; so are 64 rows of it, of each column."""
SWIZZLES: Final[tuple[Swizzle, ...]] = (128, 64, 32)
STORED: Final = ("f16", "bf16", "f32", "i32")
"""Element types of C that a TMA store writes."""


def warpgroup_gemm(op: WarpgroupGemmOp, reader: Reader) -> WarpgroupGemm:
    """The statement of an operation."""
    made = _statement(op, reader)
    if made.b_stays and isinstance(made.b.access, Lanes):
        raise Diagnostic(f"a tile of B that stays in shared memory comes by TMA: {made.b.access.reason}")
    if op.b_halo is not None and isinstance(made.a.access, Lanes):
        raise Diagnostic(f"pixels that windows are multiplied by come by TMA: {made.a.access.reason}")
    return made


def _statement(op: WarpgroupGemmOp, reader: Reader) -> WarpgroupGemm:
    grid, cluster, dtype = op.grid_, op.cluster_, element_type(op.a)
    plan = op.plan_
    shared = plan is not None and bool(plan.shared)
    lines = by_lines(op, op.halo.data, op.slots.data, reader) if op.halo and op.slots else None
    return WarpgroupGemm(
        rows=grid.m_per_block,
        columns=grid.n_per_block * op.phase_count,
        depth=lines.a.share.k if lines else grid.k_per_block,
        stages=op.stages.data,
        consumers=op.consumers.data,
        pingpong=number(op.pingpong, False),
        cluster=cluster,
        instruction=instruction_of(dtype, op.own_columns),
        a=lines.a if lines else _pixels(op, reader),
        b=lines.b if lines else _filters(op, reader),
        c=_drain(op, reader),
        batches=grid.g,
        row_tiles=grid.m_blocks,
        column_tiles=grid.n_blocks,
        steps=grid.k_steps,
        order=op.blocks_,
        plan=plan,
        workgroups=op.workgroups.data,
        alpha=number(op.alpha, 1.0),
        beta=number(op.beta, 0.0),
        method=number(op.store_method, "set"),
        partials=_slot(op.partials, op, reader) if shared else None,
        flags=_slot(op.flags, op, reader) if shared else None,
        b_stays=op.stationary is not None,
        diagonal=1 if op.diagonal is None else op.diagonal.data,
        phases=phase_box_of(op.phase_box),
        part_steps=tuple(x // grid.k_per_block for x in op.part_k.data) if op.part_k else (),
        phase_of=(0,) if op.phases is None else op.phases.data,
        lines=lines.walk if lines else None,
        planes=plane_stage(op),
    )


def _pixels(op: WarpgroupGemmOp, reader: Reader) -> Feed:
    """A."""
    if stage := plane_stage(op):
        return plane_pixels(op, stage, reader)
    return _feed(op, "a", reader) if op.halo is None else _halo(op, op.halo.data, reader)


def _filters(op: WarpgroupGemmOp, reader: Reader) -> Feed:
    """B."""
    if stage := plane_stage(op):
        return plane_filters(op, stage, reader)
    return _feed(op, "b", reader) if op.b_halo is None else taps(op, op.b_halo.data, reader)


def _feed(op: WarpgroupGemmOp, which: Literal["a", "b"], reader: Reader) -> Feed:
    """One operand.  Where a tile is shared, each workgroup of a cluster loads its part for the others."""
    value, grid = (op.a, op.b)[which == "b"], op.grid_
    own = "gemmM" if which == "a" else "gemmN"
    size, tiles = (grid.m_per_block, grid.m_blocks) if which == "a" else (grid.n_per_block, grid.n_blocks)
    parts = op.cluster_[1 if which == "a" else 0]
    read_dim = number(op.properties[f"matrix_{which}_source_vector_read_dim"])
    dtype = element_type(value)
    buffer, map = _operand(value, ("gemmG", "gemmK", own), reader)
    together = stretch(access_of(map, dtype), read_dim, dict(map.upper)[("gemmK", own)[read_dim]])
    tile = shared_tile(grid.k_per_block, size, dtype.bytes, read_dim == 1, together)
    turned = read_dim == 1 and tile.major == "k"
    if turned:
        found = Refused(f"{own} lies together in memory, and wgmma takes {dtype} along k only")
    else:
        found = access(map, tile, dtype, parts, d_name=own, tiles=tiles)
    if isinstance(found, Refused):
        found = _lanes(map, own, (tile.k, size), (grid.k_steps, tiles), dtype, found.reason, tile.major)
    return Feed(buffer, tile, found, parts if not isinstance(found, Lanes) else 1)


def _halo(op: WarpgroupGemmOp, room: int, reader: Reader) -> Feed:
    """A as rasters of at most `room` pixels, each read at all taps of a window."""
    buffer, map = _operand(op.a, ("gemmG", "gemmK", "gemmM"), reader)
    _, stored = _operand(op.c, ("gemmG", "gemmM", "gemmN"), reader)
    grid = op.grid_
    found = halo_access(Product(map, stored, grid.m_per_block), element_type(op.a))
    if isinstance(found, Refused):
        raise Diagnostic(f"A's windows do not come into shared memory once: {found.reason}")
    tile, parts = found.tile, 1 if number(op.pingpong, False) else op.consumers.data
    if tile.loaded > room or not tile.is_sum_of_starts(grid.m_per_block // parts):
        message = f"a tile of {tile.loaded} pixels, {tile.pitch} of an image, does not serve"
        raise Diagnostic(f"{message} {parts} consumers in stages of {room}")
    return Feed(buffer, tile, found.box, 1)


def _lanes(
    map: Map,
    own: str,
    tile: tuple[int, int],
    counts: tuple[int, int],
    dtype: DType,
    reason: str,
    major: Literal["k", "d"],
) -> Lanes:
    """Ordinary loads of a tile (k, d) of `counts` steps and tiles."""
    (k, d), (steps, tiles), widest = tile, counts, MOST_BYTES // dtype.bytes
    grown = _grown(map, {"gemmK": k * steps, own: d * tiles})
    places: dict[str, Lin] = {
        "gemmG": var("batch", dict(map.upper).get("gemmG", 1)),
        "gemmK": var("step", steps) * k + var("k", k),
        own: var("tile", tiles) * d + var("d", d),
    }
    point = grown.at([places[dim.name] for dim in grown.upper])
    widths = {  # a vector lies in one tile
        "k": gcd(vector_width(grown, "gemmK", widest), k),
        "d": gcd(vector_width(grown, own, widest), d),
    }
    along = major if widths[major] >= max(widths.values()) else ("d" if major == "k" else "k")
    offset = address(point.coords, [dim.size for dim in map.lower])
    return Lanes(offset, point.guards, widths[along], along, reason)


def _drain(op: WarpgroupGemmOp, reader: Reader) -> Drain:
    """C."""
    grid = op.grid_
    buffer, map = _operand(op.c, ("gemmG", "gemmM", "gemmN"), reader)
    dtype = buffer.dtype
    rows, columns = grid.m_blocks * grid.m_per_block, grid.n_blocks * grid.n_per_block * op.phase_count
    grown = _grown(map, {"gemmM": rows, "gemmN": columns})
    places = {"gemmG": var("batch", grid.g), "gemmM": var("row", rows), "gemmN": var("column", columns)}
    point = grown.at([places[dim.name] for dim in grown.upper])
    offset = address(point.coords, [dim.size for dim in map.lower])
    finish = _finish(op.c, {"gemmM": rows, "gemmN": columns}, places, reader)
    lies = access_of(map, dtype)
    rows_run, columns_run = (run * (step == 1) for run, step in zip(lies.run, lies.step, strict=True))
    together: Literal["row", "column"] = "column" if columns_run >= rows_run else "row"
    if not max(rows_run, columns_run):
        near = None if not any(lies.step) else "column" if lies.step[1] else "row"
        reason = "no neighbours of C lie together"
        return Drain(buffer, offset, point.guards, near, 1, None, reason, finish)
    width = vector_width(grown, "gemmN" if together == "column" else "gemmM", MOST_BYTES // dtype.bytes)
    stored = _stored(op, map, dtype, together)
    box, reason = (None, stored.reason) if isinstance(stored, Refused) else (stored, "")
    return Drain(buffer, offset, point.guards, together, width, box, reason, finish)


def _finish(value: SSAValue, sizes: dict[str, int], places: dict[str, Lin], reader: Reader) -> Finish | None:
    """The epilogue through which C is stored, its arrays where the element of C is."""
    found = finish_of(value)
    if found is None:
        return None
    arrays: list[tuple[str, Ref]] = []
    for name, (base, map) in zip(found.epilogue.arrays, found.arrays, strict=True):
        assert map is not None, "C is a view, and so is all that is seen beside it"
        named = named_under(map, ("gemmG", "gemmM", "gemmN"))
        grown = _grown(named, sizes)
        arrays.append((name, reader.element(base, grown, [places[dim.name] for dim in grown.upper])))
    return Finish(found.epilogue.expression, tuple(arrays))


def _stored(op: WarpgroupGemmOp, map: Map, dtype: DType, together: Literal["row", "column"]) -> Box | Refused:
    """The TMA store of a staged piece."""
    if number(op.beta, 0.0) or number(op.store_method, "set") != "set":
        return Refused("C is read, or added to")
    if dtype.name not in STORED:
        return Refused(f"no TMA store of {dtype}")
    grid, whole = op.grid_, op.n_per_block.data * op.phase_count
    columns = op.own_columns * op.phase_count // (1 if op.plan_ is None else op.plan_.parts)
    if together == "column":
        piece = piece_columns(columns, dtype.bytes)
        swizzle = next((s for s in SWIZZLES if s == piece * dtype.bytes), 0)
        found = store_access(map, ROWS, piece, dtype, swizzle)
    else:
        piece, along = min(columns, PIECE_BYTES // dtype.bytes), min(ROWS, PIECE_BYTES // dtype.bytes)
        found = store_access(map, piece, along, dtype, row_name="gemmN", column_name="gemmM")
        rows = grid.m_blocks * grid.m_per_block
        found = _exchanged(found, rows, grid.n_blocks * whole) if isinstance(found, Box) else found
    if isinstance(found, Box) and columns % piece and not _is_affine(found):
        return Refused(f"pieces of {piece} columns do not divide {columns}, and C's columns are several dims")
    return found


def _exchanged(form: Box, rows: int, columns: int) -> Box:
    """Coordinates over rows and columns, given those of a store that had exchanged the two."""
    names = {"row": var("column", columns), "column": var("row", rows)}
    pieces = (replace(p, coords=tuple(x.subs(names) for x in p.coords)) for p in form.pieces)
    return replace(form, pieces=tuple(pieces))


def _is_affine(form: Box) -> bool:
    """Does a piece lie anywhere in C as it does at whole multiples of its size?"""
    return all(isinstance(atom, Var) for p in form.pieces for x in p.coords for atom, _ in x.terms)


def _operand(value: SSAValue, names: Sequence[str], reader: Reader) -> tuple[Buffer, Map]:
    """An operand's buffer, and its map under the names that are asked for."""
    return reader.root(value)[0], named_map(value, names)


def _grown(map: Map, wanted: dict[str, int]) -> Map:
    """The map over whole tiles; what overhangs does not exist."""
    return Map((*product.overhang(map.upper, **wanted), *map.layers))


def _slot(value: SSAValue | None, op: WarpgroupGemmOp, reader: Reader) -> Ref:
    """The place of a slot: of its first sum, or of its flag."""
    assert value is not None, "workgroups that share tiles have a workspace"
    count, *rest = sizes(value)
    assert count == op.workgroups.data, value
    size = rest[0] if rest else 1
    return Ref(reader.buffers[value], var("workgroup", count) * size + lin(0))
