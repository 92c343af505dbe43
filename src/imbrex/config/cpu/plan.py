"""CpuTuning: cache blocks and a register tile for a CPU core; CpuPlan: panels, grid, workspace.

A workgroup is one thread.  It owns a private tile of C of `m_per_block` rows by `n_per_block` columns, and
for each block of K packs rows of A and columns of B into panels and multiplies them, `m_per_thread` rows of
broadcasts by `n_per_thread` columns of vector lanes at a time.  One operand is `stationary`: its panels are
packed one by one into a buffer that stays in L1, while all panels of the other stream from L2.

Rows are gemmM and columns gemmN, or, `swapped`, rows are gemmN and columns gemmM: the vector lanes then run
along gemmM, as a channels-last output wants.  All sizes below are in rows and columns, after the swap; so
are A and B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from imbrex.cached import cached_property
from imbrex.config.block_plan import PanelBlock, PanelMultiply, Stationary
from imbrex.config.context import GemmContext, round_up
from imbrex.config.cpu.crowding import comes_anew, is_kept, loses_lines
from imbrex.dtype import DType
from imbrex.view.mma.vector import CPU_UNITS, FMA

__all__ = ["LEAST_RUN", "MOST_LINES", "MOST_RUNS", "CpuPlan", "CpuTuning", "PanelLayout"]

PanelLayout: TypeAlias = Literal["k_major", "k_blocked"]
PANEL_ALIGN = 64  # a cache line, and the widest vector
LEAST_RUN = (
    3  # neighbours along k that move as one: of fewer the way to the next is longer than what it brings
)
MOST_RUNS = 64  # of a row of tiles that is read in place: a bit each says whether it exists
COLUMNS_TOGETHER, COLUMN_BYTES, WIDE_VECTOR = 8, (384, 192), 64
"""Panels at least, and bytes of a row at least, that are cut at a time from an A whose rows are k: fewer for
vectors of as many bytes and more, whose tiles have more rows.
"""
MOST_LINES = 1024  # rows of k that a panel takes a piece of where they lie: each may be a page of its own


@dataclass(frozen=True)
class CpuTuning:
    """a_layout: panels are [k][rows], or, for A contiguous in K, [k / lanes][rows][lanes].

    unit: what multiplies, a name of `view.mma.vector`, which decides what panels hold.  required: values that
    its text always has.
    """

    kind: ClassVar[str] = "cpu"
    required: ClassVar[int] = 9
    m_per_thread: int
    n_per_thread: int
    m_per_block: int
    n_per_block: int
    k_per_block: int
    vector_lanes: int
    a_layout: PanelLayout = "k_major"
    stationary: Stationary = "a"
    swapped: bool = False
    unit: str = FMA.name

    def __post_init__(self) -> None:
        numbers = [v for v in vars(self).values() if not isinstance(v, str | bool)]
        assert min(numbers) >= 1, f"a tuning's numbers are at least 1: {self}"

    @property
    def tile(self) -> tuple[int, int, int]:
        """The block tile, (m, n, k), in the GEMM's own m and n."""
        rows, columns = self.m_per_block, self.n_per_block
        return (columns, rows, self.k_per_block) if self.swapped else (rows, columns, self.k_per_block)

    @property
    def together(self) -> int:
        """Neighbours along k that a lane multiplies at a time, and that stay together in panels."""
        return CPU_UNITS[self.unit].packed

    @property
    def vectors(self) -> int:
        """Vector registers across the register tile, rounded down."""
        return self.n_per_thread // self.vector_lanes

    @property
    def registers(self) -> int:
        """Vector registers alive in the innermost loop: the accumulators, a row of B, one broadcast of A."""
        return CPU_UNITS[self.unit].registers(self.m_per_thread, self.vectors)

    def plan(self, context: GemmContext) -> CpuPlan:
        """This tuning applied to that GEMM."""
        return CpuPlan(self, context)


