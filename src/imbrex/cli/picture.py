"""Pictures of grids as SVG: cells coloured by lane group, panels of cells, a page of panels.

A program that shows SVG tells the whole of a cell when the pointer rests on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["CELL_H", "CELL_W", "GAP", "HEAD", "MARGIN", "Cell", "Panel", "drawn", "page"]

CELL_W, CELL_H = 52, 30
MARGIN, GAP = 16, 40
HEAD, SIGN_W = 100, 110
TITLE_W = 240
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


def drawn(panel: Panel, x: int, y: int) -> Iterator[str]:
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


def page(title: str, told: str, signs: Sequence[str], parts: Sequence[str], width: int, height: int) -> str:
    """A document of panels that `drawn` made.  told: a line below the title.  signs: what colours mean."""
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
    wide = max(width, 620, len(signs) * SIGN_W) + 2 * MARGIN
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{height}" '
            f'viewBox="0 0 {wide} {height}">',
            f"<style>{style}</style>",
            f'<path fill="#fff" d="M0 0h{wide}v{height}h-{wide}z"/>',
            f'<text class="h" x="{MARGIN}" y="32">{escape(title)}</text>',
            f'<text class="s" x="{MARGIN}" y="56">{escape(told)}</text>',
            "".join(_legend(signs)),
            *parts,
            "</svg>",
        )
    )


def _legend(signs: Sequence[str]) -> Iterator[str]:
    """The colour of each lane group, in a row."""
    for group, sign in enumerate(signs):
        x = MARGIN + group * SIGN_W
        yield f'<path class="g{group % 16}" d="M{x} 70h14v14h-14z"/>'
        yield f'<text class="s" x="{x + 18}" y="82">{escape(sign)}</text>'
