"""Tiles of a GEMM: which block a workgroup owns, which part of it a work item copies and computes.

Each function gives layers, topmost first, to lay over the dims of an operand or of a buffer.

    window      (step, workgroup, k, m)             over (gemmK, gemmM): the tile that one step loads
    result      (workgroup, m, n)                   over (gemmM, gemmN): the tile that a workgroup owns
    copied      (..., workitem, k_item, m_item)     over (..., k, m): a work item's slice of a copy
    copy_slices (..., workitem, k_repeat, m_repeat, k_item, m_item)
                                                    over (..., k, m): a work item's slices of a copy
    operand     (workitem, k, m_repeat, m_thread)   over (k, m) in LDS: what a work item multiplies
    computed    (workgroup, workitem, m_repeat, m_thread, n_repeat, n_thread)
                                                    over (workgroup, m, n): what a work item holds of C
    panels      (..., m_panel, k, m_lane)           over (..., k, m): a CPU core's packed panels
    paneled     (m_panel, n_panel, m_lane, n_lane)  over (m, n): a CPU core's tile of C as register tiles
    held        (m_repeat, m_thread, n_repeat, n_thread)
                                                    over (m, n): a work item's registers of C

Work items are numbered (m_level1, n_level1, m_level0, n_level0), the last fastest: the order of the seeds'
clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from imbrex.index.map import Dim, Entry, Layer, layer_over
from imbrex.index.rule import Broadcast, Merge, PassThrough, Unmerge

OTHER = {"m": "n", "n": "m"}


@dataclass(frozen=True)
class Taps:
    """gemmK as (.., tap, channel), of which a step takes all taps and some of the channels.

    count: of taps.  channels: of each.
    """

    count: int
    channels: int


@dataclass(frozen=True)
class Grid:
    """Blocks along each gemm dim; sizes are already multiples of the tile.

    first: the blocks that are the slowest digit of a workgroup's number; the others follow as g, m, n.
    taps: that each step takes together; None where its k are neighbours in gemmK.
    """

    g: int
    m_blocks: int
    n_blocks: int
    k_steps: int
    m_per_block: int
    n_per_block: int
    k_per_block: int
    first: str = "g"
    taps: Taps | None = None

    @property
    def workgroups(self) -> int:
        return self.g * self.m_blocks * self.n_blocks

    def own(self, side: str) -> int:
        """Rows (m) or columns (n) of a block."""
        return {"m": self.m_per_block, "n": self.n_per_block}[side]

    def blocks(self) -> dict[str, int]:
        every = {"g": self.g, "m_block": self.m_blocks, "n_block": self.n_blocks}
        return {self.first: every[self.first], **every}


@dataclass(frozen=True)
class Clusters:
    """How the work items of a block share its C tile along one gemm dim."""

    per_thread: int
    level0: int
    level1: int

    @property
    def per_repeat(self) -> int:
        return self.per_thread * self.level0 * self.level1


@dataclass(frozen=True)
class CopySplit:
    """How work items share the copy of a tile (k, d), d being m or n; pairs are (along k, along d).

    clusters: work items.  items: neighbours that one of them takes at a time; clusters * items go at once and
    repeat to the end of the tile.  vector_dim: 0 where neighbours in k are last in a work item's slice, else
    1. lane_dim: the dimension, 0 for k, along which neighbouring work items lie; but lane_inner of them lie
    along the other one first, such as those that fill one pack together.
    """

    clusters: tuple[int, int]
    items: tuple[int, int]
    vector_dim: int
    lane_dim: int
    lane_inner: int = 1

    def shape(self, k: int, d: int) -> tuple[int, int, int, int]:
        """A work item's slices: repeats along k and d, then its items, those along `vector_dim` last."""
        (ck, cd), (ik, jd) = self.clusters, self.items
        return (k // (ck * ik), d // (cd * jd), *((jd, ik) if self.vector_dim == 0 else (ik, jd)))


def window(dims: Sequence[Dim], grid: Grid, side: str) -> tuple[Layer, ...]:
    """A's tile (side "m") or B's (side "n") of one step of a workgroup."""
    tile = grid.own(side)
    has_g = "gemmG" in dict(dims)
    blocks = layer_over(
        dims,
        (Unmerge(), "step k", "gemmK"),
        (Unmerge(), f"{side}_block {side}", f"gemm{side.upper()}"),
        (PassThrough(), "g", "gemmG") if has_g else (Broadcast(), "g", ""),
        (Broadcast(), f"{OTHER[side]}_block", ""),
        order=["step", *grid.blocks(), "k", side],
        **{**grid.blocks(), "step": grid.k_steps, "k": grid.k_per_block, side: tile},
    )
    return (of_workgroups(blocks.upper, grid), blocks)


def result(dims: Sequence[Dim], grid: Grid) -> tuple[Layer, ...]:
    """C's tile of a workgroup."""
    blocks = layer_over(
        dims,
        (Unmerge(), "m_block m", "gemmM"),
        (Unmerge(), "n_block n", "gemmN"),
        (PassThrough(), "g", "gemmG") if "gemmG" in dict(dims) else (Broadcast(), "g", ""),
        order=[*grid.blocks(), "m", "n"],
        **grid.blocks(),
        m=grid.m_per_block,
        n=grid.n_per_block,
    )
    return (of_workgroups(blocks.upper, grid), blocks)


def copied(dims: Sequence[Dim], side: str, cluster: tuple[int, int], lane_dim: int = 1) -> tuple[Layer, ...]:
    """A work item's slice where cluster[0] x cluster[1] work items share the (k, side) tile.

    Neighbouring work items lie along k where lane_dim is 0, else along the side.
    """
    sizes = dict(dims)
    items = {"k": sizes["k"] // cluster[0], side: sizes[side] // cluster[1]}
    threads = {"k": cluster[0], side: cluster[1]}
    lanes = ["k_cluster", f"{side}_cluster"]
    if lane_dim == 0:
        lanes.reverse()
    slices = _changed(
        dims,
        {name: (Unmerge(), f"{name}_cluster {name}_item", name) for name in ("k", side)},
        [d.name for d in dims[:-2]] + [*lanes, "k_item", f"{side}_item"],
        {f"{n}_cluster": threads[n] for n in threads} | {f"{n}_item": items[n] for n in items},
    )
    return (_workitems(slices.upper, lanes), slices)


def copy_slices(
    dims: Sequence[Dim], side: str, split: CopySplit, vector_dim: int | None = None
) -> tuple[Layer, ...]:
    """A work item's slices of a tile in the order of `split.shape`; vector_dim replaces the split's own."""
    shape = split.shape(dict(dims)["k"], dict(dims)[side])
    fast = ("k", side)[split.lane_dim]
    slow = side if fast == "k" else "k"
    sizes: dict[str, int] = {}
    for i, name in enumerate(("k", side)):
        inner = split.lane_inner if name == slow else 1
        numbers = shape[i], split.clusters[i] // inner, inner, split.items[i]
        sizes |= dict(zip(_slice_parts(name), numbers, strict=True))
    items = ["k_item", f"{side}_item"]
    if (split.vector_dim if vector_dim is None else vector_dim) == 0:
        items.reverse()
    lanes = [f"{slow}_cluster", f"{fast}_cluster", f"{slow}_inner", f"{fast}_inner"]
    slices = _changed(
        dims,
        {n: (Unmerge(), " ".join(_slice_parts(n)), n) for n in ("k", side)},
        [d.name for d in dims[:-2]] + [*lanes, "k_repeat", f"{side}_repeat", *items],
        sizes,
    )
    return (_workitems(slices.upper, lanes), slices)


def operand(dims: Sequence[Dim], side: str, own: Clusters, other: Clusters) -> tuple[Layer, ...]:
    """The rows of an LDS tile that a work item multiplies, `repeat` groups of `per_thread` neighbours."""
    spread = layer_over(
        dims,
        (PassThrough(), "k", "k"),
        _spread(side),
        (Broadcast(), f"{OTHER[side]}_level1", ""),
        (Broadcast(), f"{OTHER[side]}_level0", ""),
        order=["m_level1", "n_level1", "m_level0", "n_level0", "k", f"{side}_repeat", f"{side}_thread"],
        **_cluster_sizes(side, own, dict(dims)[side]),
        **_level_sizes(OTHER[side], other),
    )
    return (_workitems(spread.upper, ["m_level1", "n_level1", "m_level0", "n_level0"]), spread)


def computed(dims: Sequence[Dim], m: Clusters, n: Clusters) -> tuple[Layer, ...]:
    """The elements of a workgroup's C tile that a work item holds."""
    sizes = dict(dims)
    levels = ["m_level1", "n_level1", "m_level0", "n_level0"]
    spread = layer_over(
        dims,
        (PassThrough(), "workgroup", "workgroup"),
        _spread("m"),
        _spread("n"),
        order=["workgroup", *levels, "m_repeat", "m_thread", "n_repeat", "n_thread"],
        **_cluster_sizes("m", m, sizes["m"]),
        **_cluster_sizes("n", n, sizes["n"]),
    )
    return (_workitems(spread.upper, levels), spread)


def panels(dims: Sequence[Dim], side: str, lanes: int, k_inner: int = 1) -> tuple[Layer, ...]:
    """Panels of `lanes` rows, k outside; with k_inner > 1 each row's k_inner neighbours in k lie together."""
    sizes = dict(dims)
    entries: dict[str, Entry] = {side: (Unmerge(), f"{side}_panel {side}_lane", side)}
    order = [d.name for d in dims[:-2]] + [f"{side}_panel", "k", f"{side}_lane"]
    made = {f"{side}_panel": sizes[side] // lanes, f"{side}_lane": lanes}
    if k_inner > 1:
        entries["k"] = (Unmerge(), "k_outer k_inner", "k")
        order = [*order[:-2], "k_outer", f"{side}_lane", "k_inner"]
        made |= {"k_outer": sizes["k"] // k_inner, "k_inner": k_inner}
    return (_changed(dims, entries, order, made),)


def paneled(dims: Sequence[Dim], m_lanes: int, n_lanes: int, outer: str) -> tuple[Layer, ...]:
    """A CPU core's tile of C, row-major, as register tiles; the panels of side `outer` come first."""
    order = [f"{outer}_panel", f"{OTHER[outer]}_panel", "m_lane", "n_lane"]
    return (_split(dims, ("panel", "lane"), (m_lanes, n_lanes), order),)


def held(dims: Sequence[Dim], m_threads: int, n_threads: int) -> tuple[Layer, ...]:
    """A work item's registers of C, row-major, in the order in which `computed` numbers its elements."""
    order = ["m_repeat", "m_thread", "n_repeat", "n_thread"]
    return (_split(dims, ("repeat", "thread"), (m_threads, n_threads), order),)


def _split(
    dims: Sequence[Dim], parts: tuple[str, str], lengths: tuple[int, int], order: Sequence[str]
) -> Layer:
    """Each dim as groups of `length` neighbours."""
    outer, inner = parts
    entries: dict[str, Entry] = {}
    made: dict[str, int] = {}
    for (side, size), length in zip(dims, lengths, strict=True):
        entries[side] = (Unmerge(), f"{side}_{outer} {side}_{inner}", side)
        made |= {f"{side}_{outer}": size // length, f"{side}_{inner}": length}
    return _changed(dims, entries, order, made)


def _slice_parts(name: str) -> list[str]:
    """What a dimension of a shared tile is made of, outermost first."""
    return [f"{name}_{part}" for part in ("repeat", "cluster", "inner", "item")]


def of_workgroups(dims: Sequence[Dim], grid: Grid) -> Layer:
    """Number the blocks, the last fastest."""
    return _gathered(dims, "workgroup", list(grid.blocks()))


def _workitems(dims: Sequence[Dim], parts: Sequence[str]) -> Layer:
    return _gathered(dims, "workitem", parts)


def _gathered(dims: Sequence[Dim], name: str, parts: Sequence[str]) -> Layer:
    """One upper dim in the place of neighbouring dims."""
    at = [d.name for d in dims].index(parts[0])
    rest = [d.name for d in dims if d.name not in parts]
    entries: list[Entry] = [(PassThrough(), n, n) for n in rest]
    return layer_over(dims, (Merge(), name, " ".join(parts)), *entries, order=[*rest[:at], name, *rest[at:]])


def _spread(side: str) -> Entry:
    return (Unmerge(), f"{side}_repeat {side}_level1 {side}_level0 {side}_thread", side)


def _level_sizes(side: str, clusters: Clusters) -> dict[str, int]:
    return {f"{side}_level1": clusters.level1, f"{side}_level0": clusters.level0}


def _cluster_sizes(side: str, own: Clusters, tile: int) -> dict[str, int]:
    return {
        f"{side}_repeat": tile // own.per_repeat,
        **_level_sizes(side, own),
        f"{side}_thread": own.per_thread,
    }


def _changed(
    lower: Sequence[Dim], entries: dict[str, Entry], order: Sequence[str], sizes: dict[str, int]
) -> Layer:
    """A layer that passes every dim through but those that have an entry."""
    steps = (entries.get(d.name, (PassThrough(), d.name, d.name)) for d in lower)
    layer = layer_over(lower, *steps, order=order, **sizes)
    assert prod(d.size for d in layer.upper) == prod(d.size for d in lower)
    return layer
