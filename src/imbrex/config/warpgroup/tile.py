"""A tile of a warpgroup tuning on NVIDIA Hopper in numbers, whatever its cluster and its schedule: what a
step of K asks of each stream of a multiprocessor, and what the way of its sums to memory takes.

The rates are the machine's (`imbrex.chip.warpgroup_rates`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from imbrex.cached import cached_property
from imbrex.chip import COPY_BYTES, VECTOR_BYTES, GpuMachine, ProductRates
from imbrex.config.context import SAMPLE, Access, GemmContext, round_up
from imbrex.config.warpgroup.consumers import IN_FLIGHT, SUM_BYTES
from imbrex.config.warpgroup.instruction import instruction_of
from imbrex.config.warpgroup.plan import WarpgroupPlan
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.rows import Rows, rows_of
from imbrex.dtype import DType
from imbrex.view.mma import Instruction
from imbrex.view.mma.hopper import ROWS, WARPGROUP
from imbrex.view.stage.piece import ROW_BYTES, are_shifted, piece_columns
from imbrex.view.stage.shared_tile import SharedTile

__all__ = ["HELD_READS", "Multiplied", "Tile", "TileOperand", "crosses"]

MATRIX_BYTES: Final = 2
MANY_LOADS: Final = 32
"""Loads of a lane for a step whose indices have no room in its registers, where they differ."""
MOST_UNROLLED: Final = 128
"""Loads of a lane for a tile up to which each is code of its own, as `device/cuda/lanes.h` has it."""
HELD_READS: Final = 2
"""Times that shared memory is read for A in registers: a warp's lanes meet half of the banks."""


@dataclass(frozen=True)
class Multiplied:
    """So many issues of an instruction of the matrix unit, which reads A and B from shared memory, or A from
    registers, where it is held.
    """

    instruction: Instruction
    issues: int
    dtype: DType
    is_a_held: bool = False

    def cycles(self, machine: GpuMachine) -> int:
        """Cycles of the matrix unit."""
        return self.issues * self.instruction.cycles[machine.chip]

    @property
    def read_bytes(self) -> int:
        """Bytes of shared memory that it reads."""
        rows = ROWS * (HELD_READS if self.is_a_held else 1)
        return self.issues * (rows + self.instruction.n) * self.instruction.k * self.dtype.bytes


@dataclass(frozen=True)
class TileOperand:
    """An operand's part of a tile.  extent: rows or columns of the operand in all."""

    access: Access
    stage: SharedTile
    extent: int
    context: GemmContext
    rates: ProductRates

    @property
    def bytes(self) -> int:
        """Bytes of a stage in shared memory."""
        return self.stage.bytes

    @property
    def array(self) -> float:
        """Bytes of the whole operand in memory."""
        matrix = self.context.g * self.extent * self.context.k
        return float(min(matrix, self.access.elements or matrix) * self.context.dtype.bytes)

    @cached_property
    def rows(self) -> Rows:
        """Rows of the stage in memory."""
        return rows_of(self.access, self.stage, self.extent, self.context)

    @property
    def copied(self) -> float:
        """The rows as work of the copy engine."""
        return _row_work(self.rows, self.rates) * _size(self.rows, self.rates)

    @property
    def requests(self) -> float:
        """The rows as work of L2, in proportion to one that begins on a line and is as long, where nobody
        else loads them.
        """
        rows, rates = self.rows, self.rates
        split = 1.0 + (rates.split_row - 1.0) * (rows.crossing + rows.inside)
        return (rows.count * rates.apart_row if rows.is_apart else _size(rows, rates)) * split

    @property
    def is_inside(self) -> bool:
        """Do rows begin inside a sector, so that no two are one request of L2?"""
        return self.rows.inside > 0


