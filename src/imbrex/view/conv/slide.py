"""Slide: one axis of a depthwise convolution, cut into strips of what it writes.

    forward          reads the image, writes the output:   read = stride * written + dilation * tap - before
    backward data    reads the output, writes the image:   stride * read = written + before - dilation * tap

A strip is `strip` neighbours that are written; in backward data it holds whole strides, so that all strips
meet their taps at the same positions.  What a strip reads is its window: positions relative to where its own
read positions begin.  Places that lie outside for every strip are no part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from imbrex.cached import cached_property

__all__ = ["Alike", "Piece", "Run", "Slide"]


class Run(NamedTuple):
    """What one tap multiplies in a strip: read[first + i * step], written[start + i * stride], i < length."""

    first: int
    step: int
    start: int
    stride: int
    length: int


class Alike(NamedTuple):
    """Taps of a row that multiply alike: the first, how far they are apart, and how many; what the first one
    multiplies, and how many positions further on the next one reads.
    """

    first: int
    apart: int
    taps: int
    run: Run
    step: int


class Piece(NamedTuple):
    """Neighbours of a window that one access may bring, from its own first position on."""

    first: int
    width: int


@dataclass(frozen=True)
class Slide:
    """read, written: sizes of the axis in the two arrays; before: pads of the image."""

    read: int
    written: int
    taps: int
    stride: int
    dilation: int
    before: int
    strip: int
    is_back: bool = False

    @property
    def strips(self) -> int:
        return -(-self.written // self.strip)

    @property
    def step(self) -> int:
        """Places from one strip's window to the next one's."""
        if not self.is_back:
            return self.strip * self.stride
        assert self.strips == 1 or self.strip % self.stride == 0, f"a strip of {self.strip} cuts a stride"
        return self.strip // self.stride

    @property
    def slopes(self) -> tuple[int, int, int]:
        """How far what is read moves with strips, with what is written and with the tap; of a gradient of
        images `stride` times as far, and only whole strides are read.
        """
        if not self.is_back:
            return self.step, self.stride, self.dilation
        return self.step * self.stride, 1, -self.dilation

    def met(self, tap: int) -> tuple[tuple[int, int], ...]:
        """(position that is read, position that is written) of a strip, where some strip has both."""
        found: list[tuple[int, int]] = []
        for written in range(self.strip):
            there, rest = written * self.stride + tap * self.dilation - self.before, 0
            if self.is_back:
                there, rest = divmod(written + self.before - tap * self.dilation, self.stride)
            if not rest and self._exists(there):
                found.append((there, written))
        return tuple(found)

    def _exists(self, position: int) -> bool:
        return any(0 <= strip * self.step + position < self.read for strip in range(self.strips))

    @cached_property
    def reads(self) -> tuple[int, ...]:
        """All that a strip reads, in order; at least one, so that a window is never empty."""
        found = {read for tap in range(self.taps) for read, _ in self.met(tap)}
        return tuple(sorted(found)) or (0,)

    def pieces(self, vector: int) -> tuple[Piece, ...]:
        """The window as aligned pieces: of each `vector` positions the fewest that hold all that are read."""
        found: list[Piece] = []
        for block, members in groupby(self.reads, lambda position: position // vector):
            inside = [position - block * vector for position in members]
            width = 1
            while inside[0] // width != inside[-1] // width:
                width *= 2
            found.append(Piece(block * vector + inside[0] // width * width, width))
        return _joined(found) if vector == 1 else tuple(found)

    def runs(self, tap: int, low: int) -> tuple[Run, ...]:
        """What a tap multiplies, the window counted from `low` on; none where it meets nothing."""
        pairs = self.met(tap)
        if not pairs:
            return ()
        (read, written), *_ = pairs
        step, stride = (b - a for a, b in zip(pairs[0], pairs[1], strict=True)) if len(pairs) > 1 else (1, 1)
        run = Run(read - low, step, written, stride, len(pairs))
        assert [(read + i * step, written + i * stride) for i in range(run.length)] == list(pairs), pairs
        return (run,)

    def alike(self, low: int, most: int) -> tuple[Alike, ...]:
        """All taps that multiply something, those together, `most` at a time, whose runs differ in nothing
        but where they begin to read, as evenly as the taps.
        """
        met = [(run[1:], tap, run) for tap in range(self.taps) for run in self.runs(tap, low)]
        found: list[Alike] = []
        for _, members in groupby(sorted(met), lambda member: member[0]):
            found += _evenly_apart([(tap, run) for _, tap, run in members], most)
        return tuple(sorted(found))

    def aligned(self, widest: int) -> int:
        """The widest power of two that divides what lies between windows, and between the array's rows."""
        width = 1
        while width * 2 <= widest and self.read % (width * 2) == 0:
            if self.strips > 1 and self.step % (width * 2):
                break
            width *= 2
        return width


def _evenly_apart(members: Sequence[tuple[int, Run]], most: int) -> Iterator[Alike]:
    """Taps, in order, cut where they or what they read cease to be evenly apart."""
    left = list(members)
    while left:
        (tap, run), *rest = left
        apart, step = (rest[0][0] - tap, rest[0][1].first - run.first) if rest else (1, 0)
        count = 1
        while count < min(most, len(left)) and _is_next(left[count - 1], left[count], apart, step):
            count += 1
        yield Alike(tap, apart, count, run, step)
        left = left[count:]


def _is_next(before: tuple[int, Run], after: tuple[int, Run], apart: int, step: int) -> bool:
    return (after[0] - before[0], after[1].first - before[1].first) == (apart, step)


def _joined(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Single positions as one piece, with those between them."""
    first, last = pieces[0].first, pieces[-1].first
    return (Piece(first, last - first + 1),)
