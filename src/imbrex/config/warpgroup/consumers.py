"""What all tunings of warpgroups have in common, and their plans: one warpgroup produces, others consume."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from imbrex.chip import WARPGROUPS, GpuMachine
from imbrex.config.context import GemmContext
from imbrex.view.mma.hopper import WARPGROUP
from imbrex.view.stage.shared_layout import SharedLayout

__all__ = ["OfBoxes", "OfConsumers", "OncePlan", "Tiled"]


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


@dataclass(frozen=True)
class OfBoxes(OfConsumers):
    """images, rows, width: pixels that are computed, or summed over, at a time.  loaded: lines of an image
    that a stage has room for.
    """

    images: int
    rows: int
    loaded: int
    width: int

    @property
    def pixels(self) -> int:
        """Pixels that are computed, or summed over, at a time."""
        return self.images * self.rows * self.width

    @property
    def loaded_pixels(self) -> int:
        """Pixels that a stage has room for."""
        return self.images * self.loaded * self.width


T = TypeVar("T", bound=Tiled)


@dataclass(frozen=True)
class OncePlan(ABC, Generic[T]):
    """What follows from a GEMM and a tuning whose pixels come into shared memory once, of any kind."""

    tuning: T
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
    @abstractmethod
    def accumulators(self) -> int:
        """32-bit registers of a consumer's thread that hold sums."""

    @property
    def tiles(self) -> tuple[int, int]:
        """Along the rows and the columns that the kernel sees."""
        t, (m, n) = self.tuning, (self.context.m, self.context.n)
        rows, columns = (n, m) if t.swapped else (m, n)
        return -(-rows // t.m_per_block), -(-columns // t.n_per_block)

    @property
    def blocks(self) -> tuple[int, int]:
        return self.tiles

    @property
    def units(self) -> int:
        """Units of all groups."""
        rows, columns = self.tiles
        return self.context.g * rows * columns

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
