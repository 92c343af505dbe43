"""Which tile a workgroup computes: linear and grouped mapping, and the remap of workgroups to XCDs.

Hardware numbers workgroups in the order in which it starts them.  Each map here goes from that number to a
tile, or from it to a better number, and is a bijection whatever the sizes; `order` composes them.

    linear    down one column of tiles, or along one row, before the next
    grouped   the same, but only `group` tiles far before the next column: neighbours in time share rows of A
              and columns of B that are still in cache (WGM)
    xcd       a GPU of several dies (XCDs) deals workgroups to them in turn; neighbours come to lie on one die

Source: rocRoller's WorkgroupMapping and WorkgroupRemapXCC, on grids of any size.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from imbrex.index.expr import Index
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Deal, Group, Merge

Along: TypeAlias = Literal["m", "n"]
"""The parallel dimension: the one along which the workgroup number moves first."""

TILES = {"m": ("m_tile", "n_tile"), "n": ("n_tile", "m_tile")}


def linear(m_tiles: int, n_tiles: int, along: Along = "m") -> Map:
    """workgroup -> (m_tile, n_tile), all of one column (along m) or row (along n) before the next."""
    first, second = TILES[along]
    return _walk(m_tiles, n_tiles, Merge(), f"{second} {first}")


def grouped(m_tiles: int, n_tiles: int, group: Index, along: Along = "m") -> Map:
    """workgroup -> (m_tile, n_tile), `group` tiles along the parallel dimension before the next line.

    group: WGM, a number or a runtime quantity of at least 1; a last group of fewer tiles is no exception.
    """
    first, second = TILES[along]
    return _walk(m_tiles, n_tiles, Group(group), f"{first} {second}")


def xcd(workgroups: int, xcds: int) -> Map:
    """Hardware's number -> a number whose neighbours run on the same XCD.

    Hardware starts workgroup w on XCD w % xcds.  The first workgroups % xcds XCDs hold one more than the
    others.
    """
    dims = (Dim("workgroup", workgroups),)
    return Map((layer_over(dims, (Deal(xcds), "workgroup", "workgroup")),))


def order(m_tiles: int, n_tiles: int, group: Index | None = None, along: Along = "m", xcds: int = 1) -> Map:
    """Hardware's workgroup number -> (m_tile, n_tile): remapped to XCDs, then linear, or grouped if asked."""
    tiles = linear(m_tiles, n_tiles, along) if group is None else grouped(m_tiles, n_tiles, group, along)
    return tiles if xcds == 1 else xcd(m_tiles * n_tiles, xcds).then(tiles)


def _walk(m_tiles: int, n_tiles: int, rule: Merge | Group, lower: str) -> Map:
    dims = (Dim("m_tile", m_tiles), Dim("n_tile", n_tiles))
    return Map((layer_over(dims, (rule, "workgroup", lower)),))
