"""The cost of a CPU kernel whose steps over K are one product each, reading in place what needs no packing.

The terms, in cycles, added up and shared among threads:

- products: whole vectors at their rate, once for each step of K their way to C; up to half a vector of last
  columns is summed along K instead.  Panels of B that come from L2 each time are hidden behind them, or not.
- A: in place where it lies as rows of K that do not crowd into one set of the L1 cache, or in long runs: the
  first time from where it is, as whoever packs it must fetch it, too, then from the cache that holds it, and,
  where they pass once, no more rows side by side than the hardware foresees, in few pieces; else packed: once
  for a block of columns when it stays, once for each panel of B when B stays.
- B: in place where it lies as long rows of N; else packed once for a block of rows, transposed where K is
  contiguous; then it streams from the cache that holds it.
- C: stored from registers, or through a tile, and read again in all steps but the first; awaited, where its
  rows are far apart and few multiply-adds hide that.
- windows: the address of each row and lane of a block.
- balance: the busiest thread's share of the workgroups.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, gcd

from imbrex.chip import CpuMachine, Prices
from imbrex.config.context import SAMPLE, Access, round_up
from imbrex.config.cpu.columns import left_out, summed_columns
from imbrex.config.cpu.copies import copied_along_k, rate
from imbrex.config.cpu.crowding import crowds, reads_runs_by_tiles
from imbrex.config.cpu.met import has_runs, met, run_of_steps
from imbrex.config.cpu.operand_b import PAGES_AT_HAND, operand_b, reads_b_in_place, reads_of_b
from imbrex.config.cpu.passing import array_bytes, crowded_bytes, is_far, missed, passing
from imbrex.config.cpu.plan import LEAST_RUN, MOST_RUNS, CpuPlan
from imbrex.config.cpu.result import PAGE, awaited, stored
from imbrex.config.cpu.shown import is_cut_at_edges, lies_whole
from imbrex.config.cpu.team import team
from imbrex.view.mma.vector import CPU_UNITS, FMA, Tiles

__all__ = ["cycles", "parts", "reads_a_in_place", "side_by_side", "tile_feed"]

FORESEEN = 6
"""Rows that pass once, side by side, and that the hardware fetches ahead all the same."""


def cycles(plan: CpuPlan, machine: CpuMachine, tile_cycles: float) -> float:
    """Estimated cycles of the busiest thread.  tile_cycles: one register tile for one step of K."""
    first, a, b, c, windows = parts(plan, machine, tile_cycles).values()
    total = first + a
    total += b + c + windows
    alone = total * plan.context.g
    return team(alone, plan.grid_size, machine.threads, machine, plan.largest_share).cycles


def parts(plan: CpuPlan, machine: CpuMachine, tile_cycles: float) -> Mapping[str, float]:
    """Cycles of one product by what they are spent on."""
    prices = machine.prices
    return {
        "products": side_by_side(_products(plan, tile_cycles, machine), met(plan) * _feed(plan, machine)),
        "A": _operand_a(plan, machine) + _returning(plan, machine),
        "B": operand_b(plan, machine),
        "C": stored(plan, summed_columns(plan, machine), machine.prices)
        + awaited(plan, machine)
        + _kept_sums(plan, machine),
        "windows": _windows(plan, prices),
    }


def side_by_side(x: float, y: float) -> float:
    """Little more than the larger of two that go on side by side."""
    return (x**3 + y**3) ** (1 / 3)


def _feed(plan: CpuPlan, machine: CpuMachine) -> float:
    """Cycles in which the panels of a B that is read in place come from L2, where L1 cannot keep one; in
    which a B that few rows meet comes at all; and all operands of tiles.
    """
    if CPU_UNITS[plan.tuning.unit].tiles is not None:
        return tile_feed(plan, machine)
    prices, panel = machine.prices, plan.panel_k * plan.tuning.n_per_thread * plan.element.bytes
    once, visits = reads_of_b(plan, machine) // plan.row_panels, plan.row_panels
    is_plain, first = plan.element == plan.context.dtype, 0.0
    if is_plain and once > machine.l1_bytes and (visits == 1 or reads_b_in_place(plan)):
        first, visits = passing(once, plan.tuning.vectors, plan.oriented.b, plan, machine), visits - 1
    is_one_piece = plan.oriented.n <= plan.tuning.n_per_thread
    if not reads_b_in_place(plan) or is_one_piece or panel <= prices.near * machine.l1_bytes:
        return first
    return first + once * visits * prices.feed


def tile_feed(plan: CpuPlan, machine: CpuMachine) -> float:
    """Cycles in which operands of tiles come from L2 or L3: what moves past the panel that stays, unless L1
    keeps both; and that panel, too, where L1 has no place for it.  None of vectors.
    """
    t, size = plan.tuning, plan.element.bytes
    tiles = CPU_UNITS[t.unit].tiles
    if tiles is None:
        return 0.0
    lines = t.m_per_thread, t.n_per_thread
    moving, still = lines if t.stationary == "b" else lines[::-1]
    moved = plan.panel_k * (plan.block_rows if t.stationary == "b" else plan.block_columns) * size
    kept = plan.panel_k * still * size * (_shown_once(plan) if t.stationary == "a" else 1.0)
    far = tiles.feed + missed(moved, machine) * (tiles.far_feed - tiles.feed)
    read = 0.0 if kept + moved <= machine.l1_bytes else moving * far
    read += still * tiles.feed if kept > tiles.near * machine.l1_bytes else 0.0
    return plan.row_panels * plan.column_panels * read * plan.oriented.k * size


def _shown_once(plan: CpuPlan) -> float:
    """What a panel of A has of lines, in lines of its own: neighbouring rows of windows that tiles read in
    place share what the taps of a row see.
    """
    gemm = plan.oriented
    count = gemm.g * gemm.m * gemm.k
    is_shared = _has_tiles_in_place(plan) and gemm.a.repeats(count)
    return (gemm.a.elements / count) ** 0.5 if is_shared else 1.0


def reads_a_in_place(plan: CpuPlan) -> bool:
    """Is A's panel a matrix that the microkernel can read where it lies?

    A tile takes whole cache lines at once, so it is no matter how they crowd.
    """
    gemm, dtype, unit = plan.oriented, plan.context.dtype, CPU_UNITS[plan.tuning.unit]
    is_matrix = gemm.a.step[0] == 1 and gemm.a.run[0] >= min(gemm.k, SAMPLE)
    is_matrix = is_matrix and not is_cut_at_edges(gemm.a, (gemm.g, gemm.k, gemm.m))
    is_crowd = unit.tiles is None and crowds(plan.tuning.m_per_thread, gemm.k * dtype.bytes)
    return is_matrix and not is_crowd and plan.element == dtype


def _products(plan: CpuPlan, tile_cycles: float, machine: CpuMachine) -> float:
    gemm, t, prices = plan.oriented, plan.tuning, machine.prices
    columns, unit = summed_columns(plan, machine), CPU_UNITS[t.unit]
    tiles = unit.tiles
    vectors = -(-(gemm.n - columns) // t.vector_lanes)
    step = 1 if tiles is None else tiles.rows
    per_row = tile_cycles / round_up(t.m_per_thread, step) / t.vectors
    multiplied = vectors - left_out(gemm.n - columns, plan, machine)
    whole = round_up(gemm.m, step) * multiplied * gemm.k * per_row * met(plan)
    whole += _waiting(vectors % t.vectors, plan, machine) * met(plan)
    is_paired = 2 * t.m_per_thread + 3 <= machine.vector_registers  # else each column reads its rows anew
    each_sum = gemm.k / t.vector_lanes / t.together * prices.column + prices.lanes_summed
    tails = gemm.m * columns * each_sum * (1 if is_paired else 2)
    if t.m_per_thread * plan.block_k * plan.element.bytes > prices.near * machine.l1_bytes:
        turns = -(-columns // (2 if is_paired else 1))
        tails += max(0, turns - 1) * gemm.m * gemm.k * plan.element.bytes * prices.rows_again
    calls = -(-gemm.m // t.m_per_thread) * -(-vectors // t.vectors)
    more = tiles.lone if tiles is not None and t.vectors == 1 else 0.0
    more += prices.row if tiles is None and unit.rows == 1 and t.a_layout == "k_blocked" else 0.0
    each = prices.sum * t.vectors + more
    return whole + tails + plan.k_iterations * calls * (prices.call + each * t.m_per_thread)


def _waiting(vectors: int, plan: CpuPlan, machine: CpuMachine) -> float:
    """Cycles in which the last panel of B, of so many vectors, waits for sums that are too few to hide their
    latency, where those of a whole tile do.
    """
    t, prices = plan.tuning, machine.prices
    if vectors == 0 or plan.tuning.unit != FMA.name:
        return 0.0
    rows, products = t.m_per_thread, t.m_per_thread * vectors / machine.fma_per_cycle
    idle = max(0.0, prices.fma_latency - products) * prices.waiting
    loads = max(0.0, (rows + vectors) / 2 - products) + prices.broadcast * rows * (1 - vectors / t.vectors)
    return plan.row_panels * plan.oriented.k * max(idle, loads * prices.narrower)


def _operand_a(plan: CpuPlan, machine: CpuMachine) -> float:
    gemm, t, prices = plan.oriented, plan.tuning, machine.prices
    elements, columns = gemm.m * gemm.k, summed_columns(plan, machine)
    visits = -(-(gemm.n - columns) // t.n_per_thread) + (columns > 0)
    passes = plan.blocks[1] if t.stationary == "a" else visits
    anew = passes * crowded_bytes(gemm.a, elements, gemm.m, plan, machine) * prices.crowded_byte
    if reads_a_in_place(plan) or plan.reads_columns:
        size = plan.context.dtype.bytes
        panel = plan.panel_k * t.n_per_thread * size
        held = plan.block_rows * plan.block_k * size + panel
        again = (passes - 1) * rate(held, machine, prices.flow)
        unforeseen = max(0, t.m_per_thread - FORESEEN) if columns == gemm.n else 0
        first = _columns_in_place(plan, machine, passes) + anew if plan.reads_columns else 0.0
        if columns == gemm.n and is_far(array_bytes(gemm.a, elements * size, plan), machine):
            first += (plan.k_iterations - 1) * gemm.m * prices.anew
        return first + elements * size * (prices.flow.l2 + again + unforeseen * prices.unforeseen)
    if (tiles := CPU_UNITS[t.unit].tiles) is not None:
        packed = plan.blocks[1] if plan.packs_a_once and not _has_copied_runs(gemm.a) else passes
        return packed * elements * _a_of_tiles(plan, machine, tiles)
    if t.a_layout == "k_major":
        piece = prices.alike if plan.element == plan.context.dtype else prices.piece
        return passes * elements / t.m_per_thread / t.together**0.5 * piece + anew
    if plan.packs_a_once and not has_runs(plan):
        held = plan.block_rows * plan.panel_k * plan.element.bytes + plan.b_panel_bytes
        again = (passes - 1) * plan.element.bytes * rate(held, machine, prices.flow)
        return plan.blocks[1] * elements / t.vector_lanes * _a_price(plan, prices) + elements * again
    return passes * elements / t.vector_lanes * _a_price(plan, prices)


def _columns_in_place(plan: CpuPlan, machine: CpuMachine, passes: int) -> float:
    """Cycles in which pieces of rows of k come, of an A beyond L2 for each block of columns anew; and what it
    costs the panels of B that pass by that pages of A, more than the core has at hand, are looked up.
    """
    a, t, prices, size = plan.oriented.a, plan.tuning, machine.prices, plan.context.dtype.bytes
    matrix_bytes = plan.oriented.m * plan.oriented.k * size
    whole = array_bytes(a, matrix_bytes, plan)
    each = passing(matrix_bytes, t.m_per_thread / t.vector_lanes, a, plan, machine)
    again = (passes - 1) * prices.again * missed(whole / 4, machine)
    pages = max(1.0, min(1.0, plan.oriented.m * size / PAGE) * plan.block_k)
    looked_up = max(0.0, 1 - PAGES_AT_HAND / pages) * prices.beside
    pieces = plan.row_panels * plan.oriented.k * passes * missed(2 * whole, machine) * prices.shared
    return each * ((whole > machine.l2_bytes) + again) + reads_of_b(plan, machine) * looked_up + pieces


def _returning(plan: CpuPlan, machine: CpuMachine) -> float:
    """Cycles in which panels of a packed A, or one of short runs, that stays come back from L2 for each panel
    of B but one, where L1 has no place for them; rows that lie along k are foreseen.
    """
    t, prices = plan.tuning, machine.prices
    panel, place = plan.panel_k * t.m_per_thread * plan.element.bytes, prices.near * machine.l1_bytes
    is_tiled = CPU_UNITS[t.unit].tiles is not None
    if t.stationary == "b" or is_tiled or reads_a_in_place(plan) or plan.reads_columns:
        return 0.0
    back = panel * min(1.0, max(0.0, panel / place - 1))
    return plan.k_iterations * plan.row_panels * (plan.column_panels - 1) * back * prices.returning


def _a_of_tiles(plan: CpuPlan, machine: CpuMachine, tiles: Tiles) -> float:
    """An element of A on its way into rows of tiles: turned, copied with its run, or one by one; and to L2
    and back where L1 has no place for the panel.
    """
    a, t, size = plan.oriented.a, plan.tuning, plan.element.bytes
    if t.a_layout == "k_major":
        return tiles.turned
    is_near = plan.panel_k * t.m_per_thread * size <= tiles.near * machine.l1_bytes
    back = 0.0 if is_near else size * tiles.kept
    if not _has_copied_runs(a):
        return back + copied_along_k(a, 0, plan, machine.prices) / t.vector_lanes
    width, run = t.vector_lanes * t.together, run_of_steps(a.run[0], plan)
    copied = back + (tiles.run + tiles.copied * ceil(run / width)) / run
    if not _has_tiles_in_place(plan):
        return copied
    run = _run_of_tiles(plan)
    crossed = (width - gcd(run, width)) / run
    return copied * (1 - (1 - crossed) * (1 - a.cut(tiles.rows))) + tiles.placed / (tiles.rows * run)


def _has_copied_runs(a: Access) -> bool:
    """Do tiles have runs of A copied, whole, on each visit?"""
    return a.step[0] == 1 and a.run[0] >= LEAST_RUN


def _has_tiles_in_place(plan: CpuPlan) -> bool:
    """Does each tile of A lie in one run of neighbours along k, so that it is read there where its rows are
    evenly apart and exist together?  As `lower.cpu.fuse.in_place` finds it.
    """
    t, run = plan.tuning, _run_of_tiles(plan)
    is_tiled = CPU_UNITS[t.unit].tiles is not None and _has_copied_runs(plan.oriented.a)
    visits = plan.block_columns // t.n_per_thread if t.stationary == "a" else 1
    is_read = reads_runs_by_tiles(run, t.vector_lanes * t.together, visits)
    is_known = plan.panel_k <= MOST_RUNS * run
    return is_tiled and plan.element == plan.context.dtype and is_read and is_known


def _run_of_tiles(plan: CpuPlan) -> int:
    """Neighbours along k that lie together and exist together in every step: of a padded window a pixel's
    channels; 1 where runs differ.
    """
    a, run = plan.oriented.a, run_of_steps(plan.oriented.a.run[0], plan)
    if run != int(run):
        return 1
    return int(run) if a.guarded is None else gcd(int(run), a.pitch[1])


def _a_price(plan: CpuPlan, prices: Prices) -> float:
    """A vector of A that is not a matrix: a share of a pointer to its run, or a copy."""
    gemm, a, lanes = plan.oriented, plan.oriented.a, plan.tuning.vector_lanes
    if is_cut_at_edges(a, (gemm.g, gemm.k, gemm.m)):
        return prices.cut
    if has_runs(plan):
        return prices.pointer * lanes / run_of_steps(a.run[0], plan)
    return copied_along_k(a, 0, plan, prices)


def _kept_sums(plan: CpuPlan, machine: CpuMachine) -> float:
    """What sums of tiles cost between steps, in C or kept apart, since both are further away than L1."""
    tiles = CPU_UNITS[plan.tuning.unit].tiles
    if tiles is None:
        return 0.0
    sums, block = plan.context.dtype.accumulator.bytes, plan.block_rows * plan.block_columns
    rate = tiles.kept + missed(block * sums, machine) * (tiles.far_kept - tiles.kept)
    return (plan.k_iterations - 1) * 2 * plan.padded_rows * plan.padded_columns * sums * rate


def _windows(plan: CpuPlan, prices: Prices) -> float:
    gemm = plan.oriented
    row_blocks, column_blocks = plan.blocks
    pairs = (gemm.b, gemm.k), (gemm.c, gemm.m)
    b, c = (_address_cost(access, (gemm.g, first, gemm.n), prices) for access, first in pairs)
    a = 0.0 if reads_a_in_place(plan) or plan.reads_columns else plan.block_rows * prices.placed
    return row_blocks * column_blocks * ((plan.block_columns + gemm.k) * b + a + plan.block_columns * c)


def _address_cost(access: Access, sizes: tuple[int, int, int], prices: Prices) -> float:
    """The address of a row or lane: of a matrix, whose rows or columns are neighbours all along, it is no
    more than written.
    """
    return prices.even if lies_whole(access, sizes) else prices.placed
