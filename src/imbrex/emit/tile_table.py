"""A grid of tiles as a picture: the workgroup of each tile, coloured by the die (XCD) that it runs on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

EDGE = 34
COLOURS: Final = ("#8dd3c7", "#ffffb3", "#bebada", "#fb8072", "#80b1d3", "#fdb462", "#b3de69", "#fccde5")
"""ColorBrewer's Set3, for maps of categories."""


def svg(workgroups: Sequence[Sequence[int]], xcds: int) -> str:
    """workgroups: hardware's number of each tile, rows of m tiles."""
    rows, columns = len(workgroups), len(workgroups[0])
    size = f'width="{(columns + 1) * EDGE}" height="{(rows + 1) * EDGE}"'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="11">']
    lines += [_label(column + 1, 0, f"n{column}") for column in range(columns)]
    for row, numbers in enumerate(workgroups):
        lines.append(_label(0, row + 1, f"m{row}"))
        for column, number in enumerate(numbers):
            fill = COLOURS[number % xcds % len(COLOURS)] if xcds > 1 else "#ffffff"
            x, y = (column + 1) * EDGE, (row + 1) * EDGE
            box = f'<rect x="{x}" y="{y}" width="{EDGE}" height="{EDGE}" fill="{fill}" stroke="#888"/>'
            lines += [box, _label(column + 1, row + 1, str(number))]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _label(column: int, row: int, text: str) -> str:
    x, y = column * EDGE + EDGE // 2, row * EDGE + EDGE // 2 + 4
    return f'<text x="{x}" y="{y}" text-anchor="middle">{text}</text>'
