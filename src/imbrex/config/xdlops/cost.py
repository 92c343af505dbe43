"""Estimated cycles of an XDLOPS tuning: what a compute unit must do in a step of K, the slowest part
deciding.

A step multiplies, reads and writes LDS, and loads from L2, all at once.  A workgroup alone does some of it
in turn: it waits at the barrier, for its reads, for what the products do not cover of its loads.  Others on
the same compute unit fill those waits: a step takes at least a workgroup's own time over their number.
A model for ranking: its numbers are in proportion, not in cycles of a clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from imbrex.chip import BANK_BYTES, GpuMachine
from imbrex.config.xdlops.plan import XdlopsPlan
from imbrex.config.xdlops.stage import TileCopy

__all__ = ["StepParts", "step_cycles", "step_parts", "wave_cycles"]


@dataclass(frozen=True)
class Rates:
    """Rates of one compute unit; sources: mostly the CDNA3 ISA reference and AMD's tuning guides.

    l2_bytes: bytes from L2 a cycle, and of a line.  issue: cycles of one instruction of a wave.  meeting: a
    barrier.  lds_latency, memory_latency: to a result, besides its transfer.  store_gap: what one LDS buffer
    adds, besides the writes themselves.  start: a workgroup's, before the first and after the last step.
    clash: what is lost of the parts that go on beside the slowest one, and of meetings.  odd_step: the work
    of indices where a step crosses stretches of memory, in proportion to the step.
    """

    l2_bytes: int = 64
    issue: int = 4
    meeting: int = 100
    lds_latency: int = 128
    memory_latency: int = 750
    store_gap: int = 150
    start: int = 1500
    clash: float = 0.05
    odd_step: float = 0.25


RATES = Rates()
JOINING = {1: 1.25, 2: 0.5}
"""Vector instructions for an element of so many bytes that fills no register, as the compiler joins them."""


def wave_cycles(plan: XdlopsPlan) -> float:
    """Cycles of the whole product; infinite where no instruction fits."""
    step, start = step_cycles(plan)
    rounds = max(1.0, plan.grid_size / plan.machine.compute_units)
    return rounds * (plan.k_iterations * step + start)


@dataclass(frozen=True)
class StepParts:
    """Cycles of a compute unit for a step: what goes on side by side, and what a workgroup does in turn.

    resident: workgroups that share the unit.  crosses: does a step go over the end of stretches of memory?
    """

    matrix: float
    lds: float
    loads: float
    vector: float
    meeting: float
    alone: float
    resident: int
    crosses: bool

    @property
    def cycles(self) -> float:
        """Cycles of the step: the slowest part, and a little of the others."""
        parts = (self.matrix, self.lds, self.loads, self.vector)
        step = max(*parts, self.alone / self.resident)
        step += RATES.clash * (sum(parts) - max(parts) + self.meeting)
        return step * (1 + RATES.odd_step) if self.crosses else step


def step_cycles(plan: XdlopsPlan) -> tuple[float, float]:
    """Cycles of a step of K of a compute unit, and before the first and after the last one of a tile."""
    parts = step_parts(plan)
    return (inf, inf) if parts is None else (parts.cycles, RATES.start / parts.resident)


def step_parts(plan: XdlopsPlan) -> StepParts | None:
    """What a step is made of; None where no instruction fits."""
    tiles, machine, t = plan.wave_tiles, plan.machine, plan.tuning
    if tiles is None:
        return None
    used, k = tiles.instruction, t.tile[2]
    waves = tiles.m_waves * tiles.n_waves
    a_simd = -(-waves // machine.simds)
    size, lds_bytes = plan.context.dtype.bytes, BANK_BYTES * machine.lds_banks
    matrix = a_simd * tiles.m_tiles * tiles.n_tiles * (k // used.k) * used.cycles[machine.chip]
    writes = sum(waves * _writes(copy, machine) for copy in (plan.a_copy, plan.b_copy))
    reads = (t.m_per_wave + t.n_per_wave) * waves * k * size / lds_bytes
    copies = (plan.a_copy, plan.b_copy)
    loads = sum(_load_cycles(copy, waves * machine.wave_size) for copy in copies)
    fragments = (tiles.m_tiles + tiles.n_tiles) * (k // tiles.k_step) * -(-t.kpack * size // 16)
    moved = sum(_vector_instructions(copy, t.copy == "staged") for copy in copies)
    vector = a_simd * RATES.issue * (fragments + moved)
    meeting = RATES.meeting + (RATES.store_gap if t.buffers == 1 else 0)
    alone = meeting + max(_covered(matrix, reads, k // tiles.k_step), RATES.memory_latency + loads)
    alone += writes if t.copy == "staged" else 0
    resident, crosses = _resident(plan, a_simd), _crosses(plan)
    return StepParts(matrix, reads + writes, loads, vector, meeting, alone, resident, crosses)


def _covered(matrix: float, reads: float, phases: int) -> float:
    """A workgroup's own products with its reads of LDS, which come in phases: those after the first wait
    while other workgroups are as likely to wait as to multiply, and so count twice.
    """
    again = (phases - 1) * (RATES.lds_latency + reads / phases)
    return matrix + reads + RATES.lds_latency * phases + again


def _load_cycles(copy: TileCopy, lanes: int) -> float:
    """A load of a wave takes at least as long as 4 bytes a lane; and lines come whole, of which a tile's row
    or column may be less.
    """
    width = copy.data_per_read * copy.element_bytes
    together = (copy.k, copy.d)[copy.vector_dim] * copy.element_bytes
    waste = max(1.0, RATES.l2_bytes / together) if copy.data_per_read > 1 else 1.0
    return waste * lanes * copy.per_thread / copy.data_per_read * max(4, width) / RATES.l2_bytes


def _writes(copy: TileCopy, machine: GpuMachine) -> float:
    """Cycles in which a wave writes its share to LDS; 4 bytes a lane and less take equally long."""
    width = max(4, copy.data_per_write * copy.element_bytes)
    lanes, lds_bytes = machine.wave_size, BANK_BYTES * machine.lds_banks
    return copy.per_thread / copy.data_per_write * width * lanes / lds_bytes


def _vector_instructions(copy: TileCopy, is_staged: bool) -> float:
    """Index arithmetic, two for each load; of what passes the registers the writes to LDS, what a
    transposition moves, and what joins elements that came one by one.
    """
    index = 2 * copy.per_thread / copy.data_per_read
    if not is_staged:
        return index
    narrow = copy.data_per_read * copy.element_bytes < 4
    turned = copy.per_thread * copy.element_bytes / 4 if copy.is_turned and copy.element_bytes < 4 else 0
    joined = copy.per_thread * JOINING[copy.element_bytes] if narrow else 0
    return index + copy.per_thread / copy.data_per_write + turned + joined


def _resident(plan: XdlopsPlan, waves_a_simd: int) -> int:
    """Workgroups on one compute unit, as far as LDS and registers go."""
    machine = plan.machine
    by_lds = machine.lds_bytes // max(1, plan.lds_bytes)
    by_registers = 2 * machine.vector_registers // ((plan.accumulators + plan.registers) * waves_a_simd)
    return max(1, min(by_lds, by_registers))


def _crosses(plan: XdlopsPlan) -> bool:
    """Does a step of K go over the end of stretches of memory, so that lanes' elements exist or not apart?

    Channels of a convolution are such stretches: a step that divides them stays at one tap of the filter.
    """
    k = plan.tuning.tile[2]
    stretches = [access.run[0] for access in (plan.oriented.a, plan.oriented.b) if access.step[0] == 1]
    return any(1 < run < plan.context.k and run % k for run in stretches)
