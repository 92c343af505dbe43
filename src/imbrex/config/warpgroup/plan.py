"""WarpgroupTuning: the schedule of an NVIDIA Hopper GPU, whose warpgroups multiply tiles in shared memory.

A workgroup has `consumers` warpgroups that multiply and one that produces: it fills a ring of `stages`, each
the tiles of A and B of one step of K, while the others work.  Cooperative consumers share the rows of a tile;
two pingpong ones have a tile each, in turn, so that one multiplies while the other stores.  Workgroups of a
cluster share what they load: B along cluster_m, A along cluster_n.  Rows are gemmM and columns gemmN, or,
`swapped`, rows are gemmN; all sizes are in rows (m) and columns (n) after the swap, and so are A and B.

Workgroups stay for several tiles: there are as many as the machine runs at a time, and the schedule of tiles
deals out units, which are the tiles of one cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod
from typing import ClassVar, Final

from imbrex.cached import cached_property
from imbrex.chip import VECTOR_BYTES, WARPGROUPS, GpuMachine
from imbrex.config.block_plan import WarpgroupBlock
from imbrex.config.context import SAMPLE, Access, GemmContext, round_up
from imbrex.config.warpgroup.consumers import ConsumersPlan, OfRows
from imbrex.config.warpgroup.rates import rates_of
from imbrex.dtype import DType
from imbrex.view.mma.hopper import ALONG_ROWS
from imbrex.view.mma.layout import Side
from imbrex.view.stage.piece import PIECE_BYTES
from imbrex.view.stage.shared_layout import SharedLayout
from imbrex.view.stage.shared_tile import SWIZZLES, Major, SharedTile, Swizzle

__all__ = [
    "WarpgroupPlan",
    "WarpgroupTuning",
    "divides",
    "major_of",
    "operand_tile",
    "shared_tile",
    "step_of_channels",
    "stretch",
]  # fmt: skip

LEAST_ROW_BYTES: Final = 64
"""Rows of shared memory that columns which lie together are counted up to: by rows of 32 bytes kernels of an
H200 took up to 1.3 times as long, by rows of 64 as long as by 128 (docs/history_hopper.md).
"""
LEAST_STAGES: Final = 2
"""Stages of a ring: one is filled while another is read."""
CLUSTERS: Final = (1, 2, 4, 8)
"""Workgroups of a cluster that share what they load."""


@dataclass(frozen=True)
class WarpgroupTuning(OfRows):
    """A tile of m x n x k (elements) of a workgroup; group: tiles far before the next column (WGM), in units
    of clusters, see `view.work.workgroup`.
    """

    kind: ClassVar[str] = "warpgroup"
    m_per_block: int
    n_per_block: int
    k_per_block: int
    stages: int
    consumers: int
    cluster_m: int
    cluster_n: int
    pingpong: bool
    swapped: bool
    group: int

    @property
    def cluster(self) -> int:
        """Workgroups of a cluster."""
        return self.cluster_m * self.cluster_n

    def plan(self, context: GemmContext, machine: GpuMachine | None = None) -> WarpgroupPlan:
        """This tuning applied to that GEMM, on sm_90a unless told otherwise."""
        return WarpgroupPlan(self, context, machine or WARPGROUPS)


@dataclass(frozen=True)
class WarpgroupPlan(ConsumersPlan[WarpgroupTuning]):
    """Everything that follows from a WarpgroupTuning and a GEMM; what overhangs a matrix reads as zero."""

    @cached_property
    def oriented(self) -> GemmContext:
        """The GEMM as the kernel sees it: m are rows, n are columns."""
        return self.context.exchanged if self.tuning.swapped else self.context

    @cached_property
    def tiles(self) -> tuple[int, int]:
        """Tiles along (rows, columns), rounded up to whole clusters."""
        t, c = self.tuning, self.oriented
        rows, columns = -(-c.m // t.m_per_block), -(-c.n // t.n_per_block)
        return round_up(rows, t.cluster_m), round_up(columns, t.cluster_n)

    @cached_property
    def blocks(self) -> tuple[int, int]:
        """Units, each the tiles of one cluster, along (rows, columns)."""
        rows, columns = self.tiles
        return rows // self.tuning.cluster_m, columns // self.tuning.cluster_n

    @property
    def k_iterations(self) -> int:
        """Steps of the loop over K, in the mean; at least one."""
        return -(-(self.context.mean_k or self.context.k) // self.tuning.k_per_block)

    @property
    def clusters(self) -> int:
        """How many are launched, where each computes whole units."""
        return self.machine.clusters_dealt(self.units, self.tuning.cluster)

    @property
    def workgroups(self) -> int:
        """How many are launched, where each computes whole tiles."""
        return self.clusters * self.tuning.cluster

    @cached_property
    def a_tile(self) -> SharedTile:
        """One stage of A."""
        t, c = self.tuning, self.oriented
        tile, sizes = (t.k_per_block, t.m_per_block), (c.g, c.k, c.m)
        return operand_tile(tile, sizes, c.a, c.a.read_dim, c.dtype, "a")

    @cached_property
    def b_tile(self) -> SharedTile:
        """One stage of B."""
        t, c = self.tuning, self.oriented
        tile, sizes = (t.k_per_block, t.n_per_block), (c.g, c.k, c.n)
        return operand_tile(tile, sizes, c.b, c.b.read_dim, c.dtype)

    @cached_property
    def turned(self) -> tuple[bool, bool]:
        """Does the producer turn A, B: do rows or columns lie together in memory, but k has to in shared
        memory?
        """
        a, b = self.oriented.a, self.oriented.b
        return (
            a.read_dim == 1 and self.a_major == "k",
            b.read_dim == 1 and self.b_major == "k",
        )

    @property
    def is_a_held(self) -> bool:
        """Does the matrix unit have A from registers, since A's rows lie together and it reads along k?"""
        return not self.a_tile.has_descriptor

    @cached_property
    def a_major(self) -> Major:
        return major_of(self.oriented.a.read_dim == 1, self.context.dtype.bytes, "a")

    @cached_property
    def b_major(self) -> Major:
        return major_of(self.oriented.b.read_dim == 1, self.context.dtype.bytes, "b")

    @cached_property
    def copied(self) -> tuple[bool, bool]:
        """Does the copy engine bring A, B: rows of shared memory that lie together in memory as well?"""
        c = self.oriented
        parts = zip((c.a, c.b), (c.m, c.n), (self.a_tile, self.b_tile), self.turned, strict=True)
        a, b = (
            _comes_in_boxes(access, c.dtype) and not (turned or _is_cut(access, tile, (c.k, whole)))
            for access, whole, tile, turned in parts
        )
        return a, b

    @property
    def is_copied(self) -> bool:
        """Does the copy engine bring all, so that lanes keep sums and what an epilogue wants?"""
        return self.context.phases == 1 and not self.is_a_held and all(self.copied)

    @property
    def layout(self) -> SharedLayout:
        """Shared memory, with room for the widest pieces of C."""
        t, a, b = self.tuning, self.a_tile.bytes, self.b_tile.bytes
        return SharedLayout(a, b, t.stages, t.consumers, PIECE_BYTES, takes_turns=t.pingpong)

    @property
    def block(self) -> WarpgroupBlock:
        """What the IR says of a workgroup."""
        a, b = self.oriented.a, self.oriented.b
        return WarpgroupBlock(self.tuning, a.read_dim, b.read_dim, self.clusters)


