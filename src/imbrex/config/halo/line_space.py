"""Tunings line by line worth looking at for a raster, each with the fewest stages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from imbrex.config.halo.lines import LinesTuning
from imbrex.config.halo.space import channels_of, diagonal_of
from imbrex.config.warpgroup.plan import LEAST_STAGES, columns_of
from imbrex.dtype import DType
from imbrex.view.conv.raster import Raster
from imbrex.view.mma.hopper import ROWS

__all__ = ["line_space"]

TEAMS: Final = ((2, True), (2, False), (3, True), (3, False), (1, False))
"""Consumers, pingpong."""
COLUMNS: Final = (128, 64, 32)
"""Where a window computes more filters than registers hold."""


def line_space(raster: Raster, window: tuple[int, int], dtype: DType) -> Iterator[LinesTuning]:
    """Whether each is legal is to be asked with the product that it makes.  window: its rows and columns."""
    columns, whole = columns_of(dtype), 32 // dtype.bytes
    enough = [n for n in columns if n >= raster.filters and n % whole == 0]
    wide = sorted({*enough[:1], *(n for n in COLUMNS if n < raster.filters)})
    images = max(1, ROWS // raster.line)
    for n, (consumers, pingpong) in product(wide, TEAMS):
        parts = diagonal_of(raster, dtype) if n == raster.filters else 1
        shape = images, max(2, raster.height), raster.line, *window, channels_of(raster, dtype)
        yield LinesTuning(*shape, n, parts, LEAST_STAGES, consumers, pingpong)
