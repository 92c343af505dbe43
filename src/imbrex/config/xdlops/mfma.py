"""Which matrix instruction of the table serves an XDLOPS tuning on a chip.

"auto" takes the fastest that fits: of the product's type, that divides the wave tile, and of whose operands a
pack and a step hold a whole number.  Of equally fast ones the smaller tile wins: more groups of lanes share
out K, so that one read a lane serves a longer step, and the products of a step wait for its reads once.
"""

from __future__ import annotations

from functools import lru_cache

from imbrex.dtype import TF32, DType
from imbrex.view.mma import CHIPS, Instruction, in_packs, instruction, instructions
from imbrex.view.mma.fragment import k_parts
from imbrex.view.mma.wave import WaveTiles

__all__ = [
    "AUTO",
    "candidates",
    "chosen",
    "eligible",
    "longest_pack",
    "named",
    "served",
    "takes",
    "tiles_with",
]

AUTO = "auto"
TRUNCATING = ("xf32",)
"""Operand types that drop bits of an f32: never chosen for it, only asked for by name; chosen for tf32."""

Numbers = tuple[int, int, int, int, int, int, int]
"""m_per_block, n_per_block, k_per_block, m_per_wave, n_per_wave, kpack, interleave."""


def takes(found: Instruction, dtype: DType, chip: str) -> bool:
    """Does the chip's instruction multiply elements of this type, that lanes hold, into its accumulator?"""
    if found.b is None or not dtype.is_operand:
        return False
    if dtype == TF32 and found.a_type in TRUNCATING:
        return (found.b_type, found.format("c", chip)) == (found.a_type, dtype.accumulator_name)
    if dtype.is_microscaled and found.scale_a is None:
        return False
    formats = (found.format("a", chip), found.format("b", chip), found.format("c", chip))
    return formats == (*(of.name for of in dtype.operands), dtype.accumulator_name)


@lru_cache(maxsize=256)
def served(dtype: DType, chip: str) -> tuple[Instruction, ...]:
    """The chip's instructions that multiply this type, as they take packs of it; none for a chip without
    matrix instructions.
    """
    found = (i for i in instructions(chip) if takes(i, dtype, chip)) if chip in CHIPS else ()
    return tuple(in_packs(i, dtype.pack) for i in found)


@lru_cache(maxsize=256)
def eligible(dtype: DType, chip: str) -> tuple[Instruction, ...]:
    """What "auto" chooses among."""
    return tuple(i for i in served(dtype, chip) if i.a_type not in TRUNCATING or dtype == TF32)


def named(name: str) -> Instruction | None:
    """The instruction that a tuning names; None for "auto"."""
    return None if name == AUTO else instruction(name)


@lru_cache(maxsize=256)
def candidates(name: str, dtype: DType, chip: str) -> tuple[Instruction, ...]:
    """The instruction that a tuning names, or all that "auto" chooses among."""
    requested = named(name)
    if requested is None:
        return eligible(dtype, chip)
    is_served = requested.fits(chip) and takes(requested, dtype, chip)
    return (in_packs(requested, dtype.pack) if is_served else requested,)


@lru_cache(maxsize=256)
def longest_pack(name: str, dtype: DType, chip: str) -> int:
    """Elements that a lane gives to one of these instructions at once, at most; 0 without any."""
    return max((k_parts(i.a).registers for i in candidates(name, dtype, chip)), default=0)


def tiles_with(found: Instruction, numbers: Numbers, is_scaled: bool = False) -> WaveTiles | None:
    """The tuning's tiles cut for an instruction; None where that does not divide tiles, packs and step.
    is_scaled: do products have scales?  Without, A and B take k in one order, that of lanes and registers;
    with them each as the instruction counts it.
    """
    m, n, k, m_wave, n_wave, kpack, interleave = numbers
    parts, others = k_parts(found.a), k_parts(found.map("b"))
    is_alike = parts == others or (is_scaled and parts.registers == others.registers)
    if kpack % parts.registers or k % parts.groups or not is_alike:
        return None
    if is_scaled and kpack != parts.registers:
        return None
    return WaveTiles.of(found, (m, n), (m_wave, n_wave), kpack, interleave, is_scaled)


@lru_cache(maxsize=4096)
def chosen(name: str, numbers: Numbers, dtype: DType, chip: str) -> WaveTiles | None:
    """The cut by the instruction that a tuning names, or by the fastest that fits; None without one."""
    requested = named(name)
    if requested is not None:
        fits = requested.fits(chip) and takes(requested, dtype, chip)
        return tiles_with(in_packs(requested, dtype.pack), numbers, dtype.is_microscaled) if fits else None
    fitting = [(i, t) for i in eligible(dtype, chip) if (t := tiles_with(i, numbers, dtype.is_microscaled))]
    if not fitting:
        return None
    return max(fitting, key=lambda p: (p[0].flops / p[0].cycles[chip], p[0].blocks == 1, -p[0].m * p[0].n))[1]
