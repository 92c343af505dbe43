"""From C to a tile, to a wave, to a lane, to a register: who computes and keeps each element of C."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from imbrex.explore.ladder import Ladder
from imbrex.explore.panel import Panel, Table, absent, rows
from imbrex.explore.panels.maps import NO_PRODUCT
from imbrex.explore.regions import regions
from imbrex.explore.subject import Subject, Words
from imbrex.explore.svg import box, drawing, field, label
from imbrex.explore.tiling import Tiling
from imbrex.index.map import Map

__all__ = ["tile"]

TITLE: Final = "Tile, wave, lane, register"
SIDE: Final = 260.0
"""Pixels of the longer side of C and of a tile as they are drawn."""
MOST_TILES, MOST_REGIONS, MOST_CELLS = 32, 800, 32
CELL: Final = 20
CHARACTER: Final = 7.2
"""Pixels of a letter of a title, about."""
TOP, MARGIN = 48.0, 16.0


def tile(subject: Subject) -> Panel:
    """C cut into tiles, one tile by waves, and a corner of it by lanes and registers."""
    cut, words = subject.tiling, subject.words
    if subject.product is None or cut is None:
        return absent("tile", TITLE, NO_PRODUCT if subject.product is None else "no tile of C is one map")
    down, across = cut.axes
    parts, width, height, sampled = _matrix(cut)
    said = [
        f"C is {cut.rows} x {cut.columns} ({down} x {across}); a {words.workgroup}'s tile is {cut.tile[0]} x "
        f"{cut.tile[1]}, summed over {_count(cut.steps, 'step')} of {cut.depth} along k."
    ]
    held = subject.held
    table = None
    if isinstance(held, Ladder):
        more, wide, high, only = _holders(cut, held.map, width + 3 * MARGIN, words)
        parts, width, height = [*parts, *more], width + wide + 3 * MARGIN, max(height, high)
        sampled += only
        (_, waves), (_, lanes), (_, registers) = held.map.upper
        many = f"{_count(waves, words.wave)} of {_count(lanes, words.lane)}"
        said.append(f"A tile has {many}, each of which keeps {_count(registers, 'sum')}.")
        table = Table((words.wave, words.lane, "register", down, across), rows(*_first(held.map)))
    elif held:
        said.append(f"Not drawn by lanes: {held}.")
    svg = drawing(TITLE, parts, width + MARGIN, height + MARGIN)
    return Panel("tile", TITLE, tuple(said), svg, table, sampled="; ".join(sampled) or None)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _matrix(cut: Tiling) -> tuple[list[str], float, float, list[str]]:
    """C with its tiles; what is drawn of it, its width and height, and what is left out."""
    down, across = cut.axes
    shown = [min(count, MOST_TILES) for count in cut.blocks]
    sizes = [min(s, n * t) for s, n, t in zip((cut.rows, cut.columns), shown, cut.tile, strict=True)]
    scale = [SIDE / max(sizes), SIDE / max(sizes)]
    for i in (0, 1):
        scale[i] = max(scale[i], 24 / sizes[i])
    parts = [label(MARGIN, 20, f"C: {down} down, {across} across", "head")]
    for m in range(shown[0]):
        for n in range(shown[1]):
            y, x = TOP + m * cut.tile[0] * scale[0], MARGIN + n * cut.tile[1] * scale[1]
            high = (min(sizes[0], (m + 1) * cut.tile[0]) - m * cut.tile[0]) * scale[0]
            wide = (min(sizes[1], (n + 1) * cut.tile[1]) - n * cut.tile[1]) * scale[1]
            tokens = f"{down}_tile:{m} {across}_tile:{n}"
            tooltip = f"tile {m}, {n}: number {cut.corner[m // cut.cluster[0], n // cut.cluster[1]]}"
            parts.append(box(x, y, wide, high, f"g{(m + n) % 2 * 7}", tokens, tooltip))
    wide, high = sizes[1] * scale[1], sizes[0] * scale[0]
    parts.append(field(MARGIN, TOP, wide, high, f"{down}:0-{sizes[0] - 1}", f"{across}:0-{sizes[1] - 1}"))
    left = [f"{shown[0]} x {shown[1]} of {cut.blocks[0]} x {cut.blocks[1]} tiles are drawn"]
    return parts, MARGIN + max(wide, 150), TOP + high, left if tuple(shown) != tuple(cut.blocks) else []


def holders(held: Map, most: int) -> npt.NDArray[np.int64]:
    """[row, column] -> (wave, lane, register), of the first `most` rows and columns."""
    back = held.inverse()
    rows_, columns = (min(d.size, most) for d in back.upper)
    grid = np.indices((rows_, columns))
    found, _ = back.evaluate(list(grid))
    return np.stack([np.broadcast_to(x, (rows_, columns)) for x in found], axis=-1).astype(np.int64)


def _holders(cut: Tiling, held: Map, x: float, words: Words) -> tuple[list[str], float, float, list[str]]:
    """A tile by waves, and its corner by lanes."""
    down, across = cut.axes
    who = holders(held, 512)
    high, wide = who.shape[:2]
    scale = SIDE / max(high, wide)
    found, left = regions(who[..., 0]), list[str]()
    if (high, wide) != cut.tile:
        left.append(f"{high} x {wide} of a tile's {cut.tile[0]} x {cut.tile[1]} are drawn by {words.wave}s")
    if len(found) > MOST_REGIONS:
        left.append(f"{words.wave}s take elements in turn: only the first of their regions are drawn")
        found = found[:MOST_REGIONS]
    title = f"a tile: t{down} down, t{across} across, by {words.wave}"
    parts = [label(x, 20, title, "head")]
    for one in found:
        at = (x + one.column * scale, TOP + one.row * scale, one.width * scale, one.height * scale)
        parts.append(box(*at, f"g{one.value % 8}", f"wave:{one.value}", f"{words.wave} {one.value}"))
        if min(at[2:]) > 24:
            parts.append(label(at[0] + at[2] / 2, at[1] + at[3] / 2 + 4, one.value, "mid strong"))
    grid = f"t{down}:0-{high - 1}", f"t{across}:0-{wide - 1}"
    parts.append(field(x, TOP, wide * scale, high * scale, *grid))
    x2 = x + max(wide * scale, CHARACTER * len(title)) + 2 * MARGIN
    corner = who[:MOST_CELLS, :MOST_CELLS]
    parts += _corner(corner, x2, words)
    if corner.shape[:2] != who.shape[:2]:
        left.append(f"{words.lane}s are drawn of {corner.shape[0]} x {corner.shape[1]} elements")
    height = TOP + max(high * scale, corner.shape[0] * CELL * 0.8)
    return parts, x2 - x + corner.shape[1] * CELL + MARGIN, height, left


def _corner(who: npt.NDArray[np.int64], x: float, words: Words) -> list[str]:
    """Lane above and register below, of every element of a corner."""
    edge = max(1, int(who[..., 1].max() + 1) // 8)
    parts = [label(x, 20, f"its corner: {words.lane} above, register below", "head")]
    step = CELL * 0.8
    for row, column in np.ndindex(*who.shape[:2]):
        wave, lane, register = who[row, column].tolist()
        y, left = TOP + row * step, x + column * CELL
        tokens = f"wave:{wave} lane:{lane} register:{register}"
        parts.append(box(left, y, CELL, step, f"g{lane // edge % 8}", tokens))
        parts.append(label(left + CELL / 2, y + 8, lane, "mid tiny strong"))
        parts.append(label(left + CELL / 2, y + 16, register, "mid tiny"))
    return parts


def _first(held: Map) -> list[tuple[int, ...]]:
    """What the first lanes keep."""
    (_, waves), (_, lanes), (_, registers) = held.upper
    found: list[tuple[int, ...]] = []
    for lane in range(min(lanes, 4)):
        for register in range(min(registers, 4)):
            (row, column), _ = held.evaluate([min(0, waves), lane, register])
            found.append((0, lane, register, int(row), int(column)))
    return found
