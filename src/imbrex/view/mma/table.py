"""The table: every instruction, found by its name, and what to say where there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from imbrex.chip import no_target
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.view.mma.cdna import CDNA, mfma
from imbrex.view.mma.hopper import HOPPER, wgmma
from imbrex.view.mma.instruction import Instruction
from imbrex.view.mma.rdna import RDNA, wmma

__all__ = ["CHIPS", "in_registers", "instruction", "instructions", "nearest", "on_chip", "taking"]

CHIPS: Final = (*CDNA, *RDNA, *HOPPER)


@cache
def _table() -> Mapping[str, Instruction]:
    return {found.name: found for found in (*mfma(), *wmma(), *wgmma())}


def instruction(name: str) -> Instruction:
    """The instruction of this name, builtin or mnemonic, in any spelling of a chip's assembler.

    Diagnostic where there is none, or where a mnemonic stands for several.
    """
    table = _table()
    if name in table:
        return table[name]
    found = [i for i in table.values() if name in _spellings(i)]
    if not found:
        raise Diagnostic(f"there is no matrix instruction '{name}'", hint=_close(name))
    if len(found) > 1:
        names = _listed([i.name for i in found])
        raise Diagnostic(f"'{name}' stands for {len(found)} instructions", hint=f"name one: {names}")
    return found[0]


def instructions(chip: str | None = None, a_type: str | None = None) -> tuple[Instruction, ...]:
    """All instructions, or those that a chip has, or that take an A of this type."""
    if chip is not None:
        _check_chip(chip)
    return tuple(
        i for i in _table().values() if (chip is None or i.fits(chip)) and a_type in (None, i.a_type)
    )


def in_registers() -> tuple[Instruction, ...]:
    """The instructions whose lanes hold all of A, B and C: AMD's."""
    return tuple(i for i in _table().values() if i.b is not None)


def on_chip(name: str, chip: str) -> Instruction:
    """The instruction, which the chip has; a Diagnostic that names the nearest it has where it lacks it."""
    _check_chip(chip)
    found = instruction(name)
    if not found.fits(chip):
        near = nearest(found, chip)
        hint = f"{chip} has {near.name}" if near else f"{chip} multiplies {_pairs(instructions(chip))}"
        raise Diagnostic(f"{chip} has no {found.name}; it is of {_listed(found.chips)}", hint=hint)
    return found


def nearest(wanted: Instruction, chip: str) -> Instruction | None:
    """The chip's instruction of the same types that differs least in shape, the instruction itself where the
    chip has it; None where it has none of these types.
    """
    if wanted.fits(chip):
        return wanted
    same = [
        i for i in instructions(chip, wanted.a_type) if (i.b_type, i.c_type) == (wanted.b_type, wanted.c_type)
    ]
    return min(same, key=lambda i: (i.blocks != wanted.blocks, i.m != wanted.m, -i.k), default=None)


def taking(chip: str | None, a_type: str, b_type: str | None = None) -> tuple[Instruction, ...]:
    """The chip's instructions, or all chips', that multiply these types; a Diagnostic where there are none.

    b_type: the same as A's where it is not given.
    """
    other = a_type if b_type is None else b_type
    found = tuple(i for i in instructions(chip, a_type) if i.b_type == other)
    if found:
        return found
    able = {c for i in instructions() if (i.a_type, i.b_type) == (a_type, other) for c in i.chips}
    have = [c for c in CHIPS if c in able]
    where = f"; {_listed(have)} {'does' if len(have) == 1 else 'do'}" if have else ""
    raise Diagnostic(
        f"no matrix instruction{f' of {chip}' if chip else ''} multiplies {a_type} by {other}{where}",
        hint=f"{chip or 'they'} multipl{'ies' if chip else 'y'} {_pairs(instructions(chip))}",
    )


def _check_chip(chip: str) -> None:
    if chip not in CHIPS:
        found = no_target(chip, CHIPS)
        raise Diagnostic(f"no matrix instructions are known of '{chip}'", hint=found.hint or found.message)


def _spellings(found: Instruction) -> set[str]:
    spelled = {found.builtin, found.builtin.removeprefix("__builtin_amdgcn_"), found.mnemonic}
    spelled |= {found.mnemonic_on(chip) for chip in found.chips}
    return (spelled | {word.removeprefix("v_") for word in spelled}) - {""}


def _close(name: str) -> str:
    known = {word for i in _table().values() for word in (i.name, *_spellings(i))}
    return did_you_mean(name, known) or "'imbrex explain mma' lists them"


def _pairs(found: Iterable[Instruction]) -> str:
    """`f32, f16, fp8 by bf8`: the types that these multiply, each once."""
    pairs = dict.fromkeys((i.a_type, i.b_type) for i in found)
    return ", ".join(a if a == b else f"{a} by {b}" for a, b in pairs)


def _listed(names: Iterable[str], most: int = 4) -> str:
    words = list(names)
    shown = words if len(words) <= most else [*words[:most], f"{len(words) - most} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
