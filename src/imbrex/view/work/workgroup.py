"""Which tile a workgroup computes: linear and grouped mapping, and the remap of workgroups to XCDs.

Hardware numbers workgroups in the order in which it starts them.  Each map here goes from that number to a
tile, or from it to a better number, and is a bijection whatever the sizes; `order` composes them.

    linear    down one column of tiles, or along one row, before the next
    grouped   the same, but only `group` tiles far before the next column: neighbours in time share rows of A
              and columns of B that are still in cache (WGM)
    xcd       a GPU of several dies (XCDs) deals workgroups to them in turn; neighbours come to lie on one die

In kernels `begun` takes them together, for batches of products, too, and `numbered` ends it in one number,
which takes the place of hardware's.

Source: rocRoller's WorkgroupMapping and WorkgroupRemapXCC, on grids of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final, Literal, TypeAlias, get_args

from imbrex.index.expr import Index
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Deal, Group, Merge, PassThrough, Rule, Unmerge

Along: TypeAlias = Literal["m", "n"]
"""The parallel dimension: the one along which the workgroup number moves first."""

ALONG: Final = get_args(Along)
TILES = {"m": ("m_tile", "n_tile"), "n": ("n_tile", "m_tile")}


@dataclass(frozen=True)
class RasterOrder:
    """The order in which tiles are begun: WGM, the parallel dimension, and dies that hardware deals to.

    is_runtime: a kernel takes the group from its workspace, and this one where it finds 0 there.
    """

    group: int = 1
    along: Along = "m"
    xcds: int = 1
    is_runtime: bool = False

    @property
    def is_plain(self) -> bool:
        """Is it the order of the tiles' numbers, along n?"""
        return self == RasterOrder()


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


def raster_order(
    m_tiles: int, n_tiles: int, group: Index | None = None, along: Along = "m", xcds: int = 1
) -> Map:
    """Hardware's workgroup number -> (m_tile, n_tile): remapped to XCDs, then linear, or grouped if asked."""
    tiles = linear(m_tiles, n_tiles, along) if group is None else grouped(m_tiles, n_tiles, group, along)
    return tiles if xcds == 1 else xcd(m_tiles * n_tiles, xcds).then(tiles)


def begun(
    batches: int, m_tiles: int, n_tiles: int, group: Index = 1, along: Along = "m", ways: int = 1
) -> Map:
    """place -> (batch, m_tile, n_tile): the place in the order in which tiles are begun, to the tile.

    ways: places that go to different dies, or to workgroups of different dies, before the first die's turn
    comes again.  A group of one along m is the order of the tiles' numbers.
    """
    sizes = (("batch", batches), ("m_tile", m_tiles), ("n_tile", n_tiles))
    first, second = TILES[along]
    walked = layer_over(
        [Dim(*size) for size in sizes],
        (PassThrough(), "batch", "batch"),
        (Group(group), "in_batch", f"{first} {second}"),
    )
    gathered = layer_over(walked.upper, (Merge(), "place", "batch in_batch"))
    rule: Rule = Deal(ways) if ways > 1 else PassThrough()
    return Map((layer_over(gathered.upper, (rule, "place", "place")), gathered, walked))


def numbered(tiles: Map) -> Map:
    """What `begun` gives, to the tile's number: batches slowest, then m, then n."""
    below = tiles.lower
    dims, sizes = (Dim("tile", prod(d.size for d in below)),), {d.name: d.size for d in below}
    layer = layer_over(dims, (Unmerge(), " ".join(sizes), "tile"), order=None, **sizes)
    return Map((*tiles.layers, layer))


def _walk(m_tiles: int, n_tiles: int, rule: Merge | Group, lower: str) -> Map:
    dims = (Dim("m_tile", m_tiles), Dim("n_tile", n_tiles))
    return Map((layer_over(dims, (rule, "workgroup", lower)),))
