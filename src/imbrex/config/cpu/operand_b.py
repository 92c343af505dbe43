"""B of a step that is one product: where it is read in place, and what it costs, packed or not."""

from __future__ import annotations

from imbrex.chip import CpuMachine, Prices
from imbrex.config.context import round_up
from imbrex.config.cpu.columns import summed_columns
from imbrex.config.cpu.copies import copied, copied_along_k, rate
from imbrex.config.cpu.crowding import is_copied_as_met, repays_packing
from imbrex.config.cpu.met import has_runs
from imbrex.config.cpu.passing import array_bytes, crowded_bytes, passing
from imbrex.config.cpu.plan import CpuPlan
from imbrex.config.cpu.result import PAGE
from imbrex.config.cpu.shown import is_cut_at_edges, lies_whole
from imbrex.view.mma.vector import CPU_UNITS

__all__ = ["PAGES_AT_HAND", "copies_as_met", "lines_of_b", "operand_b", "reads_b_in_place", "reads_of_b"]

PAGES = 1024
"""Pages that a core surely finds without a walk through tables."""
PAGES_AT_HAND = 64
"""Pages whose addresses a core has in its first table: 64 to 96 on all current x86 cores."""


def operand_b(plan: CpuPlan, machine: CpuMachine) -> float:
    """Cycles of B: on its way into panels, or where it lies, and from the cache that holds it."""
    gemm, t, size = plan.oriented, plan.tuning, plan.element.bytes
    prices, is_in_place = machine.prices, reads_b_in_place(plan)
    price = prices.read_in_place if is_in_place else _b_price(plan, prices)
    packed = plan.blocks[0] * lines_of_b(plan, machine) * gemm.k / t.vector_lanes * price
    packed += 0.0 if is_in_place else plan.blocks[0] * _far_rows(plan, machine) + _put_down(plan, machine)
    each = (_b_along_k if gemm.b.run[0] > gemm.b.run[1] else _b_price)(plan, prices)
    if is_in_place and t.swapped and copies_as_met(plan):
        crowded = crowded_bytes(gemm.b, gemm.k * gemm.n, gemm.n, plan, machine)
        packed += plan.blocks[0] * crowded * prices.crowded_copy
    columns = plan.blocks[0] * summed_columns(plan, machine) * gemm.k / t.vector_lanes * each
    if CPU_UNITS[t.unit].tiles is not None:  # what passes by is in `tile_feed`
        return packed
    held = plan.panel_k * (t.n_per_thread if t.stationary == "b" else plan.block_columns) * size
    if is_in_place and gemm.n * size >= PAGE and plan.panel_k > PAGES and plan.row_panels > 1:
        held = max(held, machine.l2_bytes)  # each row is a page, whose address is looked up anew
    lies_apart = is_in_place and not copies_as_met(plan)
    each_byte = rate(held, machine, prices.apart if lies_apart else prices.stream)
    visited = _visited(plan, machine) if lies_apart else 0.0
    return packed + columns + reads_of_b(plan, machine) * each_byte + visited


def reads_of_b(plan: CpuPlan, machine: CpuMachine) -> int:
    """Bytes of B that register tiles take, each panel once for every panel of A."""
    return plan.row_panels * lines_of_b(plan, machine) * plan.oriented.k * plan.element.bytes


def lines_of_b(plan: CpuPlan, machine: CpuMachine) -> int:
    """Columns in panels of whole vectors: those that are summed along K lie apart."""
    return round_up(plan.oriented.n - summed_columns(plan, machine), plan.tuning.n_per_thread)


def _put_down(plan: CpuPlan, machine: CpuMachine) -> float:
    """Cycles in which rows of B that are all copied before A stays go to where L1 has no place for them, nor
    for half of them.
    """
    t, b, size = plan.tuning, plan.oriented.b, plan.element.bytes
    has_rows = b.step[1] == 1 and b.run[1] >= min(plan.oriented.n, 8 * t.vector_lanes)
    held = plan.block_columns * plan.block_k * size
    if t.stationary == "b" or not has_rows or held <= 2 * machine.l1_bytes:
        return 0.0
    return plan.blocks[0] * lines_of_b(plan, machine) * plan.oriented.k * size * machine.prices.put_down


