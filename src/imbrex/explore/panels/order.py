"""The order of tiles on the grid: which workgroup begins which tile, on which die, in which round."""

from __future__ import annotations

from math import prod
from typing import Final

from imbrex.config import tile_order
from imbrex.explore.panel import Frames, Panel, Row, Table, absent
from imbrex.explore.panels.maps import NO_PRODUCT
from imbrex.explore.subject import Subject
from imbrex.explore.tile_grid import tile_grid
from imbrex.explore.tiling import Tiling

__all__ = ["order"]

TITLE: Final = "Order of tiles on the grid"
MOST: Final = 24
"""Rows and columns of tiles that are drawn."""
STEPS: Final = 64
"""The first so many are stepped through."""


def order(subject: Subject) -> Panel:
    """Tiles of C with the number of the workgroup, or of the unit, that has them."""
    cut, product, tuned = subject.tiling, subject.product, subject.tuned
    if product is None or tuned is None or cut is None:
        return absent("order", TITLE, NO_PRODUCT if product is None else "no order of tiles is one map")
    places = cut.corner[:MOST, :MOST]
    whole = tuple(d.size for d in cut.order.lower[1:])
    word = "workgroup" if cut.is_one_each else "unit"
    down, across = _axes(cut)
    title = f"{down} down, {across} across: the {word} of each"
    colour = cut.die if cut.xcds > 1 else cut.turn

    def told(place: int) -> str:
        die = f", die {cut.die(place)}" if cut.xcds > 1 else ""
        return f"{word} {place}, round {cut.turn(place)}{die}"

    kind, count = ("die", cut.xcds) if cut.xcds > 1 else ("round", 1 + cut.turn(prod(whole) - 1))
    signs = [f"{kind} {i}" for i in range(min(count, 8))] if count > 1 else []
    svg = tile_grid(title, places.tolist(), colour, (down, across), word, told, signs)
    cluster = "" if cut.cluster == (1, 1) else f" (clusters of {cut.cluster[0]} x {cut.cluster[1]} tiles)"
    said = [_said(cut, word) + cluster]
    rows = _hits(subject)
    if rows:
        said.append("Share of the tiles of A and B that each order finds in L2, by the model:")
    sampled = None
    if places.shape != whole:
        shown, all_of_it = (" x ".join(map(str, sizes)) for sizes in (places.shape, whole))
        sampled = f"{shown} of {all_of_it} are drawn"
    table = Table(("wgm", "along", "dies", "found in L2"), rows) if rows else None
    return Panel("order", TITLE, tuple(said), svg, table, frames=_frames(cut, word), sampled=sampled)


def _frames(cut: Tiling, word: str) -> Frames:
    """One after the other, in the order in which they begin."""
    down, across = _axes(cut)

    def said(place: int, row: int, column: int) -> str:
        die = f" on die {cut.die(place)}" if cut.xcds > 1 else ""
        return f"{word} {place} begins {down} {row}, {across} {column}{die}, in round {cut.turn(place)}"

    return Frames(word, tuple(said(*tile) for tile in cut.begun_first(STEPS)))


def _axes(cut: Tiling) -> tuple[str, str]:
    """What rows and columns of the grid are: tiles, or clusters of them."""
    if cut.cluster != (1, 1):
        return "cluster_m", "cluster_n"
    down, across = cut.axes
    return f"{down}_tile", f"{across}_tile"


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
