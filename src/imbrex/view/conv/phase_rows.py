"""Rows of a strided gradient by their residues: which taps meet them, in layers above arrays.

    hi = s v + f        hi + before = s ho + d y        as in `view.conv.phase_tiles`

Rows         one residue f, and neighbours that no tap meets: y = first + apart y., ho = v + ahead - back y.
Together     all residues as turns, of windows that are not dilated:   f + before = s q + r,
             y = s y. + r   where there is such a tap,   ho = v + q - y.
"""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.index.map import Entry
from imbrex.index.rule import Broadcast, Embed, Merge, Pad, Unmerge
from imbrex.index.stack import Stack
from imbrex.view.conv.implicit_gemm import Axis, Phase, phases_along

__all__ = ["Rows", "Together", "leaves_rows", "row_products"]


def row_products(axis: Axis) -> tuple[Rows | Together, ...]:
    """One for all residues where it can be, else for each that some tap meets."""
    met, stride = sorted(phases_along(axis), key=lambda phase: phase.start), axis.stride
    if len(met) == stride > 1 and axis.dilation == 1:
        firsts = ((start + axis.before) % stride for start in range(stride))
        counts = tuple(len(range(first, axis.window, stride)) for first in firsts)
        return (Together(axis, counts, neighbours=1, phase=0),)
    if len(met) == 1:
        (alone,) = met
        return (Rows(axis, (alone.taps,), min(stride, axis.image), alone.start, alone),)
    return tuple(Rows(axis, (each.taps,), 1, 0, each) for each in met)


def leaves_rows(axis: Axis) -> bool:
    """Are there rows that no tap meets and no product has, so that they have to be zero before?"""
    return 1 < len(tuple(phases_along(axis))) < min(axis.stride, axis.image)


@dataclass(frozen=True)
class Met:
    """counts: taps of each residue that takes turns.  neighbours: rows of the input for each row of the
    product; phase: the one of them that is met.
    """

    axis: Axis
    counts: tuple[int, ...]
    neighbours: int
    phase: int

    @property
    def taps(self) -> int:
        return max(self.counts)


@dataclass(frozen=True)
class Rows(Met):
    """met: the residue's rows, as many as there are."""

    met: Phase

    @property
    def count(self) -> int:
        return -(-(self.axis.image - self.met.start + self.phase) // self.axis.stride)

    def filter(self, lower: Stack) -> Stack:
        return lower.replacing((self.met.taps_of(self.axis), "yd", "y"), yd=self.taps)

    def output(self, lower: Stack) -> Stack:
        pad, slide = self.met._replace(extent=self.count).met(self.axis)
        padded = lower.replacing((pad, "hopad", "ho"))
        return padded.replacing((slide, "yd hv", "hopad"), yd=self.taps, hv=self.count)

    def input(self, lower: Stack) -> Stack:
        axis, first = self.axis, self.met.start - self.phase
        more = max(0, first + axis.stride * (self.count - 1) + self.neighbours - axis.image)
        split: Entry = (Embed((axis.stride, 1), first), "hv row", "hipad")
        padded = lower.replacing((Pad(0, more), "hipad", "hi"))
        return padded.replacing(split, hv=self.count, row=self.neighbours)


@dataclass(frozen=True)
class Together(Met):
    """Every residue of rows is met, of which each is one of as many turns."""

    @property
    def count(self) -> int:
        return -(-self.axis.image // self.axis.stride)

    def filter(self, lower: Stack) -> Stack:
        axis = self.axis
        padded = lower.replacing((Pad(0, axis.stride * self.taps - axis.window), "ypad", "y"))
        split = padded.replacing((Unmerge(), "yd rest", "ypad"), yd=self.taps, rest=axis.stride)
        return self._turned(split.replacing((Broadcast(), "ahead", ""), ahead=self._aheads))

    def output(self, lower: Stack) -> Stack:
        axis = self.axis
        pad = Pad(self.taps - 1, max(0, self._aheads - 1 + self.count - axis.out))
        slide: Entry = (Embed((-1, 1, 1), pad.before), "yd hv ahead", "hopad")
        sizes = {"yd": self.taps, "hv": self.count, "ahead": self._aheads, "rest": axis.stride}
        padded = lower.replacing((pad, "hopad", "ho"))
        return self._turned(padded.passing(slide, (Broadcast(), "rest", ""), **sizes))

    def input(self, lower: Stack) -> Stack:
        padded = lower.replacing((Pad(0, -self.axis.image % self.axis.stride), "hipad", "hi"))
        split = padded.replacing((Unmerge(), "hv turn", "hipad"), hv=self.count, turn=self.axis.stride)
        return split.replacing((Broadcast(), "row", ""), row=1)

    @property
    def _aheads(self) -> int:
        """Quotients of a residue and the padding before."""
        return (self.axis.stride - 1 + self.axis.before) // self.axis.stride + 1

    def _turned(self, lower: Stack) -> Stack:
        """The residue as quotient and rest of what lies before it, padding too."""
        turn: Entry = (Embed((1,), self.axis.before), "turn", "ahead_rest")
        return lower.passing((Merge(), "ahead_rest", "ahead rest")).replacing(turn, turn=self.axis.stride)
