"""Numbering: which strips of a depthwise convolution are whose, from (workgroup, workitem) down.

Strips are numbered by n_tile, h_strip and w_strip, channels by g_block and g_lane; neighbouring work items
have neighbouring g_lane.  Two ways:

    Each     a work item has one number of every kind; workgroups follow each other through all of them
    Shared   a workgroup has the channels of one g_block and a share of all strips: `turns` times as many as
             its work items take at once, for sums over strips
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from imbrex.index.map import Dim, Entry, Layer, layer_over, unchanged
from imbrex.index.rule import Broadcast, Fixed, Merge, Pad, PassThrough, Unmerge
from imbrex.index.stack import Stack, over

__all__ = ["NUMBERS", "Each", "Numbering", "Shared"]

NUMBERS = ("n_tile", "g_block", "h_strip", "w_strip", "g_lane")
STRIPS = ("n_tile", "h_strip", "w_strip")


@dataclass(frozen=True)
class Each:
    """sizes: of NUMBERS."""

    sizes: Mapping[str, int]
    workitems: int

    @property
    def workgroups(self) -> int:
        return -(-prod(self.sizes.values()) // self.workitems)

    def layers(self, dims: Sequence[Dim]) -> tuple[Layer, ...]:
        """Layers from (workgroup, workitem, other dims) to these dims."""
        numbered = _complete(dims, self.sizes).passing((Merge(), "lane", " ".join(NUMBERS)))
        more = self.workgroups * self.workitems - prod(self.sizes.values())
        sizes = {"workgroup": self.workgroups, "workitem": self.workitems}
        padded = numbered.passing((Pad(0, more), "lane", "lane"))
        return padded.passing((Unmerge(), " ".join(sizes), "lane"), **sizes).layers


@dataclass(frozen=True)
class Shared:
    """turns: of a work item, each with other strips."""

    sizes: Mapping[str, int]
    workitems: int
    turns: int

    def __post_init__(self) -> None:
        assert self.workitems % self.sizes["g_lane"] == 0, self

    @property
    def strip_lanes(self) -> int:
        """Strips that a workgroup has at once."""
        return self.workitems // self.sizes["g_lane"]

    @property
    def shares(self) -> int:
        return -(-prod(self.sizes[n] for n in STRIPS) // (self.strip_lanes * self.turns))

    @property
    def workgroups(self) -> int:
        return self.shares * self.sizes["g_block"]

    def layers(self, dims: Sequence[Dim]) -> tuple[Layer, ...]:
        """Layers from (workgroup, workitem, turn, other dims but `image`) to these dims."""
        inner = [d.name for d in dims if d.name not in (*NUMBERS, "image")]
        strips: Entry = (Merge(), "strip", " ".join(STRIPS))
        kept, single = unchanged([*inner, "g_block", "g_lane"]), (Fixed(0), "", "image")
        merged = _complete(dims, self.sizes).layer(strips, *kept, single)
        more = self.shares * self.turns * self.strip_lanes - prod(self.sizes[n] for n in STRIPS)
        sizes = {"share": self.shares, "turn": self.turns, "strip_lane": self.strip_lanes}
        padded = merged.passing((Pad(0, more), "strip", "strip"))
        cut = padded.passing((Unmerge(), " ".join(sizes), "strip"), **sizes)
        return cut.under(self.launched(cut.upper, ("turn", *inner))).layers

    def launched(self, dims: Sequence[Dim], inner: Sequence[str]) -> Layer:
        """Map from (workgroup, workitem, inner dims) to share, strip_lane, g_block, g_lane and these."""
        return layer_over(
            dims,
            (Merge(), "workgroup", "share g_block"),
            (Merge(), "workitem", "strip_lane g_lane"),
            *unchanged(inner),
        )


Numbering: TypeAlias = Each | Shared


def _complete(dims: Sequence[Dim], sizes: Mapping[str, int]) -> Stack:
    """All numbers before the dims that are none: those that these dims lack are dropped."""
    have = {d.name for d in dims}
    idle = {n: sizes[n] for n in NUMBERS if n not in have}
    return over(dims).passing(
        *((Broadcast(), n, "") if n in idle else (PassThrough(), n, n) for n in NUMBERS), **idle
    )
