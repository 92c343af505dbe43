"""Tiles of steps that take several taps of a window's row, whose pixels lie once in LDS.

Each function gives layers, topmost first, to lay over the dims of an operand or of a buffer.

    loaded     (step, workgroup, k, m)   over (gemmK, gemmM): the tile that one step loads, k of one tap
    taps, tap  (k, m)                    over (k, m) in LDS: such a tile with k of all taps, or of one

Law: `taps` of what `loaded` gives is A[k, m], and B[k, n] wherever its taps are views of one another
(`view.conv.row_taps.RowTaps`), with k in the order (row, chunk of channels, tap, channel).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from imbrex.index.map import Dim, Entry, Layer, layer_over, replacing
from imbrex.index.rule import Broadcast, Embed, Fixed, Merge, PassThrough, Unmerge
from imbrex.view.gemm.tile import OTHER, Grid, of_workgroups

__all__ = ["SlidingTile", "loaded", "tap", "taps"]


@dataclass(frozen=True)
class SlidingTile:
    """An operand's tile in LDS, whose taps are views of it: k are channels of one tap.

    count: of taps.  rows: of the tile.  step: from the rows of a tap to those of the next; as many as a tap
    has where each has its own, fewer where they overlap, negative where the next tap has those before.
    """

    count: int
    rows: int
    step: int

    @property
    def first(self) -> int:
        """Row in LDS of the first tap's first row."""
        return max(0, -self.step) * (self.count - 1)

    def is_apart(self, own: int) -> bool:
        """Has each tap, of so many rows, its own?"""
        return self.step == own


def loaded(dims: Sequence[Dim], grid: Grid, side: str, tile: SlidingTile | None) -> tuple[Layer, ...]:
    """A's tile (side "m") or B's (side "n") of one step of several taps: k are channels of one tap.

    Where taps overlap, rows beyond the block are those of the next ones: of the tap whose rows come first.
    tile: None where each tap has a tile of its own, (step, tap, workgroup, k, m).
    """
    assert grid.taps is not None, grid
    own = grid.own(side)
    wide, block = f"gemm{side.upper()}", f"{side}_block"
    sizes = dict(dims)
    channels = grid.k_per_block // grid.taps.count
    k = {"row": sizes["gemmK"] // (grid.taps.count * grid.taps.channels), "tap": grid.taps.count}
    k |= {"chunk": grid.taps.channels // channels, "k": channels}
    leading = ["step"]
    rows: tuple[Entry, ...] = ()
    if tile is None:
        further, kept, leading = (Unmerge(), f"{block} {side}", wide), {side: own}, ["step", "tap"]
    elif tile.is_apart(own):
        rows, further = ((Merge(), side, f"tap {side}_row"),), (Unmerge(), f"{block} {side}_row", wide)
        kept = {f"{side}_row": own}
    else:
        rows = ((Fixed(0 if tile.step > 0 else tile.count - 1), "", "tap"),)
        further, kept = (Embed((own, 1)), f"{block} {side}", wide), {side: tile.rows}
    blocks = layer_over(
        dims,
        (Unmerge(), "row tap chunk k", "gemmK"),
        further,
        (PassThrough(), "g", "gemmG") if "gemmG" in sizes else (Broadcast(), "g", ""),
        (Broadcast(), f"{OTHER[side]}_block", ""),
        order=["row", "chunk", *grid.blocks(), "tap", "k", *kept],
        **{**grid.blocks(), **k, **kept},
    )
    steps = replacing(
        blocks.upper, (Merge(), "step", "row chunk"), *rows, order=[*leading, *grid.blocks(), "k", side]
    )
    return (of_workgroups(steps.upper, grid), steps, blocks)


def tap(dims: Sequence[Dim], own: int, tile: SlidingTile, number: int) -> tuple[Layer, ...]:
    """The `own` rows of a tap of a tile (k, m or n)."""
    (k, _), (side, _) = dims
    row: Entry = (Embed((1,), tile.first + number * tile.step), side, side)
    return (layer_over(dims, (PassThrough(), k, k), row, order=None, **{side: own}),)


def taps(dims: Sequence[Dim], own: int, tile: SlidingTile) -> tuple[Layer, ...]:
    """A tile (k, m or n) of which k are the channels of one tap, as k of all taps and `own` rows."""
    (k, channels), (side, _) = dims
    slid = layer_over(
        dims,
        (PassThrough(), "channel", k),
        (Embed((tile.step, 1), tile.first), "tap row", side),
        order=["tap", "channel", "row"],
        tap=tile.count,
        channel=channels,
        row=own,
    )
    return (layer_over(slid.upper, (Merge(), k, "tap channel"), (PassThrough(), side, "row")), slid)
