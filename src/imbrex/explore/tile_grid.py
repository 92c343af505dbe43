"""A grid of tiles as a picture: the number of the workgroup of each, coloured by die or by round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from imbrex.explore.svg import box, drawing, label

__all__ = ["tile_grid"]

EDGE: Final = 34
TOP, LEFT, SIGN, CHARACTER = 40, 40, 72, 8


def tile_grid(
    title: str,
    cells: Sequence[Sequence[int]],
    colour: Callable[[int], int],
    axes: tuple[str, str] = ("m_tile", "n_tile"),
    word: str = "workgroup",
    told: Callable[[int], str] = str,
    signs: Sequence[str] = (),
) -> str:
    """cells: numbers, rows of tiles.  colour: of a number.  axes: what rows and columns are; word: what the
    numbers are.  told: said of a number when it is pointed at.  signs: what colours mean.
    """
    parts = [label(8, 18, title, "head")]
    for column in range(len(cells[0])):
        parts.append(label(LEFT + (column + 0.5) * EDGE, TOP - 4, column, "mid soft"))
    for row, line in enumerate(cells):
        parts.append(label(LEFT - 6, TOP + row * EDGE + 21, row, "end soft"))
        for column, number in enumerate(line):
            x, y = LEFT + column * EDGE, TOP + row * EDGE
            tokens = f"{axes[0]}:{row} {axes[1]}:{column} {word}:{number}"
            parts.append(box(x, y, EDGE, EDGE, f"g{colour(number) % 8}", tokens, told(number)))
            parts.append(label(x + EDGE / 2, y + EDGE / 2 + 4, number, "mid"))
    bottom = TOP + len(cells) * EDGE + 10
    for i, sign in enumerate(signs):
        parts.append(box(LEFT + i * SIGN, bottom, 12, 12, f"g{i % 8}"))
        parts.append(label(LEFT + i * SIGN + 16, bottom + 10, sign))
    width = max(LEFT + len(cells[0]) * EDGE, LEFT + len(signs) * SIGN, CHARACTER * len(title)) + 16
    return drawing(title, parts, width, bottom + (24 if signs else 0))
