"""What all tunings of warpgroups have in common, and their plans: one warpgroup produces, others consume."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from imbrex.cached import cached_property
from imbrex.chip import WARPGROUPS, GpuMachine
from imbrex.config.context import GemmContext
from imbrex.view.mma.hopper import WARPGROUP
from imbrex.view.stage.shared_layout import SharedLayout

__all__ = [
    "IN_FLIGHT",
    "SUM_BYTES",
    "ConsumersPlan",
    "Held",
    "OfBoxes",
    "OfConsumers",
    "OfRows",
    "TakesTurns",
    "Tiled",
    "accumulators",
]

IN_FLIGHT: Final = {1: 48, 2: 48, 3: 24}
"""Consumers -> registers of a producer's lane for what it has loaded and not yet put."""
SUM_BYTES: Final = 4
"""Bytes of a sum."""


class Tiled(Protocol):
    """A tuning of warpgroups, of any kind."""

    @property
    def m_per_block(self) -> int: ...
    @property
    def n_per_block(self) -> int: ...
    @property
    def k_per_block(self) -> int: ...
    @property
    def swapped(self) -> bool: ...
    @property
    def block_size(self) -> int: ...
    @property
    def stages(self) -> int: ...
    @property
    def consumers(self) -> int: ...


class Held(Tiled, Protocol):
    """A tuning that says what one consumer holds: rows and columns of sums."""

    @property
    def held(self) -> tuple[int, int]: ...


class TakesTurns(Held, Protocol):
    """A tuning whose consumers may have tiles in turn."""

    @property
    def pingpong(self) -> bool: ...


def accumulators(tuning: Held, phases: int = 1) -> int:
    """32-bit registers of a consumer's thread that hold sums, of so many phases of columns."""
    rows, columns = tuning.held
    return rows * columns * phases // WARPGROUP


class OfConsumers:
    """A frozen dataclass whose numbers are at least 1; consumers: warpgroups that multiply."""

    consumers: int

    def __post_init__(self) -> None:
        numbers = [v for v in vars(self).values() if not isinstance(v, bool)]
        assert min(numbers) >= 1, f"a tuning's numbers are at least 1: {self}"

    @property
    def block_size(self) -> int:
        """Threads of a workgroup: the consumers and the producer."""
        return WARPGROUP * (self.consumers + 1)

    @property
    def tile(self: Tiled) -> tuple[int, int, int]:
        """The tile of a workgroup, (m, n, k), in the GEMM's own m and n."""
        rows, columns, k = self.m_per_block, self.n_per_block, self.k_per_block
        return (columns, rows, k) if self.swapped else (rows, columns, k)

    @property
    def own_columns(self: Tiled) -> int:
        """Columns of a tile that one consumer computes, of one phase; of warps, those of one tap."""
        return self.n_per_block


class OfRows(OfConsumers):
    """Consumers share the rows of a tile, or, pingpong, have tiles in turn."""

    @property
    def held(self: TakesTurns) -> tuple[int, int]:
        """Rows, rounded down, and columns whose sums one consumer holds."""
        rows = self.m_per_block if self.pingpong else self.m_per_block // self.consumers
        return rows, self.n_per_block


@dataclass(frozen=True)
class OfBoxes(OfConsumers):
    """images: one.  rows, width: pixels of it that are computed, or summed over, at a time.  loaded: lines of
    it that a stage has room for.
    """

    images: int
    rows: int
    loaded: int
    width: int

    @property
    def pixels(self) -> int:
        """Pixels that are computed, or summed over, at a time."""
        return self.rows * self.width

    @property
    def loaded_pixels(self) -> int:
        """Pixels that a stage has room for."""
        return self.loaded * self.width


T_co = TypeVar("T_co", bound=Held, covariant=True)


@dataclass(frozen=True)
class ConsumersPlan(ABC, Generic[T_co]):
    """What follows from a GEMM and a tuning of warpgroups, of any kind."""

    tuning: T_co
    context: GemmContext
    machine: GpuMachine = WARPGROUPS

    @property
    @abstractmethod
    def workgroups(self) -> int:
        """How many workgroups are launched."""

    @property
    @abstractmethod
    def layout(self) -> SharedLayout:
        """Shared memory."""

    @property
    def accumulators(self) -> int:
        """32-bit registers of a consumer's thread that hold sums, of all phases that have some."""
        return accumulators(self.tuning, self.context.summed)

    @property
    def is_copied(self) -> bool:
        """Does the copy engine bring all, so that lanes keep sums and what an epilogue wants?"""
        return False

    @cached_property
    def tiles(self) -> tuple[int, int]:
        """Along the rows and the columns that the kernel sees."""
        t, (m, n) = self.tuning, (self.context.m, self.context.n)
        rows, columns = (n, m) if t.swapped else (m, n)
        return -(-rows // t.m_per_block), -(-columns // t.n_per_block)

    @cached_property
    def blocks(self) -> tuple[int, int]:
        """Units, each the tiles of one cluster, along the same."""
        return self.tiles

    @cached_property
    def units(self) -> int:
        """Units of all products of a batch."""
        rows, columns = self.blocks
        return self.context.g * rows * columns

    @property
    def rounds(self) -> int:
        """Units of a workgroup, of one that has most."""
        return -(-self.units // self.workgroups)

    @property
    def k_iterations(self) -> int:
        """Steps of the loop over K."""
        return -(-self.context.k // self.tuning.k_per_block)

    @property
    def grid_size(self) -> int:
        return self.workgroups

    @property
    def lds_bytes(self) -> int:
        return self.layout.bytes

    @property
    def registers(self) -> int:
        return self.accumulators
