"""The matrix instruction: which lane holds which element of A, B and C, and in which register."""

from __future__ import annotations

from typing import Final

from imbrex.chip import CpuMachine
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.explore.mma_picture import matrix_picture
from imbrex.explore.panel import Panel, Table, absent, rows
from imbrex.explore.panels.maps import NO_PRODUCT
from imbrex.explore.subject import Subject
from imbrex.view.mma import Instruction

__all__ = ["instruction", "instruction_of"]

TITLE: Final = "The matrix instruction"
MOST: Final = 16
"""Rows and columns of an operand that are drawn: further ones repeat the pattern."""


def instruction(subject: Subject) -> Panel:
    """A, B and C of the instruction as on paper, coloured by groups of lanes."""
    if subject.product is None or subject.tuned is None:
        return absent("instruction", TITLE, NO_PRODUCT)
    found = instruction_of(subject)
    if found is None:
        return absent("instruction", TITLE, _why_not(subject))
    drawn = matrix_picture(found, found.held, MOST)
    sizes = (f"A {found.m} x {found.k}", f"B {found.k} x {found.n}", f"C {found.m} x {found.n}")
    cut = max(found.m, found.n, found.k) > MOST
    facts = [
        ("name", found.name), ("mnemonic", found.mnemonic), ("lanes", found.wave), ("blocks", found.blocks),
        ("operations", found.flops), ("elements of A, B, C a lane", _held(found)), ("source", found.source),
    ]  # fmt: skip
    said = [f"{found.name}: {', '.join(sizes)}{f', {found.blocks} blocks' if found.blocks > 1 else ''}."]
    if found.b is None:
        said.append("B, and A unless it is in registers, are read from shared memory: no lane holds them.")
    table = Table(("fact", "value"), rows(*facts))
    sampled = f"the first {MOST} rows and columns of each are drawn" if cut else None
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
