"""Which tunings are legal, as named rules; a broken rule is a value that says so with its numbers.

Law: `check` returns () exactly when the tuning may be lowered.  Rules come in two ranks: those of the
second rank divide by quantities that the first rank has found whole, so they are asked only when the first
rank holds.
"""

from __future__ import annotations

from imbrex.schedule.context import GemmContext
from imbrex.schedule.cpu.plan import CpuPlan, CpuTuning
from imbrex.schedule.general.copy import BlockCopy
from imbrex.schedule.general.plan import GeneralPlan, GeneralTuning
from imbrex.schedule.halo.legal import HALO_RULES
from imbrex.schedule.halo.line_legal import LINE_RULES
from imbrex.schedule.halo.lines import LinesTuning
from imbrex.schedule.halo.plan import HaloTuning
from imbrex.schedule.halo_weight.legal import HALO_WEIGHT_RULES
from imbrex.schedule.halo_weight.plan import HaloWeightTuning
from imbrex.schedule.rules import Illegal, Reasons, Rules, listed
from imbrex.schedule.target import CpuTarget, GpuTarget, Target
from imbrex.schedule.tuning import Tuning, with_article
from imbrex.schedule.warpgroup.legal import WARPGROUP_RULES
from imbrex.schedule.warpgroup.plan import WarpgroupTuning
from imbrex.schedule.xdlops.legal import XDLOPS_RULES
from imbrex.schedule.xdlops.plan import XdlopsTuning

__all__ = ["CPU_RULES", "GENERAL_RULES", "WARPGROUP_RULES", "XDLOPS_RULES", "Illegal", "check"]

GENERAL_BLOCK_SIZES = (64, 128, 256)
THREAD_TILES = (2, 4)
LARGEST_GRID = 2**31 - 1


def check(tuning: Tuning, context: GemmContext, machine: Target) -> tuple[Illegal, ...]:
    """Why this tuning cannot serve this GEMM on this machine; () when it can."""
    match tuning, machine:
        case GeneralTuning(), GpuTarget():
            return GENERAL_RULES.broken(tuning.plan(context, machine), machine)
        case XdlopsTuning(), GpuTarget():
            return XDLOPS_RULES.broken(tuning.plan(context, machine), machine)
        case WarpgroupTuning(), GpuTarget():
            return WARPGROUP_RULES.broken(tuning.plan(context, machine), machine)
        case HaloTuning(), GpuTarget():
            return HALO_RULES.broken(tuning.plan(context, machine), machine)
        case HaloWeightTuning(), GpuTarget():
            return HALO_WEIGHT_RULES.broken(tuning.plan(context, machine), machine)
        case LinesTuning(), GpuTarget():
            return LINE_RULES.broken(tuning.plan(context, machine), machine)
        case CpuTuning(), CpuTarget():
            return CPU_RULES.broken(tuning.plan(context), machine)
        case _:
            return (Illegal("kind", f"{with_article(tuning.kind)} tuning does not run on {machine.name}"),)


def block_size(plan: GeneralPlan, machine: GpuTarget) -> Reasons:
    """64, 128 or 256 work items."""
    if (size := plan.tuning.block_size) not in GENERAL_BLOCK_SIZES:
        yield f"block_size {size} is not one of {listed(GENERAL_BLOCK_SIZES)}"


def thread_tile(plan: GeneralPlan, machine: GpuTarget) -> Reasons:
    """A thread tile is 2 or 4 in each direction."""
    t = plan.tuning
    for name, value in (("m_per_thread", t.m_per_thread), ("n_per_thread", t.n_per_thread)):
        if value not in THREAD_TILES:
            yield f"{name} {value} is not one of {listed(THREAD_TILES)}"


