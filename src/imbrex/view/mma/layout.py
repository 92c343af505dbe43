"""Layouts: which element of A, B or C a lane holds, as maps made of a few shared shapes.

A matrix instruction cuts each dimension into parts, powers of two, and deals them out to the lane number and
to the register number.  So a layout is two lists of parts, outermost first, and a dimension is the parts that
make it:

    upper   (lane, register)      register counts the elements that a lane holds, whatever their width
            lane -> merge -> parts, register -> merge -> parts
            parts -> unmerge -> block, m, k, n
    lower   A (block, m, k)   B (block, k, n)   C (block, m, n)

A part that makes no dimension is a copy: several lanes hold the same element (Broadcast).  Lanes that hold
nothing are behind a Pad.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import prod
from typing import Literal, TypeAlias

from imbrex.index.map import Dim, Entry, Layer, Map, layer_over
from imbrex.index.rule import Broadcast, Fixed, Merge, Pad, PassThrough, Unmerge

__all__ = [
    "Side",
    "accumulator",
    "accumulator_in_halves",
    "copied_operand",
    "in_first_lanes",
    "operand",
    "operand_in_halves",
    "pair_accumulator",
    "pair_operand",
    "tile_accumulator",
    "tile_operand",
    "vector_accumulator",
    "vector_operand",
    "warpgroup_accumulator",
    "warpgroup_operand",
]

Side: TypeAlias = Literal["a", "b"]
Parts: TypeAlias = Sequence[tuple[str, int]]


@cache
def operand(side: Side, edge: int, k: int, blocks: int, wave: int = 64, chunks: int = 1) -> Map:
    """A or B of an MFMA: a lane holds one row (of A; a column of B), and neighbours along k in its registers.

    The lanes are (k_group, block, row); k is (k_chunk, k_group, k_slot).  More than one chunk is the 8-bit
    form of gfx950's f8f6f4 and the 16-bit form of gfx12.
    """
    groups = wave // (edge * blocks)
    row = _row_of(side)
    return _dealt(
        (("k_group", groups), ("block_lane", blocks), (f"{row}_lane", edge)),
        (("k_chunk", chunks), ("k_slot", k // (groups * chunks))),
        _lower(side, "block_lane", f"{row}_lane", "k_chunk k_group k_slot"),
    )


@cache
def operand_in_halves(side: Side, edge: int, k: int, *, is_chunk: bool) -> Map:
    """A or B of a gfx12 WMMA in a wave of 64: what a lane of a wave of 32 has in the upper half of its
    registers is in the lane 32 further on.

    is_chunk: that half is the outermost part of k (16-bit types), not a part of the lane's group (8, 4 bits).
    """
    row = _row_of(side)
    order = "k_half k_group k_slot" if is_chunk else "k_group k_half k_slot"
    return _dealt(
        (("k_half", 2), ("k_group", 2), (f"{row}_lane", edge)),
        (("k_slot", k // 4),),
        _lower(side, "", f"{row}_lane", order),
    )


@cache
def copied_operand(side: Side, edge: int, k: int, wave: int) -> Map:
    """A or B of a gfx11 WMMA: a lane holds a whole row, and every further 16 lanes hold the same again."""
    row = _row_of(side)
    return _dealt(
        (("copy", wave // edge), (f"{row}_lane", edge)),
        (("k_slot", k),),
        _lower(side, "", f"{row}_lane", "k_slot"),
    )


@cache
def accumulator(m: int, n: int, blocks: int, slots: int, wave: int = 64) -> Map:
    """C: a lane holds one column; its registers hold `slots` neighbouring rows, and then rows further on.

    The lanes are (m_group, block_lane, column), m is (m_outer, m_group, m_slot).  Blocks that the lanes have
    no room for are outermost in the registers.
    """
    groups = min(m // slots, wave // n)
    blocks_in_lanes = wave // (n * groups)
    return _dealt(
        (("m_group", groups), ("block_lane", blocks_in_lanes), ("n_lane", n)),
        (
            ("block_register", blocks // blocks_in_lanes),
            ("m_outer", m // (groups * slots)),
            ("m_slot", slots),
        ),
        {
            "block": "block_register block_lane",
            "m": "m_outer m_group m_slot",
            "n": "n_lane",
        },
    )


@cache
def accumulator_in_halves(m: int, n: int) -> Map:
    """C of a gfx12 WMMA in a wave of 64; see `operand_in_halves`."""
    return _dealt(
        (("m_half", 2), ("m_group", 2), ("n_lane", n)),
        (("m_slot", m // 4),),
        {"block": "", "m": "m_group m_half m_slot", "n": "n_lane"},
    )


@cache
def vector_operand(side: Side, lanes: int, k: int) -> Map:
    """A or B of a CPU's vectors: k neighbours in a lane's registers, of its own column of B or of the one row
    of A.
    """
    row = _row_of(side)
    lane = (("copy", lanes), (f"{row}_lane", 1)) if side == "a" else ((f"{row}_lane", lanes),)
    return _dealt(lane, (("block", 1), ("k_slot", k)), _lower(side, "block", f"{row}_lane", "k_slot"))


@cache
def vector_accumulator(lanes: int) -> Map:
    """C of a CPU's vectors: one row, a column a lane."""
    lower = {"block": "block", "m": "m_slot", "n": "n_lane"}
    return _dealt((("n_lane", lanes),), (("block", 1), ("m_slot", 1)), lower)


