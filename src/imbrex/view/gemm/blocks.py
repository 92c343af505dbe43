"""Blocks of an operand whose packs lie along m or n: 16 elements of k by 16 of m, which lanes transpose.

Memory is [k, m / 16] of packs of 16 neighbours along m.  A kernel sees them as those of any operand,
[k / 16, m]: row r of a block, of which all 16 elements have one k, is where the pack along k of the block's
r-th m would be.  So each of 16 lanes reads from LDS at the place of its own row of A, and has that row's pack
along k when they have transposed what they read.

Where 16 bytes hold several packs, those neighbours along m at one k stay so: m is (stretch, row, pack), and
a lane's row of m, (stretch, pack, row), is elsewhere (`by_row`).
"""

from __future__ import annotations

from collections.abc import Sequence

from imbrex.chip import VECTOR_BYTES
from imbrex.dtype import BLOCK, DType
from imbrex.index.map import Dim, Entry, Layer
from imbrex.index.rule import Merge, PassThrough, Unmerge
from imbrex.index.stack import over

__all__ = ["by_row", "in_blocks", "together"]


def together(of: DType | None) -> int:
    """Packs along m or n that stay together: those of 16 bytes; 1 of others, or of none."""
    return max(1, VECTOR_BYTES // of.loaded.bytes) if of is not None and of.across else 1


def in_blocks(dims: Sequence[Dim], count: int) -> tuple[Layer, ...]:
    """(.., k / 16, m) over memory (.., k, m / 16); k a multiple of 16, m of 16 * count."""
    *outer, k, d = dims
    names = [o.name for o in outer]
    cut = over(dims).replacing(
        (Unmerge(), "block row", k.name),
        (Unmerge(), "stretch pack", d.name),
        order=(*names, "block", "stretch", "row", "pack"),
        block=k.size // BLOCK,
        row=BLOCK,
        stretch=d.size // count,
        pack=count,
    )
    rows: Entry = (Merge(), d.name, "stretch row pack")
    order = (*names, k.name, d.name)
    return cut.replacing((PassThrough(), k.name, "block"), rows, order=order).layers


def by_row(dims: Sequence[Dim], count: int) -> tuple[Layer, ...]:
    """A tile (k, m or n) by the rows that lanes multiply, over the same as it lies; no layer where that is
    the same.
    """
    if count == 1:
        return ()
    k, d = dims
    cut = over(dims).replacing(
        (Unmerge(), "stretch row pack", d.name),
        order=(k.name, "stretch", "pack", "row"),
        stretch=d.size // (BLOCK * count),
        row=BLOCK,
        pack=count,
    )
    return cut.replacing((Merge(), d.name, "stretch pack row"), order=(k.name, d.name)).layers
