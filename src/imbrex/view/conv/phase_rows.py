"""Rows of a strided gradient by their residues: which taps meet them, in layers above arrays.

    hi = s v + f        hi + before = s ho + d y        as in `view.conv.phase_tiles`

Alone        one residue f, and neighbours that no tap meets: y = first + apart y., ho = v + ahead - back y.
Together     all residues as turns, of windows that are not dilated:   f + before = s q + r,
             y = s y. + r   where there is such a tap,   ho = v + q - y.
"""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.index.map import Entry
from imbrex.index.rule import Broadcast, Embed, Merge, Pad, Unmerge
from imbrex.index.stack import Stack
from imbrex.view.conv.implicit_gemm import Axis, Phase, phases_along

__all__ = ["Alone", "Together", "met_rows"]


def met_rows(axis: Axis) -> Alone | Together | None:
    """How taps meet rows; None where they meet none, or some residues of several."""
    met, stride = tuple(phases_along(axis)), axis.stride
    if len(met) == 1:
        return Alone(axis, (met[0].taps,), min(stride, axis.image), met[0].start, met[0])
    if len(met) < stride or axis.dilation > 1:
        return None
    firsts = ((start + axis.before) % stride for start in range(stride))
    counts = tuple(len(range(first, axis.window, stride)) for first in firsts)
    return Together(axis, counts, neighbours=1, phase=0)


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

    @property
    def count(self) -> int:
        """Rows of the product."""
        return -(-self.axis.image // self.axis.stride)

    def _cut(self, lower: Stack, each: int, name: str) -> Stack:
        """Rows of the input by those of the product."""
        padded = lower.replacing((Pad(0, -self.axis.image % each), "hipad", "hi"))
        sizes = {"hv": self.count, name: each}
        return padded.replacing((Unmerge(), " ".join(sizes), "hipad"), order=None, **sizes)


@dataclass(frozen=True)
class Alone(Met):
    """met: the residue."""

    met: Phase

    def filter(self, lower: Stack) -> Stack:
        return lower.replacing((self.met.taps_of(self.axis), "yd", "y"), yd=self.taps)

    def output(self, lower: Stack) -> Stack:
        pad, slide = self.met._replace(extent=self.count).met(self.axis)
        padded = lower.replacing((pad, "hopad", "ho"))
        return padded.replacing((slide, "yd hv", "hopad"), yd=self.taps, hv=self.count)

    def input(self, lower: Stack) -> Stack:
        return self._cut(lower, self.neighbours, "row")


@dataclass(frozen=True)
class Together(Met):
    """Every residue of rows is met, of which each is one of as many turns."""

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
        return self._cut(lower, self.axis.stride, "turn").replacing((Broadcast(), "row", ""), row=1)

    @property
    def _aheads(self) -> int:
        """Quotients of a residue and the padding before."""
        return (self.axis.stride - 1 + self.axis.before) // self.axis.stride + 1

    def _turned(self, lower: Stack) -> Stack:
        """The residue as quotient and rest of what lies before it, padding too."""
        turn: Entry = (Embed((1,), self.axis.before), "turn", "ahead_rest")
        return lower.passing((Merge(), "ahead_rest", "ahead rest")).replacing(turn, turn=self.axis.stride)
