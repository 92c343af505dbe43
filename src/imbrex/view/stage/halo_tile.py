"""HaloTile: an operand's stage (k, d) whose taps are overlapping views of one raster of pixels.

    pixel   d = image, place                           an image's places are neighbours in the raster
    tap     k = tap, channel
    raster  row = image * pitch + place + step(tap)    each row the channels of one pixel

The raster is what one TMA box brings: all that any tap of the tile's pixels wants, once.  Multiplying by a
tap is reading from `step(tap)` rows further on, in an image whose lines are long enough: what runs over the
end of a line meets the padding before the next one.

    rows lie    [channel / row][raster][row]           row: as long as the swizzle

Chunks of rows are permuted as in `SharedTile`.

wgmma permutes bits of the address, so that a tile may start at any row, inside of an atom, too.
Laws: `map` gives each (k, d) its element; `start` is where the instruction's 64 rows begin before they are
permuted; the starts of blocks of 64 rows are sums of one part of k and one of d.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

from imbrex.index.map import Dim, Layer, Map, layer_over
from imbrex.index.rule import Embed, Merge, PassThrough, Unmerge, Xor
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.shared_tile import (
    ATOM_ROWS,
    CHUNK_BYTES,
    CODES,
    UNUSED_BYTES,
    Block,
    Descriptor,
    Major,
    Swizzle,
)

__all__ = ["HaloTile"]


@dataclass(frozen=True)
class HaloTile:
    """images, places: of the tile's pixels.  pitch: raster rows from an image to the next.

    taps: digits of the tap, slowest first, (how many, raster rows from one to the next); first: the raster
    row of the first pixel at the first tap.  channels: elements, whole rows of `swizzle` bytes.  instruction:
    pixels that one instruction reads.
    """

    images: int
    positions: int
    pitch: int
    taps: tuple[tuple[int, int], ...]
    first: int
    channels: int
    element_bytes: int
    swizzle: Swizzle
    instruction: int = ROWS

    def __post_init__(self) -> None:
        rows, row = self.positions, self.row
        assert self.images == 1 or rows % self.instruction == 0, (
            f"an instruction's rows are of one image: {self}"
        )
        assert rows * self.images % self.instruction == 0, (
            f"{rows * self.images} rows are not whole instructions"
        )
        assert self.swizzle and self.channels % row == 0, (
            f"{self.channels} channels are not whole rows of {row}"
        )

    @property
    def major(self) -> Major:
        return "k"

    @property
    def k(self) -> int:
        return self.map.upper[0].size

    @property
    def d(self) -> int:
        return self.images * self.positions

    @property
    def row_bytes(self) -> int:
        return self.swizzle

    @property
    def row(self) -> int:
        """Elements of a row."""
        return self.swizzle // self.element_bytes

    @property
    def loaded(self) -> int:
        """Raster rows that a box brings."""
        return self.images * self.pitch

    @property
    def raster(self) -> int:
        """Raster rows that are read, whole atoms; those beyond what is loaded go into no sum that counts."""
        ahead = sum(max(0, (count - 1) * step) for count, step in self.taps)
        most = self.first + (self.images - 1) * self.pitch + self.positions + ahead
        return -(-max(most, self.loaded) // ATOM_ROWS) * ATOM_ROWS

    @property
    def bytes(self) -> int:
        return self.raster * self.channels * self.element_bytes

    @cached_property
    def map(self) -> Map:
        """(k, d) -> the element's offset."""
        permuted = layer_over(
            self._stored.upper,
            (PassThrough(), "block", "block"),
            (Xor(ATOM_ROWS // self._chunks), "row chunk", "row chunk"),
            (PassThrough(), "slot", "slot"),
        )
        return Map((*self._windows, permuted, self._stored))

    @cached_property
    def starts(self) -> Map:
        """(k, d) -> the element's offset before rows are permuted: where an instruction is told to begin."""
        return Map((*self._windows, self._stored))

    @property
    def descriptor(self) -> Descriptor:
        """Atoms of eight rows follow one another."""
        return Descriptor(UNUSED_BYTES, ATOM_ROWS * self.row_bytes, CODES[self.swizzle])

    def start(self, k0: int, d0: int) -> int:
        """Byte offset of the descriptor's start address for the instruction whose tile begins at (k0, d0)."""
        (element,) = self.starts.at((k0, d0)).coords
        assert element.is_constant, (k0, d0, element)
        return element.const * self.element_bytes

    @property
    def blocks(self) -> tuple[Block, ...]:
        """What one TMA access each fills: all rows of the raster, of the first channels and of the next."""
        apart = self.raster * self.row_bytes
        count = self.channels // self.row
        return tuple(Block(i * self.row, 0, self.row, self.loaded, i * apart) for i in range(count))

    def is_sum_of_starts(self, rows: int) -> bool:
        """Is every start that of its k and that of its d, for parts of `rows` rows each?"""
        zero, instructions = self.start(0, 0), range(0, self.k, CHUNK_BYTES * 2 // self.element_bytes)
        parts, inside = range(0, self.d, rows), range(0, rows, ROWS)
        return all(
            self.start(k, part + d) - zero
            == (self.start(k, d) - zero) + part // rows * (self.start(0, rows % self.d) - zero)
            for k, part, d in product(instructions, parts, inside)
        )

    @property
    def _chunks(self) -> int:
        return self.row_bytes // CHUNK_BYTES

    @cached_property
    def _stored(self) -> Layer:
        slots = CHUNK_BYTES // self.element_bytes
        parts = {"block": self.channels // self.row, "row": self.raster, "chunk": self._chunks, "slot": slots}
        size = self.raster * self.channels
        return layer_over(
            (Dim("element", size),), (Unmerge(), " ".join(parts), "element"), order=None, **parts
        )

    @cached_property
    def _windows(self) -> tuple[Layer, Layer]:
        names = [f"tap{i}" for i in range(len(self.taps))]
        counts, steps = [count for count, _ in self.taps], [step for _, step in self.taps]
        slid = layer_over(
            self._stored.upper,
            (PassThrough(), "block", "block"),
            (Embed((self.pitch, 1, *steps), self.first), " ".join(["image", "place", *names]), "row"),
            (PassThrough(), "chunk", "chunk"),
            (PassThrough(), "slot", "slot"),
            order=None,
            **{"image": self.images, "place": self.positions, **dict(zip(names, counts, strict=True))},
        )
        cut = layer_over(
            slid.upper,
            (Merge(), "k", " ".join([*names, "block", "chunk", "slot"])),
            (Merge(), "d", "image place"),
            order=["k", "d"],
        )
        return cut, slid
