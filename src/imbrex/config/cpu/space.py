"""The CPU tunings that are looked at, before legality."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import lcm

from imbrex.chip import CpuMachine
from imbrex.config.block_plan import Stationary
from imbrex.config.context import GemmContext, round_up
from imbrex.config.cpu.cost import tile_cycles
from imbrex.config.cpu.plan import CpuTuning, PanelLayout
from imbrex.view.mma.vector import FMA, CpuUnit, fastest_unit

__all__ = ["cpu_space", "register_tiles"]

K_BLOCKS = (128, 192, 256, 384, 512)
BLOCK_EDGES = (96, 192, 384, 768, 1536)
SHAPES_KEPT = 4
LONGEST_PASS = 8192
K_STEPS = (1024, 2048)
WIDE = 8
"""Vectors of a register tile of few rows, whose B passes once: memory gives longer pieces of rows sooner."""
TILE_K_STEPS = (192, 256, 384, 512, 1024)
"""Words of K where tiles multiply: L1 feeds them while it has a place for a panel of A."""
TILE_BLOCK_EDGES = (128, 256, 512, 1024)


def cpu_space(context: GemmContext, machine: CpuMachine) -> list[CpuTuning]:
    """Both orientations; for each the register tiles that waste least, and cache blocks of several sizes.

    The unit is the one that multiplies most at a time.

    The layout of A's panels is not searched: packing along the longer run, of K or of the rows, is cheaper.
    Where steps over K can be products of their own, nothing else is tried: it was slower wherever measured.
    Nor is what does not leave one thread's memory in the last cache, where anything does.
    """
    unit = fastest_unit(machine, context.dtype)
    found = [
        t
        for swapped in (False, True)
        for t in (*_one_pass(context, machine, swapped, unit), *_oriented(context, machine, swapped, unit))
    ]
    cache_bytes = machine.l2_bytes + machine.l3_bytes
    kept = [t for t in found if t.plan(context).workspace_bytes <= cache_bytes] or found
    return [t for t in kept if t.plan(context).is_fused] or kept


def _one_pass(context: GemmContext, machine: CpuMachine, swapped: bool, unit: CpuUnit) -> Iterator[CpuTuning]:
    """Each step one product: the tallest register tiles of each width, evened out over the rows."""
    gemm = context.exchanged if swapped else context
    lanes = machine.lanes(context.dtype.accumulator.bytes)
    a = gemm.a
    is_along_k = a.run[0] >= a.run[1] or (a.step[0] == 1 < a.step[1])  # evenly apart is no run to cut
    is_window = a.repeats(gemm.g * gemm.m * gemm.k)
    layout: PanelLayout = "k_blocked" if is_along_k or is_window else "k_major"
    if layout == "k_major" and not gemm.a_is_columns:
        return
    is_transposed = gemm.c.run[0] > gemm.c.run[1]  # C goes through a tile of all its rows, so B must stay
    orders: tuple[Stationary, ...] = ("b",) if is_transposed else ("a", "b")
    k_steps = _k_steps(gemm, lanes * unit.packed, unit)
    for vectors in (*range(1, 5), *_wide(gemm, machine, unit, lanes)):
        for rows in _heights(gemm.m, machine, unit, vectors):
            m_blocks, n_blocks = _edges(gemm.m, rows, unit), _edges(gemm.n, vectors * lanes, unit)
            for k_block, m_block, n_block, order in product(k_steps, m_blocks, n_blocks, orders):
                blocks = m_block, n_block, k_block
                yield CpuTuning(rows, vectors * lanes, *blocks, lanes, layout, order, swapped, unit.name)


def _wide(gemm: GemmContext, machine: CpuMachine, unit: CpuUnit, lanes: int) -> set[int]:
    """Vectors of a wider tile than usual, of all rows: as many as there are registers, and WIDE."""
    if unit.tiles is not None:
        return set()
    widest = max(
        (v for v in range(1, machine.vector_registers) if unit.tallest(machine, v) >= gemm.m), default=0
    )
    return {_balanced(-(-gemm.n // lanes), most) for most in {widest, WIDE} if 4 < most <= widest}


def _heights(m: int, machine: CpuMachine, unit: CpuUnit, vectors: int) -> set[int]:
    """Rows of register tiles: the most that there may be, and six; of tiles, the most and a single one's."""
    most = unit.tallest(machine, vectors)
    if unit.tiles is not None:
        return {min(m, most), min(m, unit.tiles.rows)}
    return {_balanced(m, tallest) for tallest in {most, min(most, 6)}}


