"""The loop of an XDLOPS plan as operations of a wave, before anything is compiled: one step of K.

    staged   loads of the next step | reads and products, phase by phase | (a barrier, where LDS has one
             buffer) | what came is turned and written to LDS | a barrier
    direct   a wait for what came | a barrier | loads of the next step | reads and products
    ahead    reads of the second part among products of the first | a wait for the next step's loads | a
             barrier | loads of a later step and reads of the next, among products of the second part
    staged_ahead
             reads of the second part among products of the first, then writes of what came, and A's loads of
             the step after the next | a barrier | B's loads and reads of the next step, among products

Scales of a microscaled product are loaded a step ahead, before its tiles, or else before the first phase.

A phase reads the fragments that the products of one length of the instruction's K need, those of the columns
first, and multiplies row by row as they arrive.  A test compares the loop with what the compiler makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Final

from imbrex.chip import GPU_MACHINES, NARROWEST, TURN, VECTOR_BYTES, GpuMachine, Rates
from imbrex.config.xdlops.plan import XdlopsPlan
from imbrex.config.xdlops.stage import TileCopy
from imbrex.dtype import BLOCK
from imbrex.timing.operation import Loop, Operation, operation
from imbrex.view.mma.wave import TURNED_BYTES, WaveTiles
from imbrex.view.work.taps import PIECES, Load, begun, under_way

__all__ = ["loop_of", "modelled"]

TURNING: Final = operation("vector", TURN)
"""A vector instruction that moves or joins registers, or computes an index."""
JOINING: Final = {1: 1.25, 2: 0.5}
"""Vector instructions for an element of so many bytes that fills no register, as the compiler joins them."""
WRITTEN: Final = (5, 9, 10)
"""Shares of a part's products, of the last, in which writes to LDS stand; the reads come before."""
TAP_INSTRUCTIONS: Final = 20
"""Vector instructions that take k apart into the pixels of a window, with their guards, as compiled."""


def _rates(plan: XdlopsPlan) -> Rates:
    rates = modelled(plan.machine).rates
    assert rates is not None, plan.machine.name
    return rates


def modelled(machine: GpuMachine) -> GpuMachine:
    """The machine whose rates are known, or the one that it is like."""
    return machine if machine.rates is not None else GPU_MACHINES[machine.chip]


def loop_of(plan: XdlopsPlan) -> Loop:
    """There must be an instruction that serves the plan."""
    tiles = plan.wave_tiles
    assert tiles is not None, plan.tuning
    copies, pointers = (plan.a_copy, plan.b_copy), (operation("scalar"),) * 3
    line = _rates(plan).line_bytes
    if plan.tuning.copy == "ahead" and plan.taps is not None:
        return (*pointers, *_indices(plan), *_taps_ahead(plan, tiles, line), operation("branch"))
    if plan.tuning.copy == "ahead":
        loads = [op for copy in _loaded(plan) for op in _direct_loads(plan, copy, line)]
        return (*pointers, *_indices(plan), *_ahead(plan, tiles, loads), operation("branch"))
    if plan.tuning.copy == "staged_ahead":
        return (*pointers, *_indices(plan), *_staged_ahead(plan, tiles, line), operation("branch"))
    scales = _scales(plan, tiles)
    products = (*scales, *([operation("wait", vm=0)] if scales else []), *_products(plan, tiles))
    if plan.tuning.is_direct:
        begin = (*pointers, operation("wait", vm=0), operation("barrier"))
        loads = tuple(op for copy in copies for op in _direct_loads(plan, copy, line))
        return (*begin, *loads, *products, *_indices(plan), operation("branch"))
    begin = (*pointers, operation("wait", lgkm=0), operation("barrier"))
    loads = [op for copy in copies for op in _loads(copy, line)]
    behind: list[Operation] = []
    if plan.tuning.buffers == 1:
        behind = [operation("wait", lgkm=0), operation("barrier")]
    writes = tuple(_writes(copies, len(loads)))
    return (*begin, *_indices(plan), *loads, *products, *behind, *writes, operation("branch"))


def _loaded(plan: XdlopsPlan) -> list[TileCopy]:
    """A's and B's copy in the order in which a step that is read ahead loads them: wider elements first,
    whose rows of a tile are whole lines of memory; those that are parts of one hold up what follows.
    """
    return sorted((plan.a_copy, plan.b_copy), key=lambda copy: -copy.element_bytes)