@cache
def pair_operand(side: Side, lanes: int, k: int) -> Map:
    """A or B of a CPU's 2 x 2 sums, four lanes each: k neighbours in a lane's registers, of the row or the
    column of its sum.  All fours have the same two rows of A.
    """
    four = (("copy", lanes // 4), ("m_lane", 2), ("column", 2))
    if side == "b":
        four = (("four", lanes // 4), ("copy", 2), ("n_lane", 2))
    rows = "m_lane" if side == "a" else "four n_lane"
    return _dealt(four, (("block", 1), ("k_slot", k)), _lower(side, "block", rows, "k_slot"))


@cache
def pair_accumulator(lanes: int) -> Map:
    """C of a CPU's 2 x 2 sums, four lanes each: two rows, the columns from four to four."""
    lower = {"block": "block", "m": "m_lane", "n": "four n_lane"}
    return _dealt((("four", lanes // 4), ("m_lane", 2), ("n_lane", 2)), (("block", 1), ("slot", 1)), lower)


@cache
def tile_operand(side: Side, rows: int, lanes: int, k: int) -> Map:
    """A or B of a CPU's tiles: of B a lane's column, `rows` words of k neighbours; of A all of its rows, with
    as many k, for every lane.  The registers are in the order in which a lane's, or A's, lie in memory.
    """
    if side == "a":
        registers = (("m_slot", rows), ("k_row", rows), ("k_slot", k))
        return _dealt((("copy", lanes),), registers, _lower("a", "", "m_slot", "k_row k_slot"))
    registers = (("k_row", rows), ("k_slot", k))
    return _dealt((("n_lane", lanes),), registers, _lower("b", "", "n_lane", "k_row k_slot"))


@cache
def tile_accumulator(rows: int, lanes: int) -> Map:
    """C of a CPU's tiles: a column a lane."""
    return _dealt((("n_lane", lanes),), (("m_slot", rows),), {"block": "", "m": "m_slot", "n": "n_lane"})


@cache
def warpgroup_operand(m: int, k: int, slots: int) -> Map:
    """A of a wgmma in registers: each warp holds 16 rows, a lane two of them, 8 apart, and of each `slots`
    neighbours along k (32 bits) in either half of k.
    """
    assert k == 8 * slots, (k, slots)
    return _dealt(
        (("m_warp", m // 16), ("m_group", 8), ("k_group", 4)),
        (("k_half", 2), ("m_half", 2), ("k_slot", slots)),
        _lower("a", "", "m_warp m_half m_group", "k_half k_group k_slot"),
    )


@cache
def warpgroup_accumulator(m: int, n: int) -> Map:
    """D of a wgmma: as A above, with two neighbouring columns in every 8 of them."""
    return _dealt(
        (("m_warp", m // 16), ("m_group", 8), ("n_group", 4)),
        (("n_outer", n // 8), ("m_half", 2), ("n_slot", 2)),
        {"block": "", "m": "m_warp m_half m_group", "n": "n_outer n_group n_slot"},
    )


@cache
def in_first_lanes(held: Map, wave: int) -> Map:
    """A layout of fewer lanes in a wave whose other lanes hold nothing."""
    lanes = dict(held.upper)["lane"]
    entries: tuple[Entry, ...] = (
        (Pad(0, wave - lanes), "lane", "lane"),
        (PassThrough(), "register", "register"),
    )
    return Map((layer_over(held.upper, *entries),)).then(held)


def _row_of(side: Side) -> str:
    """The dimension of C that the operand's lanes run over."""
    return "m" if side == "a" else "n"


def _lower(side: Side, block: str, row: str, k: str) -> dict[str, str]:
    return {"block": block, "m": row, "k": k} if side == "a" else {"block": block, "k": k, "n": row}


def _dealt(lane: Parts, register: Parts, lower: Mapping[str, str]) -> Map:
    """The map of a layout: parts of the lane and of the register number, outermost first, and the names of
    the parts that make each lower dimension.  Parts of size 1 are left out.
    """
    sizes = {name: size for name, size in (*lane, *register) if size > 1}
    made = {name: [p for p in parts.split() if p in sizes] for name, parts in lower.items()}
    below = _gathered(sizes, made)
    spread = [_spread(name, parts) for name, parts in (("lane", lane), ("register", register))]
    return Map((layer_over(below.upper, *spread, order=["lane", "register"], register=1), below))


def _spread(name: str, parts: Parts) -> Entry:
    """The lane or the register number to its parts."""
    names = [part for part, size in parts if size > 1]
    rule = Broadcast() if not names else PassThrough() if len(names) == 1 else Merge()
    return rule, name, " ".join(names)


def _gathered(sizes: Mapping[str, int], made: Mapping[str, Sequence[str]]) -> Layer:
    """Parts to dimensions."""
    entries: list[Entry] = []
    for name, parts in made.items():
        rule = Fixed(0) if not parts else PassThrough() if len(parts) == 1 else Unmerge()
        entries.append((rule, " ".join(parts), name))
    used = {part for parts in made.values() for part in parts}
    entries += [(Broadcast(), name, "") for name in sizes if name not in used]
    dims = [Dim(name, prod(sizes[p] for p in parts)) for name, parts in made.items()]
    return layer_over(dims, *entries, order=list(sizes), **sizes)
