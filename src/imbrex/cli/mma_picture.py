"""A picture of a matrix instruction: cells of A, B and C coloured by lane group, as SVG.

A stands to the left of C and B above it, as in a product on paper: the row of A and the column of B that meet
in an element of C line up with it.  Register files stand side by side.  A cell names its lane and its
register; a program that shows SVG tells the whole of it when the pointer rests on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from imbrex.cli.mma_answer import element_text
from imbrex.view.mma import Element, Instruction, Operand, Place, elements, places, register_text

__all__ = ["matrix_picture", "register_picture"]

CELL_W, CELL_H = 52, 30
MARGIN, GAP = 16, 40
HEAD, SIGN_W = 100, 110
TITLE_W = 240
PAGE_W = 2000
"""Blocks stand side by side up to about this width."""
HUES = (210, 28, 140, 330, 265, 55, 180, 0)
"""Neighbouring lane groups far apart on the colour wheel; from the ninth group on they come again, darker."""


@dataclass(frozen=True)
class Cell:
    """A coloured box: two lines in it, and what it says when the pointer rests on it."""

    row: int
    column: int
    group: int
    upper: str
    lower: str
    told: str


@dataclass(frozen=True)
class Panel:
    """A grid of cells with its title and the numbers of its rows and columns."""

    title: str
    rows: int
    columns: int
    row_names: Sequence[str]
    column_names: Sequence[str]
    cells: Sequence[Cell]

    @property
    def width(self) -> int:
        return max((self.columns + 1) * CELL_W, TITLE_W)

    @property
    def height(self) -> int:
        return (self.rows + 2) * CELL_H


def matrix_picture(found: Instruction, operands: Sequence[Operand]) -> str:
    """Every element with the lanes and the register that hold it; each block a product of its own."""
    parts: list[str] = []
    width = height = 0
    across = 1
    for block in range(found.blocks):
        panels = {operand: _matrix(found, operand, block) for operand in operands}
        left = panels["a"].width + GAP if "a" in panels and len(panels) > 1 else 0
        below = panels["b"].height + GAP if "b" in panels and len(panels) > 1 else 0
        corners = {"a": (0, below), "b": (left, 0), "c": (left, below)}
        wide = max(corners[o][0] + p.width for o, p in panels.items()) + GAP
        high = max(corners[o][1] + p.height for o, p in panels.items()) + GAP
        across = max(1, PAGE_W // wide)
        down, right = divmod(block, across)
        for operand, panel in panels.items():
            x, y = corners[operand]
            parts += _panel(panel, MARGIN + right * wide + x, HEAD + down * high + y)
        width, height = max(width, (right + 1) * wide), (down + 1) * high
    what = "lane (+ lanes with copies) above, register below, in each element"
    return _document(found, what, parts, width, HEAD + height)


def register_picture(found: Instruction, operands: Sequence[Operand]) -> str:
    """Every lane's registers with the element that each holds."""
    parts: list[str] = []
    x, bottom = 0, 0
    for operand in operands:
        panel = _registers(found, operand)
        parts += _panel(panel, MARGIN + x, HEAD)
        x += panel.width + GAP
        bottom = max(bottom, HEAD + panel.height)
    return _document(found, "element in each lane's register", parts, x - GAP, bottom + GAP)


def _matrix(found: Instruction, operand: Operand, block: int) -> Panel:
    _, rows, columns = found.map(operand).lower
    cells = [
        Cell(
            element.row,
            element.column,
            _group(found, operand, held[0]),
            _lanes(held),
            register_text(found, operand, held[0].register),
            _told(found, operand, element, held),
        )
        for element, held in places(found, operand).items()
        if element.block == block
    ]
    title = f"{operand.upper()}: {rows.name} down, {columns.name} across"
    if found.blocks > 1:
        title += f", block {block}"
    return Panel(title, rows.size, columns.size, _numbers(rows.size), _numbers(columns.size), cells)


def _registers(found: Instruction, operand: Operand) -> Panel:
    held = elements(found, operand).tolist()
    lanes, registers = len(held), len(held[0])
    cells: list[Cell] = []
    for lane in range(lanes):
        for register in range(registers):
            if held[lane][register][0] < 0:
                continue
            element, place = Element(*held[lane][register]), Place(lane, register)
            at = f"{element.row},{element.column}"
            block = f"block {element.block}" if found.blocks > 1 else ""
            told = _told(found, operand, element, [place])
            cells.append(Cell(lane, register, _group(found, operand, place), at, block, told))
    names = [register_text(found, operand, register) for register in range(registers)]
    title = f"{operand.upper()}: lane down, register across"
    return Panel(title, lanes, registers, _numbers(lanes), names, cells)


