"""Numbers that were written by hand must tile: a product's clusters and a copy's shares, checked before use.

A tuning from `imbrex.schedule` obeys these laws; text may say anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from imbrex.ir.ops.block import BlockwiseGemmOp
from imbrex.ir.ops.grid import GridwiseGemmExOp
from imbrex.ir.shape import Size
from imbrex.ir.source import InvalidOp
from imbrex.view.tile import Clusters

Product = GridwiseGemmExOp | BlockwiseGemmOp


def clusters(op: Product, tile: tuple[Size, Size], items: int) -> tuple[Clusters, Clusters]:
    """How `items` work items share a block's m and n; InvalidOp unless they cover it, each element once."""
    m = Clusters(op.m_per_thread.data, op.m_level0_cluster.data, op.m_level1_cluster.data)
    n = Clusters(op.n_per_thread.data, op.n_level0_cluster.data, op.n_level1_cluster.data)
    for side, size, own in (("m", tile[0], m), ("n", tile[1], n)):
        if size is None or size % own.per_repeat:
            product = f"{side}_per_thread {own.per_thread} x clusters {own.level0} x {own.level1}"
            message = f"a block's {side} is {size}, not a multiple of {own.per_repeat} ({product})"
            raise InvalidOp(op, message, f"{side}_per_thread")
    rows, columns = m.level0 * m.level1, n.level0 * n.level1
    if rows * columns != items:
        message = f"the clusters are {rows} x {columns} work items, the block has {items}"
        raise InvalidOp(op, message, "m_level0_cluster")
    return m, n


def share(op: Operation, key: str, lengths: Sequence[int], tile: Sequence[Size], items: int) -> list[int]:
    """A work item's part of a copied tile; InvalidOp unless `items` work items tile it."""
    if lengths[0] * lengths[1] != items:
        raise InvalidOp(op, f"{lengths[0]} x {lengths[1]} work items copy, the block has {items}", key)
    sizes = [size or 0 for size in tile]
    if len(sizes) != 2:
        raise InvalidOp(op, f"work items share a tile of 2 dimensions, got {len(sizes)}", key)
    if any(size % length for size, length in zip(sizes, lengths, strict=True)):
        what = " x ".join(map(str, sizes))
        raise InvalidOp(op, f"{lengths[0]} x {lengths[1]} work items do not divide a tile of {what}", key)
    return [size // length for size, length in zip(sizes, lengths, strict=True)]
