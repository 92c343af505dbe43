"""LDS layouts without bank conflicts, found by counting them for the chip.

Law: of the layouts of one kind, the first whose reads and writes have no extra cycle, else one that has the
fewest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import prod
from typing import assert_never

from imbrex.chip import BANK_BYTES, VECTOR_BYTES, GpuMachine
from imbrex.index.map import Dim, Layer, Map
from imbrex.view.gemm.blocks import by_row
from imbrex.view.gemm.sliding_tile import SlidingTile, taps
from imbrex.view.gemm.tile import CopySplit, copy_slices
from imbrex.view.mma import wave
from imbrex.view.mma.wave import Side, WaveTiles
from imbrex.view.stage import lds
from imbrex.view.stage.banks import Traffic, traffic
from imbrex.view.stage.lds import LdsKind, LdsLayout

__all__ = ["LdsTile", "LdsTraffic", "layout_of", "traffic_of"]

MOST_PADS = 8


@dataclass(frozen=True)
class LdsTile:
    """A tile (k, d) of one operand in LDS, who reads it and who writes it.

    split: how work items write it; None where direct copies do, which fill LDS in order.  turned: elements of
    a lane in a read that transposes, where neighbours along d lie together; 0 where those along k do.
    taps: that are read as views of it.  together: packs along d that stay so, see `view.gemm.blocks`.
    """

    tiles: WaveTiles
    side: Side
    k: int
    d: int
    element_bytes: int
    split: CopySplit | None
    write_elements: int
    machine: GpuMachine
    turned: int = 0
    taps: SlidingTile | None = None
    together: int = 1

    @property
    def pack(self) -> int:
        """Neighbours that stay together: along k, or those along d that a lane copies at once."""
        if self.turned:
            return VECTOR_BYTES // self.element_bytes
        return lds.pack_of(self.tiles.kpack, self.element_bytes)

    @property
    def dims(self) -> tuple[Dim, Dim]:
        return Dim("k", self.k), Dim(self.side, self.d)

    @property
    def read(self) -> tuple[Layer, ...]:
        """The tile as products read it, with k of all taps; no layer where that is how it is copied."""
        if self.taps is None:
            return ()
        waves, rows = self.tiles.waves(self.side), self.tiles.tiles(self.side) * self.tiles.rows(self.side)
        return taps(self.dims, waves * rows, self.taps)


@dataclass(frozen=True)
class LdsTraffic:
    """What a workgroup does to one operand's tile in a step."""

    reads: Traffic
    writes: Traffic | None

    @property
    def extra(self) -> int:
        """Cycles lost to bank conflicts."""
        return self.reads.extra + (self.writes.extra if self.writes is not None else 0)


@lru_cache(maxsize=1024)
def layout_of(kind: LdsKind, tile: LdsTile) -> LdsLayout:
    """The layout of that kind with the fewest conflicts."""
    best: tuple[int, LdsLayout] | None = None
    for layout in _candidates(kind, tile):
        extra = traffic_of(layout, tile).extra
        if extra == 0:
            return layout
        if best is None or extra < best[0]:
            best = extra, layout
    assert best is not None, f"no {kind} layout for {tile}"
    return best[1]


def traffic_of(layout: LdsLayout, tile: LdsTile) -> LdsTraffic:
    """Every read of the tile by its waves, and every write."""
    seen, size = tile.read, tile.element_bytes
    fragment = wave.fragment(seen[0].upper if seen else tile.dims, tile.tiles, tile.side)
    if tile.turned:
        rows = (*fragment, *by_row(tile.dims, tile.together))
        read = Map((*wave.turned(fragment[0].upper, tile.turned), *rows)).then(lds.stored(tile.dims, layout))
        return LdsTraffic(traffic(read, "element", tile.turned, size, tile.machine, "read"), None)
    stored = lds.stored(tile.dims, layout, wave.interleaved(tile.dims, tile.tiles, tile.side))
    read = Map((*fragment, *seen)).then(stored)
    reads = traffic(read, "slot", tile.pack, size, tile.machine, "read")
    if tile.split is None:
        return LdsTraffic(reads, None)
    written = Map(copy_slices(tile.dims, tile.side, tile.split, 0)).then(stored)
    writes = traffic(written, "k_item", tile.write_elements, tile.element_bytes, tile.machine, "write")
    return LdsTraffic(reads, writes)


def _candidates(kind: LdsKind, tile: LdsTile) -> Iterator[LdsLayout]:
    """Simple ones first."""
    kpack = tile.pack
    match kind:
        case "plain":
            yield LdsLayout("plain", kpack, along="d" if tile.turned else "k")
        case "xor":
            yield from _xor_of_k(tile) if tile.turned else _xor(tile)
        case "padded":
            unit = max(1, VECTOR_BYTES // tile.element_bytes)
            yield from (LdsLayout("padded", kpack, (i * unit,)) for i in range(MOST_PADS))
        case "tiled":
            yield LdsLayout("tiled", kpack, (tile.tiles.rows(tile.side),))
        case _:
            assert_never(kind)


def _xor(tile: LdsTile) -> Iterator[LdsLayout]:
    """Lines of one row; where those do not do, of several."""
    for rows, count in product((1, 2, 4), (1, 2)):
        steps = [step for step in (1, 2, 4, 8, 16, 32) if step * rows < tile.d]
        if tile.d % rows == 0:
            for chosen in combinations(steps, count):
                yield LdsLayout("xor", tile.pack, (rows, *chosen))


def _xor_of_k(tile: LdsTile) -> Iterator[LdsLayout]:
    """Rows of k: first spans that fill the banks once, or a shorter row; of these the fewest runs, whose
    places take the fewest addresses.
    """
    packs, powers = tile.d // tile.pack, (1, 2, 4, 8, 16)
    usual = min(packs, tile.machine.lds_banks * BANK_BYTES // VECTOR_BYTES)
    spans = [(span, unit) for span, unit in product(powers[1:], powers) if packs % (unit * span) == 0]
    for (span, unit), count in product(sorted(spans, key=lambda s: (prod(s) != usual, s)), (1, 2)):
        for chosen in combinations([step for step in powers if step < tile.k], count):
            yield LdsLayout("xor", tile.pack, (unit, span, *chosen), "d")
    yield LdsLayout("xor", tile.pack, (1, 1), "d")
