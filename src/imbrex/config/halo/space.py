"""Tunings of windows worth looking at, each with the fewest stages: of tiles and line by line, for a raster
whose pixels are computed, and for pixels that are summed over.

Whether each is legal is to be asked with the product that it makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

from imbrex.chip import GpuMachine
from imbrex.config.halo.plan import HaloTuning, HaloWeightTuning, LinesTuning
from imbrex.config.warpgroup.instruction import columns_of
from imbrex.config.warpgroup.limits import hold
from imbrex.config.warpgroup.plan import LEAST_STAGES
from imbrex.dtype import DType
from imbrex.view.conv.raster import Raster
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.halo_tile import PIXELS
from imbrex.view.stage.shared_tile import SWIZZLES

__all__ = [
    "Summed", "block_of", "channels_of", "diagonal_of", "halo_space", "halo_weight_space", "line_space",
]  # fmt: skip

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
MOST_PIXELS: Final = 512
"""Most pixels of a step of backward weight: of more, shared memory has no room for two stages."""
LONGER: Final = 8
"""Pixels by which a line of it may be longer than it has to be."""


def channels_of(raster: Raster, dtype: DType) -> int:
    """A pixel's channels, counted up to whole rows of shared memory."""
    size = raster.channels * dtype.bytes
    row = next((s for s in reversed(SWIZZLES) if size <= s), SWIZZLES[0])
    return -(-size // row) * row // dtype.bytes


def diagonal_of(raster: Raster, dtype: DType, machine: GpuMachine) -> int:
    """The most blocks of a diagonal filter that are whole instructions each."""
    least, columns = INSTRUCTION_BYTES // dtype.bytes, columns_of(dtype, machine)

    def serves(count: int) -> bool:
        is_whole = raster.merged % count == 0 and raster.filters % count == 0
        return is_whole and raster.channels % (count * least) == 0 and raster.filters // count in columns

    return next(filter(serves, range(raster.merged, 1, -1)), 1)


def halo_space(raster: Raster, dtype: DType, machine: GpuMachine) -> Iterator[HaloTuning]:
    """Tiles of lines of an image."""
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
        rows, rest = divmod(blocks * ROWS, raster.line)
        if not rest and blocks * ROWS - ROWS < raster.height * raster.line:  # no instruction is beyond it
            parts = diagonal_of(raster, dtype, machine) if n == raster.filters else 1
            shape = 1, rows, raster.loaded(rows), raster.line, raster.taps, channels, n
            yield HaloTuning(*shape, parts, LEAST_STAGES, consumers, pingpong)


def line_space(
    raster: Raster, window: tuple[int, int], dtype: DType, machine: GpuMachine
) -> Iterator[LinesTuning]:
    """window: its rows and columns."""
    columns, whole = columns_of(dtype, machine), INSTRUCTION_BYTES // dtype.bytes
    enough = [n for n in columns if n >= raster.filters and n % whole == 0]
    wide = sorted({*enough[:1], *(n for n in LINE_COLUMNS if n < raster.filters)})
    images = max(1, ROWS // raster.line)
    for n, (consumers, pingpong) in product(wide, LINE_TEAMS):
        parts = diagonal_of(raster, dtype, machine) if n == raster.filters else 1
        shape = images, max(2, raster.height), raster.line, *window, channels_of(raster, dtype)
        yield LinesTuning(*shape, n, parts, LEAST_STAGES, consumers, pingpong)


class Summed(NamedTuple):
    """What is summed over, images of rows of at least `line` pixels, and what is computed.

    full: pixels of a line that no window runs over the end of.  halo: further lines that windows want.
    diagonal: into so many blocks filters and channels may be cut, that alone are wanted.  blocks: of ROWS
    filters and of channels, of all groups.  is_kept: do warps keep the lines that windows want of the step
    before?
    """

    images: int
    rows: int
    line: int
    full: int
    halo: int
    taps: int
    channels: int
    diagonal: int
    blocks: int
    is_kept: bool = False


def block_of(channels: int, dtype: DType) -> int | None:
    """Channels of a group that are columns together: one row of shared memory; None where there is none."""
    longest = SWIZZLES[0] // dtype.bytes
    return longest if channels % longest == 0 else channels if channels * dtype.bytes in SWIZZLES else None


def halo_weight_space(of: Summed, dtype: DType, machine: GpuMachine) -> Iterator[HaloWeightTuning]:
    """Shares keep the machine busy for a round or, by warpgroups, for two."""
    for (consumers, diagonal), (rows, line) in product(_teams(of, dtype, machine), _steps(of)):
        by_warps = diagonal > 1
        if by_warps and line % PIXELS:
            continue
        loaded, parts = rows + of.halo + (line < of.full), of.images * -(-of.rows // rows)
        if of.is_kept:  # consumers have an image each, in turn
            loaded, parts = rows, -(-of.images // consumers)
        rounds = (1,) if by_warps else (1, 2)
        most = {max(1, count * machine.compute_units // of.blocks) for count in rounds}
        stages = LEAST_STAGES * (consumers if by_warps else 1)
        for shares in sorted({-(-parts // -(-parts // min(n, parts))) for n in most}):
            shape = 1, rows, loaded, line, of.taps, of.channels
            yield HaloWeightTuning(*shape, diagonal, shares, stages, consumers)


def _teams(of: Summed, dtype: DType, machine: GpuMachine) -> Iterator[tuple[int, int]]:
    """Consumers, and blocks of the diagonal."""
    most = max(columns_of(dtype, machine), default=0)
    if of.diagonal > 1:
        yield from ((consumers, of.diagonal) for consumers in (2, 3))
    for consumers in (3, 2, 1):
        own = of.taps * of.channels // consumers
        fits = own <= most and hold(consumers, own * ROWS)
        if of.taps % consumers == 0 and fits:
            yield consumers, 1


def _steps(of: Summed) -> Iterator[tuple[int, int]]:
    """Rows and line of a step."""
    for rows, line in product(range(1, of.rows + PIXELS), range(of.line, of.line + LONGER + 1)):
        if rows * line % PIXELS == 0 and rows * line <= MOST_PIXELS:
            yield rows, line
