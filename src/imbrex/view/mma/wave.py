"""Waves: which elements of a block tile each lane of each wave holds, for any matrix instruction.

A block tile is cut into wave tiles, a wave tile into instruction tiles; the maps of the instruction say the
rest.  Each function gives layers, topmost first.

    fragment  (workitem, k_outer, m_tile, slot)         over (k, m) in LDS: what a work item reads
    turned    (workitem, k_outer, m_tile, read, element)
                                                        over (workitem, k_outer, m_tile, slot): what it reads
                                                        for others, where lanes transpose what they read
    scales    (workitem, m_tile, slot)                  over (k, m): the scales that it hands the instructions
                                                        of a step one after the other, where there are some
    operand   (m_tile, slot, register)                  over (m_tile, slot): its registers, by instruction
    computed  (workgroup, workitem, m_group, n_tile, register_group, neighbour)
                                                        over (workgroup, m, n): its elements of C
    held      (m_group, n_tile, register_group, neighbour)
                                                        over (m_tile, n_tile, register): its registers of C

Work items are numbered (m_wave, n_wave, lane).  A lane reads `kpack` neighbours in k at once and feeds them
to kpack / registers instructions, so the instructions of a step take k in another order than memory has it: A
and B alike, which leaves every sum what it was.  Where products have scales, which belong to runs of
neighbours in k as the instruction counts them, runs stay whole: k of a step is (run, instruction, neighbour),
so that the scales which a lane hands the instructions of a step are neighbours in memory.

A blocked instruction multiplies `blocks` pairs of matrices.  Here its blocks lie side by side along m (or n);
B (or A) is then the same for all of them, and lanes of different blocks read the same place.

`interleave` instruction tiles share their rows in turn, `run` rows at a time, where `run` neighbouring
registers of C are neighbours along m.  So a lane owns run * interleave neighbours of C, in one vector store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from imbrex.index.map import Dim, Entry, Layer, Map, replacing
from imbrex.index.rule import Broadcast, Fixed, Merge, PassThrough, Unmerge
from imbrex.index.stack import Stack, over
from imbrex.view.gemm.tile import OTHER
from imbrex.view.mma import Instruction
from imbrex.view.mma.fragment import KParts, k_parts, run_of

__all__ = ["Side", "WaveTiles", "computed", "fragment", "held", "interleaved", "operand", "scales", "turned"]

Side: TypeAlias = Literal["m", "n"]
WAVES = ("m_wave", "n_wave")
TURNED_LANES: Final = 16
"""Lanes that transpose what they read: ds_read_b64_tr_b16 and its like (CDNA4 ISA, "MFMA Transpose Load from
LDS"; which lane gets what is as HipKittens and IREE use them)."""
TURNED_BYTES: Final = 8
"""What one of them reads, and what it gets."""


@dataclass(frozen=True)
class WaveTiles:
    """m_waves x n_waves waves of m_tiles x n_tiles instruction tiles each.  is_scaled: do products have
    scales?
    """

    instruction: Instruction
    m_waves: int
    n_waves: int
    m_tiles: int
    n_tiles: int
    kpack: int
    blocks_along: Side = "m"
    interleave: int = 1
    is_scaled: bool = False

    @staticmethod
    def of(
        instruction: Instruction,
        block: tuple[int, int],
        wave: tuple[int, int],
        kpack: int,
        interleave: int = 1,
        is_scaled: bool = False,
    ) -> WaveTiles | None:
        """The cut of a block tile (m, n) into wave tiles (m, n); None where the instruction does not divide
        it.

        Blocks run along m where both ways would do.
        """
        sides: tuple[Side, Side] = ("m", "n")
        for along in sides:
            m, n = tile_of(instruction, along)
            if block[0] % wave[0] == block[1] % wave[1] == wave[0] % (m * interleave) == wave[1] % n == 0:
                waves = block[0] // wave[0], block[1] // wave[1]
                tiles = wave[0] // m, wave[1] // n
                return WaveTiles(instruction, *waves, *tiles, kpack, along, interleave, is_scaled)
        return None

    @property
    def threads(self) -> int:
        """Work items of a workgroup."""
        return self.m_waves * self.n_waves * self.instruction.wave

    @property
    def run(self) -> int:
        """Neighbouring registers of C that are neighbours along m."""
        return run_of(self.instruction.c)

    @property
    def k(self) -> KParts:
        """How lanes and registers share k."""
        return k_parts(self.instruction.a)

    @property
    def k_step(self) -> int:
        """k of one k_outer: a pack for every group of lanes."""
        return self.k.groups * self.kpack

    def waves(self, side: Side) -> int:
        return self.m_waves if side == "m" else self.n_waves

    def tiles(self, side: Side) -> int:
        """Instruction tiles of a wave along one side."""
        return self.m_tiles if side == "m" else self.n_tiles

    def rows(self, side: Side) -> int:
        """Rows (m) or columns (n) of one instruction tile, its blocks together."""
        return tile_of(self.instruction, self.blocks_along)[0 if side == "m" else 1]

    def turns(self, side: Side) -> int:
        """Instruction tiles that share their rows in turn: C's registers have neighbours along m only."""
        return self.interleave if side == "m" else 1


def tile_of(instruction: Instruction, along: Side) -> tuple[int, int]:
    """Rows and columns of C that one instruction computes with its blocks side by side."""
    blocks = instruction.blocks
    return (
        (instruction.m * blocks, instruction.n) if along == "m" else (instruction.m, instruction.n * blocks)
    )


def parts_of(k_outers: int) -> int:
    """Parts of a step, or of a tap of it, of which one is read while the one before is multiplied."""
    return 2 if k_outers % 2 == 0 else 1


def piece_of(count: int, number: int, pieces: int) -> int:
    """How many of `count` loads are in a piece, as equal as they are."""
    return count * (number + 1) // pieces - count * number // pieces


def interleaved(dims: Sequence[Dim], tiles: WaveTiles, side: Side) -> tuple[Layer, ...]:
    """Rows in the order of the instruction tiles, over rows in the order of the block tile.

    Tile t of a group of `turns` has every turns-th stretch of `run` rows.  No layer without interleaving.
    """
    turns, run = tiles.turns(side), tiles.run
    if turns == 1:
        return ()
    parts = {"turn_stretch": tiles.rows(side) // run, "turn": turns, "turn_row": run}
    parts = {"turn_group": dict(dims)[side] // (turns * tiles.rows(side)), **parts}
    cut = over(dims).replacing((Unmerge(), " ".join(parts), side), order=None, **parts)
    rows: Entry = (Merge(), side, "turn_group turn turn_stretch turn_row")
    return cut.replacing(rows, order=[d.name for d in dims]).layers


def fragment(dims: Sequence[Dim], tiles: WaveTiles, side: Side) -> tuple[Layer, ...]:
    """A work item's packs of A (side "m") or B ("n") of a tile (k, side) in LDS."""
    held_by = tiles.instruction.map("a" if side == "m" else "b")
    spread = _spread_operand(over(dims).under(*interleaved(dims, tiles, side)), tiles, side)
    inside = "run neighbour" if tiles.is_scaled else "k_chunk k_group k_slot"
    parts = spread.replacing((Merge(), "k", inside))
    outer = (*WAVES, "k_outer", f"{side}_tile", "slot_outer")
    lanes = _by_lanes(parts, _blocks(tiles, side), outer, held_by, tiles)
    return lanes.replacing(
        (Merge(), "workitem", " ".join((*WAVES, "lane"))),
        (Merge(), "slot", "slot_outer register"),
        order=("workitem", "k_outer", f"{side}_tile", "slot"),
    ).layers


def scales(dims: Sequence[Dim], tiles: WaveTiles, side: Side) -> tuple[Layer, ...]:
    """Scales of A (side "m") or of B of a tile (k, side), one for each element, as a work item holds them: a
    slot for each instruction of a step, neighbours in memory.
    """
    held_by = tiles.instruction.scale_a if side == "m" else tiles.instruction.scale_b
    assert held_by is not None, f"{tiles.instruction} takes no scales"
    rows, other, k = _wave_sizes(tiles, side), f"{OTHER[side]}_wave", tiles.instruction.k
    scaled = tiles.instruction.scaled
    runs = {"run": k // scaled, "product": dict(dims)["k"] // k, "neighbour": scaled}
    outer = (*WAVES, f"{side}_tile", "product")
    spread = (
        over(dims)
        .under(*interleaved(dims, tiles, side))
        .replacing(
            (Unmerge(), " ".join(runs), "k"),
            (Unmerge(), " ".join(rows), side),
            (Broadcast(), other, ""),
            order=(*outer, f"{side}_row", "run", "neighbour"),
            **runs,
            **rows,
            **{other: tiles.n_waves if side == "m" else tiles.m_waves},
        )
    )
    one = [*_blocks(tiles, side), (PassThrough(), "k", "run"), (Fixed(0), "", "neighbour")]
    return (
        _by_lanes(spread, one, outer, held_by, tiles)
        .replacing(
            (Merge(), "workitem", " ".join((*WAVES, "lane"))),
            (Merge(), "slot", "product register"),
            order=("workitem", f"{side}_tile", "slot"),
        )
        .layers
    )


def turned(dims: Sequence[Dim], elements: int) -> tuple[Layer, ...]:
    """Places that a work item reads where 16 lanes transpose a matrix of `elements` rows of 16: a row is a
    slot, of which 16 / elements lanes read `elements` neighbours each; lane l gets column l, slot by slot.
    """
    item, slot, names = dims[0], dims[-1], [d.name for d in dims]
    sizes = {"group": item.size // TURNED_LANES, "quarter": TURNED_LANES // elements, "element": elements}
    sizes |= {"read": slot.size // elements, "row": elements}
    order = ("group", "row", "quarter", *names[1:-1], "read", "element")
    groups: Entry = (Unmerge(), "group quarter element", item.name)
    cut = over(dims).replacing(groups, (Unmerge(), "read row", slot.name), order=order, **sizes)
    above = (item.name, *names[1:-1], "read", "element")
    return cut.replacing((Merge(), item.name, "group row quarter"), order=above).layers


def operand(dims: Sequence[Dim], registers: int) -> tuple[Layer, ...]:
    """A work item's packs (tile, slot) by the instruction that takes them, `registers` elements each."""
    count = dims[1].size // registers
    return (replacing(dims, (Unmerge(), "slot register", dims[1].name), slot=count, register=registers),)


def computed(dims: Sequence[Dim], tiles: WaveTiles) -> tuple[Layer, ...]:
    """The elements of a workgroup's tile of C, (workgroup, m, n), that a work item holds."""
    outer = ("workgroup", *WAVES, "m_tile", "n_tile")
    spread = (
        over(dims)
        .under(*interleaved(dims, tiles, "m"))
        .replacing(
            (Unmerge(), "m_wave m_tile m_row", "m"),
            (Unmerge(), "n_wave n_tile n_row", "n"),
            order=(*outer, "m_row", "n_row"),
            **_wave_sizes(tiles, "m"),
            **_wave_sizes(tiles, "n"),
        )
    )
    lanes = _by_lanes(spread, _blocks_of_c(tiles), outer, tiles.instruction.c, tiles)
    return (
        _grouped(lanes, tiles)
        .replacing(
            (Merge(), "workitem", " ".join((*WAVES, "lane"))),
            (Merge(), "neighbour", "m_turn register_row"),
            order=("workgroup", "workitem", "m_group", "n_tile", "register_group", "neighbour"),
        )
        .layers
    )


def held(dims: Sequence[Dim], tiles: WaveTiles) -> tuple[Layer, ...]:
    """A work item's registers of C in the order in which `computed` numbers its elements."""
    order = ("m_group", "n_tile", "register_group", "neighbour")
    neighbours: Entry = (Merge(), "neighbour", "m_turn register_row")
    return _grouped(over(dims), tiles).replacing(neighbours, order=order).layers


def _by_lanes(
    below: Stack, blocks: Sequence[Entry], outer: Sequence[str], held_by: Map, tiles: WaveTiles
) -> Stack:
    """Lanes and registers over instruction tiles, in which an instruction holds its blocks as `held_by` says.
    outer: dims that number the tiles.
    """
    order = (*outer, *(d.name for d in held_by.lower))
    instructions = below.replacing(*blocks, order=order, **_sizes(tiles.instruction))
    return instructions.under(*held_by.with_leading(instructions.upper[: len(outer)]).layers)


def _grouped(below: Stack, tiles: WaveTiles) -> Stack:
    """m_tile and register, split into groups and what is in a group: turns, and neighbouring rows."""
    sizes = {"m_turn": tiles.interleave, "m_group": tiles.m_tiles // tiles.interleave}
    sizes |= {"register_row": tiles.run, "register_group": dict(below.upper)["register"] // tiles.run}
    return below.replacing(
        (Unmerge(), "m_group m_turn", "m_tile"),
        (Unmerge(), "register_group register_row", "register"),
        order=None,
        **sizes,
    )


def _spread_operand(below: Stack, tiles: WaveTiles, side: Side) -> Stack:
    """k and the rows of a tile in LDS, split into what waves, lanes, packs and instructions number."""
    k, sizes, other = tiles.k, dict(below.upper), f"{OTHER[side]}_wave"
    packs = {"k_outer": sizes["k"] // tiles.k_step, "k_group": k.groups}
    packs |= {"slot_outer": tiles.kpack // k.registers, "k_chunk": k.chunks, "k_slot": k.slots}
    inside = ("k_chunk", "k_group", "k_slot")
    if tiles.is_scaled:
        scaled = tiles.instruction.scaled
        runs = {"run": tiles.instruction.k // scaled, "k_outer": packs["k_outer"]}
        packs, inside = {**runs, "slot_outer": packs["slot_outer"], "neighbour": scaled}, ("run", "neighbour")
    rows = _wave_sizes(tiles, side)
    order = (*WAVES, "k_outer", f"{side}_tile", "slot_outer", f"{side}_row", *inside)
    return below.replacing(
        (Unmerge(), " ".join(packs), "k"),
        (Unmerge(), " ".join(rows), side),
        (Broadcast(), other, ""),
        order=order,
        **packs,
        **rows,
        **{other: tiles.n_waves if side == "m" else tiles.m_waves},
    )


def _wave_sizes(tiles: WaveTiles, side: Side) -> dict[str, int]:
    counts = tiles.waves(side), tiles.tiles(side), tiles.rows(side)
    return dict(zip((f"{side}_wave", f"{side}_tile", f"{side}_row"), counts, strict=True))


def _sizes(instruction: Instruction) -> dict[str, int]:
    return {"block": instruction.blocks, "m": instruction.m, "n": instruction.n}


def _blocks(tiles: WaveTiles, side: Side) -> list[Entry]:
    """The instruction's (block, row) of an operand over rows of its tile: side by side, or all the same."""
    if tiles.blocks_along == side:
        return [(Unmerge(), f"block {side}", f"{side}_row")]
    return [(PassThrough(), side, f"{side}_row"), (Broadcast(), "block", "")]


def _blocks_of_c(tiles: WaveTiles) -> list[Entry]:
    along = tiles.blocks_along
    rest = OTHER[along]
    return [(Unmerge(), f"block {along}", f"{along}_row"), (PassThrough(), rest, f"{rest}_row")]
