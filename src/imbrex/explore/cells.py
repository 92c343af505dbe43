"""Grids of cells coloured by lane group, panels of them, and a sheet of panels.

A program that shows SVG tells the whole of a cell when the pointer rests on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from imbrex.explore.svg import box, drawing, group, label

__all__ = ["CELL_H", "CELL_W", "GAP", "HEAD", "MARGIN", "Cell", "Grid", "drawn", "sheet"]

CELL_W, CELL_H = 52, 30
MARGIN, GAP = 16, 40
HEAD, SIGN_W = 100, 110
TITLE_W = 240


@dataclass(frozen=True)
class Cell:
    """A coloured box: two lines in it, what it says when the pointer rests on it, what it stands for."""

    row: int
    column: int
    group: int
    upper: str
    lower: str
    tooltip: str
    tokens: str = ""


@dataclass(frozen=True)
class Grid:
    """Cells with a title and the numbers of their rows and columns."""

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


def drawn(grid: Grid, x: int, y: int) -> Iterator[str]:
    """The first line is the title, the second the column names; row names are in the first column."""
    parts = [label(CELL_W, CELL_H - 12, grid.title, "head")]
    for i, name in enumerate(grid.column_names):
        parts.append(label((i + 1.5) * CELL_W, 2 * CELL_H - 6, name, "mid soft"))
    for i, name in enumerate(grid.row_names):
        parts.append(label(CELL_W - 6, (i + 2) * CELL_H + 19, name, "end soft"))
    for cell in grid.cells:
        left, top = (cell.column + 1) * CELL_W, (cell.row + 2) * CELL_H
        parts.append(box(left, top, CELL_W, CELL_H, f"g{cell.group % 8}", cell.tokens, cell.tooltip))
        middle = left + CELL_W / 2
        parts.append(label(middle, top + (13 if cell.lower else 19), cell.upper, "mid strong"))
        if cell.lower:
            parts.append(label(middle, top + 25, cell.lower, "mid tiny"))
    yield group(x, y, parts)


def sheet(
    title: str, subtitle: str, signs: Sequence[str], parts: Sequence[str], width: int, height: int
) -> str:
    """A drawing of grids that `drawn` made.  subtitle: a line below the title.  signs: what colours mean."""
    head = [label(MARGIN, 32, title, "head"), label(MARGIN, 56, subtitle)]
    wide = max(width, 620, len(signs) * SIGN_W) + 2 * MARGIN
    return drawing(title, [*head, *_legend(signs), *parts], wide, height)


def _legend(signs: Sequence[str]) -> Iterator[str]:
    """The colour of each lane group, in a row."""
    for i, sign in enumerate(signs):
        x = MARGIN + i * SIGN_W
        yield f'<path class="g{i % 8}" d="M{x} 70h14v14h-14z"/>'
        yield label(x + 18, 82, sign)