@dataclass(frozen=True)
class Tile:
    """The tile of a plan.  Cycles and bytes are of a step of K and of one workgroup, unless told."""

    plan: WarpgroupPlan

    @cached_property
    def rates(self) -> ProductRates:
        return rates_of(self.plan.machine).product

    @property
    def rows(self) -> int:
        return self.plan.tuning.m_per_block

    @property
    def columns(self) -> int:
        return self.plan.tuning.n_per_block

    @property
    def stages(self) -> int:
        return self.plan.tuning.stages

    @property
    def is_pingpong(self) -> bool:
        return self.plan.tuning.pingpong

    @property
    def is_swapped(self) -> bool:
        return self.plan.tuning.swapped

    @property
    def tall(self) -> int:
        """Tiles along the rows of the matrix."""
        return -(-self.plan.oriented.m // self.rows)

    @property
    def broad(self) -> int:
        """Tiles along its columns."""
        return -(-self.plan.oriented.n // self.columns)

    @property
    def k_iterations(self) -> int:
        """Steps of K, in the mean."""
        return self.plan.k_iterations

    @cached_property
    def a(self) -> TileOperand:
        c = self.plan.oriented
        return TileOperand(c.a, self.plan.a_tile, c.m, c, self.rates)

    @cached_property
    def b(self) -> TileOperand:
        c = self.plan.oriented
        return TileOperand(c.b, self.plan.b_tile, c.n, c, self.rates)

    @property
    def is_walked(self) -> bool:
        """Are rows of an operand those of a window that walks over images?"""
        return self.a.rows.is_walked or self.b.rows.is_walked

    @cached_property
    def instruction(self) -> Instruction:
        """The instruction of the matrix unit."""
        return instruction_of(self.plan.context.dtype, self.columns, self.plan.machine)

    @cached_property
    def multiplied(self) -> Multiplied:
        """Matrix instructions."""
        t = self.plan.tuning
        issues = t.m_per_block // ROWS * -(-t.k_per_block // self.instruction.k)
        return Multiplied(self.instruction, issues, self.plan.context.dtype, self.plan.is_a_held)

    @property
    def matrix(self) -> int:
        """Cycles of the matrix unit."""
        return self.multiplied.cycles(self.plan.machine)

    @property
    def chain(self) -> float:
        """Cycles of a consumer's matrix instructions, where each waits for the last one of the same rows."""
        taking = self.rates.taking if self.plan.is_a_held else 0.0
        return -(-self.plan.tuning.k_per_block // self.instruction.k) * self.rates.product + taking

    @property
    def shared(self) -> float:
        """Cycles in which shared memory is read by the matrix unit."""
        return self.multiplied.read_bytes / self.rates.shared_bytes

    @property
    def first(self) -> float:
        """Bytes of the loads that nothing goes on beside: those of the first stages."""
        return min(self.stages, self.k_iterations) * (self.a.bytes + self.b.bytes)

    @property
    def hidden(self) -> float:
        """Cycles of a load's latency, of those that stages share."""
        return self.rates.answer / (self.stages - 1)

    @cached_property
    def ordinary(self) -> float:
        """Cycles of the producer where it loads by ordinary accesses; they are not shared in a cluster."""
        t, size = self.plan.tuning, self.plan.context.dtype.bytes
        given = self.plan.oriented
        total = 0.0
        tiles = self.plan.a_tile, self.plan.b_tile
        operands, walked = (given.a, given.b), (self.a.rows.is_walked, self.b.rows.is_walked)
        parts = zip(operands, walked, tiles, self.plan.turned, self.plan.copied, strict=True)
        for access, is_walked, tile, turned, copied in parts:
            if copied:
                continue
            width, extent = max(access.vector) * size, tile.d
            is_windowed = _is_windowed(access, given.k)
            index = self.rates.window if is_windowed or is_walked else 1.0
            keeps_k = width == size and is_walked == (access.step[0] == 1) and _keeps_k(tile)
            if is_walked and not turned and width == size and _knows_taps(tile):
                spent = self.rates.known * (1 if self.k_iterations == 1 else 2) / size
            elif keeps_k and not turned:
                spent = self.rates.kept / size
                loads = extent * t.k_per_block // WARPGROUP
                total += self.rates.pieces * -(-loads // IN_FLIGHT[t.consumers])
            elif turned and size >= COPY_BYTES:
                spent = self.rates.turning * index / size
                total += self.rates.turning_step
            elif (width >= COPY_BYTES or not (is_windowed or is_walked)) and not turned:
                is_whole = width >= COPY_BYTES
                whole = self.rates.copying if index == 1 else self.rates.copying_window
                spent = (whole if is_whole else self.rates.copying_pieces) / width
                spent *= self.rates.scattered if width == size and _scatters(tile) else 1.0
                total += 0.0 if is_whole else self.rates.pieces
            else:
                put = self.rates.turning_bytes / size if turned else self.rates.issue / width
                spent = self.rates.ordinary * index / width + put
            total += extent * t.k_per_block * size * spent / WARPGROUP
        return total

    @cached_property
    def epilogue(self) -> float:
        """Cycles from a tile's last product to the next one's first, where nothing else goes on."""
        return self.rates.turn + self.stores(self.columns * self.plan.context.phases)

    def stores(self, columns: int) -> float:
        """Cycles of so many columns of a tile's sums to memory."""
        given, size = self.plan.oriented, self.plan.context.dtype.output.bytes
        c = given.c
        along, width = c.vector[1] >= c.vector[0], max(c.vector) * size
        row_bytes = (piece_columns(columns, size) if along else ROWS) * size
        slower = 1.0 if width >= VECTOR_BYTES else self.rates.narrow_store[width]
        if are_shifted(width, row_bytes) and not _is_windowed(c, (given.m, given.n)[along]):
            slower = self.rates.shifted_store
        if not along:
            slower *= self.rates.turned_halves if size == MATRIX_BYTES else self.rates.turned_store
        written = self.rows * _stored(columns, size, along) * size
        return slower * written / self.rates.stored_bytes

    @property
    def sums_bytes(self) -> int:
        """Bytes of a tile's sums."""
        return self.rows * self.columns * SUM_BYTES

    @property
    def fix_up(self) -> float:
        """Cycles for a tile's sums to L2 or back, where few do that at a time."""
        return self.sums_bytes / self.rates.stored_bytes


def crosses(context: GemmContext, k: int) -> bool:
    """Does a step of K go over the end of a stretch of an operand, as the channels at one tap are?"""
    return any(_crosses(access, context.k, k) for access in (context.a, context.b))


def _row_work(rows: Rows, rates: ProductRates) -> float:
    """What a row is to the copy engine, where one that begins on a line is 1."""
    more = rows.crossing * (rates.crossing_row - 1.0) + rows.inside * (rates.inside_row - 1.0)
    return (1.0 + more) * (rates.walked_row if rows.is_walked else 1.0)


def _size(rows: Rows, rates: ProductRates) -> float:
    """Rows, short ones in proportion."""
    return rows.count * (rates.short_row if rows.is_short else 1.0)


def _stored(columns: int, size: int, along: bool) -> int:
    """So many columns in whole pieces, of which the last one begins where it ends with the tile."""
    if columns < ROW_BYTES // size and not along:
        return columns
    return round_up(columns, piece_columns(columns, size))


def _knows_taps(tile: SharedTile) -> bool:
    """Is each load's k a number: do lanes lie along d, in whole rows, and are the loads of a lane few?"""
    return tile.major == "d" and tile.d % WARPGROUP == 0 and _is_unrolled(tile)


def _keeps_k(tile: SharedTile) -> bool:
    """Have all loads of a lane one k, and are they few?"""
    return tile.major == "k" and WARPGROUP % tile.k == 0 and _is_unrolled(tile)


def _scatters(tile: SharedTile) -> bool:
    """Have loads of a lane, along rows that are not the longest, many ks and places?"""
    return tile.major == "d" and tile.row_bytes < ROW_BYTES and tile.k * tile.d >= MANY_LOADS * WARPGROUP


def _is_unrolled(tile: SharedTile) -> bool:
    return tile.k * tile.d <= MOST_UNROLLED * WARPGROUP


def _is_windowed(access: Access, total: int) -> bool:
    """Do neighbours lie together in short stretches only, each with an index and guards of its own?"""
    runs = [run for run, step in zip(access.run, access.step, strict=True) if step == 1]
    return max(runs, default=1.0) < min(total, SAMPLE)


def _crosses(access: Access, total: int, k: int) -> bool:
    return access.step[0] == 1 and 1 < access.run[0] < min(total, SAMPLE) and access.run[0] % k != 0
