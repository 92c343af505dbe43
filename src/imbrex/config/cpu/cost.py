"""The CPU cost model: cycles of one thread for a tuning, the sum of what each part of the kernel does.

    register tiles   FMAs at their rate, or loads, or FMA latency, whichever is slowest; padding is work
    streams          panels that do not fit L1 come from L2, L3 or memory
    packing          A once for each block of columns, B once for each block of rows, by kind of access
    C                the private tile once for each block of K, the array once, by kind of access
    balance          the busiest thread's share of the workgroups, and what it takes to wake the others

Prices are cycles.  Only their ratios to the FMA rate matter: they rank, they do not predict.
"""

from __future__ import annotations

from collections.abc import Mapping

from imbrex.chip import PRICES, CpuMachine, Level, Prices
from imbrex.config.context import Access, GemmContext
from imbrex.config.cpu import one_pass
from imbrex.config.cpu.copies import copied, pieces
from imbrex.config.cpu.plan import CpuPlan, CpuTuning, PanelLayout
from imbrex.config.cpu.team import team
from imbrex.config.spent import Spent
from imbrex.view.mma.vector import CPU_UNITS, FMA

__all__ = [
    "ceiling_share",
    "cycles",
    "pack_price_a",
    "pack_price_b",
    "parts",
    "spent",
    "store_price",
    "tile_cycles",
]


def cycles(tuning: CpuTuning, context: GemmContext, machine: CpuMachine) -> float:
    """Estimated cycles of the busiest thread."""
    plan = tuning.plan(context)
    if plan.is_fused:
        return one_pass.cycles(plan, machine, tile_cycles(tuning, machine))
    total = sum(_parts(plan, machine).values()) * plan.oriented.g
    return team(total, plan.grid_size, machine.threads, machine, plan.largest_share).cycles


def parts(tuning: CpuTuning, context: GemmContext, machine: CpuMachine) -> Mapping[str, float]:
    """Estimated cycles of all threads together, by what they are spent on."""
    plan = tuning.plan(context)
    each = tile_cycles(tuning, machine)
    found = one_pass.parts(plan, machine, each) if plan.is_fused else _parts(plan, machine)
    return {name: cycles * context.g for name, cycles in found.items()}


def spent(plan: CpuPlan, machine: CpuMachine) -> Spent:
    """The parts of each thread's cycles, and what the busiest one has more."""
    each = {
        name: cycles / machine.threads for name, cycles in parts(plan.tuning, plan.context, machine).items()
    }
    whole = cycles(plan.tuning, plan.context, machine)
    return Spent({}, {**each, "idle threads": whole - sum(each.values())})


def _parts(plan: CpuPlan, machine: CpuMachine) -> Mapping[str, float]:
    """Cycles of one product out of packed panels."""
    tuning, prices = plan.tuning, machine.prices
    gemm, lanes = plan.oriented, tuning.vector_lanes
    row_blocks, column_blocks = plan.blocks
    calls, steps = plan.row_panels * plan.column_panels, plan.k_iterations
    call = prices.call + _sums(tuning, prices) + _stream(plan, machine)
    multiplied, fed = calls * gemm.k * tile_cycles(tuning, machine), one_pass.tile_feed(plan, machine)
    price_a, price_b = (
        pack_price_a(gemm.a, tuning.a_layout, lanes, prices),
        pack_price_b(gemm.b, lanes, prices),
    )
    found = steps * (plan.block_rows + plan.block_columns + 2 * plan.block_k)
    return {
        "products": one_pass.side_by_side(multiplied, fed) if fed else multiplied,
        "calls": calls * steps * call,
        "packing A": plan.padded_rows * gemm.k * column_blocks / lanes * price_a,
        "packing B": plan.padded_columns * gemm.k * row_blocks / lanes * price_b,
        "storing C": gemm.m * gemm.n / lanes * store_price(gemm.c, lanes, prices),
        "coordinates": row_blocks * column_blocks * found * prices.coordinate,
    }


def ceiling_share(tuning: CpuTuning, context: GemmContext, machine: CpuMachine) -> float:
    """Multiply-adds of the problem, as a share of what the unit does on all threads in the estimated time."""
    gemm = tuning.plan(context).oriented
    rate = CPU_UNITS[tuning.unit].rate(machine, tuning.vector_lanes)
    most = cycles(tuning, context, machine) * machine.threads * rate
    return gemm.g * gemm.m * gemm.n * gemm.k / most


