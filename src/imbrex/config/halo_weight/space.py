"""Tunings of halo weights worth looking at, each with as many stages as fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

from imbrex.chip import GpuMachine
from imbrex.config.halo_weight.plan import HaloWeightTuning
from imbrex.config.warpgroup.instruction import columns_of
from imbrex.config.warpgroup.limits import hold
from imbrex.config.warpgroup.plan import LEAST_STAGES
from imbrex.dtype import DType
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.shared_tile import SWIZZLES
from imbrex.view.stage.tap_tile import PIXELS

__all__ = ["Pixels", "block_of", "halo_weight_space"]

MOST_PIXELS: Final = 512
"""Most pixels of a step: of more, shared memory has no room for two stages."""
LONGER: Final = 8
"""Pixels by which a line may be longer than it has to be."""


class Pixels(NamedTuple):
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

    def tiles(self, images: int, rows: int) -> int:
        """Steps of all images."""
        return -(-self.images // images) * -(-self.rows // rows)


def block_of(channels: int, dtype: DType) -> int | None:
    """Channels of a group that are columns together: one row of shared memory; None where there is none."""
    longest = SWIZZLES[0] // dtype.bytes
    return longest if channels % longest == 0 else channels if channels * dtype.bytes in SWIZZLES else None


def halo_weight_space(of: Pixels, dtype: DType, machine: GpuMachine) -> Iterator[HaloWeightTuning]:
    """Tunings of the fewest stages; shares keep the machine busy for a round or, by warpgroups, for two."""
    for (consumers, diagonal), (images, rows, line) in product(_teams(of, dtype, machine), _shapes(of)):
        tiles, by_warps = of.tiles(images, rows), diagonal > 1
        if by_warps and line % PIXELS:
            continue
        loaded, parts = rows + of.halo + (line < of.full), tiles
        if of.is_kept:  # consumers have an image each, in turn
            loaded, parts = rows, -(-of.images // consumers)
        wanted = {
            max(1, rounds * machine.compute_units // of.blocks) for rounds in ((1,) if by_warps else (1, 2))
        }
        stages = LEAST_STAGES * (consumers if by_warps else 1)
        for shares in sorted({-(-parts // -(-parts // min(n, parts))) for n in wanted}):
            yield HaloWeightTuning(
                images, rows, loaded, line, of.taps, of.channels, diagonal, shares, stages, consumers
            )


def _teams(of: Pixels, dtype: DType, machine: GpuMachine) -> Iterator[tuple[int, int]]:
    """Consumers, and blocks of the diagonal."""
    most = max(columns_of(dtype, machine), default=0)
    if of.diagonal > 1:
        yield from ((consumers, of.diagonal) for consumers in (2, 3))
    for consumers in (3, 2, 1):
        own = of.taps * of.channels // consumers
        fits = own <= most and hold(consumers, own * ROWS)
        if of.taps % consumers == 0 and fits:
            yield consumers, 1


def _shapes(of: Pixels) -> Iterator[tuple[int, int, int]]:
    """Images, rows and line of a step: strips of an image, or whole images."""
    for rows, line in product(range(1, of.rows + PIXELS), range(of.line, of.line + LONGER + 1)):
        if rows * line % PIXELS or rows * line > MOST_PIXELS:
            continue
        if rows <= of.rows:
            yield 1, rows, line
        if rows >= of.rows:
            most = min(of.images, MOST_PIXELS // (rows * line))
            yield from ((images, rows, line) for images in range(1 if rows > of.rows else 2, most + 1))