def _group(found: Instruction, operand: Operand, place: Place) -> int:
    """Lanes that lie along the operand's row or column are of one group."""
    return place.lane // (found.m if operand == "a" else found.n)


def _lanes(held: Sequence[Place]) -> str:
    """The first lane that holds an element, and how many more do."""
    return f"{held[0].lane} +{len(held) - 1}" if len(held) > 1 else str(held[0].lane)


def _told(found: Instruction, operand: Operand, element: Element, held: Sequence[Place]) -> str:
    lanes = ", ".join(str(place.lane) for place in held)
    register = register_text(found, operand, held[0].register)
    return f"{element_text(found, operand, element)}: lane {lanes}, {register}"


def _numbers(count: int) -> list[str]:
    return [str(i) for i in range(count)]


def _panel(panel: Panel, x: int, y: int) -> Iterator[str]:
    """The first line is the title, the second the column names; row names are in the first column."""
    yield f'<g transform="translate({x} {y})">'
    yield _text("t", CELL_W, CELL_H - 12, panel.title)
    for i, name in enumerate(panel.column_names):
        yield _text("n", (i + 1.5) * CELL_W, 2 * CELL_H - 6, name)
    for i, name in enumerate(panel.row_names):
        yield _text("r", CELL_W - 6, (i + 2) * CELL_H + 19, name)
    for cell in panel.cells:
        left, top = (cell.column + 1) * CELL_W, (cell.row + 2) * CELL_H
        yield f'<g><title>{escape(cell.told)}</title><rect class="g{cell.group % 16}" x="{left}" y="{top}"/>'
        middle = left + CELL_W / 2
        if cell.lower:
            yield _text("u", middle, top + 13, cell.upper) + _text("l", middle, top + 25, cell.lower) + "</g>"
        else:
            yield _text("u", middle, top + 19, cell.upper) + "</g>"
    yield "</g>"


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _legend(found: Instruction) -> Iterator[str]:
    """The colour of each lane group, in a row."""
    for group in range(found.wave // found.n):
        x = MARGIN + group * SIGN_W
        first, last = group * found.n, (group + 1) * found.n - 1
        yield f'<path class="g{group % 16}" d="M{x} 70h14v14h-14z"/>'
        yield f'<text class="s" x="{x + 18}" y="82">lanes {first}-{last}</text>'


def _document(found: Instruction, what: str, parts: Sequence[str], width: int, height: int) -> str:
    colours = "".join(
        f".g{group}{{fill:hsl({HUES[group % 8]},65%,{82 if group < 8 else 66}%)}}" for group in range(16)
    )
    style = (
        "text{font:11px sans-serif;text-anchor:middle;fill:#222}"
        ".t{font:bold 14px sans-serif;text-anchor:start}"
        ".h{font:bold 18px sans-serif;text-anchor:start}.s{text-anchor:start;font-size:13px}"
        ".n{fill:#666;font-size:10px}.r{fill:#666;text-anchor:end}.u{font-weight:bold}.l{font-size:9px}"
        f"rect{{width:{CELL_W}px;height:{CELL_H}px;stroke:#fff}}{colours}"
    )
    shape = f"{found.m}x{found.n}x{found.k}, {found.blocks} block{'s' if found.blocks > 1 else ''}"
    legend = "".join(_legend(found))
    facts = f"{shape}; {found.a_type} by {found.b_type} into {found.c_type}; wave of {found.wave}; {what}"
    wide, high = max(width, 620, found.wave // found.n * SIGN_W) + 2 * MARGIN, height
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
            f'viewBox="0 0 {wide} {high}">',
            f"<style>{style}</style>",
            f'<path fill="#fff" d="M0 0h{wide}v{high}h-{wide}z"/>',
            f'<text class="h" x="{MARGIN}" y="32">{found.name}</text>',
            f'<text class="s" x="{MARGIN}" y="56">{facts}</text>',
            legend,
            *parts,
            "</svg>",
        )
    )
