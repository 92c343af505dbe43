"""Addresses of global memory as a raw buffer takes them: a part of each lane and a part of the whole wave.

Law: lane + wave - before = the byte offset of the element, 0 <= lane and 0 <= wave, where `before` is one
number for each array.  Only the first part needs a vector register; what is constant goes to the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from imbrex.emit.hip.waves import varying
from imbrex.index.expr import Lin
from imbrex.index.query import separate
from imbrex.lower.stmt import Buffer, Kernel, Move, Ref, walk

REACH = 1 << 31
"""Bytes that a raw buffer addresses here: offsets from this one on mean that there is no element."""


@dataclass(frozen=True)
class Address:
    """Bytes from the beginning of the buffer, in two parts."""

    lane: Lin
    wave: Lin


@dataclass(frozen=True)
class Arrays:
    """The arguments of a kernel as its moves address them.

    lanes: the variables that differ within a wave.  before: bytes by which the buffer of each array begins
    before the array.  long: arrays too long for that, of which a buffer that begins at the wave's part still
    reaches what its lanes need; what is in neither is reached by 64-bit pointers.
    """

    lanes: frozenset[str]
    before: Mapping[str, int]
    long: frozenset[str]

    def address(self, ref: Ref) -> Address:
        """Where an element lies, from the beginning of its array's buffer, or of a long array itself."""
        parts = _parts(ref, self.lanes)
        return Address(parts.lane, parts.wave + self.before.get(ref.buffer.name, 0))

    def has_buffer(self, buffer: Buffer) -> bool:
        """Does one raw buffer reach the whole array?"""
        return buffer.name in self.before

    def is_far(self, buffer: Buffer) -> bool:
        """Does no raw buffer reach what the lanes of a wave need?"""
        return buffer.name not in self.before and buffer.name not in self.long


def arrays(kernel: Kernel) -> Arrays:
    """The arrays of a kernel, after `named_once`."""
    lanes = varying(kernel)
    found: dict[str, list[Address]] = {b.name: [] for b in kernel.arguments}
    for ref in (r for s in walk(kernel.body) if isinstance(s, Move) for r in (s.dest, s.source)):
        if ref.buffer.space == "global":
            found[ref.buffer.name].append(_parts(ref, lanes))
    before: dict[str, int] = {}
    long: set[str] = set()
    for buffer in kernel.arguments:
        parts = found[buffer.name]
        start = max((-min(p.wave.bounds[0], 0) for p in parts), default=0)
        if _fits(buffer, parts, start):
            before[buffer.name] = start
        elif all(p.lane.bounds[1] < REACH for p in parts):
            long.add(buffer.name)
    return Arrays(lanes, before, frozenset(long))


def _fits(buffer: Buffer, parts: Sequence[Address], before: int) -> bool:
    """Do all parts of all addresses, and the array itself, lie within reach?"""
    size = buffer.elements * buffer.dtype.bytes + before
    return size <= REACH and all(
        p.lane.bounds[1] < REACH and p.wave.bounds[1] + before < REACH for p in parts
    )


def _parts(ref: Ref, lanes: frozenset[str]) -> Address:
    """The two parts, the first not negative."""
    size = ref.buffer.dtype.bytes
    separated = separate(ref.offset, lanes)
    row, lane = separated if separated is not None else (ref.offset * 0, ref.offset)
    low = min(lane.bounds[0], 0)
    return Address((lane - low) * size, (row + low) * size)
