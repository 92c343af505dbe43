"""The image, the window and the pixel: the arrays, and what one element of the result is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from imbrex.explore.ladder import Ladder
from imbrex.explore.panel import Panel, Table, rows
from imbrex.explore.subject import Subject
from imbrex.explore.svg import box, drawing, field, label
from imbrex.numeral import counted

__all__ = ["image"]

TITLE: Final = "The arrays, and what one element of C is made of"
SIDE: Final = 260.0
PLANE: Final = ({"hi", "ho", "y", "h"}, {"wi", "wo", "x", "w"})
"""Names of the dims of a picture's rows and columns."""
TOP, MARGIN = 44.0, 20.0
MOST: Final = 4096
"""Elements of K that are followed."""


def image(subject: Subject) -> Panel:
    """Planes of the arrays side by side, with what meets in one element of C."""
    ladders = subject.ladders
    point = _point(ladders["C"])
    parts: list[str] = []
    table_rows: list[tuple[object, ...]] = []
    x, height = MARGIN, 0.0
    for name, ladder in ladders.items():
        wide, high, drawn = _plane(name, ladder, x)
        parts += drawn
        marks, said = _met(ladder, point, x)
        parts += marks
        table_rows.append((name, str(ladder.array), said))
        x, height = x + wide + 2 * MARGIN, max(height, high)
    names = ", ".join(f"{n.removeprefix('gemm').lower()} {v}" for n, v in point.items())
    sentences = [
        f"Marked: what is read and written for the element of C at {names}, at the edge of its plane."
    ]
    if any(" bad" in part for part in parts):
        sentences.append("A dashed mark lies outside of the image: a guard fails there, and zero is read.")
    svg = drawing(TITLE, parts, x, height + MARGIN)
    return Panel(
        "image", TITLE, tuple(sentences), svg, Table(("operand", "array", "meets"), rows(*table_rows))
    )


def _point(c: Ladder) -> dict[str, int]:
    """The element of C that is followed: in the first row of the plane, in the middle of all else."""
    middle = [d.size // 2 for d in c.map.lower]
    middle[_axes(c)[0]] = 0
    try:
        found, _ = c.map.inverse().evaluate(middle)
    except ValueError:
        found = tuple(d.size // 2 for d in c.map.upper)
    return {d.name: int(x) for d, x in zip(c.map.upper, found, strict=True)}


def _axes(ladder: Ladder) -> tuple[int, int]:
    """Places of the dims that are drawn down and across: those of a picture, else the last two."""
    names = [d.name for d in ladder.map.lower]
    found = [next((i for i, n in enumerate(names) if n in plane), None) for plane in PLANE]
    down, across = found
    return (len(names) - 2, len(names) - 1) if down is None or across is None else (down, across)


def _scale(ladder: Ladder) -> tuple[float, float]:
    """Pixels of an element down and across."""
    down, across = (ladder.map.lower[i].size for i in _axes(ladder))
    both = min(40.0, SIDE / max(down, across))
    return max(both, 16 / down), max(both, 16 / across)


def _plane(name: str, ladder: Ladder, x: float) -> tuple[float, float, list[str]]:
    """An array's plane, on which any element can be pointed at."""
    (down, rows_), (across, columns) = (ladder.map.lower[i] for i in _axes(ladder))
    high, wide = (s * n for s, n in zip(_scale(ladder), (rows_, columns), strict=True))
    parts = [
        label(x, 18, f"{name}: {ladder.array}", "head", f"map:{name}"),
        label(x, 34, f"{down}={rows_} down, {across}={columns} across", "soft"),
        box(x, TOP, wide, high, "plain", f"map:{name}"),
        field(x, TOP, wide, high, f"{ladder.array}.{down}:0-{rows_ - 1}",
              f"{ladder.array}.{across}:0-{columns - 1}", f"map:{name}"),
    ]  # fmt: skip
    return max(wide, 150), TOP + high, parts


def _met(ladder: Ladder, point: Mapping[str, int], x: float) -> tuple[list[str], str]:
    """Elements of an array that meet in one element of C, in the plane; and how many they are."""
    given = [point.get(d.name) for d in ladder.map.upper]
    sizes = dict(ladder.map.upper)
    steps = sizes.get("gemmK", 1)
    k = np.arange(min(steps, MOST))
    coords, valid = ladder.map.evaluate([k if value is None else value for value in given])
    shaped = [np.broadcast_to(c, k.shape if steps > 1 else ()) for c in (*coords, valid)]
    flat = [np.atleast_1d(c) for c in shaped]
    down, across = _axes(ladder)
    positions: dict[tuple[int, int], bool] = {}
    for row, column, exists in zip(
        flat[down].tolist(), flat[across].tolist(), flat[-1].tolist(), strict=True
    ):
        positions[row, column] = bool(exists)
    real = int(np.count_nonzero(flat[-1]))
    marks = [_mark(ladder, position, exists, x) for position, exists in list(positions.items())[:256]]
    said = f"{real} of {counted(len(k), 'element')} exist" if real < len(k) else counted(len(k), "element")
    return marks, said + ("" if steps <= MOST else f", of the first {MOST} of {steps}")


def _mark(ladder: Ladder, position: Sequence[int], exists: bool, x: float) -> str:
    (high, wide), axes = _scale(ladder), _axes(ladder)
    names = [ladder.map.lower[i].name for i in axes]
    tooltip = ", ".join(f"{n} {v}" for n, v in zip(names, position, strict=True))
    tokens = (
        " ".join(f"{ladder.array}.{n}:{v}" for n, v in zip(names, position, strict=True)) if exists else ""
    )
    kind = "g1" if exists else "none bad"
    return box(x + position[1] * wide, TOP + position[0] * high, wide, high, kind, tokens, tooltip)