def operand_tile(
    tile: tuple[int, int],
    sizes: tuple[int, int, int],
    access: Access,
    along: int,
    dtype: DType,
    which: Side = "b",
    *,
    may_pad: bool = True,
) -> SharedTile:
    """A stage (k, d) of an operand of sizes (g, k, d), by how it lies in memory.  along: 1 where rows or
    columns lie together there, 0 where k does.  may_pad: may a tile be stored with some of the next one's?
    Even so it is not where those are at another tap of a window.
    """
    together = stretch(access, along, sizes[1 + along])
    is_whole = along == 1 and together == inf and not access.repeats(prod(sizes))
    is_padded = may_pad and is_whole and _comes_in_boxes(access, dtype)
    return shared_tile(*tile, dtype.bytes, along == 1, together, which, is_padded=is_padded)


def _comes_in_boxes(access: Access, dtype: DType) -> bool:
    """Has the operand boxes, of whole vectors, that the copy engine may bring?"""
    return max(access.vector) * dtype.bytes >= VECTOR_BYTES and access.is_boxed


def in_whole_rows(columns: int, element_bytes: int, row_bytes: int) -> int:
    """Columns that so many are stored with: whole rows, or one of the shortest.  What is beyond a tile comes
    from memory, and is not multiplied.
    """
    size, shortest = columns * element_bytes, SWIZZLES[-1]
    return round_up(size, row_bytes if size > shortest else shortest) // element_bytes


