"""WindowPlan: what follows from a tuning of windows whose pixels come into shared memory once, of any form.

Rows of the product are pixels, columns are filters; a tile has all of a window, so that K is one step.
Filters stay in shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from imbrex.config.block_plan import WarpgroupBlock
from imbrex.config.warpgroup.consumers import OncePlan, Tiled
from imbrex.view.stage.shared_tile import Major

__all__ = ["WindowPlan"]


class Windowed(Tiled, Protocol):
    """A tuning of windows."""

    @property
    def pingpong(self) -> bool: ...
    @property
    def diagonal(self) -> int: ...
    @property
    def channels(self) -> int: ...
    @property
    def taps_text(self) -> str: ...


T = TypeVar("T", bound=Windowed)


@dataclass(frozen=True)
class WindowPlan(OncePlan[T]):
    """Everything that follows from a tuning and a GEMM."""

    @property
    def filters(self) -> int:
        """Tiles of the filter: units that follow one another have them in turn."""
        return self.context.g * self.tiles[1]

    @property
    def filter_major(self) -> Major:
        a = self.context.a
        return "d" if a.vector[1] > a.vector[0] and self.context.dtype.bytes == 2 else "k"

    @property
    def is_turned(self) -> bool:
        """Do filters lie together in memory, where wgmma wants channels together?"""
        return self.context.a.vector[1] > self.context.a.vector[0] and self.filter_major == "k"

    @property
    def block(self) -> WarpgroupBlock:
        """What the IR says of a workgroup."""
        filters = self.context.a
        along = int(filters.vector[1] > filters.vector[0])
        return WarpgroupBlock(self.tuning, 0, along, self.workgroups)
