"""A picture of a matrix instruction: cells of A, B and C coloured by lane group, as SVG.

A stands to the left of C and B above it, as in a product on paper: the row of A and the column of B that meet
in an element of C line up with it.  Register files stand side by side.  A cell names its lane and its
register; a program that shows SVG tells the whole of it when the pointer rests on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from imbrex.explore.cells import GAP, HEAD, MARGIN, Cell, Grid, drawn, sheet
from imbrex.view.mma import (
    Element,
    Instruction,
    LaneRegister,
    Operand,
    element_text,
    elements,
    lane_registers,
    register_text,
)

__all__ = ["matrix_picture", "register_picture"]

PAGE_W = 2000
"""Blocks stand side by side up to about this width."""


def matrix_picture(
    found: Instruction, operands: Sequence[Operand], most: tuple[int, int] | None = None
) -> str:
    """Every element with the lanes and the register that hold it; each block a product of its own.

    most: rows and columns of each that are drawn; all of them unless told.
    """
    parts: list[str] = []
    width = height = 0
    across = 1
    for block in range(found.blocks):
        panels = {operand: _matrix(found, operand, block, most) for operand in operands}
        left = panels["a"].width + GAP if "a" in panels and len(panels) > 1 else 0
        below = panels["b"].height + GAP if "b" in panels and len(panels) > 1 else 0
        corners = {"a": (0, below), "b": (left, 0), "c": (left, below)}
        wide = max(corners[o][0] + p.width for o, p in panels.items()) + GAP
        high = max(corners[o][1] + p.height for o, p in panels.items()) + GAP
        across = max(1, PAGE_W // wide)
        down, right = divmod(block, across)
        for operand, panel in panels.items():
            x, y = corners[operand]
            parts += drawn(panel, MARGIN + right * wide + x, HEAD + down * high + y)
        width, height = max(width, (right + 1) * wide), (down + 1) * high
    what = "lane (+ lanes with copies) above, register below, in each element"
    return _document(found, what, parts, width, HEAD + height)


def register_picture(found: Instruction, operands: Sequence[Operand]) -> str:
    """Every lane's registers with the element that each holds."""
    parts: list[str] = []
    x, bottom = 0, 0
    for operand in operands:
        panel = _registers(found, operand)
        parts += drawn(panel, MARGIN + x, HEAD)
        x += panel.width + GAP
        bottom = max(bottom, HEAD + panel.height)
    return _document(found, "element in each lane's register", parts, x - GAP, bottom + GAP)


def _matrix(found: Instruction, operand: Operand, block: int, most: tuple[int, int] | None) -> Grid:
    _, rows, columns = found.map(operand).lower
    limits = most or (rows.size, columns.size)
    height, width = (min(dim.size, limit) for dim, limit in zip((rows, columns), limits, strict=True))
    cells = [
        Cell(
            element.row,
            element.column,
            _group(found, held[0]),
            _lanes(held),
            register_text(found, operand, held[0].register),
            _tooltip(found, operand, element, held),
            _tokens(operand, held[0]),
        )
        for element, held in lane_registers(found, operand).items()
        if element.block == block and element.row < height and element.column < width
    ]
    title = f"{operand.upper()}: {rows.name} down, {columns.name} across"
    if found.blocks > 1:
        title += f", block {block}"
    return Grid(title, height, width, _numbers(height), _numbers(width), cells)


def _tokens(operand: Operand, held: LaneRegister) -> str:
    """A lane, and of C its register: the registers of A and B are others."""
    return f"lane:{held.lane} register:{held.register}" if operand == "c" else f"lane:{held.lane}"


def _registers(found: Instruction, operand: Operand) -> Grid:
    held = elements(found, operand).tolist()
    lanes, registers = len(held), len(held[0])
    cells: list[Cell] = []
    for lane in range(lanes):
        for register in range(registers):
            if held[lane][register][0] < 0:
                continue
            element, held_in = Element(*held[lane][register]), LaneRegister(lane, register)
            at = f"{element.row},{element.column}"
            block = f"block {element.block}" if found.blocks > 1 else ""
            tooltip = _tooltip(found, operand, element, [held_in])
            cells.append(Cell(lane, register, _group(found, held_in), at, block, tooltip))
    names = [register_text(found, operand, register) for register in range(registers)]
    title = f"{operand.upper()}: lane down, register across"
    return Grid(title, lanes, registers, _numbers(lanes), names, cells)


def _group(found: Instruction, held_in: LaneRegister) -> int:
    """Lanes that lie along the operand's row or column are of one group; of a warpgroup, those of a warp."""
    return held_in.lane // found.lane_group


def _lanes(held: Sequence[LaneRegister]) -> str:
    """The first lane that holds an element, and how many more do."""
    return f"{held[0].lane} +{len(held) - 1}" if len(held) > 1 else str(held[0].lane)


def _tooltip(found: Instruction, operand: Operand, element: Element, held: Sequence[LaneRegister]) -> str:
    lanes = ", ".join(str(one.lane) for one in held)
    register = register_text(found, operand, held[0].register)
    return f"{element_text(found, operand, element)}: lane {lanes}, {register}"


def _numbers(count: int) -> list[str]:
    return [str(i) for i in range(count)]


def _document(found: Instruction, what: str, parts: Sequence[str], width: int, height: int) -> str:
    shape = f"{found.m}x{found.n}x{found.k}, {found.blocks} block{'s' if found.blocks > 1 else ''}"
    subtitle = f"{shape}; {found.a_type} by {found.b_type} into {found.c_type}; wave of {found.wave}; {what}"
    group = found.lane_group
    signs = [f"lanes {first}-{first + group - 1}" for first in range(0, found.wave, group)]
    return sheet(found.name, subtitle, signs, parts, width, height)
