"""SharedTile: how one stage of an operand's tile (k, d), d being m or n, lies in shared memory for wgmma.

    k major   [k / row][d][row]      row: the elements of `row_bytes`, neighbours along k
    d major   [d / row][k][row]      neighbours along d

A row is as long as the swizzle, 16 bytes without one.  Eight rows make an atom.  Inside a row the 16-byte
chunks are permuted by the row's number, so that eight chunks of one place in eight rows lie in all banks:

    chunk' = chunk ^ (row * chunks of a row / 8) % chunks of a row

which is the permutation of address bits that TMA and wgmma apply; it is that of the row's number only
where blocks start on whole atoms, so that the dim across the rows has to be a multiple of 8.
Law: `map` is one to one onto the tile's elements.  Descriptors, starts and blocks are read off the map.
The descriptor's fields are those of the PTX ISA, "asynchronous warpgroup-level matrix shared memory layout".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from imbrex.cached import cached_property
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Merge, PassThrough, Unmerge, Xor

__all__ = [
    "ATOM_ROWS",
    "CHUNK_BYTES",
    "SWIZZLES",
    "WRITTEN_BYTES",
    "Block",
    "Descriptor",
    "Major",
    "SharedTile",
    "Swizzle",
    "flaw",
    "longest_row",
]

Major: TypeAlias = Literal["k", "d"]
Swizzle: TypeAlias = Literal[0, 32, 64, 128]

SWIZZLES: Final[tuple[Swizzle, ...]] = (128, 64, 32)
"""Bytes of a row whose 16-byte chunks are permuted, longest first; 0 stands for rows of one chunk."""
CHUNK_BYTES: Final = 16
ATOM_ROWS: Final = 8
WRITTEN_BYTES: Final = 128
"""What the copy engine writes begins at a multiple of so many bytes (CUDA's driver API, tensor maps)."""
CODES: Final = {0: 0, 128: 1, 64: 2, 32: 3}
UNUSED_BYTES: Final = 16
"""What a descriptor has in a field that the instruction does not read."""


def longest_row(together_bytes: int) -> Swizzle:
    """The longest row that whole ones of fill what lies together; 0 where none does."""
    for swizzle in SWIZZLES:
        if together_bytes % swizzle == 0:
            return swizzle
    return 0


class Descriptor(NamedTuple):
    """The fields of a matrix descriptor but its start address; code: the swizzle as wgmma numbers it."""

    leading_bytes: int
    stride_bytes: int
    code: int


class Block(NamedTuple):
    """Rows next to one another, what one TMA access fills: elements k0.., d0.. from `byte_offset` on."""

    k0: int
    d0: int
    k: int
    d: int
    byte_offset: int


@dataclass(frozen=True)
class SharedTile:
    """k, d: elements.  major: the dim whose neighbours are contiguous.  swizzle: bytes, 0 for none."""

    k: int
    d: int
    element_bytes: int
    major: Major
    swizzle: Swizzle

    def __post_init__(self) -> None:
        reason = flaw(self.k, self.d, self.element_bytes, self.major, self.swizzle)
        assert reason is None, reason

    @property
    def bytes(self) -> int:
        return self.k * self.d * self.element_bytes

    @property
    def row_bytes(self) -> int:
        return self.swizzle or CHUNK_BYTES

    @property
    def row(self) -> int:
        """Elements of a row."""
        return self.row_bytes // self.element_bytes

    def divides(self, rows: int, parts: int) -> bool:
        """Do so many rows divide into parts each of which the copy engine may write by itself?

        The permutation is of addresses, so that a part need not begin with an atom.
        """
        return rows % parts == 0 and rows // parts * self.row_bytes % WRITTEN_BYTES == 0

    @property
    def has_descriptor(self) -> bool:
        """Can wgmma read it where it lies?  Along d it reads 16 bits only; what fills a register, lanes take
        there for it.
        """
        return self.major == "k" or self.element_bytes == 2

    @cached_property
    def map(self) -> Map:
        """(k, d) -> the element's offset."""
        cut, stored = self.starts.layers
        across, chunks = "d" if self.major == "k" else "k", dict(stored.upper)["chunk"]
        permuted = layer_over(
            stored.upper,
            (PassThrough(), "block", "block"),
            (Xor(ATOM_ROWS // chunks), f"{across} chunk", f"{across} chunk"),
            (PassThrough(), "slot", "slot"),
        )
        return Map((cut, permuted, stored))

    @cached_property
    def starts(self) -> Map:
        """(k, d) -> the element's offset before rows are permuted."""
        along, across = ("k", "d") if self.major == "k" else ("d", "k")
        sizes = {"k": self.k, "d": self.d}
        chunks, slots = self.row_bytes // CHUNK_BYTES, CHUNK_BYTES // self.element_bytes
        parts = {"block": sizes[along] // self.row, across: sizes[across], "chunk": chunks, "slot": slots}
        whole = (Dim("element", self.k * self.d),)
        stored = layer_over(whole, (Unmerge(), " ".join(parts), "element"), order=None, **parts)
        merged = (Merge(), along, "block chunk slot"), (PassThrough(), across, across)
        return Map((layer_over(stored.upper, *merged, order=["k", "d"]), stored))

    @cached_property
    def descriptor(self) -> Descriptor:
        """leading: from one block of columns to the next; stride: from one atom's eight rows to the next.
        Without a swizzle and d major, the names are exchanged.
        """
        assert self.has_descriptor, "wgmma takes d major operands of 16 bits only"
        along, across = self._bytes_between(along=self.row), self._bytes_between(across=ATOM_ROWS)
        if self.major == "k":
            return Descriptor(along if self.swizzle == 0 else UNUSED_BYTES, across, CODES[self.swizzle])
        leading, stride = (across, along) if self.swizzle == 0 else (along, across)
        return Descriptor(leading, stride, CODES[self.swizzle])

    def start(self, k0: int, d0: int) -> int:
        """Byte offset of the descriptor's start address for the instruction whose tile begins at (k0, d0)."""
        across = d0 if self.major == "k" else k0
        assert across % ATOM_ROWS == 0, f"({k0}, {d0}) is not the first row of an atom"
        return self._byte_offset(k0, d0)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The pieces that one TMA access each fills, in the order in which they lie."""
        along = self.k if self.major == "k" else self.d
        corners = range(0, along, self.row)
        if self.major == "k":
            return tuple(Block(k0, 0, self.row, self.d, self._byte_offset(k0, 0)) for k0 in corners)
        return tuple(Block(0, d0, self.k, self.row, self._byte_offset(0, d0)) for d0 in corners)

    def _byte_offset(self, k: int, d: int) -> int:
        (element,) = self.map.at((k, d)).coords
        assert element.is_constant, (k, d, element)
        return element.const * self.element_bytes

    def _bytes_between(self, along: int = 0, across: int = 0) -> int:
        """Bytes from (0, 0) to so many elements along and rows across, inside the tile or further on."""
        return self._byte_offset(*((along, across) if self.major == "k" else (across, along)))


def flaw(k: int, d: int, element_bytes: int, major: Major, swizzle: Swizzle) -> str | None:
    """Why there is no such tile, or None."""
    row = (swizzle or CHUNK_BYTES) // element_bytes
    sizes = {"k": k, "d": d}
    across = "d" if major == "k" else "k"
    if sizes[major] % row:
        return f"a row of {row} neighbours along {major} does not divide the tile's {sizes[major]}"
    if sizes[across] % ATOM_ROWS:
        return f"the tile's {sizes[across]} rows along {across} are not a multiple of {ATOM_ROWS}"
    return None
