"""XDLOPS tunings worth looking at for a GEMM on a chip; and rocMLIR's whole space, for a search."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Final

from imbrex.chip import VECTOR_BYTES, GpuMachine
from imbrex.config.block_plan import CopyKind
from imbrex.config.context import GemmContext
from imbrex.config.xdlops import mfma
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.dtype import DType
from imbrex.view.mma import Instruction

__all__ = ["BLOCKS", "STEP_BYTES", "wave_space"]

BLOCKS: Final = (
    (256, 256, 128, 64),
    (256, 256, 64, 128),
    (256, 128, 128, 64),
    (128, 256, 64, 128),
    (256, 128, 64, 128),
    (128, 256, 128, 64),
    (256, 128, 64, 64),
    (128, 256, 64, 64),
    (192, 128, 96, 64),
    (128, 192, 64, 96),
    (160, 128, 80, 64),
    (128, 160, 64, 80),
    (128, 128, 64, 64),
    (128, 96, 64, 48),
    (96, 128, 48, 64),
    (448, 64, 112, 64),
    (64, 448, 64, 112),
    (256, 64, 64, 64),
    (64, 256, 64, 64),
    (128, 64, 64, 32),
    (64, 128, 32, 64),
    (64, 64, 32, 32),
    (128, 32, 32, 32),
    (32, 128, 32, 32),
    (32, 64, 16, 32),
    (32, 32, 16, 16),
    (64, 16, 16, 16),
    (16, 64, 16, 16),
    (16, 16, 16, 16),
    (4, 64, 4, 64),
    (64, 4, 64, 4),
)
"""m, n of a block tile and of a wave tile, of eight waves or fewer."""
AHEAD: Final = ((192, 192, 96, 48), (192, 192, 48, 96), (128, 224, 64, 112), (224, 128, 112, 64))
"""The same of tiles that are read ahead only, of sevens and threes: those of powers of two leave a fourth of
256 compute units without a tile of many a layer.
"""
AHEAD_TAPS: Final = ((128, 224, 32, 112), (64, 448, 32, 112), (64, 224, 32, 112), (64, 192, 32, 96))
"""The same of taps of a row, beside whose guards waves of 64 x 112 have too few registers."""
STAGED_AHEAD: Final = (
    (256, 256, 64, 128, 8, 2),
    (256, 224, 64, 112, 8, 2),
    (256, 192, 64, 96, 8, 2),
    (256, 128, 64, 64, 8, 3),
    (128, 192, 64, 96, 8, 3),
    (128, 128, 64, 64, 16, 3),
    (128, 96, 64, 48, 16, 3),
    (128, 64, 64, 32, 16, 3),
    (64, 96, 32, 48, 16, 3),
    (64, 64, 32, 32, 16, 3),
)
"""The same of tiles that are read ahead through registers, with bytes of a pack and buffers.  A step has 8
packs, half a line of memory, of which LDS holds large tiles twice, or a line.
"""
SMALL, LARGE = 64 * 128, 128 * 128
"""Elements of the least tile that is read ahead, and of the least of which two are enough in LDS."""
LEAST_HELD, MOST_HELD = 32 * 32, 64 * 112
"""Sums of an instruction that keep their places, and of a wave that leave few registers beside them."""
STEP_BYTES: Final = (64, 128, 32)
"""Bytes of K, the usual first: of equally good steps the shorter one has fewer addresses to keep."""


def wave_space(context: GemmContext, machine: GpuMachine) -> list[XdlopsTuning]:
    """The block tiles with several steps of K; packs of 16 bytes, or of what the fastest instruction takes.

    Rows are the GEMM dimension whose neighbours lie together in C.
    """
    dtype = context.dtype
    swapped = context.c.vector[1] > context.c.vector[0] or (
        context.c.vector[1] == context.c.vector[0] and context.c.run[1] > context.c.run[0]
    )
    taps = (1,) if context.taps is None or swapped else (1, context.taps.count)
    found: list[XdlopsTuning] = []
    for kpack in _packs(context, machine):
        steps = dict.fromkeys(
            _power(step, kpack * size) for size in sorted(context.element_bytes)[::-1] for step in STEP_BYTES
        )
        for block, k, buffers in product((*BLOCKS, *AHEAD, *AHEAD_TAPS), filter(None, steps), (2, 1)):
            m, n, m_wave, n_wave = block
            turns = _turns(context, swapped, m_wave, dtype)
            staged = XdlopsTuning(
                m, n, k, m_wave, n_wave, kpack, swapped=swapped, interleave=turns, buffers=buffers
            )
            for count in taps:
                one = staged if count == 1 else replace(staged, taps=count)
                found += _as_needed(one, context, machine) if block in BLOCKS else ()
                if block not in (AHEAD_TAPS if count == 1 else AHEAD):
                    found += _ahead(one, context, machine)
    return [*found, *_staged_ahead(context, machine, swapped)]


def _staged_ahead(context: GemmContext, machine: GpuMachine, swapped: bool) -> list[XdlopsTuning]:
    """Tiles of a chip that loads past the registers in narrow pieces only.  Elements of 4 bytes and more keep
    the matrix unit busy without.
    """
    size, is_narrow = (
        max(context.element_bytes),
        machine.direct_bytes and VECTOR_BYTES not in machine.direct_bytes,
    )
    if machine.rates is None or not is_narrow or size > 2:
        return []
    found: list[XdlopsTuning] = []
    for m, n, m_wave, n_wave, pack, buffers in STAGED_AHEAD:
        turns = _turns(context, swapped, m_wave, context.dtype)
        one = XdlopsTuning(m, n, 8, m_wave, n_wave, pack // size, swapped=swapped, interleave=turns)
        found.append(replace(one, copy="staged_ahead", buffers=buffers))
    return found


def _as_needed(staged: XdlopsTuning, context: GemmContext, machine: GpuMachine) -> list[XdlopsTuning]:
    """The tuning, and that of the same step past the registers: nothing is read ahead."""
    direct = _direct(staged, "direct", context, machine) if staged.buffers == 2 else None
    return [staged] if direct is None else [staged, direct]


def _power(step: int, pack: int) -> int:
    """Packs of so many bytes in a step of about so many: the power of two that fills it; 0 where a pack of
    16 bytes or more is longer.
    """
    whole = step // pack
    return whole if step % pack == 0 else 1 << (step // pack).bit_length() if whole else 0


def _packs(context: GemmContext, machine: GpuMachine) -> list[int]:
    """16 bytes first; more where an instruction takes more at once."""
    usual = VECTOR_BYTES // max(context.element_bytes)
    taken = {i.a_elements for i in mfma.eligible(context.dtype, machine.chip)}
    return [usual, *sorted(t for t in taken if t > usual)]


def _direct(
    staged: XdlopsTuning, copy: CopyKind, context: GemmContext, machine: GpuMachine
) -> XdlopsTuning | None:
    """The tuning of both operands past the registers, if that goes in the widest accesses that there are.

    Rows in turn halve what lanes that transpose read of a bank's width, so that there are none of these.
    """
    direct = replace(staged, copy=copy)
    alone = (direct if direct.interleave == 1 else replace(direct, interleave=1)).plan(context, machine)
    plan = alone if alone.turned(alone.a_copy) else direct.plan(context, machine)
    copies = plan.a_copy, plan.b_copy
    is_wide = all(plan.direct_vector(copy) == VECTOR_BYTES // copy.element_bytes for copy in copies)
    return plan.tuning if is_wide else None


def _ahead(staged: XdlopsTuning, context: GemmContext, machine: GpuMachine) -> list[XdlopsTuning]:
    """Two and three tiles in LDS, of small ones three and four, by the largest of the fastest instructions
    that divide the wave tile: of smaller ones the compiler, short of registers, gives a sum another place in
    each step, and copies it.  Of a step of one line of memory, which fills LDS best, and of tiles that leave
    a compute unit to a workgroup or two; many hide each other's waits without it.
    """
    size = staged.m_per_block * staged.n_per_block
    lines = machine.rates.line_bytes if machine.rates is not None else 0
    fills = any(lines // 2 < staged.k_copied * size < 2 * lines for size in context.element_bytes)
    if staged.buffers != 2 or size < SMALL or not fills or VECTOR_BYTES not in machine.direct_bytes:
        return []
    tuning = _direct(staged, "ahead", context, machine)
    dtype = context.dtype.exchanged if staged.swapped else context.dtype
    used = None if tuning is None else _largest(tuning, dtype, machine)
    if tuning is None or used is None or _is_crowded(tuning, used, context, machine):
        return []
    counts = (2, 3) if size >= LARGE else (3, 4)
    return [replace(tuning, instruction=used.name, buffers=buffers) for buffers in counts]


def _is_crowded(tuning: XdlopsTuning, used: Instruction, context: GemmContext, machine: GpuMachine) -> bool:
    """Have sums too few registers, beside places in windows that lanes take apart for both operands turned?

    Of 224 x 128, the gradient of a 3x3 filter, 47 went to AGPRs and back: 66 % busy, where the plan said 82.
    """
    plan = tuning.plan(context, machine)
    copies, sizes = (plan.a_copy, plan.b_copy), plan.sizes
    has_windows = any(c.access.repeats(context.k * n) for c, n in zip(copies, sizes, strict=True))
    is_wide = used.m * used.n < LEAST_HELD and tuning.m_per_wave * tuning.n_per_wave >= MOST_HELD
    return has_windows and is_wide and all(plan.turned(copy) for copy in copies)


def _largest(tuning: XdlopsTuning, dtype: DType, machine: GpuMachine) -> Instruction | None:
    """The largest of the fastest instructions, of those whose tiles in turn divide the wave tile."""
    fast = [i for i in mfma.eligible(dtype, machine.chip) if i.blocks == 1]
    most = max((i.flops / i.cycles[machine.chip] for i in fast), default=0)
    fitting = [
        i
        for i in fast
        if i.flops / i.cycles[machine.chip] == most
        and tuning.m_per_wave % (i.m * tuning.interleave) == tuning.n_per_wave % i.n == 0
    ]
    return max(fitting, key=lambda i: i.m * i.n, default=None)


def _turns(context: GemmContext, swapped: bool, m_wave: int, dtype: DType) -> int:
    """Instruction tiles that share their rows, so that a lane's neighbours in C fill 16 bytes."""
    width = context.c.vector[1 if swapped else 0]
    wanted = min(width, VECTOR_BYTES // dtype.output.bytes)
    return 2 if wanted >= 8 and m_wave >= 32 else 1
