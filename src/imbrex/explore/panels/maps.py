"""The Maps of A, B and C as ladders: from the coordinates of the product down to memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from imbrex.explore.ladder import Ladder
from imbrex.explore.panel import Panel, Row, Table
from imbrex.explore.subject import Subject
from imbrex.explore.svg import box, drawing, group, label, line
from imbrex.index.map import Dim, Map

__all__ = ["ladder_drawing", "maps"]

TITLE: Final = "From the product to memory"
NO_PRODUCT: Final = "each lane computes channels by itself: the problem becomes no matrix product"
SAME: Final = (
    "The ladders are those of the product that it would be, which meets the same elements; how work items "
    "address the arrays is in the table."
)
RUNG, STEP, CHARACTER, GAP, MARGIN = 26, 40, 7.0, 12, 12


def maps(subject: Subject) -> Panel:
    """The three ladders, with address, guards and vector widths."""
    ladders = subject.ladders
    found = list(_of_launches(subject)) if subject.product is None else list[Row]()
    for name, ladder in ladders.items():
        found.append(Row((name, "address", str(ladder.address)), f"map:{name}"))
        found += [Row((name, "guard", str(guard)), f"map:{name}") for guard in ladder.guards]
        found += [
            Row((name, f"vector along {dim}", f"{width}: {why}"), f"map:{name}")
            for dim, width, why in ladder.widths
        ]
    said = (
        "Each rung is a set of coordinates; a rule between two says how the lower follow from the upper.",
        "What is below is nearer to memory; the last rung is the array, whose offset is the address.",
    )
    if subject.product is None:
        said += (f"{NO_PRODUCT[:1].upper()}{NO_PRODUCT[1:]}. {SAME}",)
    table = Table(("operand", "what", "value"), tuple(found))
    return Panel("maps", TITLE, said, ladder_drawing(ladders, TITLE), table)


def _of_launches(subject: Subject) -> Iterator[Row]:
    """The maps that launches address their arrays by, where no product has operands."""
    for kernel in subject.program.kernels:
        for name, text in kernel.maps:
            yield from (Row((name, "map of work items", line)) for line in text.split("\n"))


def ladder_drawing(ladders: Mapping[str, Ladder], title: str) -> str:
    """Ladders one below another."""
    parts: list[str] = []
    width, y = 0.0, float(MARGIN)
    for name, ladder in ladders.items():
        wide, high, drawn = _ladder(name, ladder, MARGIN)
        parts.append(group(0, y, drawn))
        width, y = max(width, wide), y + high
    return drawing(title, parts, width + 2 * MARGIN, y)


def _ladder(name: str, ladder: Ladder, x: float) -> tuple[float, float, list[str]]:
    """Width, height and parts of a ladder."""
    rungs = [layer.upper for layer in ladder.map.layers] + [ladder.map.lower]
    steps = [len(layer.steps) for layer in ladder.map.layers]
    width = max(CHARACTER * len(ladder.title), *(_width(dims) for dims in rungs))
    parts = [label(x, 12, ladder.title, "head", f"map:{name}")]
    positions: list[dict[str, tuple[float, float]]] = []
    y = 28.0
    for at, dims in enumerate(rungs):
        placed, drawn = _rung(name, at, dims, x, y, ladder)
        positions.append(placed)
        parts += drawn
        y += RUNG + STEP
    assert len(steps) == len(positions) - 1
    for at in range(len(steps)):
        parts += _steps(ladder.map, at, positions)
    lines = [f"address = {ladder.address}", *(f"where {guard}" for guard in ladder.guards)]
    for at, text in enumerate(map(_cut, lines)):
        parts.append(label(x, y - STEP + 18 + 16 * at, text, "code", f"map:{name}"))
        width = max(width, CHARACTER * len(text))
    return width, y + 16 * len(lines), parts


def _width(dims: Sequence[Dim]) -> float:
    return sum(_box_width(dim) + GAP for dim in dims)


def _box_width(dim: Dim) -> float:
    return CHARACTER * len(str(dim)) + 12


def _rung(
    name: str, at: int, dims: Sequence[Dim], x: float, y: float, ladder: Ladder
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Middles of a rung's boxes by dim, and the boxes."""
    placed: dict[str, tuple[float, float]] = {}
    parts: list[str] = []
    for position, (dim, value) in enumerate(zip(dims, ladder.values[at], strict=True)):
        wide = _box_width(dim)
        tooltip = f"{dim.name} = {value}, of {dim.size}"
        parts.append(box(x, y, wide, RUNG, f"g{position % 8}", f"map:{name} rung:{at}", tooltip, 4))
        parts.append(label(x + wide / 2, y + 17, dim, "mid"))
        placed[dim.name] = (x + wide / 2, y)
        x += wide + GAP
    return placed, parts


def _steps(map: Map, at: int, positions: Sequence[Mapping[str, tuple[float, float]]]) -> Iterator[str]:
    """The rules between a rung and the next, each where its lines meet."""
    layer = map.layers[at]
    below_names = map.layers[at + 1].upper if at + 1 < len(map.layers) else map.lower
    named = dict(zip((d.name for d in layer.lower), (d.name for d in below_names), strict=True))
    for step in layer.steps:
        above = [positions[at][n] for n in step.upper]
        below = [positions[at + 1][named[n]] for n in step.lower]
        x = sum(p[0] for p in above or below) / len(above or below)
        y = (above[0][1] + RUNG if above else below[0][1] - STEP) + STEP / 2
        yield from (line(px, py + RUNG, x, y) for px, py in above)
        yield from (line(x, y, px, py) for px, py in below)
        rule = type(step.rule).__name__.lower()
        if rule != "passthrough":
            yield label(x + 4, y + 4, rule, "soft")


def _cut(text: str, most: int = 150) -> str:
    return text if len(text) <= most else f"{text[: most - 2]}.."
