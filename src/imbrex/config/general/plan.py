"""GeneralTuning: six numbers of the GPU schedule without matrix instructions; GeneralPlan: what follows.

The six are those that the seed and rocMLIR really tune.  Every other quantity, from clusters to LDS bytes,
is a property of (tuning, context), so that no two of them can disagree.  Law of the thread tile: in M and
in N, `per_block == repeat * level1_cluster * level0_cluster * per_thread`, and the clusters multiply to
`block_size`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, lcm
from typing import ClassVar

from imbrex.chip import USUAL, GpuMachine, WorkItems
from imbrex.config.block_plan import ItemsBlock, ItemsCopy, ItemsMultiply, ItemsPipeline
from imbrex.config.context import Access, GemmContext, round_up
from imbrex.config.general.copy import BlockCopy

__all__ = ["GeneralPlan", "GeneralTuning"]

LEVEL0_CLUSTER = 4
LEVEL1_CLUSTERS = {64: (2, 2), 128: (4, 2), 256: (4, 4)}  # rocMLIR, by block size, where 2x2 does not fit
PIPELINE_DEPTH = 2
LDS_BUFFERS = 2  # the seed's loop is unrolled by two over an even and an odd buffer
ADDRESS_REGISTERS = 32  # an allowance for pointers, indices and guards


@dataclass(frozen=True)
class GeneralTuning:
    """A block tile of m x n x k by block_size work items, each m_per_thread x n_per_thread at a time."""

    kind: ClassVar[str] = "general"
    block_size: int
    m_per_block: int
    n_per_block: int
    k_per_block: int
    m_per_thread: int
    n_per_thread: int

    def __post_init__(self) -> None:
        assert min(vars(self).values()) >= 1, f"a tuning's numbers are at least 1: {self}"

    @property
    def k_per_thread(self) -> int:
        """K steps that a thread-level product takes at once."""
        return 1

    @property
    def tile(self) -> tuple[int, int, int]:
        """The block tile, (m, n, k)."""
        return self.m_per_block, self.n_per_block, self.k_per_block

    @property
    def level0_clusters(self) -> tuple[int, int]:
        """Work items of the inner cluster along (M, N)."""
        return LEVEL0_CLUSTER, LEVEL0_CLUSTER

    @property
    def level1_clusters(self) -> tuple[int, int]:
        """Inner clusters along (M, N): the 2 x 2 pipeline's if they make up the block, else the table's.

        (0, 0) for a block size outside the table.
        """
        threads_m = self.m_per_block // (PIPELINE_DEPTH * self.m_per_thread)
        threads_n = self.n_per_block // (PIPELINE_DEPTH * self.n_per_thread)
        whole = threads_m % LEVEL0_CLUSTER == 0 and threads_n % LEVEL0_CLUSTER == 0
        if whole and threads_m * threads_n == self.block_size:
            return threads_m // LEVEL0_CLUSTER, threads_n // LEVEL0_CLUSTER
        return LEVEL1_CLUSTERS.get(self.block_size, (0, 0))

    @property
    def repeats(self) -> tuple[int, int]:
        """Thread tiles of one work item along (M, N), rounded down; `remainders` says what is left over."""
        return self.m_per_block // max(1, self._spans[0]), self.n_per_block // max(1, self._spans[1])

    @property
    def remainders(self) -> tuple[int, int]:
        """Rows and columns of the block tile that no work item would compute: (0, 0) when legal."""
        return self.m_per_block % max(1, self._spans[0]), self.n_per_block % max(1, self._spans[1])

    @property
    def pipeline(self) -> ItemsPipeline:
        """`2x2` when each work item has two thread tiles in each direction, else `naive`."""
        return "2x2" if self.repeats == (PIPELINE_DEPTH, PIPELINE_DEPTH) else "naive"

    def plan(self, context: GemmContext, machine: GpuMachine | None = None) -> GeneralPlan:
        """This tuning applied to that GEMM; without a machine, as the seed's."""
        return GeneralPlan(self, context, USUAL if machine is None else machine.work_items)

    @property
    def _spans(self) -> tuple[int, int]:
        """Rows and columns that all work items cover in one repeat."""
        (m0, n0), (m1, n1) = self.level0_clusters, self.level1_clusters
        return self.m_per_thread * m0 * m1, self.n_per_thread * n0 * n1