def thread_clusters(plan: GeneralPlan, machine: GpuTarget) -> Reasons:
    """Thread tiles, times clusters, times repeats, are the block tile; both directions are looked at."""
    t = plan.tuning
    if 0 in t.level1_clusters:
        return  # block_size says why
    for i, (dim, per_block, per_thread) in enumerate(
        (("m", t.m_per_block, t.m_per_thread), ("n", t.n_per_block, t.n_per_thread))
    ):
        span = per_thread * t.level0_clusters[i] * t.level1_clusters[i]
        if t.repeats[i] == 0 or t.remainders[i]:
            each = f"{per_thread} for each of {t.level0_clusters[i]} x {t.level1_clusters[i]} work items"
            yield f"{dim}_per_block {per_block} is not a multiple of {span} ({each})"


def copy_of_blocks(plan: GeneralPlan, machine: GpuTarget) -> Reasons:
    """The work items tile the blocks of A and B exactly, at least one element each."""
    for matrix, copy in (("a", plan.a_copy), ("b", plan.b_copy)):
        if not copy.is_exact:
            yield f"{matrix}'s block {_block(copy)} does not divide among {copy.threads} work items"


def lds_bytes(plan: GeneralPlan, machine: GpuTarget) -> Reasons:
    """Both buffers of A and B fit."""
    if plan.lds_bytes > machine.lds_bytes:
        yield f"lds_bytes {plan.lds_bytes} > {machine.lds_bytes} on {machine.name}"


def registers(plan: GeneralPlan, machine: GpuTarget) -> Reasons:
    """One lane's registers fit, without spilling."""
    if plan.registers > machine.vector_registers:
        yield f"registers {plan.registers} > {machine.vector_registers} on {machine.name}"


def grid(plan: GeneralPlan, machine: GpuTarget) -> Reasons:
    """The grid can be launched."""
    if plan.grid_size > LARGEST_GRID:
        yield f"grid_size {plan.grid_size} > {LARGEST_GRID}"


def vector_lanes(plan: CpuPlan, machine: CpuTarget) -> Reasons:
    """Lanes fill one vector register of accumulators, or a power of two of one."""
    lanes, most = plan.tuning.vector_lanes, machine.lanes(plan.context.dtype.accumulator.bytes)
    if lanes & (lanes - 1) or lanes > most:
        yield f"vector_lanes {lanes} is not a power of two up to {most} on {machine.name}"


def register_tile(plan: CpuPlan, machine: CpuTarget) -> Reasons:
    """Columns are whole vectors."""
    t = plan.tuning
    if t.n_per_thread % t.vector_lanes:
        yield f"n_per_thread {t.n_per_thread} is not a multiple of vector_lanes {t.vector_lanes}"


def vector_registers(plan: CpuPlan, machine: CpuTarget) -> Reasons:
    """The register tile stays in registers: accumulators, a row of B and one of A."""
    t = plan.tuning
    if t.registers > machine.vector_registers:
        tile = f"{t.m_per_thread}x{t.n_per_thread} tile of {t.vector_lanes} lanes"
        yield f"registers {t.registers} > {machine.vector_registers} on {machine.name} ({tile})"


def cache_blocks(plan: CpuPlan, machine: CpuTarget) -> Reasons:
    """Blocks are whole register tiles."""
    t = plan.tuning
    for dim, block, tile in (("m", t.m_per_block, t.m_per_thread), ("n", t.n_per_block, t.n_per_thread)):
        if block % tile:
            yield f"{dim}_per_block {block} is not a multiple of {dim}_per_thread {tile}"


def workspace(plan: CpuPlan, machine: CpuTarget) -> Reasons:
    """The packed panels of one thread fit its share of the last cache."""
    room = machine.l2_bytes + machine.l3_bytes
    if plan.workspace_bytes > room:
        yield f"workspace_bytes {plan.workspace_bytes} > {room} on {machine.name}"


GENERAL_RULES: Rules[GeneralPlan, GpuTarget] = Rules(
    (block_size, thread_tile, thread_clusters), (copy_of_blocks, lds_bytes, registers, grid)
)
CPU_RULES: Rules[CpuPlan, CpuTarget] = Rules(
    (vector_lanes, register_tile), (vector_registers, cache_blocks, workspace)
)


def _block(copy: BlockCopy) -> str:
    return f"{copy.k_per_block}x{copy.d_per_block}"
