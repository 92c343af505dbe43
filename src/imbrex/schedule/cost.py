"""The CPU cost model: cycles of one thread for a tuning, the sum of what each part of the kernel does.

    register tiles   FMAs at their rate, or loads, or FMA latency, whichever is slowest; padding is work
    streams          panels that do not fit L1 come from L2, L3 or memory
    packing          A once for each block of columns, B once for each block of rows, by kind of access
    C                the private tile once for each block of K, the array once, by kind of access
    balance          the busiest thread's share of the workgroups

Prices are cycles for one vector of elements.  Only their ratios to the FMA rate matter: they rank, they do
not predict.
"""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.schedule.context import Access, GemmContext
from imbrex.schedule.cpu import CpuPlan, CpuTuning, PanelLayout
from imbrex.schedule.target import CpuTarget

__all__ = ["PRICES", "Prices", "cycles", "pack_price_a", "pack_price_b", "store_price", "tile_cycles"]


@dataclass(frozen=True)
class Prices:
    """Cycles a vector, bytes a cycle: estimates for cores with two 512-bit FMA pipes."""

    contiguous: float = 3.0
    transposed: float = 8.0
    gathered: float = 30.0
    l2_bytes: float = 32.0
    l3_bytes: float = 12.0
    memory_bytes: float = 5.0
    fma_latency: float = 4.0
    call: float = 20.0
    workgroup: float = 2000.0
    exposed: float = 0.25  # the part of a stream's time that the FMAs do not hide


PRICES = Prices()


def cycles(tuning: CpuTuning, context: GemmContext, machine: CpuTarget, prices: Prices = PRICES) -> float:
    """Estimated cycles of the busiest thread."""
    plan = tuning.plan(context)
    gemm, lanes = plan.oriented, tuning.vector_lanes
    row_blocks, column_blocks = plan.blocks
    calls = plan.row_panels * plan.column_panels
    once = calls * (gemm.k * tile_cycles(tuning, machine, prices) + plan.k_iterations * prices.call)
    once += calls * plan.k_iterations * prices.exposed * _stream(plan, machine, prices)
    once += (
        plan.padded_rows
        * gemm.k
        * column_blocks
        / lanes
        * pack_price_a(gemm.a, tuning.a_layout, lanes, prices)
    )
    once += plan.padded_columns * gemm.k * row_blocks / lanes * pack_price_b(gemm.b, lanes, prices)
    once += gemm.m * gemm.n / lanes * store_price(gemm.c, lanes, prices)
    once += plan.k_iterations * plan.padded_rows * plan.padded_columns * _c_bytes(plan, machine, prices)
    shares = -(-plan.grid_size // machine.threads)
    return shares * (once * gemm.g / plan.grid_size + prices.workgroup)


def tile_cycles(tuning: CpuTuning, machine: CpuTarget, prices: Prices = PRICES) -> float:
    """Cycles of one register tile for one step of K: FMAs, or loads (two a cycle), or one FMA's latency."""
    loads = (tuning.vectors + tuning.m_per_thread) / 2
    return max(tuning.m_per_thread * tuning.vectors / machine.fma_per_cycle, loads, prices.fma_latency)


def pack_price_a(access: Access, layout: PanelLayout, lanes: int, prices: Prices = PRICES) -> float:
    """Price of packing a vector of A: `k_blocked` copies along K, `k_major` along rows or transposes."""
    if layout == "k_blocked":
        return _mixed(prices.contiguous, access.run[0], lanes, prices)
    return pack_price_b(access, lanes, prices)


def pack_price_b(access: Access, lanes: int, prices: Prices = PRICES) -> float:
    """Price of packing a vector of B, along the lanes or transposed from K."""
    along = _mixed(prices.contiguous, access.run[1], lanes, prices)
    return min(along, _mixed(prices.transposed, access.run[0], lanes, prices))


def store_price(access: Access, lanes: int, prices: Prices = PRICES) -> float:
    """Price of storing a vector of C, along the columns or transposed along the rows."""
    along = _mixed(prices.contiguous, access.run[1], lanes, prices)
    return min(along, _mixed(prices.transposed, access.run[0], lanes, prices))


def _mixed(whole: float, run: float, lanes: int, prices: Prices) -> float:
    """Mean price of vectors laid over stretches of `run` neighbours: those that a break cuts are gathered."""
    unbroken = max(0.0, (run - lanes + 1) / run)
    return whole * unbroken + prices.gathered * (1 - unbroken)


def _stream(plan: CpuPlan, machine: CpuTarget, prices: Prices) -> float:
    """Cycles to bring the streaming panel to the core, and the stationary one where L1 cannot keep it."""
    t = plan.tuning
    size = plan.context.dtype.accumulator.bytes * plan.block_k
    still, moving = (
        (t.m_per_thread, t.n_per_thread) if t.stationary == "a" else (t.n_per_thread, t.m_per_thread)
    )
    block = plan.b_panel_bytes if t.stationary == "a" else plan.a_panel_bytes
    rate = _rate(block + plan.c_tile_bytes // max(1, plan.k_iterations), machine, prices)
    cycles_moving = 0.0 if block + still * size <= machine.l1_bytes else moving * size / rate
    cycles_still = 0.0 if still * size <= machine.l1_bytes * 3 // 4 else still * size / prices.l2_bytes
    return cycles_moving + cycles_still


def _c_bytes(plan: CpuPlan, machine: CpuTarget, prices: Prices) -> float:
    """Cycles to read and write one element of the private tile."""
    return (
        2 * plan.context.dtype.accumulator.bytes / _rate(plan.c_tile_bytes, machine, prices) * prices.exposed
    )


def _rate(held_bytes: int, machine: CpuTarget, prices: Prices) -> float:
    """Bytes a cycle from the smallest cache that holds this much."""
    if held_bytes <= machine.l2_bytes * 3 // 4:
        return prices.l2_bytes
    return prices.l3_bytes if held_bytes <= machine.l3_bytes * 3 // 4 else prices.memory_bytes
