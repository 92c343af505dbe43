"""ChannelItems: who computes what of a product of many groups with a single row each, as in depthwise ones.

    C[g, n] = sum over k of A[g, k] * B[g, k, n]

A work item has `slots` groups, neighbours in memory, by `pixels` columns.  Lanes lie side by side along the
groups first, so that a wave reads and writes whole lines.  All maps start with (workgroup, workitem):

    a   (.., k, slot)            b   (.., k, pixel, slot)            c   (.., pixel, slot)

over (gemmG, gemmK, gemmM), (gemmG, gemmK, gemmN) and (gemmG, gemmM, gemmN).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from imbrex.index.map import Dim, Layer, layer_over
from imbrex.index.rule import Broadcast, Fixed, Merge, PassThrough, Rule, Unmerge
from imbrex.view.gemm import overhang

__all__ = ["ChannelItems"]

Entry = tuple[Rule, str, str]


@dataclass(frozen=True)
class ChannelItems:
    """groups, columns: of the product.  slots, pixels: of a work item."""

    groups: int
    columns: int
    slots: int
    pixels: int
    workitems: int = 256

    @property
    def group_lanes(self) -> int:
        wanted = -(-self.groups // self.slots)
        return min(self.workitems, 1 << (wanted - 1).bit_length())

    @property
    def tile(self) -> tuple[int, int]:
        """Groups and columns of a workgroup."""
        lanes = self.workitems // self.group_lanes
        return self.group_lanes * self.slots, lanes * self.pixels

    @property
    def tiles(self) -> tuple[int, int]:
        groups, columns = self.tile
        return -(-self.groups // groups), -(-self.columns // columns)

    @property
    def workgroups(self) -> int:
        groups, columns = self.tiles
        return groups * columns

    def layers(self, dims: Sequence[Dim]) -> tuple[Layer, ...]:
        """The work item's part of an operand with these dims."""
        names = {d.name for d in dims}
        padded = overhang(
            tuple(dims), gemmG=self.tile[0], **{"gemmN": self.tile[1]} if "gemmN" in names else {}
        )
        below = padded[0].upper if padded else tuple(dims)
        entries: list[Entry] = [(Unmerge(), "g_tile g_lane slot", "gemmG")]
        if "gemmN" in names:
            entries.append((Unmerge(), "n_tile n_lane pixel", "gemmN"))
        else:
            entries += [(Broadcast(), "n_tile", ""), (Broadcast(), "n_lane", "")]
        entries += [(Fixed(0), "", "gemmM")] if "gemmM" in names else []
        entries += [(PassThrough(), "k", "gemmK")] if "gemmK" in names else []
        cut = layer_over(
            below, *entries,
            g_tile=self.tiles[0], g_lane=self.group_lanes, slot=self.slots,
            n_tile=self.tiles[1], n_lane=self.workitems // self.group_lanes, pixel=self.pixels,
        )  # fmt: skip
        inner = [n for n in ("k", "pixel", "slot") if n in dict(cut.upper)]
        launched = layer_over(
            cut.upper,
            (Merge(), "workgroup", "n_tile g_tile"),
            (Merge(), "workitem", "n_lane g_lane"),
            *((PassThrough(), n, n) for n in inner),
        )
        return (launched, cut, *padded)
