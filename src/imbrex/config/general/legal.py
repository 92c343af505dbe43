"""Rules of general tunings: each reason says what would work."""

from __future__ import annotations

from imbrex.chip import GpuMachine
from imbrex.config.general.copy import BlockCopy
from imbrex.config.general.plan import GeneralPlan
from imbrex.config.rules import Reasons, Rules, grid, lds_bytes, listed

__all__ = ["GENERAL_RULES"]

BLOCK_SIZES = (64, 128, 256)
THREAD_TILES = (2, 4)


def block_size(plan: GeneralPlan, machine: GpuMachine) -> Reasons:
    """64, 128 or 256 work items."""
    if (size := plan.tuning.block_size) not in BLOCK_SIZES:
        yield f"block_size {size} is not one of {listed(BLOCK_SIZES)}"


def scales(plan: GeneralPlan, machine: GpuMachine) -> Reasons:
    """Work items multiply elements without scales."""
    if plan.context.dtype.pair is not None:
        yield f"work items multiply elements of one type, not {plan.context.dtype}; say xdlops"
    elif plan.context.dtype.is_microscaled:
        yield f"work items take no scales, which {plan.context.dtype} has; say xdlops"


def thread_tile(plan: GeneralPlan, machine: GpuMachine) -> Reasons:
    """A thread tile is 2 or 4 in each direction."""
    t = plan.tuning
    for name, value in (("m_per_thread", t.m_per_thread), ("n_per_thread", t.n_per_thread)):
        if value not in THREAD_TILES:
            yield f"{name} {value} is not one of {listed(THREAD_TILES)}"


def thread_clusters(plan: GeneralPlan, machine: GpuMachine) -> Reasons:
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


def copy_of_blocks(plan: GeneralPlan, machine: GpuMachine) -> Reasons:
    """The work items tile the blocks of A and B exactly, at least one element each."""
    for matrix, copy in (("a", plan.a_copy), ("b", plan.b_copy)):
        if not copy.is_exact:
            yield f"{matrix}'s block {_block(copy)} does not divide among {copy.threads} work items"


def registers(plan: GeneralPlan, machine: GpuMachine) -> Reasons:
    """One lane's registers fit, without spilling."""
    if plan.registers > machine.vector_registers:
        yield f"registers {plan.registers} > {machine.vector_registers} on {machine.name}"


GENERAL_RULES: Rules[GeneralPlan, GpuMachine] = Rules(
    (scales, block_size, thread_tile, thread_clusters), (copy_of_blocks, lds_bytes, registers, grid)
)


def _block(copy: BlockCopy) -> str:
    return f"{copy.k_per_block}x{copy.d_per_block}"