@dataclass(frozen=True)
class GeneralPlan:
    """Everything that follows from a GeneralTuning and a GEMM.  M, N and K are padded to whole tiles."""

    tuning: GeneralTuning
    context: GemmContext
    items: WorkItems = USUAL

    @property
    def block_size(self) -> int:
        """Work items of a workgroup."""
        return self.tuning.block_size

    @property
    def clusters(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Inner clusters, and how many of them, along (M, N): as the machine wants them where that fits."""
        (m0, n0), (m1, n1) = self.tuning.level0_clusters, self.tuning.level1_clusters
        rows, columns = self.items.cluster
        if m0 * m1 % rows or n0 * n1 % columns:
            return (m0, n0), (m1, n1)
        return (rows, columns), (m0 * m1 // rows, n0 * n1 // columns)

    @property
    def blocks(self) -> tuple[int, int]:
        """Block tiles along (M, N)."""
        m, n, _ = self.context.padded(*self.tuning.tile)
        return m // self.tuning.m_per_block, n // self.tuning.n_per_block

    @property
    def grid_size(self) -> int:
        """Workgroups."""
        return self.context.g * self.blocks[0] * self.blocks[1]

    @property
    def k_iterations(self) -> int:
        """Steps of the loop over K; at least one."""
        return round_up(self.context.k, self.tuning.k_per_block) // self.tuning.k_per_block

    @property
    def a_copy(self) -> BlockCopy:
        """How A's block reaches LDS."""
        return self._copy(self.tuning.m_per_block, self.context.a)

    @property
    def b_copy(self) -> BlockCopy:
        """How B's block reaches LDS."""
        return self._copy(self.tuning.n_per_block, self.context.b)

    @property
    def lds_align(self) -> int:
        """Elements to which rows and buffers of LDS are aligned, so that no vector access straddles."""
        t = self.tuning
        return lcm(self.a_copy.data_per_write, self.b_copy.data_per_write, t.m_per_thread, t.n_per_thread)

    @property
    def lds_buffer_bytes(self) -> tuple[int, int]:
        """Bytes of one buffer of A and of one buffer of B."""
        t, align, size = self.tuning, self.lds_align, self.context.dtype.bytes
        a = round_up(t.k_per_block * round_up(t.m_per_block, align) + _gaps(self.a_copy), align)
        b = round_up(t.k_per_block * round_up(t.n_per_block, align) + _gaps(self.b_copy), align)
        return a * size, b * size

    @property
    def lds_bytes(self) -> int:
        """All of LDS that a workgroup uses: an even and an odd buffer of each matrix."""
        return LDS_BUFFERS * sum(self.lds_buffer_bytes)

    @property
    def c_vector_dim(self) -> int:
        """The dimension of C's store vector among (M0, M1, N0, N1)."""
        return 3

    @property
    def c_data_per_write(self) -> int:
        """Elements in one store to C, along N: 4, 2 or 1."""
        return gcd(4, self.context.c.vector[1], self.tuning.n_per_thread)

    @property
    def registers(self) -> int:
        """32-bit registers of one lane: accumulators, thread tiles of A and B, staged copies, addresses."""
        t, dtype = self.tuning, self.context.dtype
        (rows, columns) = (t.repeats[0] * t.m_per_thread, t.repeats[1] * t.n_per_thread)
        staged = LDS_BUFFERS * (self.a_copy.per_thread + self.b_copy.per_thread)
        accumulators = rows * columns * -(-dtype.accumulator.bytes // 4)
        return accumulators + -(-(rows + columns + staged) * dtype.bytes // 4) + ADDRESS_REGISTERS

    @property
    def block(self) -> ItemsBlock:
        """What the IR says of a workgroup."""
        t, ((m0, n0), (m1, n1)) = self.tuning, self.clusters
        pipeline = "ahead" if self.items.reads_ahead else t.pipeline
        return ItemsBlock(
            t.block_size,
            t.m_per_block,
            t.n_per_block,
            t.k_per_block,
            ItemsMultiply(pipeline, t.m_per_thread, t.n_per_thread, t.k_per_thread, m0, n0, m1, n1),
            _copied(self.a_copy),
            _copied(self.b_copy),
            self.c_vector_dim,
            self.c_data_per_write,
        )

    def _copy(self, d_per_block: int, access: Access) -> BlockCopy:
        t, size = self.tuning, self.context.dtype.bytes
        along_k = self.items.lanes_along_k
        return BlockCopy(t.k_per_block, d_per_block, 1, t.block_size, access, size, along_k)


def _gaps(copy: BlockCopy) -> int:
    """Elements of a buffer that are no element of the tile."""
    return copy.gap * (copy.k_per_block // copy.data_per_read) if copy.gap else 0


def _copied(copy: BlockCopy) -> ItemsCopy:
    """A copy as the IR says it; gaps where its work items lie along K."""
    given = ItemsCopy(copy.read_dim, copy.data_per_read, copy.data_per_write, copy.cluster_lengths)
    if not copy.runs_along_k:
        return given
    return replace(given, copy_lane_dim=0, lds_numbers=(copy.data_per_read, copy.gap))
