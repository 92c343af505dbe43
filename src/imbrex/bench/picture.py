"""Pictures of what was measured: lines and dots over a logarithmic axis, as SVG without scripts or fonts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, log

__all__ = ["Line", "lines_picture"]

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 56, 16, 16, 48
RULES = 5
MOST_MARKS = 10


@dataclass(frozen=True)
class Line:
    """points: (x, y), x over 0, and ascending unless each is a dot of its own."""

    name: str
    colour: str
    points: tuple[tuple[float, float], ...]
    has_dots: bool = False


def lines_picture(lines: Sequence[Line], across: str, up: str) -> str:
    """Lines over one pair of axes, x by its logarithm and y from 0, each with its name."""
    marks = sorted({x for line in lines for x, _ in line.points})
    step = _step(max(y for line in lines for _, y in line.points))
    first, last = log(marks[0]), max(log(marks[-1]), log(marks[0]) + 1e-9)

    def at(x: float, y: float) -> tuple[float, float]:
        right = (log(x) - first) / (last - first)
        return LEFT + right * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y / (RULES * step) * (
            HEIGHT - TOP - BOTTOM
        )

    drawn = [_rule(at(marks[0], i * step)[1], f"{i * step:g}") for i in range(RULES + 1)]
    drawn += [_text(at(x, 0)[0], HEIGHT - BOTTOM + 18, f"{x:g}", "middle") for x in _labelled(marks)]
    drawn.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, across, "middle"))
    drawn.append(_text(LEFT, TOP - 4, up, "start"))
    for position, line in enumerate(lines):
        shape = _shape(line, [at(*point) for point in line.points])
        drawn += [shape, _text(WIDTH - RIGHT, TOP + 16 + 18 * position, line.name, "end", line.colour)]
    body = "\n".join(drawn)
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{body}\n</svg>\n'


def _labelled(marks: Sequence[float]) -> Sequence[float]:
    """The places that have a number: all of a few, else 1, 2, 5, 10 and so on."""
    if len(marks) <= MOST_MARKS:
        return marks
    round_ones = (digit * 10.0**exponent for exponent in range(9) for digit in (1, 2, 5))
    return [x for x in round_ones if marks[0] <= x <= marks[-1]]


def _shape(line: Line, places: Sequence[tuple[float, float]]) -> str:
    if line.has_dots:
        return "\n".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{line.colour}" fill-opacity="0.6"/>'
            for x, y in places
        )
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polyline points="{path}" fill="none" stroke="{line.colour}" stroke-width="2"/>'


def _step(most: float) -> float:
    """The smallest round number of which RULES reach `most`."""
    exponent = 0.01
    while True:
        for digit in (1.0, 2.0, 5.0):
            if ceil(most / (digit * exponent)) <= RULES:
                return digit * exponent
        exponent *= 10


def _rule(y: float, text: str) -> str:
    line = f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#cccccc"/>'
    return f"{line}\n{_text(LEFT - 6, y + 4, text, 'end')}"


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#444444") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