def _ahead(plan: XdlopsPlan, tiles: WaveTiles, loads: list[Operation]) -> Iterator[Operation]:
    """A step that is read ahead, part by part; `weave` of device/hip/schedule.h orders a part."""
    (rows, columns), product, each = _units(plan, tiles)
    outers = plan.k_outers // plan.parts
    reads = outers * (tiles.n_tiles * columns + tiles.m_tiles * rows)
    products = outers * tiles.m_tiles * tiles.n_tiles * each
    scales = _scales(plan, tiles)
    came = len(loads) if scales else None
    for part in range(plan.parts):
        if part + 1 < plan.parts:
            yield operation("wait", lgkm=0, vm=came)
            yield from woven([], reads, product, products)
        else:
            yield operation("wait", vm=(plan.tuning.buffers - 2) * len(loads), lgkm=0)
            yield operation("barrier")
            yield from woven([*scales, *loads], reads, product, products)


def _staged_ahead(plan: XdlopsPlan, tiles: WaveTiles, line: int) -> Iterator[Operation]:
    """A step that is read ahead through registers; `weave` of device/hip/schedule.h orders a part."""
    (rows, columns), product, each = _units(plan, tiles)
    outers = plan.k_outers // plan.parts
    reads = outers * (tiles.n_tiles * columns + tiles.m_tiles * rows)
    products = outers * tiles.m_tiles * tiles.n_tiles * each
    of_a = list(_loads(plan.a_copy, line, plan.tuning.m_per_block))
    of_b = list(_loads(plan.b_copy, line, plan.tuning.n_per_block))
    later = (plan.tuning.buffers - plan.lds_buffers) * (len(of_a) + len(of_b))
    written = [
        *_written(plan.a_copy, later + len(of_b)),
        *([load] for load in of_a),
        *_written(plan.b_copy, later + len(of_a)),
    ]
    yield operation("wait", lgkm=0)
    half, end = (products * share // WRITTEN[2] for share in WRITTEN[:2])
    yield from _spread([[read] for read in reads], product, half)
    yield from _spread(written, product, end - half)
    yield from (product,) * (products - end)
    yield operation("wait", lgkm=0)
    yield operation("barrier")
    yield from woven(of_b, reads, product, products)


def _written(copy: TileCopy, behind: int) -> Iterator[list[Operation]]:
    """Writes of what came; the first waits for all of it, and has behind it what is turned.  behind: loads
    of the other operand that are under way.
    """
    count, wait = copy.per_thread // copy.data_per_write, operation("wait", vm=behind)
    write = operation("write", lane_bytes=max(NARROWEST, copy.data_per_write * copy.element_bytes))
    yield [wait, *(TURNING,) * round(_moved(copy)), write]
    yield from ([write] for _ in range(count - 1))


def _spread(accesses: list[list[Operation]], product: Operation, products: int) -> Iterator[Operation]:
    """So many products evenly behind accesses."""
    count = len(accesses)
    for position, access in enumerate(accesses):
        yield from access
        yield from (product,) * (products * (position + 1) // count - products * position // count)


def _taps_ahead(plan: XdlopsPlan, tiles: WaveTiles, line: int) -> Iterator[Operation]:
    """A step of taps that are read ahead: each ends with a barrier and loads, see `view.work.taps`."""
    taps, depth = plan.tuning.taps, plan.tuning.buffers
    (rows, columns), product, each = _units(plan, tiles)
    outers = plan.k_outers // (taps * plan.parts)
    reads = outers * (tiles.n_tiles * columns + tiles.m_tiles * rows)
    products = outers * tiles.m_tiles * tiles.n_tiles * each
    of_a, of_b = (list(_direct_loads(plan, copy, line)) for copy in (plan.a_copy, plan.b_copy))

    def loads(load: Load) -> list[Operation]:
        return of_a if load.name == "a" else of_b[load.piece :: PIECES]

    for tap in range(taps):
        for _ in range(plan.parts - 1):
            yield operation("wait", lgkm=0)
            yield from woven([], reads, product, products)
        yield operation("wait", vm=under_way(tap, taps, depth, lambda load: len(loads(load))), lgkm=0)
        yield operation("barrier")
        yield from woven(
            [op for load in begun(tap, taps, depth) for op in loads(load)], reads, product, products
        )


def _scales(plan: XdlopsPlan, tiles: WaveTiles) -> list[Operation]:
    """Loads of scales, each of a row or column for all instructions of a step; none where there are none."""
    if not tiles.is_scaled:
        return []
    count = plan.tuning.tile[2] // tiles.instruction.k
    vectors = count // gcd(count, VECTOR_BYTES)
    load = operation("load", lane_bytes=max(NARROWEST, count // vectors))
    return [load] * (vectors * (tiles.m_tiles + tiles.n_tiles))


def woven(
    loads: list[Operation], reads: list[Operation], product: Operation, products: int
) -> Iterator[Operation]:
    """Accesses among products as the header has them."""
    accesses = len(loads) + len(reads)
    covered = min(products, accesses)
    for position in range(accesses):
        before, behind = (len(loads) * end // accesses for end in (position, position + 1))
        yield loads[before] if behind > before else reads[position - before]
        yield from (product,) * (covered * (position + 1) // accesses - covered * position // accesses)
    yield from (product,) * (products - covered)


def _units(plan: XdlopsPlan, tiles: WaveTiles) -> tuple[list[list[Operation]], Operation, int]:
    """The reads of LDS that a pack of A and one of B take; a product, how many two packs take."""
    used, reads = tiles.instruction, list[list[Operation]]()
    for copy, size in zip((plan.a_copy, plan.b_copy), plan.oriented.lds_bytes, strict=True):
        width = plan.tuning.kpack * size
        is_short = plan.turned(copy) and size < VECTOR_BYTES
        pieces = max(1, width // (TURNED_BYTES if is_short else VECTOR_BYTES))
        reads.append([operation("read", lane_bytes=max(NARROWEST, width // pieces))] * pieces)
    clocks = used.cycles[plan.machine.chip]
    product = operation("matrix", clocks, is_exclusive=used.a_type in _rates(plan).exclusive)
    return reads, product, tiles.k_step // used.k


def _products(plan: XdlopsPlan, tiles: WaveTiles) -> list[Operation]:
    """Reads of LDS and products of a step, phase by phase."""
    (rows, columns), product, each = _units(plan, tiles)
    phase = columns * tiles.n_tiles + rows * tiles.m_tiles
    for row in range(tiles.m_tiles):
        wait = operation("wait", lgkm=len(rows) * (tiles.m_tiles - 1 - row))
        phase += [wait, *[product] * (tiles.n_tiles * each)]
    return phase * plan.k_outers


def _loads(copy: TileCopy, line: int, rows: int | None = None) -> Iterator[Operation]:
    """Into registers.  Lines come whole, of which a tile's row or column may be less.  rows: of the tile that
    exist, where the copy has more.
    """
    width = copy.data_per_read * copy.element_bytes
    together = (copy.k, copy.d)[copy.vector_dim] * copy.element_bytes
    waste = max(1.0, line / together) if copy.data_per_read > 1 else 1.0
    share = 1.0 if rows is None else rows / copy.d
    load = operation("load", lane_bytes=max(NARROWEST, width), factor=waste * share)
    return iter((load,) * (copy.per_thread // copy.data_per_read))


def _direct_loads(plan: XdlopsPlan, copy: TileCopy, line: int) -> Iterator[Operation]:
    vector = plan.direct_vector(copy) or 1
    together = copy.k if not plan.turned(copy) else copy.d // (BLOCK if copy.across else 1)
    waste = max(1.0, line / (together * copy.element_bytes))
    load = operation("direct", lane_bytes=max(NARROWEST, vector * copy.element_bytes), factor=waste)
    return iter((load,) * max(1, copy.k * copy.d // (vector * copy.threads)))


def _writes(copies: tuple[TileCopy, TileCopy], loads: int) -> Iterator[Operation]:
    """Writes to LDS, each behind a wait for what it writes, and behind what turns or joins it."""
    came = 0
    for copy in copies:
        count, own = copy.per_thread // copy.data_per_write, copy.per_thread // copy.data_per_read
        moved = (TURNING,) * round(_moved(copy) / max(1, count))
        write = operation("write", lane_bytes=max(NARROWEST, copy.data_per_write * copy.element_bytes))
        for position in range(count):
            yield operation("wait", vm=loads - came - -(-own * (position + 1) // count))
            yield from moved
            yield write
        came += own


def _moved(copy: TileCopy) -> float:
    """Vector instructions that turn what came, or join what came one by one."""
    narrow = copy.data_per_read * copy.element_bytes < NARROWEST
    turned = copy.per_thread * copy.element_bytes / 4 if copy.is_turned and copy.element_bytes < 4 else 0
    return turned + (copy.per_thread * JOINING[copy.element_bytes] if narrow else 0)


def _indices(plan: XdlopsPlan) -> Loop:
    """Two vector instructions for each load of an operand that is seen through windows, or whose steps cross
    stretches of memory; more where k runs over the pixels of windows, which each load takes apart, unless a
    step stays at one of them.  A plain matrix has its pointers in scalars.
    """
    k, count = plan.tuning.k_copied, 0.0
    for position, copy in enumerate((plan.a_copy, plan.b_copy)):
        run = copy.access.run[0] if copy.access.step[0] == 1 else copy.access.run[1]
        whole = plan.context.k if copy.access.step[0] == 1 else copy.d
        each = 2 if 1 < run < whole and gcd(int(run), k) <= k else 0
        is_window = copy.access.repeats(plan.context.k * plan.sizes[position])
        if copy.access.step[0] != 1 and is_window and copy.access.even % k:
            each = TAP_INSTRUCTIONS
        if copy.across:
            each = 0
        vector = copy.data_per_read
        if plan.tuning.is_direct:
            vector = plan.direct_vector(copy) or 1
        count += each * copy.per_thread / vector
    return (TURNING,) * round(count)
