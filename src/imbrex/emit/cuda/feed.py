"""How a tile of A or B comes into shared memory, as functions of a kernel's struct."""

from __future__ import annotations

from functools import reduce
from math import prod

from imbrex.emit import c
from imbrex.emit.cuda.geometry import WARPGROUP
from imbrex.emit.cuda.member import boolean, method, static
from imbrex.index.expr import Lin, select, var
from imbrex.index.map import Map
from imbrex.lower.warpgroup import Feed, Lanes
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.stage.shared_tile import SharedTile
from imbrex.view.stage.tap_tile import TapTile
from imbrex.view.tensor import Box, Walk

__all__ = ["copied_bytes", "fill", "lanes", "load", "start"]

WARP = 32
IN_FLIGHT = {1: 48, 2: 48, 3: 24}
"""Consumers -> registers of a producer's lane for what it has loaded and not yet put."""
COPY_BYTES = 4
"""The least that a lane copies to shared memory past its registers."""
PLACE = "int32_t batch, int32_t tile, int32_t step"
ELEMENT = f"{PLACE}, int32_t k, int32_t d"


def copied_bytes(feed: Feed) -> int:
    """What the copy engine brings in one step, all parts of a shared tile together."""
    form = feed.access
    if isinstance(form, Lanes):
        return 0
    size = feed.share.element_bytes * feed.parts * len(form.pieces)
    if isinstance(form, Walk):
        return size * form.channels * form.pixels
    return size * prod(-(-b // s) for b, s in zip(form.box, form.steps, strict=True))


def start(name: str, share: SharedTile | HaloTile | TapTile) -> str:
    """`a_start`: the byte at which the instruction's tile at (k, d) begins."""
    place = _byte(share, share.starts if isinstance(share, HaloTile | TapTile) else None)
    return static("uint32_t", f"{name}_start", "int32_t k, int32_t d", place, is_constant=True)


def load(name: str, feed: Feed) -> list[str]:
    """`load_a` by the copy engine, with nothing to do where lanes load."""
    form = feed.access
    lines = [] if isinstance(form, Lanes) else [_access(name, feed, form, i) for i in range(len(form.pieces))]
    return [
        f"IMBREX_MEMBER void load_{name}(uint32_t to, uint32_t barrier, {PLACE}, int32_t part,",
        "                          uint16_t sharers) const {",
        *c.indented(lines),
        "}",
    ]


def _access(name: str, feed: Feed, form: Box | Walk, number: int) -> str:
    piece = form.pieces[number]
    rank, to = len(piece.coords), c.index(var("part", feed.parts) * piece.part_bytes + piece.byte_offset)
    given = [f"to + {to}" if to != "0" else "to", f"{name}_map", "barrier"]
    given.append(f"imbrex::coordinates<{rank}>{{{{{', '.join(map(c.index, piece.coords))}}}}}")
    if isinstance(form, Walk):
        taps = ", ".join(f"uint16_t({c.index(x)})" for x in piece.offsets)
        given.append(f"imbrex::offsets<{rank - 2}>{{{{{taps}}}}}")
    if feed.parts > 1:
        given.append("sharers")
    return f"imbrex::{'load' if isinstance(form, Box) else 'walk'}<{rank}>({', '.join(given)});"


def lanes(name: str, feed: Feed, consumers: int) -> list[str]:
    """The struct of a tile that lanes load, nothing where the copy engine does."""
    form = feed.access
    if not isinstance(form, Lanes):
        return []
    kind, share = c.type_name(feed.buffer.dtype), feed.share
    left = _left(form, share)
    return [
        f"struct {name}_feed {{",
        f"  static constexpr int depth = {share.k}, extent = {share.d}, width = {form.width};",
        f"  static constexpr int element_bytes = {share.element_bytes}, registers = {IN_FLIGHT[consumers]};",
        f"  static constexpr int64_t bytes = {feed.buffer.elements * share.element_bytes};",
        f"  static constexpr bool along_k = {boolean(form.along == 'k')};",
        f"  static constexpr bool is_k_major = {boolean(share.major == 'k')};",
        f"  static constexpr bool has_rows = {boolean(left is not None)};",
        f"  const {kind} *memory;",
        f"  {method('int32_t', 'left', ELEMENT, left or '0')}",
        f"  {method('bool', 'exists', ELEMENT, c.guards(form.guards))}",
        f"  {method(f'const {kind} *', 'at', ELEMENT, f'memory + ({c.index(form.offset)})')}",
        f"  {static('uint32_t', 'place', 'int32_t k, int32_t d', _byte(share))}",
        "};",
    ]


def _left(form: Lanes, share: SharedTile | HaloTile | TapTile) -> str | None:
    """How many elements from one on, along the tile's rows, lie one after the other in memory and exist.

    None where they do not lie so, where warps do not load whole rows, or where elements are copied past the
    registers as they are, which is faster.
    """
    size = share.k if form.along == "k" else share.d
    along, bounds = var(form.along, size), list[Lin]()
    is_whole = form.along == share.major and not (form.offset - along).mentions(form.along)
    pieces = size * share.element_bytes // 16
    are_whole = pieces > 0 and WARP % pieces == 0 and share.bytes % (16 * WARPGROUP) == 0
    if not is_whole or not are_whole or form.width * share.element_bytes >= COPY_BYTES:
        return None
    others = [g for g in form.guards if not g.index.mentions(form.along)]
    for g in form.guards:
        before = g.index - along
        if g in others:
            continue
        if before.mentions(form.along) or before.bounds[0] < 0:
            return None
        bounds.append(g.size - g.index)
    least = reduce(lambda a, b: select(b - a, a, b), bounds, size - along)
    return f"{c.guards(others)} ? {c.index(least)} : {-size}" if others else c.index(least)


def fill(name: str, feed: Feed) -> list[str]:
    """`fill_a` by lanes, with nothing to do where the copy engine loads."""
    by_lanes = isinstance(feed.access, Lanes)
    call = f"imbrex::fill_tile({name}_feed{{{name}}}, to, batch, tile, step);"
    return [
        f"IMBREX_MEMBER void fill_{name}(uint32_t to, {PLACE}) const {{",
        *c.indented([call] if by_lanes else []),
        "}",
    ]


def _byte(share: SharedTile | HaloTile | TapTile, map: Map | None = None) -> str:
    """Where element (k, d) of a tile lies."""
    (element,) = (map or share.map).at([var("k", share.k), var("d", share.d)]).coords
    return c.index(element * share.element_bytes)
