"""The order of tiles on the grid: which workgroup begins which tile, on which die, in which round."""

from __future__ import annotations

from typing import Final

from imbrex.config import tile_order
from imbrex.explore.panel import Panel, Row, Table, absent
from imbrex.explore.panels.maps import NO_PRODUCT
from imbrex.explore.subject import Subject
from imbrex.explore.svg import box, drawing, label
from imbrex.explore.tiling import Tiling

__all__ = ["order"]

TITLE: Final = "Order of tiles on the grid"
EDGE, TOP, MARGIN = 34, 40, 40
MOST: Final = 24
"""Rows and columns of tiles that are drawn."""


def order(subject: Subject) -> Panel:
    """Tiles of C with the number of the workgroup, or of the unit, that has them."""
    cut, product, tuned = subject.tiling, subject.product, subject.tuned
    if product is None or tuned is None or cut is None:
        return absent("order", TITLE, NO_PRODUCT if product is None else "no order of tiles is one map")
    places = cut.places[:MOST, :MOST]
    word = "workgroup" if cut.is_one_each else "unit"
    parts = [
        label(8, 18, f"{cut.axes[0]} tiles down, {cut.axes[1]} tiles across: the {word} of each", "head")
    ]
    cluster = "" if cut.cluster == (1, 1) else f" (clusters of {cut.cluster[0]} x {cut.cluster[1]} tiles)"
    for column in range(places.shape[1]):
        parts.append(label(MARGIN + (column + 0.5) * EDGE, TOP - 4, column, "mid soft"))
    for row, line in enumerate(places.tolist()):
        parts.append(label(MARGIN - 6, TOP + row * EDGE + 21, row, "end soft"))
        for column, place in enumerate(line):
            parts += _tile(cut, row, column, place, word)
    said = [_said(cut, word) + cluster]
    rows = _hits(subject)
    if rows:
        said.append("Share of the tiles of A and B that each order finds in L2, by the model:")
    sampled = None
    if places.shape != cut.places.shape:
        shown, whole = (" x ".join(map(str, x.shape)) for x in (places, cut.places))
        sampled = f"{shown} of {whole} are drawn"
    width = max(360, MARGIN + places.shape[1] * EDGE + 8)
    svg = drawing(TITLE, parts, width, TOP + places.shape[0] * EDGE + 8)
    table = Table(("wgm", "along", "dies", "found in L2"), rows) if rows else None
    return Panel("order", TITLE, tuple(said), svg, table, sampled=sampled)


def _tile(cut: Tiling, row: int, column: int, place: int, word: str) -> list[str]:
    die, turn = cut.die(place), cut.turn(place)
    x, y = MARGIN + column * EDGE, TOP + row * EDGE
    down, across = (f"{axis}_tile" if cut.cluster == (1, 1) else f"cluster_{axis}" for axis in _axes(cut))
    tokens = f"{down}:{row} {across}:{column} {word}:{place}"
    told = f"{word} {place}, round {turn}" + (f", die {die}" if cut.xcds > 1 else "")
    colour = die if cut.xcds > 1 else turn
    return [
        box(x, y, EDGE, EDGE, f"g{colour % 8}", tokens, told),
        label(x + EDGE / 2, y + EDGE / 2 + 4, place, "mid"),
    ]


def _axes(cut: Tiling) -> tuple[str, str]:
    return cut.axes if cut.cluster == (1, 1) else ("m", "n")


def _said(cut: Tiling, word: str) -> str:
    raster = cut.raster
    way = (
        f"groups of {raster.group} tiles along {raster.along}"
        if raster.group > 1
        else f"along {raster.along}"
    )
    where = f"; workgroup w runs on die w % {cut.xcds}" if cut.xcds > 1 else ""
    gathered = f", gathered on {raster.xcds} dies" if raster.xcds > 1 else ""
    colours = "colours are dies" if cut.xcds > 1 else "colours are rounds"
    return f"{cut.at_a_time} at a time ({word}s); {way}{gathered}{where}; {colours}."


def _hits(subject: Subject) -> tuple[Row, ...]:
    """Orders with the hits that the model of caches expects of each, the taken one marked."""
    product, tuned = subject.product, subject.tuned
    assert product is not None and tuned is not None
    taken = tuned.schedule.order
    return tuple(
        Row((
            f"{offer.order.group}{' (taken)' if offer.order == taken else ''}", offer.order.along,
            str(offer.order.xcds), f"{offer.hit_rate:.1%}",
        ))
        for offer in tile_order.offers(tuned.tuning, product.context, product.machine)[:10]
    )  # fmt: skip