def _k_steps(gemm: GemmContext, vector: int, unit: CpuUnit) -> list[int]:
    """All of K unless it is very long, and equal parts of a long one, of whole runs of A where it has any; in
    bytes the same, however narrow the elements are.
    """
    words = unit.packed
    run = gemm.a.run[0]
    steps = [near * words for near in (K_STEPS if unit.tiles is None else TILE_K_STEPS)]
    grain, most = vector, min(steps)
    if run == int(run) and run >= vector and (unit.tiles is not None or run % vector == 0):
        grain, most = lcm(int(run), vector), most if unit.tiles is None else 2 * most
    grain = grain if grain <= most else vector
    whole = [round_up(gemm.k, vector)] if gemm.k <= LONGEST_PASS * words else []
    parts = {round_up(-(-gemm.k // -(-gemm.k // near)), grain) for near in steps if gemm.k > near}
    return sorted({*whole, *parts})


def _balanced(size: int, most: int) -> int:
    """Rows of a panel when as few panels as possible share `size` evenly."""
    return -(-size // -(-size // most))


def _oriented(context: GemmContext, machine: CpuMachine, swapped: bool, unit: CpuUnit) -> Iterator[CpuTuning]:
    gemm = context.exchanged if swapped else context
    lanes = machine.lanes(context.dtype.accumulator.bytes)
    has_rows = gemm.a.run[0] > gemm.a.run[1] or unit.tiles is not None
    layout: PanelLayout = "k_blocked" if has_rows else "k_major"
    orders: tuple[Stationary, ...] = ("a", "b")
    k_blocks = _k_blocks(gemm.k, lanes * unit.packed, machine, unit)
    if layout == "k_major" and unit == FMA:
        k_blocks = [k for k in k_blocks if k not in machine.prices.slow_steps] or k_blocks
    for rows, columns in register_tiles(gemm, machine, lanes, unit):
        m_blocks, n_blocks = _edges(gemm.m, rows, unit), _edges(gemm.n, columns, unit)
        for k_block, m_block, n_block, order in product(k_blocks, m_blocks, n_blocks, orders):
            blocks = m_block, n_block, k_block
            yield CpuTuning(rows, columns, *blocks, lanes, layout, order, swapped, unit.name)


def register_tiles(
    gemm: GemmContext, machine: CpuMachine, lanes: int, unit: CpuUnit = FMA
) -> list[tuple[int, int]]:
    """(rows, columns) of the register tiles that compute this GEMM in the fewest cycles, best first.

    Tiles that are too small to hide the latency of FMAs are left in: a GEMM of three rows has no other.
    """
    found: dict[tuple[int, int], float] = {}
    for vectors in range(1, 5):
        step = 1 if unit.tiles is None else unit.tiles.rows
        for rows in range(step, unit.tallest(machine, vectors) + 1, step):
            tile = CpuTuning(rows, vectors * lanes, rows, vectors * lanes, 1, lanes)
            calls = -(-gemm.m // rows) * -(-gemm.n // (vectors * lanes))
            found[rows, vectors * lanes] = calls * (tile_cycles(tile, machine) * gemm.k + machine.prices.call)
    return sorted(found, key=lambda shape: (found[shape], -shape[0] * shape[1]))[:SHAPES_KEPT]


def _k_blocks(k: int, vector: int, machine: CpuMachine, unit: CpuUnit) -> list[int]:
    """K in equal blocks near each of the usual sizes, rounded up to whole vectors."""
    usual = [near for near in K_BLOCKS if near >= machine.prices.least_step]
    sizes = usual if unit.tiles is None else TILE_K_STEPS
    return sorted({round_up(-(-k // -(-k // (near * unit.packed))), vector) for near in sizes})


def _edges(size: int, tile: int, unit: CpuUnit) -> list[int]:
    """`size` in equal blocks of whole tiles, near each of the usual sizes, and undivided."""
    tiles = -(-size // tile)
    pieces = {-(-size // edge) for edge in (BLOCK_EDGES if unit.tiles is None else TILE_BLOCK_EDGES)} | {1}
    return sorted({-(-tiles // min(count, tiles)) * tile for count in pieces})
