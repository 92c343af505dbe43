"""Rules of XDLOPS tunings: each reason says what would work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from imbrex.chip import VECTOR_BYTES, GpuMachine
from imbrex.config.rules import Reasons, Rules, grid, listed
from imbrex.config.xdlops import mfma
from imbrex.config.xdlops.plan import XdlopsPlan
from imbrex.config.xdlops.stage import TileCopy
from imbrex.diagnostic import Diagnostic
from imbrex.numeral import counted
from imbrex.view.mma import Instruction, instructions, nearest
from imbrex.view.mma.fragment import k_parts
from imbrex.view.mma.wave import tile_of

__all__ = ["XDLOPS_RULES"]


def matrix_unit(plan: XdlopsPlan, machine: GpuMachine) -> Reasons:
    """Matrix instructions of the chip take this type."""
    name, chip = plan.context.dtype.name, machine.chip
    if mfma.served(plan.context.dtype, chip):
        return
    able = sorted(
        {
            c
            for i in instructions()
            if i.b is not None
            for c in i.chips
            if mfma.takes(i, plan.context.dtype, c)
        }
    )
    where = f"; those of {listed(tuple(able))} do" if able else ""
    yield f"no matrix instruction of {chip} multiplies {name}{where}"


def instruction(plan: XdlopsPlan, machine: GpuMachine) -> Reasons:
    """An instruction that the tuning names is the chip's, and takes the product's type."""
    chip, dtype = machine.chip, plan.oriented.dtype
    fit = [i.name for i in mfma.served(dtype, chip)]
    try:
        requested = mfma.named(plan.tuning.instruction)
    except Diagnostic as error:
        yield f"{error.message}; {error.hint}" if error.hint else error.message
        return
    if requested is None or not fit:
        return
    if not requested.fits(chip):
        near = nearest(requested, chip)
        instead = near.name if near is not None else _some(fit)
        yield f"{chip} has no {requested.name}, which is of {listed(requested.chips)}; {instead} would do"
    elif not mfma.takes(requested, dtype, chip):
        pair = (
            requested.a_type
            if requested.a_type == requested.b_type
            else f"{requested.a_type} by {requested.b_type}"
        )
        own = f"the {'swapped ' if plan.tuning.swapped and dtype.pair else ''}product is of {dtype.name}"
        yield f"{requested.name} multiplies {pair}, {own}; {_some(fit)} would do"


def waves(plan: XdlopsPlan, machine: GpuMachine) -> Reasons:
    """Wave tiles divide the block tile in both directions, into no more waves than a workgroup has."""
    t = plan.tuning
    for dim, block, wave in (("m", t.m_per_block, t.m_per_wave), ("n", t.n_per_block, t.n_per_wave)):
        if block % wave:
            yield f"{dim}_per_block {block} is not a multiple of {dim}_per_wave {wave}"
    if not machine.wave_size <= plan.block_size <= machine.max_threads:
        yield f"block_size {plan.block_size} is outside {machine.wave_size}..{machine.max_threads}"


def wave_tile(plan: XdlopsPlan, machine: GpuMachine) -> Reasons:
    """An instruction divides the wave tile; packs and a step are whole operands of it; tiles share rows
    evenly.

    The reason is the first of these that no instruction meets.
    """
    if plan.wave_tiles is not None:
        return
    t, fit = plan.tuning, _candidates(plan, machine)
    where = f"for {plan.context.dtype.name} on {machine.name}"
    rows, columns, packs, k = t.m_per_wave, t.n_per_wave, t.kpack, t.k_per_block
    size = f"wave tile {rows}x{columns} is not a multiple of an instruction's"
    pack = f"kpack {packs} is not a multiple of what an instruction takes at once"
    step = f"k_per_block {k} is not a multiple of the groups of lanes that share k"
    questions: tuple[tuple[str, Callable[[Instruction], bool], Callable[[Instruction], list[str]]], ...] = (
        (size, lambda i: _divides(i, rows, columns), lambda i: [f"{m}x{n}" for m, n in _tiles(i)]),
        (pack, lambda i: packs % k_parts(i.a).registers == 0, lambda i: [str(k_parts(i.a).registers)]),
        (step, lambda i: k % k_parts(i.a).groups == 0, lambda i: [str(k_parts(i.a).groups)]),
    )
    for message, holds, numbers_of in questions:
        kept = [i for i in fit if holds(i)]
        if not kept:
            yield f"{message} {where}: {_some(sorted({a for i in fit for a in numbers_of(i)}, key=_numbers))}"
            return
        fit = kept
    tall = _some(m for i in fit for m, _ in _tiles(i))
    yield f"interleave {t.interleave} of tiles of {tall} rows does not divide m_per_wave {rows}"


def kpack(plan: XdlopsPlan, machine: GpuMachine) -> Reasons:
    """A pack is a power of two, and no longer than a vector or what an instruction takes at once."""
    t, size = plan.tuning, min(plan.context.element_bytes)
    taken = mfma.longest_pack(t.instruction, plan.oriented.dtype, machine.chip)
    most = max(VECTOR_BYTES // size, taken)
    if t.kpack & (t.kpack - 1) or t.kpack > most:
        yield f"kpack {t.kpack} is not a power of two up to {most} for {plan.context.dtype.name}"


def taps(plan: XdlopsPlan, machine: GpuMachine) -> Reasons:
    """A step of several taps has those of a row of a window, with equal parts of their channels, which are
    whole operands of the instruction; pixels are the columns.
    """
    t, found = plan.tuning, plan.context.taps
    if t.taps == 1:
        return
    if found is None or t.taps != found.count:
        have = "1" if found is None else f"1 or {found.count}"
        yield f"taps {t.taps} of a step: this product's steps take {have}"
        return
    if t.swapped:
        yield f"taps {t.taps} share columns; rows of a swapped product are not shared: say straight"
    if found.channels % t.k_copied:
        each = f"k_per_block {t.k_per_block} of packs of {t.kpack}"
        yield f"{found.channels} channels of a tap are not whole steps of {t.k_copied}: {each}"
    elif plan.wave_tiles is not None and t.k_copied % plan.wave_tiles.k_step:
        step = f"{plan.wave_tiles.instruction.name} takes {plan.wave_tiles.k_step} at a time"
        yield f"a step has {t.k_copied} of k of each tap, but {step}"


def copy_of_blocks(plan: XdlopsPlan, machine: GpuMachine) -> Reasons:
    """The work items tile the blocks of A and B exactly, at least one element each."""
    if plan.tuning.is_direct:
        return
    for matrix, copy in (("a", plan.a_copy), ("b", plan.b_copy)):
        if not copy.is_exact:
            yield f"{matrix}'s block {_block(copy)} does not divide among {copy.threads} work items"


def direct(plan: XdlopsPlan, machine: GpuMachine) -> Reasons:
    """Direct copies: the chip has them, and what each lane loads are neighbours in memory and in LDS."""
    t = plan.tuning
    if not t.is_direct:
        for matrix, copy in (("a", plan.a_copy), ("b", plan.b_copy)):
            if (of := copy.across) is not None:
                dim = "m" if matrix == "a" else "n"
                packs = f"{matrix} has packs of {of.bits} bits along {dim}"
                yield f"{packs}, which only direct copies bring to LDS; say direct or ahead"
        return
    if not machine.direct_bytes:
        yield f"{machine.name} has no direct copies to LDS; gfx942 and gfx950 have; say staged"
        return
    if t.lds not in ("xor", "plain") and any(plan.turned(copy) for copy in (plan.a_copy, plan.b_copy)):
        where = f"an operand that reads of LDS transpose lies there in rows of k, not {t.lds}"
        yield f"{where}; xor and plain would do"
    elif t.lds == "padded":
        yield "a direct copy fills LDS without gaps, not padded rows; xor, plain and tiled would do"
    for matrix, copy in (("a", plan.a_copy), ("b", plan.b_copy)):
        vector = plan.direct_vector(copy)
        if vector is None:
            each = copy.element_bytes
            sizes = _some(
                f"{count} ({counted(count * each, 'byte')})"
                for count in copy.direct_vectors(machine.direct_bytes)
            )
            have = copy.access.vector[0]
            takes = f"a direct copy of {matrix} takes {sizes} aligned neighbours in k"
            yield f"{takes}{_or_turned(plan, machine, copy)}; it has {have}; say staged"
        elif copy.k * copy.d % (vector * copy.threads):
            size = vector * copy.element_bytes
            vectors = f"vectors of {counted(size, 'byte')} by {counted(copy.threads, 'work item')}"
            yield f"{matrix}'s block {_block(copy)} is not filled by whole {vectors}"


def ahead_through_registers(plan: XdlopsPlan, machine: GpuMachine) -> Reasons:
    """A step has two parts, with a barrier between, and no taps or scales, whose loads stand elsewhere."""
    t, tiles = plan.tuning, plan.wave_tiles
    if t.copy != "staged_ahead" or tiles is None:
        return
    if t.taps > 1:
        yield f"taps {t.taps} of a step are read ahead where copies are direct; say ahead"
    if tiles.is_scaled:
        yield "scales are read ahead where copies are direct; say ahead"
    if plan.parts == 1:
        yield f"k_per_block {t.k_per_block} is not two parts of what {tiles.instruction.name} takes at once"


def lds_layout(plan: XdlopsPlan, machine: GpuMachine) -> Reasons:
    """The packs of a row are permuted by an xor only where they are a power of two."""
    t = plan.tuning
    if t.lds == "xor" and t.k_per_block & (t.k_per_block - 1):
        yield f"k_per_block {t.k_per_block} is not a power of two, as xor rows of LDS need; padded would do"


def lds_bytes(plan: XdlopsPlan, machine: GpuMachine) -> Reasons:
    """All buffers of A and B fit."""
    if plan.wave_tiles is None or any(copy_of_blocks(plan, machine)):
        return  # wave_tile or copy_of_blocks says why
    if plan.lds_bytes > machine.lds_bytes:
        fewer = "; 1 buffer would fit" if plan.lds_bytes // plan.tuning.buffers <= machine.lds_bytes else ""
        yield f"lds_bytes {plan.lds_bytes} > {machine.lds_bytes} on {machine.name}{fewer}"


def buffers(plan: XdlopsPlan, machine: GpuMachine) -> Reasons:
    """One LDS buffer an operand, or an even and an odd one; direct copies need both, those that are read
    ahead may have more.
    """
    t = plan.tuning
    if t.copy == "ahead":
        if t.buffers not in (2, 3, 4):
            yield f"buffers {t.buffers} is not one of 2, 3, 4, as copies that are read ahead need"
        if t.taps > 1 and t.buffers > t.taps + 1:
            yield f"buffers {t.buffers} > {t.taps + 1}: of {t.taps} taps no more are loaded ahead"
    elif t.copy == "staged_ahead":
        if t.buffers not in (2, 3):
            yield f"buffers {t.buffers} is not one of 2, 3: two of LDS, and one tile more in registers"
    elif t.buffers not in (1, 2):
        yield f"buffers {t.buffers} is not one of 1, 2"
    elif t.copy == "direct" and t.buffers == 1:
        yield "a direct copy fills one buffer while the other is read: buffers 1 is not 2"


def registers(plan: XdlopsPlan, machine: GpuMachine) -> Reasons:
    """One lane's registers fit, without spilling: sums, and all others."""
    most = machine.vector_registers
    for what, count in (("accumulators", plan.accumulators), ("registers", plan.registers)):
        if count > most:
            yield f"{what} {count} > {most} on {machine.name}; a smaller wave tile needs fewer"
    total = plan.accumulators + plan.registers
    if plan.tuning.reads_ahead and total > most:
        yield f"registers {total} > {most} on {machine.name}, beyond which sums are copied back and forth"
    waves = -(-plan.block_size // (machine.wave_size * machine.simds))
    limit = 2 * most // waves
    if waves > 1 and total > limit:
        shared = f"where a SIMD has {waves} waves of the workgroup"
        yield f"registers {total} > {limit} on {machine.name}, {shared}"


XDLOPS_RULES: Rules[XdlopsPlan, GpuMachine] = Rules(
    (matrix_unit, instruction, waves, kpack, buffers, lds_layout, taps),
    (wave_tile, copy_of_blocks, direct, ahead_through_registers, lds_bytes, registers, grid),
)


def _candidates(plan: XdlopsPlan, machine: GpuMachine) -> Sequence[Instruction]:
    """The instruction that the tuning names, or all that the choice is among."""
    return mfma.candidates(plan.tuning.instruction, plan.oriented.dtype, machine.chip)


def _tiles(found: Instruction) -> list[tuple[int, int]]:
    return list(dict.fromkeys((tile_of(found, "m"), tile_of(found, "n"))))


def _numbers(text: str) -> list[int]:
    """Numbers by value."""
    return [int(number) for number in text.split("x")]


def _divides(found: Instruction, m: int, n: int) -> bool:
    return any(m % rows == 0 and n % columns == 0 for rows, columns in _tiles(found))


def _some(words: Iterable[object], most: int = 8) -> str:
    """`a, b or c`, each once."""
    found = list(dict.fromkeys(map(str, words)))[:most]
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} or {found[-1]}"


def _or_turned(plan: XdlopsPlan, machine: GpuMachine, copy: TileCopy) -> str:
    """What else a direct copy would take, where the chip has reads that transpose."""
    if copy.turned_bits not in machine.turned_bits:
        return ""
    dim, vector = "m" if copy is plan.a_copy else "n", VECTOR_BYTES // copy.element_bytes
    have = f"{copy.access.vector[1]} of {copy.d}"
    turns = f", interleave {plan.tuning.interleave}" if dim == "m" and plan.tuning.interleave > 1 else ""
    return f", or {vector} in {dim}, which reads of LDS transpose (it has {have}{turns})"


def _block(copy: TileCopy) -> str:
    return f"{copy.k}x{copy.d}"
