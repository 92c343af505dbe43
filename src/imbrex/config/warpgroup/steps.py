"""A step of K of a warpgroup tuning on NVIDIA Hopper, and a tile of such steps: what the slowest of their
streams needs.

A step multiplies, reads shared memory, asks its copy engine for rows and gets them from L2 at the same time,
and its loads come after a latency that the stages of the ring hide, as far as there are stages: the slowest
of these streams sets the time, and those that are nearly as slow add to it.  A tile ends with the way of its
sums to memory, which cooperative consumers wait for and pingpong ones do under each other's products.

`Streams` is of a plan, whatever the schedule; `Steps` adds how many workgroups run at a time, which share L2
and the chip's power.  The rates are the machine's (`imbrex.chip.warpgroup_rates`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log2
from typing import Final

from imbrex.cached import cached_property
from imbrex.chip import COPY_BYTES, VECTOR_BYTES, GpuMachine, ProductRates
from imbrex.config.context import SAMPLE, Access, GemmContext, round_up
from imbrex.config.warpgroup.consumers import SUM_BYTES
from imbrex.config.warpgroup.instruction import instruction_of
from imbrex.config.warpgroup.plan import WarpgroupPlan
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.traffic import Rows, neighbours, rows_of
from imbrex.dtype import DType
from imbrex.view.mma import Instruction
from imbrex.view.mma.hopper import ROWS, WARPGROUP
from imbrex.view.stage.piece import ROW_BYTES, piece_columns

__all__ = ["Multiplied", "Steps", "Streams", "crosses", "norm"]

MATRIX_BYTES: Final = 2


@dataclass(frozen=True)
class Multiplied:
    """So many issues of an instruction of the matrix unit, which reads A and B from shared memory."""

    instruction: Instruction
    issues: int
    dtype: DType

    def cycles(self, machine: GpuMachine) -> int:
        """Cycles of the matrix unit."""
        return self.issues * self.instruction.cycles[machine.chip]

    @property
    def read_bytes(self) -> int:
        """Bytes of shared memory that it reads."""
        return self.issues * (ROWS + self.instruction.n) * self.instruction.k * self.dtype.bytes


@dataclass(frozen=True)
class Streams:
    """The streams of a plan, of one workgroup."""

    plan: WarpgroupPlan

    @cached_property
    def rates(self) -> ProductRates:
        return rates_of(self.plan.machine).product

    def at(self, active: float, neighbours: float | None = None, parts: int = 1) -> Steps:
        """Where so many workgroups run at a time, on average over the rounds.  neighbours: clusters that
        are at the same step of K, all of them unless told; parts: of K, which neighbours take in turn.
        """
        clusters = active / self.plan.tuning.cluster if neighbours is None else neighbours
        if (found := self._known.get((active, clusters, parts))) is None:
            found = self._known[active, clusters, parts] = Steps(self, active, clusters, parts)
        return found

    @cached_property
    def _known(self) -> dict[tuple[float, float, int], Steps]:
        return {}

    @property
    def rows(self) -> tuple[Rows, Rows]:
        """Rows of A's tile and of B's."""
        (a, _), (b, _) = self._rows
        return a, b

    @cached_property
    def _rows(self) -> tuple[tuple[Rows, int], ...]:
        """Rows of A's and of B's tile, each with the workgroups that load it together."""
        t, plan, c = self.plan.tuning, self.plan, self.plan.oriented
        return (
            (rows_of(c.a, plan.a_tile, c.m, c), t.cluster_n),
            (rows_of(c.b, plan.b_tile, c.n, c), t.cluster_m),
        )

    @property
    def is_walked(self) -> bool:
        """Are rows of an operand those of a window that walks over images?"""
        return any(rows.is_walked for rows, _ in self._rows)

    @cached_property
    def copies(self) -> float:
        """Cycles of a step of a multiprocessor's copy engine."""
        rows_cycles = (
            _row_work(rows, self.rates) * _size(rows, self.rates) / sharing for rows, sharing in self._rows
        )
        return self.rates.row * sum(rows_cycles)

    def given(self, clusters: float, near: float) -> float:
        """Rows of a step that reach L2, as work, where so many clusters are at the same step.  near: so many
        neighbours' loads become one at most.
        """
        return sum(
            _given(rows, sharing, min(alike, near), self.rates)
            for (rows, sharing), alike in zip(self._rows, neighbours(self.plan, clusters), strict=True)
        )

    @cached_property
    def instruction(self) -> Instruction:
        """The instruction of the matrix unit."""
        plan = self.plan
        return instruction_of(plan.context.dtype, plan.tuning.n_per_block, plan.machine)

    @cached_property
    def multiplied(self) -> Multiplied:
        """Matrix instructions of a step."""
        t = self.plan.tuning
        issues = t.m_per_block // ROWS * -(-t.k_per_block // self.instruction.k)
        return Multiplied(self.instruction, issues, self.plan.context.dtype)

    @cached_property
    def chain(self) -> float:
        """Cycles of a consumer's matrix instructions, where each waits for the last one of the same rows."""
        return -(-self.plan.tuning.k_per_block // self.instruction.k) * self.rates.product

    @cached_property
    def shared(self) -> float:
        """Cycles in which shared memory is read by the matrix unit."""
        return self.multiplied.read_bytes / self.rates.shared_bytes

    @property
    def together(self) -> float:
        """Cycles until all workgroups of a cluster have done with a stage that they share."""
        return self.rates.shared_stage * log2(self.plan.tuning.cluster)

    @property
    def first(self) -> float:
        """Bytes of the loads that nothing goes on beside: those of the first stages."""
        loads = min(self.plan.tuning.stages, self.plan.k_iterations)
        return loads * (self.plan.a_tile.bytes + self.plan.b_tile.bytes)

    @property
    def hidden(self) -> float:
        """Cycles of a load's latency, of those that stages share."""
        return self.rates.answer / (self.plan.tuning.stages - 1)

    @cached_property
    def ordinary(self) -> float:
        """Cycles of the producer where it loads by ordinary accesses; they are not shared in a cluster."""
        t, size = self.plan.tuning, self.plan.context.dtype.bytes
        given = self.plan.oriented
        total = 0.0
        tiles = self.plan.a_tile, self.plan.b_tile
        parts = zip((given.a, given.b), tiles, self.plan.turned, self.plan.copied, strict=True)
        for access, tile, turned, copied in parts:
            if copied:
                continue
            width, extent = max(access.vector) * size, tile.d
            is_windowed = _is_windowed(access, given.k)
            index = self.rates.window if is_windowed else 1.0
            if (width >= COPY_BYTES or not is_windowed) and not turned:
                spent = self.rates.copying * index / width
                total += 0.0 if width >= COPY_BYTES else self.rates.pieces
            else:
                spent = self.rates.ordinary * index / width + self.rates.issue / (size if turned else width)
            total += extent * t.k_per_block * size * spent / WARPGROUP
        return total

    @cached_property
    def epilogue(self) -> float:
        """Cycles from a tile's last product to the next one's first, where nothing else goes on."""
        return self.rates.turn + self.stores(self.plan.tuning.n_per_block * self.plan.context.phases)

    def stores(self, columns: int) -> float:
        """Cycles of so many columns of a tile's sums to memory."""
        c, size = self.plan.oriented.c, self.plan.context.dtype.output.bytes
        along, width = c.vector[1] >= c.vector[0], max(c.vector) * size
        slower = 1.0 if width >= VECTOR_BYTES else self.rates.narrow_store[width]
        if not along:
            slower *= self.rates.turned_halves if size == MATRIX_BYTES else self.rates.turned_store
        written = self.plan.tuning.m_per_block * _stored(columns, size, along) * size
        return slower * written / self.rates.stored_bytes

    @property
    def sums_bytes(self) -> int:
        """Bytes of a tile's sums."""
        t = self.plan.tuning
        return t.m_per_block * t.n_per_block * SUM_BYTES

    @property
    def fix_up(self) -> float:
        """Cycles for a tile's sums to L2 or back, where few do that at a time."""
        return self.sums_bytes / self.rates.stored_bytes


@dataclass(frozen=True)
class Steps:
    """Streams where `active` workgroups run at a time.  neighbours: clusters at the same step of K."""

    of: Streams
    active: float
    neighbours: float
    parts: int = 1

    @property
    def given(self) -> float:
        """Cycles of L2 for a step of all workgroups."""
        rates = self.of.rates
        return self.of.given(self.neighbours, rates.near / self.parts) * self.active / rates.l2_rows

    @property
    def matrix(self) -> float:
        """Cycles of the matrix unit: all instructions of a step, or a consumer's, one after the other."""
        machine = self.of.plan.machine
        slowed = self.of.rates.matrix + self.of.rates.power * self.active / machine.compute_units
        return max(self.of.multiplied.cycles(machine) * slowed, self.of.chain)

    @property
    def streams(self) -> Mapping[str, float]:
        """Cycles of a step of K that each part of the chip takes, beside the others."""
        return {
            "matrix unit": self.matrix,
            "shared memory": self.of.shared,
            "copy engine": self.of.copies,
            "L2": self.given,
            "latency": self.of.hidden,
            "ordinary loads": self.of.ordinary,
        }

    @cached_property
    def step(self) -> float:
        """Cycles of a step of K."""
        return norm(self.streams.values(), self.of.rates.streams) + self.of.together

    @property
    def tile(self) -> float:
        """Cycles of a tile."""
        return self.of.plan.k_iterations * self.step + self.of.epilogue

    @property
    def next_tile(self) -> float:
        """The same of one that follows another: pingpong consumers store under each other's products."""
        if not self.of.plan.tuning.pingpong:
            return self.tile
        return max(self.of.plan.k_iterations * self.step, self.tile / 2 + self.of.rates.handing)


def norm(times: Iterable[float], exponent: float) -> float:
    """The longest of times that overlap, and more the nearer others are to it."""
    given = tuple(times)
    most = max(given)
    return most * sum([(time / most) ** exponent for time in given]) ** (1.0 / exponent)


def crosses(context: GemmContext, k: int) -> bool:
    """Does a step of K go over the end of a stretch of an operand, as the channels at one tap are?"""
    return any(_crosses(access, context.k, k) for access in (context.a, context.b))


def _row_work(rows: Rows, rates: ProductRates) -> float:
    """What a row is to the copy engine, where one that begins on a line is 1."""
    more = rows.crossing * (rates.crossing_row - 1.0) + rows.inside * (rates.inside_row - 1.0)
    return (1.0 + more) * (rates.walked_row if rows.is_walked else 1.0)


def _given(rows: Rows, sharing: int, alike: float, rates: ProductRates) -> float:
    """Rows that reach L2, as work.  Those on sectors that so many neighbours load at about the same time are
    a part of as many loads, unless they are multicast in a cluster.
    """
    split = 1.0 + (rates.split_row - 1.0) * (rows.crossing + rows.inside)
    own = rates.each_row + (1.0 - rates.each_row) / max(1.0, alike)
    part = 1.0 / sharing if rows.inside else rates.cast / sharing if sharing > 1 else own
    size = rows.count * rates.apart_row if rows.is_apart else _size(rows, rates)
    return size * split * part


def _stored(columns: int, size: int, along: bool) -> int:
    """So many columns in whole pieces, of which the last one begins where it ends with the tile."""
    if columns < ROW_BYTES // size and not along:
        return columns
    return round_up(columns, piece_columns(columns, size))


def _size(rows: Rows, rates: ProductRates) -> float:
    """Rows, short ones in proportion."""
    return rows.count * (rates.short_row if rows.is_short else 1.0)


def _is_windowed(access: Access, total: int) -> bool:
    """Do neighbours lie together in short stretches only, each with an index and guards of its own?"""
    runs = [run for run, step in zip(access.run, access.step, strict=True) if step == 1]
    return max(runs, default=1.0) < min(total, SAMPLE)


def _crosses(access: Access, total: int, k: int) -> bool:
    return access.step[0] == 1 and 1 < access.run[0] < min(total, SAMPLE) and access.run[0] % k != 0
