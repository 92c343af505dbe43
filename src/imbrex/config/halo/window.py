"""WindowPlan: what follows from a tuning of windows whose pixels come into shared memory once, of any form.

Rows of the product are pixels, columns are filters; a tile has all of a window, so that K is one step.
Filters stay in shared memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from imbrex.chip import WARPGROUPS, GpuTarget
from imbrex.config.context import GemmContext
from imbrex.config.warpgroup.attributes import attributes_of
from imbrex.view.stage.shared_layout import SharedLayout
from imbrex.view.stage.shared_tile import Major

__all__ = ["WindowPlan"]


class Windowed(Protocol):
    """A tuning of windows."""

    @property
    def m_per_block(self) -> int: ...
    @property
    def n_per_block(self) -> int: ...
    @property
    def k_per_block(self) -> int: ...
    @property
    def block_size(self) -> int: ...
    @property
    def stages(self) -> int: ...
    @property
    def consumers(self) -> int: ...
    @property
    def pingpong(self) -> bool: ...
    @property
    def diagonal(self) -> int: ...


T = TypeVar("T", bound=Windowed)


@dataclass(frozen=True)
class WindowPlan(ABC, Generic[T]):
    """Everything that follows from a tuning and a GEMM."""

    tuning: T
    context: GemmContext
    machine: GpuTarget = WARPGROUPS

    @property
    @abstractmethod
    def workgroups(self) -> int:
        """To launch: as many as run at a time, or a few less, so that each keeps its part of the filter."""

    @property
    @abstractmethod
    def layout(self) -> SharedLayout:
        """Shared memory, in which the filter stays."""

    @property
    @abstractmethod
    def accumulators(self) -> int:
        """32-bit registers of a consumer's thread that hold sums."""

    @property
    def tiles(self) -> tuple[int, int]:
        """Along pixels and filters."""
        t, c = self.tuning, self.context
        return -(-c.n // t.m_per_block), -(-c.m // t.n_per_block)

    @property
    def units(self) -> int:
        """Units of all groups."""
        rows, columns = self.tiles
        return self.context.g * rows * columns

    @property
    def blocks(self) -> tuple[int, int]:
        return self.tiles

    @property
    def k_iterations(self) -> int:
        """All of a window at once."""
        return 1

    @property
    def filters(self) -> int:
        """Tiles of the filter: units that follow one another have them in turn."""
        return self.context.g * self.tiles[1]

    @property
    def grid_size(self) -> int:
        return self.workgroups

    @property
    def filter_major(self) -> Major:
        a = self.context.a
        return "d" if a.vector[1] > a.vector[0] and self.context.dtype.bytes == 2 else "k"

    @property
    def is_turned(self) -> bool:
        """Do filters lie together in memory, where wgmma wants channels together?"""
        return self.context.a.vector[1] > self.context.a.vector[0] and self.filter_major == "k"

    @property
    def lds_bytes(self) -> int:
        return self.layout.bytes

    @property
    def registers(self) -> int:
        return self.accumulators

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the gridwise op."""
        pixels, filters, stored = self.context.b, self.context.a, self.context.c.exchanged
        along = int(filters.vector[1] > filters.vector[0])
        return attributes_of(self.tuning, self.workgroups, (pixels, filters, stored), (0, along))
