"""The pixels of a window as columns: B's stages are rasters, of which consumers read some taps each."""

from __future__ import annotations

from dataclasses import replace

from imbrex.diagnostic import Diagnostic
from imbrex.index.expr import var
from imbrex.ir.chain import named_map
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.lower.reader import Reader, element_type
from imbrex.lower.warpgroup import Feed
from imbrex.view.halo_tile import HaloTile
from imbrex.view.tap_tile import PIXELS, TapTile, uneven
from imbrex.view.tensor import Box, Product, Refused, halo_access

__all__ = ["taps"]


def taps(op: WarpgroupGemmOp, room: int, reader: Reader) -> Feed:
    """B as rasters of at most `room` pixels.  A has zeros for those pixels that are not to be multiplied."""
    map = named_map(op.b, ("gemmG", "gemmK", "gemmN"))
    kept = named_map(op.a, ("gemmG", "gemmK", "gemmM"))
    asked = Product(map, kept, op.k_per_block.data, "gemmN", "gemmK", PIXELS)
    found = halo_access(asked, element_type(op.b))
    if isinstance(found, Refused):
        raise Diagnostic(f"B's windows do not come into shared memory once: {found.reason}")
    columns = op.own_columns if op.diagonal is None else found.tile.row * found.tile.taps[-1][0]
    if reason := uneven(found.tile, columns) or _unfit(op, found.tile):
        raise Diagnostic(f"B's windows do not come into shared memory once: {reason}")
    if found.tile.loaded > room:
        raise Diagnostic(f"a raster of {found.tile.loaded} pixels does not fit in stages of {room}")
    box = _stepping(found.box, op.grid_.k_steps)
    return Feed(reader.root(op.b)[0], TapTile(found.tile, columns), box, 1)


def _unfit(op: WarpgroupGemmOp, windows: HaloTile) -> str | None:
    """Why warps do not multiply blocks of the diagonal: they go down a window, by 16 pixels of a line."""
    if op.diagonal is None:
        return None
    if len(windows.taps) != 2 or windows.taps[1][1] != 1 or windows.taps[0][1] % PIXELS:
        return f"the taps {windows.taps} are not those of rows and columns of lines of a multiple of {PIXELS}"
    block = windows.channels // op.diagonal.data
    return None if block == PIXELS else f"blocks of {block} channels are not of {PIXELS}"


def _stepping(box: Box, steps: int) -> Box:
    """A box whose tiles of pixels are steps of K."""
    given = {"tile": var("step", steps)}
    pieces = (replace(p, coords=tuple(x.subs(given) for x in p.coords)) for p in box.pieces)
    return replace(box, pieces=tuple(pieces))
