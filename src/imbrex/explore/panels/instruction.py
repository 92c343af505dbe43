"""The matrix instruction: which lane holds which element of A, B and C, and in which register."""

from __future__ import annotations

from typing import Final

from imbrex.chip import CpuMachine
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.explore.mma_picture import matrix_picture
from imbrex.explore.panel import Panel, Table, absent, rows
from imbrex.explore.panels.maps import NO_PRODUCT
from imbrex.explore.subject import Subject
from imbrex.numeral import counted
from imbrex.view.mma import Instruction

__all__ = ["instruction", "instruction_of"]

TITLE: Final = "The matrix instruction"
MOST: Final = {False: (32, 16), True: (64, 8)}
"""Rows and columns of an operand that are drawn, of waves and of warpgroups: further ones repeat them."""


def instruction(subject: Subject) -> Panel:
    """A, B and C of the instruction as on paper, coloured by groups of lanes."""
    if subject.product is None or subject.tuned is None:
        return absent("instruction", TITLE, NO_PRODUCT)
    found = instruction_of(subject)
    if found is None:
        return absent("instruction", TITLE, _why_not(subject))
    most = MOST[found.b is None]
    drawn = matrix_picture(found, found.held, most)
    sizes = (f"A {found.m} x {found.k}", f"B {found.k} x {found.n}", f"C {found.m} x {found.n}")
    shapes = [found.map(operand).lower[1:] for operand in found.held]
    cut = any(dim.size > limit for dims in shapes for dim, limit in zip(dims, most, strict=True))
    facts = [
        ("name", found.name), ("mnemonic", found.mnemonic), ("lanes", found.wave), ("blocks", found.blocks),
        ("operations", found.flops), ("elements of A, B, C a lane", _held(found)), ("source", found.source),
    ]  # fmt: skip
    blocks = [counted(found.blocks, "block")] if found.blocks > 1 else []
    said = [f"{found.name}: {', '.join([*sizes, *blocks])}."]
    if found.b is None:
        said.append("B, and A unless it is in registers, are read from shared memory: no lane holds them.")
    table = Table(("fact", "value"), rows(*facts))
    sampled = (
        f"at most {counted(most[0], 'row')} and {counted(most[1], 'column')} of each are drawn"
        if cut
        else None
    )
    return Panel("instruction", TITLE, tuple(said), drawn, table, sampled=sampled)


def instruction_of(subject: Subject) -> Instruction | None:
    """The instruction of the drawn product; None where there is none."""
    assert subject.tuned is not None and subject.product is not None
    tuning = subject.tuned.tuning
    if isinstance(tuning, XdlopsTuning) and subject.gpu is not None:
        tiles = tuning.plan(subject.product.context, subject.gpu).wave_tiles
        return None if tiles is None else tiles.instruction
    return None if subject.pipeline is None else subject.pipeline.sums.layout


def _held(found: Instruction) -> str:
    return ", ".join(str(dict(found.map(operand).upper)["register"]) for operand in found.held)


def _why_not(subject: Subject) -> str:
    machine = subject.request.machine
    if isinstance(machine, CpuMachine):
        return f"{machine.name} multiplies vectors; the tile shows their lanes and registers"
    assert subject.product is not None
    return f"work items multiply {subject.product.context.dtype} on vector ALUs: no matrix instruction serves"
