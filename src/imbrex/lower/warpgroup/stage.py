"""How a tile of A or B comes into shared memory: by a tensor map, and where none serves by ordinary loads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import gcd
from typing import Final, Literal, TypeVar

from imbrex.chip import COPY_BYTES, VECTOR_BYTES
from imbrex.config.access import access_of
from imbrex.config.halo.plan import HaloTuning
from imbrex.config.warpgroup.plan import WarpgroupTuning, operand_tile
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.index.digits import row_major
from imbrex.index.expr import Lin, var
from imbrex.index.map import Map
from imbrex.index.query import vector_width
from imbrex.ir.chain import named_map
from imbrex.ir.ops.standard import SSAValue
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.lower.buffer import Buffer
from imbrex.lower.reader import Reader
from imbrex.lower.warpgroup.pipeline import Lanes, Stage
from imbrex.view.gemm import product
from imbrex.view.mma import Operand
from imbrex.view.mma.layout import Side
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.stage.shared_layout import Residency
from imbrex.view.stage.shared_tile import SharedTile
from imbrex.view.tensor import Product, Refused, access, halo_access

__all__ = ["DIMS", "Operand", "grown_over", "operand", "operand_map", "raster", "served", "stage"]

DIMS: Final[Mapping[Operand, tuple[str, str, str]]] = {
    "a": ("gemmG", "gemmK", "gemmM"),
    "b": ("gemmG", "gemmK", "gemmN"),
    "c": ("gemmG", "gemmM", "gemmN"),
}
T = TypeVar("T")


def stage(
    op: WarpgroupGemmOp, which: Literal["a", "b"], reader: Reader, residency: Residency = "step"
) -> Stage:
    """The tile of one operand.  Where it is shared, each workgroup of a cluster loads its part for all."""
    grid, block, (row_parts, column_parts) = op.grid_, op.block, op.cluster_
    if which == "a":
        own, read_dim = "gemmM", block.matrix_a_source_vector_read_dim
        size, tiles, parts = grid.m_per_block, grid.m_blocks, column_parts
    else:
        own, read_dim = "gemmN", block.matrix_b_source_vector_read_dim
        size, tiles, parts = grid.n_per_block, grid.n_blocks, row_parts
    buffer, map = operand(op, which, reader)
    dtype, extents = buffer.dtype, dict(map.upper)
    sizes = extents.get("gemmG", 1), extents["gemmK"], extents[own]
    is_product = isinstance(op.tuning_, WarpgroupTuning)
    side: Side = which if is_product else "b"  # windows come as wgmma reads them
    shape, known = (grid.k_per_block, size), access_of(map, dtype)
    tile = operand_tile(shape, sizes, known, read_dim, dtype, side, may_pad=is_product)
    turned = read_dim == 1 and tile.major == "k"
    if turned:
        how = "two apart" if known.step[1] == 2 else "together"
        found = Refused(f"{own} lies {how} in memory, and wgmma takes {dtype} along k only")
    else:
        found = access(map, tile, dtype, parts, d_name=own, tiles=tiles, columns=size)
    if isinstance(found, Refused):
        found = _lanes(map, own, tile, (grid.k_steps, tiles), size, dtype, found.reason)
        if turned and dtype.bytes >= COPY_BYTES:
            found = replace(found, width=1, along="d")  # past the registers, each to a place of its own
    return Stage(buffer, tile, found, residency, parts if not isinstance(found, Lanes) else 1)


def raster(op: WarpgroupGemmOp, tuning: HaloTuning, reader: Reader) -> tuple[Stage, HaloTile]:
    """A as rasters, each read at all taps of a window."""
    buffer, map = operand(op, "a", reader)
    windows = Product(map, operand_map(op, "c"), tuning.m_per_block, tuning.channels)
    found = served(halo_access(windows, buffer.dtype), "A's windows do not come into shared memory once")
    if found.tile.loaded > tuning.loaded_pixels:
        most = tuning.loaded_pixels
        raise Diagnostic(f"a raster of {found.tile.loaded} pixels does not fit in stages of {most}")
    return Stage(buffer, found.tile, found.box), found.tile


def _lanes(
    map: Map, own: str, tile: SharedTile, counts: tuple[int, int], apart: int, dtype: DType, reason: str
) -> Lanes:
    """Ordinary loads of a tile (k, d) of `counts` steps and tiles, which begin `apart` along d."""
    k, d, major, (steps, tiles), widest = tile.k, tile.d, tile.major, counts, VECTOR_BYTES // dtype.bytes
    grown = grown_over(map, {"gemmK": k * steps, own: apart * (tiles - 1) + d})
    at: dict[str, Lin] = {
        "gemmG": var("batch", dict(map.upper).get("gemmG", 1)),
        "gemmK": var("step", steps) * k + var("k", k),
        own: var("tile", tiles) * apart + var("d", d),
    }
    point = grown.at([at[dim.name] for dim in grown.upper])
    widths = {  # a vector lies in one tile
        "k": gcd(vector_width(grown, "gemmK", widest), k),
        "d": gcd(vector_width(grown, own, widest), d),
    }
    along = major if widths[major] >= max(widths.values()) else ("d" if major == "k" else "k")
    offset = row_major(point.coords, [dim.size for dim in map.lower])
    return Lanes(offset, point.guards, widths[along], along, reason)


def served(found: T | Refused, otherwise: str) -> T:
    """What the copy engine serves; a Diagnostic that begins with `otherwise` where it does not."""
    if isinstance(found, Refused):
        raise Diagnostic(f"{otherwise}: {found.reason}")
    return found


def operand(op: WarpgroupGemmOp, which: Operand, reader: Reader) -> tuple[Buffer, Map]:
    """An operand's buffer, and its map from the dims of the product."""
    return reader.root(_value(op, which))[0], operand_map(op, which)


def operand_map(op: WarpgroupGemmOp, which: Operand) -> Map:
    """Map from the dims of the product to an operand's array."""
    return named_map(_value(op, which), DIMS[which])


def _value(op: WarpgroupGemmOp, which: Operand) -> SSAValue:
    return {"a": op.a, "b": op.b, "c": op.c}[which]


def grown_over(map: Map, wanted: dict[str, int]) -> Map:
    """The map over whole tiles; what overhangs does not exist."""
    return Map((*product.overhang(map.upper, **wanted), *map.layers))
