"""Operands of a CPU core's products: windows of memory, and how panels of A come of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from imbrex.dtype import DType
from imbrex.index.expr import Index
from imbrex.lower.buffer import Buffer, Ref
from imbrex.view.mma.vector import CpuUnit


@dataclass(frozen=True)
class Window:
    """A two-dimensional piece of a global buffer, its rows and lanes placed by `Places`.

    Element (row, lane) lies at rows.offset + lanes.offset and exists where, for each guard, 0 <=
    rows.guard + lanes.guard < size.  lanes: the direction in which vectors run; `panel` of them belong
    together, a whole vector where panel is None.
    """

    name: str
    buffer: Buffer
    computed: DType
    rows: int
    lanes: int
    sizes: tuple[Index, ...]
    panel: int | None = None


@dataclass(frozen=True)
class InPlace:
    """A matrix without guards, read where it lies: element (m, k) at base + m * pitch + k.

    is_transposed: at base + k * pitch + m.  is_copied: a few panels of that at a time.
    """

    base: Ref
    pitch: int
    is_transposed: bool = False
    is_copied: bool = False


@dataclass(frozen=True)
class RunsInPlace:
    """A window of which every `run` neighbouring k lie together and exist together: read there, run by
    run.  chunk: k of a turn of the innermost loop where a run is no whole vectors; it hands out no rows.
    """

    window: Window
    run: int
    chunk: int | None = None


@dataclass(frozen=True)
class CopiedRuns:
    """A window of which every `run` neighbouring k lie together: rows of tiles, copied run by run."""

    window: Window
    run: int


@dataclass(frozen=True)
class TilesInPlace:
    """A window of which every `run` neighbouring k lie together and exist together: a tile is read where it
    lies if it is of one run, and its rows are evenly apart and exist, else copied.
    """

    window: Window
    run: int


@dataclass(frozen=True)
class ShortRuns:
    """A window whose k are `count` runs of `run` neighbours, read there where the rows of a panel are evenly
    apart and exist whole, else copied.  A run takes whole words of the unit, what is behind it in the last
    one being zeros of B.
    """

    window: Window
    run: int
    count: int

    def words(self, unit: CpuUnit) -> int:
        """Words of a run."""
        return -(-self.run // unit.packed)

    def padded_k(self, unit: CpuUnit) -> int:
        """K of whole words for each run."""
        return self.count * self.words(unit) * unit.packed


OperandA: TypeAlias = Window | InPlace | RunsInPlace | ShortRuns | CopiedRuns | TilesInPlace
"""What a product asks for panels of A; a window alone is packed."""
