"""Tunings of windows worth looking at for a raster, of tiles or line by line, each with the fewest stages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from imbrex.chip import GpuMachine
from imbrex.config.halo.plan import HaloTuning, LinesTuning
from imbrex.config.warpgroup.instruction import columns_of
from imbrex.config.warpgroup.limits import hold
from imbrex.config.warpgroup.plan import LEAST_STAGES
from imbrex.dtype import DType
from imbrex.view.conv.raster import Raster
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.shared_tile import SWIZZLES

__all__ = ["channels_of", "diagonal_of", "halo_space", "line_space"]

TEAMS: Final = ((2, True), (2, False), (1, False), (3, False))
LINE_TEAMS: Final = ((2, True), (2, False), (3, True), (3, False), (1, False))
"""Consumers, pingpong."""
INSTRUCTION_BYTES: Final = 32
"""Bytes of channels in one instruction; of filters together in the shortest row of shared memory."""
MOST_BLOCKS: Final = 16
"""Most blocks of 64 rows of a tile."""
COLUMNS: Final = (256, 128, 64)
LINE_COLUMNS: Final = (128, 64, 32)
"""Where a window computes more filters than one instruction has columns, or than registers hold."""


def channels_of(raster: Raster, dtype: DType) -> int:
    """A pixel's channels, counted up to whole rows of shared memory."""
    size = raster.channels * dtype.bytes
    row = next((s for s in reversed(SWIZZLES) if size <= s), SWIZZLES[0])
    return -(-size // row) * row // dtype.bytes


def diagonal_of(raster: Raster, dtype: DType, machine: GpuMachine) -> int:
    """The most blocks of a diagonal filter that are whole instructions each."""
    least, columns = INSTRUCTION_BYTES // dtype.bytes, columns_of(dtype, machine)
    return next(
        count
        for count in range(raster.merged, 0, -1)
        if count == 1
        or (
            raster.merged % count == 0
            and raster.channels % (count * least) == 0
            and raster.filters % count == 0
            and raster.filters // count in columns
        )
    )


def halo_space(raster: Raster, dtype: DType, machine: GpuMachine) -> Iterator[HaloTuning]:
    """Tunings with the fewest stages; whether each is legal is to be asked with the product that it makes."""
    channels, columns = channels_of(raster, dtype), columns_of(dtype, machine)
    enough = [n for n in columns if n >= raster.filters]
    whole = [n for n in enough if n * dtype.bytes % INSTRUCTION_BYTES == 0]
    wide = {
        n for n in (*enough[:1], *whole[:1], *COLUMNS) if n in columns and n <= min(whole or columns[-1:])
    }
    for n, blocks, (consumers, pingpong) in product(sorted(wide), range(1, MOST_BLOCKS + 1), TEAMS):
        own = blocks * ROWS if pingpong else blocks * ROWS // consumers
        if not hold(consumers, own * n) or (not pingpong and blocks % consumers):
            continue
        parts = diagonal_of(raster, dtype, machine) if n == raster.filters else 1
        for images, rows in _shapes(raster, blocks * ROWS):
            shape = images, rows, raster.loaded(rows), raster.line, raster.taps, channels, n
            yield HaloTuning(*shape, parts, LEAST_STAGES, consumers, pingpong)


def _shapes(raster: Raster, pixels: int) -> Iterator[tuple[int, int]]:
    """Images and lines of a tile: strips of an image, or whole images."""
    lines, rest = divmod(pixels, raster.line)
    if not rest and lines <= raster.height:
        yield 1, lines
        return
    whole = next(n for n in range(raster.height, raster.height + ROWS) if n * raster.line % ROWS == 0)
    images, rest = divmod(pixels, whole * raster.line)
    if images and not rest and images <= raster.images:
        yield images, whole


def line_space(
    raster: Raster, window: tuple[int, int], dtype: DType, machine: GpuMachine
) -> Iterator[LinesTuning]:
    """Whether each is legal is to be asked with the product that it makes.  window: its rows and columns."""
    columns, whole = columns_of(dtype, machine), INSTRUCTION_BYTES // dtype.bytes
    enough = [n for n in columns if n >= raster.filters and n % whole == 0]
    wide = sorted({*enough[:1], *(n for n in LINE_COLUMNS if n < raster.filters)})
    images = max(1, ROWS // raster.line)
    for n, (consumers, pingpong) in product(wide, LINE_TEAMS):
        parts = diagonal_of(raster, dtype, machine) if n == raster.filters else 1
        shape = images, max(2, raster.height), raster.line, *window, channels_of(raster, dtype)
        yield LinesTuning(*shape, n, parts, LEAST_STAGES, consumers, pingpong)