def _sums(tuning: CpuTuning, prices: Prices) -> float:
    """Cycles in which the sums of a register tile come from the private tile, and go there."""
    rows, tiles = tuning.m_per_thread, CPU_UNITS[tuning.unit].tiles
    if tiles is None:
        return 2 * prices.sum * rows * tuning.vectors
    return -(-rows // tiles.rows) * tuning.vectors * (tiles.load + tiles.store)


def tile_cycles(tuning: CpuTuning, machine: CpuMachine) -> float:
    """Cycles of one register tile for one k: products at the rate of multiply-adds, or loads (two a cycle),
    or a product's latency; and what of the loads they do not hide: of broadcasts none where products last
    longer.  A unit may take several k at once.
    """
    rows, vectors, unit = tuning.m_per_thread, tuning.vectors, CPU_UNITS[tuning.unit]
    prices = machine.prices
    if unit.tiles is not None:
        tall = -(-rows // unit.tiles.rows)
        loads = (tall + vectors) * unit.tiles.load
        slowest = max(tall * vectors * unit.tiles.product, loads, unit.latency)
        return (slowest + prices.load * loads) / (unit.tiles.rows * unit.packed)
    latency = prices.fma_latency if unit == FMA else unit.latency
    products = rows * vectors / machine.fma_per_cycle
    slowest = max(products * unit.lasts, (rows + vectors) / 2, latency)
    broadcasts = max(0.0, prices.broadcast * rows - products * (unit.lasts - 1))
    broadcasts += prices.shift * rows if unit.is_shifted else 0.0
    return (slowest + broadcasts + prices.load * vectors) / unit.packed


def pack_price_a(access: Access, layout: PanelLayout, lanes: int, prices: Prices = PRICES) -> float:
    """Price of packing a vector of A: `k_blocked` copies along K, `k_major` along rows or transposes."""
    return copied(access, 0, lanes, prices) if layout == "k_blocked" else pack_price_b(access, lanes, prices)


def pack_price_b(access: Access, lanes: int, prices: Prices = PRICES) -> float:
    """Price of packing a vector of B, along the lanes or transposed from K."""
    return min(copied(access, 1, lanes, prices), copied(access, 0, lanes, prices) + prices.transpose)


def store_price(access: Access, lanes: int, prices: Prices = PRICES) -> float:
    """Price of storing a vector of C, along the columns or transposed along the rows."""
    return min(_stored(access, 1, lanes, prices), _stored(access, 0, lanes, prices) + prices.store_transpose)


def _stored(access: Access, dim: int, lanes: int, prices: Prices) -> float:
    stretches = pieces(access, dim, lanes)
    if access.step[dim] != 1 or stretches > prices.most_pieces:
        return prices.scatter
    return prices.store + prices.store_piece * (stretches - 1)


def _stream(plan: CpuPlan, machine: CpuMachine) -> float:
    """Cycles that one call loses to panels and private tile being further away than L1."""
    t, size, prices = plan.tuning, plan.element.bytes, machine.prices
    a_panel, b_panel = (lines * plan.block_k * size for lines in (t.m_per_thread, t.n_per_thread))
    still, moving = (a_panel, b_panel) if t.stationary == "a" else (b_panel, a_panel)
    block = plan.b_panel_bytes if t.stationary == "a" else plan.a_panel_bytes
    sums = t.m_per_thread * t.n_per_thread * plan.context.dtype.accumulator.bytes
    lost = 2 * sums * _rate(plan.c_tile_bytes, machine, prices.tile)
    if still + block > machine.l1_bytes:
        lost += moving * _rate(block + plan.c_tile_bytes // 2, machine, prices.stream)
    if still > machine.l1_bytes:
        lost += still * prices.stream.l2
    return lost


def _rate(held_bytes: int, machine: CpuMachine, level: Level) -> float:
    """Cycles a byte from the smallest cache that holds this much with room to spare."""
    if held_bytes <= machine.l2_bytes:
        return level.l2
    return level.l3 if held_bytes <= machine.l3_bytes else level.memory
