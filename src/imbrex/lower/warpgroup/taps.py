"""The pixels of a window as columns: B's stages are rasters, of which consumers read some taps each, or lines
of planes, of which warps read all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from imbrex.config.halo.plan import HaloWeightTuning
from imbrex.diagnostic import Diagnostic
from imbrex.index.expr import var
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.lower.reader import Reader, element_type
from imbrex.lower.warpgroup.pipeline import Stage
from imbrex.lower.warpgroup.stage import operand, operand_map, served
from imbrex.view.stage.halo_tile import PIXELS, HaloTile
from imbrex.view.stage.plane_stage import PlaneStage, lines_abreast
from imbrex.view.tensor import Planes, Product, halo_access, plane_access

__all__ = ["planes", "taps"]


def taps(op: WarpgroupGemmOp, tuning: HaloWeightTuning, reader: Reader) -> tuple[Stage, HaloTile]:
    """B as rasters of pixels.  A has zeros for those that are not to be multiplied."""
    buffer, map = operand(op, "b", reader)
    shape = tuning.k_per_block, tuning.channels
    windows = Product(map, operand_map(op, "a"), *shape, "gemmN", "gemmK", PIXELS)
    otherwise = "B's windows do not come into shared memory once"
    found = served(halo_access(windows, buffer.dtype), otherwise)
    columns = found.tile.row * found.tile.taps[-1][0] if tuning.by_warps else tuning.own_columns
    if reason := found.tile.uneven(columns) or _unfit(tuning, found.tile):
        raise Diagnostic(f"{otherwise}: {reason}")
    if found.tile.loaded > tuning.loaded_pixels:
        most = tuning.loaded_pixels
        raise Diagnostic(f"a raster of {found.tile.loaded} pixels does not fit in stages of {most}")
    box = found.box.over({"tile": var("step", op.grid_.k_steps)})  # tiles of pixels are steps of K
    tile = replace(found.tile, columns=columns)
    return Stage(buffer, tile, box), tile


def _unfit(tuning: HaloWeightTuning, windows: HaloTile) -> str | None:
    """Why warps do not multiply blocks of the diagonal: they go down a window, by 16 pixels of a line."""
    if not tuning.by_warps:
        return None
    if len(windows.taps) != 2 or windows.taps[1][1] != 1 or windows.taps[0][1] % PIXELS:
        return f"the taps {windows.taps} are not those of rows and columns of lines of a multiple of {PIXELS}"
    block = windows.channels // tuning.diagonal
    return None if block == PIXELS else f"blocks of {block} channels are not of {PIXELS}"


def planes(op: WarpgroupGemmOp, tuning: HaloWeightTuning, reader: Reader) -> tuple[Stage, Stage, PlaneStage]:
    """A and B as the lines of planes that a step has, of the output and of the input, where A runs along
    pixels.
    """
    size, (height, width), t = element_type(op.a).bytes, operand_map(op, "b").lower[-2:], tuning
    stage = PlaneStage(t.rows, height.size, width.size, t.channels, size, t.streams)
    abreast = lines_abreast(height.size, width.size, size)
    if not abreast or t.rows % abreast or not t.streams or stage.line != t.width:
        message = f"steps of {t.k_per_block} pixels, {t.loaded_pixels} with their halo"
        raise Diagnostic(f"{message}, are not lines of {width.size} for warps")
    return _lines(op, "a", stage, reader), _lines(op, "b", stage, reader), stage


def _lines(op: WarpgroupGemmOp, which: Literal["a", "b"], stage: PlaneStage, reader: Reader) -> Stage:
    buffer, map = operand(op, which, reader)
    lines = Planes(map, stage, which, op.grid_.m_blocks if which == "a" else 1)
    otherwise = f"{which.upper()}'s planes do not come into shared memory once"
    return Stage(buffer, stage.stored, served(plane_access(lines, buffer.dtype), otherwise))
