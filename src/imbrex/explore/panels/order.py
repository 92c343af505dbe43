"""The order of tiles on the grid: which workgroup begins which tile, on which die, in which round."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

import numpy as np
import numpy.typing as npt

from imbrex.config import tile_order
from imbrex.config.tile_order import RasterOffer
from imbrex.explore.bars import HEIGHT, Bar, bars
from imbrex.explore.panel import Frames, Panel, Row, Table, absent
from imbrex.explore.panels.maps import NO_PRODUCT
from imbrex.explore.subject import Subject
from imbrex.explore.svg import drawing, label
from imbrex.explore.tile_grid import FOLD, Words, grid_parts
from imbrex.explore.tiling import Tiling
from imbrex.numeral import counted
from imbrex.view.work.workgroup import RasterOrder

__all__ = ["order"]

TITLE: Final = "Order of tiles on the grid"
MOST: Final = 24
"""Rows and columns of tiles that are drawn."""
LINES: Final = 14
"""Lines of tiles that are drawn of one row, or of one column."""
BARS: Final = 430.0
STEPS: Final = 64
"""The first so many are stepped through."""


def order(subject: Subject) -> Panel:
    """Tiles of C with the number of the workgroup, or of the unit, that has them."""
    cut, product, tuned = subject.tiling, subject.product, subject.tuned
    if product is None or tuned is None or cut is None:
        return absent("order", TITLE, NO_PRODUCT if product is None else "no order of tiles is one map")
    positions = cut.corner[:MOST, :MOST] if min(cut.corner.shape) > 1 else _strip(cut)
    whole = tuple(d.size for d in cut.order.lower[1:])
    word = "workgroup" if cut.is_one_each else "unit"
    down, across = _axes(cut)
    called = subject.words.workgroup if cut.is_one_each else word
    title = f"{down} down, {across} across: the {called} of each"
    colour = cut.die if cut.xcds > 1 else cut.turn

    def tooltip(position: int) -> str:
        die = f", die {cut.die(position)}" if cut.xcds > 1 else ""
        return f"{called} {position}, round {cut.turn(position)}{die}"

    kind, count = ("die", cut.xcds) if cut.xcds > 1 else ("round", 1 + cut.turn(prod(whole) - 1))
    signs = [f"{kind} {i}" for i in range(min(count, 8))] if count > 1 else []
    offers = tile_order.offers(tuned.tuning, product.context, product.machine)[:10]
    drawn, width, height = grid_parts(
        title, positions.tolist(), Words(colour, (down, across), word, tooltip, signs)
    )
    said = [_said(cut, called)]
    if cut.cluster != (1, 1):
        said.append(f"A unit is a cluster of {cut.cluster[0]} x {cut.cluster[1]} tiles.")
    rows, found = _hits(offers, tuned.schedule.order)
    if found:
        head = "tiles of A and B that each order finds in L2, by the model"
        drawn += [label(width + 16, 18, head, "head"), *bars(found, width, 32, BARS, 1.0)]
        width, height = width + BARS + 60, max(height, 40 + len(found) * HEIGHT)
    else:
        said.append(_no_hits(subject))
    svg = drawing(TITLE, drawn, width, height)
    sampled = None
    if positions.shape != whole:
        shown, all_of_it = (" x ".join(map(str, sizes)) for sizes in (positions.shape, whole))
        sampled = f"{shown} of {all_of_it} are drawn"
    table = Table(("wgm", "along", "dies", "found in L2"), rows) if rows else None
    return Panel("order", TITLE, tuple(said), svg, table, frames=_frames(cut, word, called), sampled=sampled)


def _frames(cut: Tiling, word: str, called: str) -> Frames:
    """One after the other, in the order in which they begin."""
    down, across = _axes(cut)

    def said(position: int, row: int, column: int) -> str:
        die = f" on die {cut.die(position)}" if cut.xcds > 1 else ""
        return (
            f"{called} {position} begins {down} {row}, {across} {column}{die}, in round {cut.turn(position)}"
        )

    return Frames(word, tuple(said(*tile) for tile in cut.begun_first(STEPS)))


def _strip(cut: Tiling) -> npt.NDArray[np.int64]:
    """The first of one row, or of one column, of tiles."""
    return cut.corner[: LINES * FOLD, : LINES * FOLD]


def _axes(cut: Tiling) -> tuple[str, str]:
    """What rows and columns of the grid are: tiles, or clusters of them."""
    if cut.cluster != (1, 1):
        return "cluster_m", "cluster_n"
    down, across = cut.axes
    return f"{down}_tile", f"{across}_tile"


def _said(cut: Tiling, called: str) -> str:
    raster = cut.raster
    way = (
        f"groups of {counted(raster.group, 'tile')} along {raster.along}"
        if raster.group > 1
        else f"along {raster.along}"
    )
    where = f"; workgroup w runs on die w % {cut.xcds}" if cut.xcds > 1 else ""
    gathered = f", gathered on {counted(raster.xcds, 'die')}" if raster.xcds > 1 else ""
    colours = "colours are dies" if cut.xcds > 1 else "colours are rounds"
    return f"{cut.at_a_time} {called}s run at a time; {way}{gathered}{where}; {colours}."


def _hits(
    offers: Sequence[RasterOffer], taken: RasterOrder | None
) -> tuple[tuple[Row, ...], tuple[Bar, ...]]:
    """Orders with the hits that the model of caches expects of each, the taken one marked."""
    rows: list[Row] = []
    found: list[Bar] = []
    for offer in offers:
        order, hits, is_taken = offer.order, f"{offer.hit_rate:.1%}", offer.order == (taken or RasterOrder())
        rows.append(
            Row((f"{order.group}{' (taken)' if is_taken else ''}", order.along, str(order.xcds), hits))
        )
        name = "by number" if order == RasterOrder() else f"groups of {order.group} along {order.along}"
        name += f", {counted(order.xcds, 'die')}" if order.xcds > 1 else ""
        said = f"{hits}{', taken' if is_taken else ''}"
        found.append(Bar(name, offer.hit_rate, said, is_bound=is_taken))
    return tuple(rows), tuple(found)


def _no_hits(subject: Subject) -> str:
    """Why nothing is said of hits in L2."""
    machine = subject.request.machine
    if machine.l2 is None:
        return f"No row of {machine.name} tells the cache that its {subject.words.workgroup}s share."
    if subject.tuned is not None and subject.tuned.schedule.is_shared:
        return "What these find in L2 is said of their segments."
    return "All tiles run at once and leave units free: the model of L2 compares no orders of them."