def _visited(plan: CpuPlan, machine: CpuMachine) -> float:
    """Cycles in which several panels of A meet a B that is read in place: its bytes in each visit, and its
    pages, where a panel has more than the core has at hand; of those that even one panel of A meets, where
    the core has to walk through tables for each.
    """
    gemm, size, prices = plan.oriented, plan.context.dtype.bytes, machine.prices
    each_bytes = array_bytes(gemm.b, gemm.k * gemm.n * size, plan) / gemm.g
    pages = min(plan.panel_k, each_bytes * plan.panel_k / gemm.k / PAGE)
    visits = plan.row_panels * (lines_of_b(plan, machine) // plan.tuning.n_per_thread) * plan.k_iterations
    walked = visits * pages * prices.walk if pages >= PAGES else 0.0
    if plan.row_panels == 1:
        return walked
    found_anew = visits * pages * prices.lookup if pages > PAGES_AT_HAND else 0.0
    return reads_of_b(plan, machine) * prices.visited + found_anew + walked


def _far_rows(plan: CpuPlan, machine: CpuMachine) -> float:
    """What it costs besides that a B whose rows are K is packed from beyond L2: the more, the shorter the
    pieces of rows.  Where A stays, a few rows of all panels are packed at a time, which are long pieces.
    """
    gemm, t = plan.oriented, plan.tuning
    b, matrix_bytes = gemm.b, gemm.k * gemm.n * plan.context.dtype.bytes
    is_tiled = CPU_UNITS[t.unit].tiles is not None  # whose `far_feed` says it
    if not lies_whole(b, (gemm.g, gemm.k, gemm.n)):  # windows show what they show again and again
        return 0.0
    is_near = array_bytes(b, matrix_bytes, plan) <= machine.l2_bytes
    if is_tiled or is_near or b.step[1] != 1 or b.run[1] < b.run[0]:
        return 0.0
    alone = passing(matrix_bytes, t.vectors, b, plan, machine)
    if t.stationary == "b":
        return alone
    together = passing(matrix_bytes, plan.block_columns / t.vector_lanes, b, plan, machine)
    whole = gemm.n // t.n_per_thread * t.n_per_thread / gemm.n  # a panel that is not whole is packed alone
    return whole * together + (1 - whole) * alone


def reads_b_in_place(plan: CpuPlan) -> bool:
    """Is B read where it lies, but where a panel crosses an image row?

    All panels are packed beforehand where A stays, since each is met again for every panel of A.  A panel
    that is met once need not stay in a cache, and one that many panels of A meet is copied as the first does,
    however its rows crowd.
    """
    gemm, t, size = plan.oriented, plan.tuning, plan.context.dtype.bytes
    multiplied = t.m_per_thread * t.n_per_thread
    is_packed = repays_packing(plan.block_k, gemm.n * size, _visits_of_b(plan), multiplied)
    return _has_rows_of_b(plan) and (not is_packed or (gemm.b.guarded is None and copies_as_met(plan)))


def copies_as_met(plan: CpuPlan) -> bool:
    """Is each panel of B copied while the first panel of A meets it?  Not where that may leave out some k."""
    if has_runs(plan) and plan.oriented.a.guarded is not None:
        return False
    t, size = plan.tuning, plan.context.dtype.bytes
    panel_bytes = plan.block_k * t.n_per_thread * size
    is_repaid = is_copied_as_met(_visits_of_b(plan), panel_bytes, t.vector_lanes * size)
    return _has_rows_of_b(plan) and is_repaid


def _has_rows_of_b(plan: CpuPlan) -> bool:
    """May B, which stays, be read where it lies: vectors of long rows, of what panels hold?"""
    gemm, t, dtype = plan.oriented, plan.tuning, plan.context.dtype
    has_rows = gemm.b.step[1] == 1 and gemm.b.run[1] >= min(gemm.n, 8 * t.vector_lanes)
    return dtype.accumulator == dtype and t.stationary == "b" and has_rows


def _visits_of_b(plan: CpuPlan) -> int:
    """Panels of A that meet a panel of B that stays."""
    return -(-plan.block_rows // plan.tuning.m_per_thread)


def _b_price(plan: CpuPlan, prices: Prices) -> float:
    """Packing a vector of B, along the columns or transposed, of which squares are turned whole."""
    gemm, t = plan.oriented, plan.tuning
    turned = prices.turned if lies_whole(gemm.b, (gemm.g, gemm.k, gemm.n)) else prices.transpose
    across = _b_along_k(plan, prices) + turned / t.together * plan.panel_k / plan.block_k
    return min(copied(gemm.b, 1, t.vector_lanes, prices), across)


def _b_along_k(plan: CpuPlan, prices: Prices) -> float:
    """Loading a vector of B's neighbours along K."""
    b = plan.oriented.b
    is_cut = is_cut_at_edges(b, (plan.oriented.g, plan.oriented.k, plan.oriented.n))
    return prices.cut if is_cut else copied_along_k(b, 0, plan, prices)
