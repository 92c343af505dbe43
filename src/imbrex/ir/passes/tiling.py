"""Numbers that were written by hand must tile: a product's clusters and a copy's shares, checked before use.

A tuning from `imbrex.config` obeys these laws; text may say anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Attribute, Operation, SSAValue

from imbrex.config.block_plan import ItemsMultiply, WavesMultiply
from imbrex.config.halo.plan import ImageTuning
from imbrex.index.query import EXHAUSTIVE_POINTS, is_injective
from imbrex.ir.attrs import Int, Ints
from imbrex.ir.chain import map_of
from imbrex.ir.element import dtype_of
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.shape import Size, element_of
from imbrex.ir.source import InvalidOp
from imbrex.view.gemm.tile import Clusters, CopySplit
from imbrex.view.mma import in_packs, instruction
from imbrex.view.mma.wave import WaveTiles


def expect_injective(op: Operation, result: SSAValue, adds: bool) -> None:
    """InvalidOp where what is set would be lost: several elements of a result are one of its array."""
    _, seen = map_of(result)
    if adds or seen is None or is_injective(seen):
        return
    shown = "are" if prod(d.size for d in seen.upper) <= EXHAUSTIVE_POINTS else "cannot be shown not to be"
    message = f"several elements of this view {shown} one element, of which a plain store keeps one"
    fix = 'write store_method = "atomic_add", and fill the array with zeros before'
    raise InvalidOp(op, f"{message}; {fix}", "type", len(op.operands) - 1)


def expect_diagonal(op: GridwiseGemmOp, chosen: ImageTuning) -> None:
    """Is the filter zero between the tuning's blocks?"""
    blocks = 1 if op.diagonal is None else op.diagonal.data
    if blocks % chosen.diagonal:
        subject = f"{chosen.diagonal} blocks of its diagonal are not all there is of the filter"
        raise InvalidOp(op, f"{subject}, {blocks} are")


def number(op: Operation, key: str, default: int | None = None) -> int:
    """The value of a property that the operation's verifier has seen."""
    value = op.properties.get(key)
    if value is None and default is not None:
        return default
    assert isinstance(value, Int), (op.name, key)
    return value.data


def clusters(
    op: Operation, given: ItemsMultiply, tile: tuple[Size, Size], items: int
) -> tuple[Clusters, Clusters]:
    """How `items` work items share a block's m and n; InvalidOp unless they cover it, each element once."""
    m = Clusters(given.m_per_thread, given.m_level0_cluster, given.m_level1_cluster)
    n = Clusters(given.n_per_thread, given.n_level0_cluster, given.n_level1_cluster)
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


def waves(
    op: Operation,
    given: WavesMultiply,
    tile: tuple[int, int],
    k: int,
    items: int | None = None,
    is_scaled: bool = False,
) -> WaveTiles:
    """How waves share a block tile (m, n) of k a step; InvalidOp unless the instruction covers it."""
    wave, kpack, interleave = (given.m_per_wave, given.n_per_wave), given.kpack, given.interleave
    used = in_packs(instruction(given.instruction), dtype_of(element_of(op.operands[0])).pack)
    if is_scaled and used.scale_a is None:
        raise InvalidOp(op, f"{used.name} takes no scales", "instruction")
    cut = WaveTiles.of(used, tile, wave, kpack, interleave, is_scaled)
    if cut is None:
        sizes = f"{tile[0]} x {tile[1]} in wave tiles of {wave[0]} x {wave[1]}"
        turns = f", {interleave} in turn" if interleave > 1 else ""
        message = f"{used.name} does not divide a block tile of {sizes}{turns}"
        raise InvalidOp(op, message, "m_per_wave")
    if is_scaled and kpack != cut.k.registers:
        message = f"a pack of a microscaled product is of one {used.name}: {cut.k.registers}, got {kpack}"
        raise InvalidOp(op, message, "kpack")
    if kpack % cut.k.registers or k % cut.k_step:
        message = f"{used.name} takes packs of {cut.k.registers} for {cut.k.groups} groups of lanes"
        raise InvalidOp(op, f"{message}; a step has {k} of k in packs of {kpack}", "kpack")
    if items is not None and cut.threads != items:
        message = f"the waves are {cut.threads} work items, the block has {items}"
        raise InvalidOp(op, message, "m_per_wave")
    return cut


def item_lengths(
    op: Operation, key: str, lengths: Sequence[int], tile: Sequence[Size], items: int
) -> list[int]:
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


def slices(op: Operation, given: Mapping[str, Attribute], tile: Sequence[Size], items: int) -> CopySplit:
    """How work items share a copy in slices, from its keys; InvalidOp unless `items` work items tile it."""
    pairs: list[tuple[int, int]] = []
    for key in ("cluster_lengths", "slice_lengths"):
        found = given[key]
        assert isinstance(found, Ints)
        pairs.append((found.data[0], found.data[1]))
    vector_dim, lane_dim, inner = (
        found.data if isinstance(found := given.get(key), Int) else usual
        for key, usual in (("vector_dim", 0), ("lane_dim", 0), ("lane_inner", 1))
    )
    spans = [c * s for c, s in zip(*pairs, strict=True)]
    item_lengths(op, "cluster_lengths", pairs[0], tile, items)
    if any((size or 0) % span for size, span in zip(tile, spans, strict=True)):
        what = " x ".join(str(size) for size in tile)
        (ck, cd), (sk, sd) = pairs
        message = f"slices of {sk} x {sd}, {ck} x {cd} at once, do not divide a tile of {what}"
        raise InvalidOp(op, message, "slice_lengths")
    others = pairs[0][1 - lane_dim]
    if others % inner:
        message = f"{inner} neighbours do not divide the {others} work items of the other dimension"
        raise InvalidOp(op, message, "lane_inner")
    return CopySplit(pairs[0], pairs[1], vector_dim, lane_dim, inner)