@dataclass(frozen=True)
class CpuPlan:
    """Everything that follows from a CpuTuning and a GEMM.

    Rows and columns are padded to whole register tiles only; edge blocks are smaller, and K has a tail.
    """

    tuning: CpuTuning
    context: GemmContext

    @cached_property
    def oriented(self) -> GemmContext:
        """The GEMM as the kernel sees it: m are rows, n are columns."""
        return self.context.exchanged if self.tuning.swapped else self.context

    @cached_property
    def padded_rows(self) -> int:
        return round_up(self.oriented.m, self.tuning.m_per_thread)

    @cached_property
    def padded_columns(self) -> int:
        return round_up(self.oriented.n, self.tuning.n_per_thread)

    @cached_property
    def row_panels(self) -> int:
        """Register tiles along the rows."""
        return self.padded_rows // self.tuning.m_per_thread

    @cached_property
    def column_panels(self) -> int:
        """Register tiles along the columns."""
        return self.padded_columns // self.tuning.n_per_thread

    @cached_property
    def block_rows(self) -> int:
        """Rows of a block, no more than there are."""
        return min(self.tuning.m_per_block, self.padded_rows)

    @cached_property
    def block_columns(self) -> int:
        """Columns of a block, no more than there are."""
        return min(self.tuning.n_per_block, self.padded_columns)

    @cached_property
    def block_k(self) -> int:
        """K of a block, no more than there is."""
        return min(self.tuning.k_per_block, self.oriented.k)

    @cached_property
    def blocks(self) -> tuple[int, int]:
        """Blocks along (rows, columns)."""
        return -(-self.padded_rows // self.block_rows), -(-self.padded_columns // self.block_columns)

    @cached_property
    def grid_size(self) -> int:
        """Workgroups, over all g."""
        return self.context.g * self.blocks[0] * self.blocks[1]

    @cached_property
    def largest_share(self) -> float:
        """The part of the work that the largest workgroup has: blocks at the edges are smaller.

        Packed panels are whole ones; where each step is one product, nothing is multiplied that is not there.
        """
        real = self.oriented.m, self.oriented.n
        m, n = real if self.is_fused else (self.padded_rows, self.padded_columns)
        return min(self.block_rows, m) * min(self.block_columns, n) / (self.context.g * m * n)

    @cached_property
    def k_iterations(self) -> int:
        """Steps of the loop over K; the last may be short."""
        return -(-self.oriented.k // self.block_k)

    @cached_property
    def is_fused(self) -> bool:
        """Is each step over K one product, which reads operands in place where it can and needs no private
        tile of all of C, unless that cannot hold the sums between steps?

        Panels of A keep neighbouring K together or are cut from a matrix of neighbours along m, and B stays
        where C is transposed.
        """
        c = self.oriented.c
        may_store = self.tuning.stationary == "b" or c.run[0] <= c.run[1]
        has_form = self.tuning.a_layout == "k_blocked" or self.oriented.a_is_columns
        return has_form and may_store

    @cached_property
    def reads_columns(self) -> bool:
        """Is an A whose rows are k read where it lies, a piece of each row for a panel?"""
        gemm, t, size = self.oriented, self.tuning, self.context.dtype.bytes
        is_window = gemm.a.repeats(gemm.g * gemm.m * gemm.k)
        is_plain = self.element == self.context.dtype and t.together == 1
        has_rows = self.is_fused and t.a_layout == "k_major" and not is_window
        multiplied, visits = t.m_per_thread * t.n_per_thread, self.block_columns // t.n_per_thread
        may_stay = not loses_lines(self.block_k, gemm.m * size, multiplied, visits)
        is_anew = t.stationary == "a" and comes_anew(self.block_k, gemm.m * size, multiplied, visits)
        return has_rows and is_plain and may_stay and not is_anew and self.block_k <= MOST_LINES

    @cached_property
    def packs_a_once(self) -> bool:
        """Are packed panels of A kept for all panels of B, which stay one by one?"""
        is_met_again = self.tuning.stationary == "b" and self.block_columns > self.tuning.n_per_thread
        block_bytes = self.block_rows * self.panel_k * self.element.bytes
        return self.is_fused and self.tuning.a_layout == "k_blocked" and is_met_again and is_kept(block_bytes)

    @cached_property
    def keeps_sums(self) -> bool:
        """Is C too narrow for the sums between steps, so that they stay in memory of the workgroup's?"""
        dtype = self.context.dtype
        return self.is_fused and self.k_iterations > 1 and dtype.output != dtype.accumulator

    @cached_property
    def element(self) -> DType:
        """What panels hold."""
        return CPU_UNITS[self.tuning.unit].panel(self.context.dtype)

    @cached_property
    def panel_k(self) -> int:
        """K of a panel: whole vectors, since some packing routines write vectors along K."""
        return round_up(self.block_k, self.tuning.vector_lanes * self.tuning.together)

    @property
    def a_panel_bytes(self) -> int:
        """The buffer of packed A: one panel when A is stationary, the whole block when it streams."""
        t = self.tuning
        if self.reads_columns:
            return 0
        if self.is_fused and t.a_layout == "k_major":
            is_wide = t.vector_lanes * self.context.dtype.accumulator.bytes >= WIDE_VECTOR
            enough = -(-COLUMN_BYTES[is_wide] // (t.m_per_thread * self.context.dtype.bytes))
            return self._packed(max(COLUMNS_TOGETHER, enough) * t.m_per_thread)
        return self._packed(t.m_per_thread if t.stationary == "a" else self.block_rows)

    @property
    def b_panel_bytes(self) -> int:
        """The buffer of packed B: one panel when B is stationary, the whole block when it streams."""
        t = self.tuning
        return self._packed(t.n_per_thread if t.stationary == "b" else self.block_columns)

    @property
    def c_tile_bytes(self) -> int:
        """The private tile of C; of a single panel where each step is one product, and kept sums."""
        rows, columns = self.block_rows, self.block_columns
        if self.is_fused:
            columns = self.tuning.n_per_thread + (columns if self.keeps_sums else 0)
        return round_up(rows * columns * self.context.dtype.accumulator.bytes, PANEL_ALIGN)

    @property
    def workspace_bytes(self) -> int:
        """Memory of one thread beside the three arrays."""
        return self.a_panel_bytes + self.b_panel_bytes + self.c_tile_bytes

    @property
    def block(self) -> PanelBlock:
        """What the IR says of a workgroup."""
        t = self.tuning
        vector = t.vector_lanes * t.together
        return PanelBlock(
            self.block_rows,
            self.block_columns,
            self.panel_k,
            t.m_per_thread,
            t.n_per_thread,
            PanelMultiply(t.unit),
            vector if t.a_layout == "k_blocked" else t.together,
            t.stationary,
        )

    @property
    def occupancy(self) -> float:
        """The useful part of the multiply-adds, 0 to 1: what the padding of rows and columns leaves."""
        return self.oriented.m * self.oriented.n / (self.padded_rows * self.padded_columns)

    def _packed(self, lines: int) -> int:
        return round_up(lines * self.panel_k * self.element.bytes, PANEL_ALIGN)
