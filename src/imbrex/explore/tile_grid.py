"""A grid of tiles as a picture: the number of the workgroup of each, coloured by die or by round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from imbrex.explore.svg import box, drawing, label

__all__ = ["FOLD", "Words", "grid_parts", "tile_grid"]

EDGE: Final = 34
FOLD: Final = 24
"""Tiles of one row, or of one column, in a line of the picture."""
TOP, LEFT, SIGN, CHARACTER = 40, 40, 72, 8


def tile_grid(title: str, cells: Sequence[Sequence[int]], colour: Callable[[int], int]) -> str:
    """cells: numbers, rows of tiles.  colour: of a number."""
    parts, width, height = grid_parts(title, cells, Words(colour))
    return drawing(title, parts, width, height)


class Words(NamedTuple):
    """colour: of a number.  axes: what rows and columns are; word: what the numbers are.  label_of: the label
    of a number that is pointed at.  signs: what colours mean.
    """

    colour: Callable[[int], int]
    axes: tuple[str, str] = ("m_tile", "n_tile")
    word: str = "workgroup"
    label_of: Callable[[int], str] = str
    signs: Sequence[str] = ()


def grid_parts(title: str, cells: Sequence[Sequence[int]], words: Words) -> tuple[list[str], float, float]:
    """Parts, width and height.  One long row or column goes on in further lines."""
    colour, axes, word, label_of, signs = words
    rows, columns = len(cells), len(cells[0])
    is_folded = min(rows, columns) == 1 and max(rows, columns) > FOLD
    lines, wide = (-(-rows * columns // FOLD), FOLD) if is_folded else (rows, columns)
    parts = [label(8, 18, f"{title}, in lines of {FOLD}" if is_folded else title, "head")]
    for column in range(wide):
        parts.append(label(LEFT + (column + 0.5) * EDGE, TOP - 4, column, "mid soft"))
    for row in range(lines):
        name = row * FOLD if is_folded else row
        parts.append(label(LEFT - 6, TOP + row * EDGE + 21, name, "end soft"))
    for m, line in enumerate(cells):
        for n, number in enumerate(line):
            row, column = divmod(max(m, n), FOLD) if is_folded else (m, n)
            x, y = LEFT + column * EDGE, TOP + row * EDGE
            tokens = f"{axes[0]}:{m} {axes[1]}:{n} {word}:{number}"
            parts.append(box(x, y, EDGE, EDGE, f"g{colour(number) % 8}", tokens, label_of(number)))
            parts.append(label(x + EDGE / 2, y + EDGE / 2 + 4, number, "mid"))
    bottom = TOP + lines * EDGE + 10
    for i, sign in enumerate(signs):
        parts.append(box(LEFT + i * SIGN, bottom, 12, 12, f"g{i % 8}"))
        parts.append(label(LEFT + i * SIGN + 16, bottom + 10, sign))
    width = max(LEFT + wide * EDGE, LEFT + len(signs) * SIGN, CHARACTER * (len(title) + 16)) + 16
    return parts, width, bottom + (24 if signs else 0)