def shared_tile(
    k: int,
    d: int,
    element_bytes: int,
    reads_d: bool,
    together: float = inf,
    which: Side = "b",
    *,
    is_padded: bool = False,
) -> SharedTile:
    """A stage of an operand.  reads_d: rows or columns lie together in global memory, not k; `together`: so
    many of them, as the channels at one tap of a window.  which: A may be in registers.  is_padded: those
    that lie together in shared memory, too, are counted up to whole rows of it.
    """
    major = major_of(reads_d, element_bytes, which)
    if major == "d":
        d = in_whole_rows(d, element_bytes, LEAST_ROW_BYTES if is_padded else SWIZZLES[-1])
    swizzle = swizzle_of(
        d if major == "d" else k, element_bytes, together if (major == "d") == reads_d else inf
    )
    return SharedTile(k, d, element_bytes, major, swizzle)


def major_of(reads_d: bool, element_bytes: int, which: Side = "b") -> Major:
    """What lies together in shared memory: rows or columns, where they do in global memory and elements have
    16 bits, or are of A and fill a register each; else wgmma wants k there, and the producer turns the tile.
    """
    return "d" if reads_d and element_bytes in ALONG_ROWS[which] else "k"


def stretch(access: Access, along: int, extent: int) -> float:
    """How many neighbours along a dim lie together before a gap; infinite where all of them do."""
    run = access.run[along]
    return run if access.step[along] == 1 and 1 < run < min(extent, SAMPLE) else inf


def _is_cut(access: Access, tile: SharedTile, sizes: tuple[int, int]) -> bool:
    """Does a row of shared memory go over the end of what lies together in memory?"""
    along = 0 if tile.major == "k" else 1
    return not divides(tile.row_bytes, stretch(access, along, sizes[along]), tile.element_bytes)


def swizzle_of(extent: int, element_bytes: int, together: float = inf) -> Swizzle:
    """The longest permuted row that divides `extent` elements and those that lie together; where none does,
    the longest one that divides the extent, or the shortest.
    """
    fitting: list[Swizzle] = [s for s in SWIZZLES if extent * element_bytes % s == 0]
    for swizzle in fitting:
        if divides(swizzle, together, element_bytes):
            return swizzle
    return fitting[0] if fitting else SWIZZLES[-1]


def divides(swizzle: int, together: float, element_bytes: int) -> bool:
    """Do whole rows of shared memory hold what lies together?"""
    return together == inf or together * element_bytes % swizzle == 0


def step_of_channels(channels: int, dtype: DType, machine: GpuMachine) -> int:
    """What the channels of a window's tap are counted up to: the step of K with the least work, where shorter
    rows of shared memory make more of it.  1 where tensor maps do not serve.
    """
    if channels * dtype.bytes % VECTOR_BYTES:
        return 1
    each = rates_of(machine).rows.channels
    work = {s // dtype.bytes: round_up(channels, s // dtype.bytes) * each[s] for s in SWIZZLES}
    return min(work, key=lambda k: work[k])
