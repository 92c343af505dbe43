"""The product of a Hopper workgroup, whose warpgroups multiply tiles that another one brings into shared
memory.
"""

from __future__ import annotations

from typing import assert_never

from xdsl.dialects.builtin import IndexType, MemRefType, i32
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)

from imbrex.config.block_plan import WarpgroupBlock
from imbrex.config.halo.plan import HaloTuning, HaloWeightTuning, LinesTuning
from imbrex.config.tiles import TileSchedule
from imbrex.config.tuning import PipelineTuning, Tuning, is_pipelined
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.index.expr import lin
from imbrex.index.map import Map
from imbrex.ir.attrs import Float, Keyword
from imbrex.ir.chosen import Phased, Scheduled
from imbrex.ir.element import accumulator_type
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.ops.grid import STORE_METHODS, LaunchOp, verify_clusters, verify_product
from imbrex.ir.ops.known import expect_known
from imbrex.ir.ops.phases import phase_box_of
from imbrex.ir.planned import Planned, verify_entries
from imbrex.ir.shape import element_of, shape_of, space_of
from imbrex.ir.source import expect
from imbrex.view.gemm.tile import Grid
from imbrex.view.stage.shared_tile import ATOM_ROWS
from imbrex.view.work.cluster import blocks_in_order, unit_in_round
from imbrex.view.work.streamk import Plan, Tiles, goes_abreast


@irdl_op_definition
class WarpgroupGemmOp(MiopenOp):
    """c[row, column] = alpha * sum over k of a[k, row] * b[k, column] + beta * c, of a workgroup's tiles.

    Operands have rank 2, or 3 with a leading batch; their overhang over whole tiles does not exist.  plan: as
    of `miopen.gridwise_gemm_ex`, of the pipeline "warpgroup"; the kind of its tuning is the family of the
    product, see `lower.warpgroup.families`.

    Which tiles a workgroup has: `view.work.cluster` numbers units, each the tiles of one cluster, in groups
    of the tuning's `group` blocks.  Cluster c computes units c, c + clusters, ..; with a schedule, the
    segments of the plan over units that `view.work.streamk` gives it.  Partial sums go through `partials`,
    in accumulators, and a flag each tells that they are there; both have a slot for every workgroup, that
    of its slot.  Under cluster_k the workgroups of each of so many parts of K are a cluster of their own,
    and sums stay in it.

    phases: as of `miopen.gridwise_gemm`; a tile has the columns of all phases, and batches are the fastest
    digit of a unit's number, as they are where a filter stays in shared memory.
    """

    name = "miopen.warpgroup_gemm"
    a = operand_def(MemRefType)
    b = operand_def(MemRefType)
    c = operand_def(MemRefType)
    workgroup = operand_def(IndexType)
    partials = opt_operand_def(MemRefType)
    flags = opt_operand_def(MemRefType)
    plan = prop_def(Planned)
    store_method = opt_prop_def(Keyword)
    alpha = opt_prop_def(Float)
    beta = opt_prop_def(Float)
    phases = opt_prop_def(Phased)
    schedule = opt_prop_def(Scheduled)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @property
    def block(self) -> WarpgroupBlock:
        assert isinstance(self.plan.data, WarpgroupBlock), "the operation's verifier wants it"
        return self.plan.data

    @property
    def tuning_(self) -> PipelineTuning:
        tuning = self.block.tuning
        assert is_pipelined(tuning), tuning
        return tuning

    @property
    def cluster_(self) -> tuple[int, int]:
        """Workgroups along rows and columns that load for each other."""
        return cluster_of(self.tuning_)

    @property
    def grid_(self) -> Grid:
        """Tiles along each dim, whole clusters of them."""
        return grid_of(shape_of(self.a), shape_of(self.b), self.tuning_)

    @property
    def is_batch_first(self) -> bool:
        """Are units that follow one another of different batches?"""
        return isinstance(self.tuning_, LinesTuning | HaloTuning) or self.phases is not None

    def units_of(self, cluster: int) -> list[int]:
        """Where whole ones are dealt out."""
        count, turns = self.clusters, 1 if self.phases is None else len(self.phases.data.lengths)
        offsets = (
            unit_in_round(lin(cluster), lin(i), count, turns).const for i in range(-(-self.units // count))
        )
        return [unit for i, at in enumerate(offsets) if (unit := at + i * count) < self.units]

    @property
    def phase_count(self) -> int:
        """Columns of C for each of B."""
        return phase_box_of(self.phases).count

    @property
    def reads_planes(self) -> bool:
        """Do neighbours of A lie together along k, where those of B never do: pixels, and not channels?"""
        return self.block.matrix_a_source_vector_read_dim == 0

    @property
    def units(self) -> int:
        """Units of all batches: what a cluster computes at a time."""
        rows, columns = self.cluster_
        return self.grid_.workgroups // (rows * columns)

    @property
    def clusters(self) -> int:
        """How many are launched: those of the schedule or of the plan, or one for each unit."""
        if self.schedule is None:
            return self.block.clusters or self.units
        count = clusters_of(self.schedule.data, self.units)
        assert count is not None, "the operation's verifier wants it"
        return count

    @property
    def workgroups(self) -> int:
        """How many are launched."""
        rows, columns = self.cluster_
        return self.clusters * rows * columns

    @property
    def sharing(self) -> Plan | None:
        """How clusters share units; None where each computes whole ones in turn."""
        if self.schedule is None:
            return None
        mode, grid = self.schedule.data.mode, self.grid_
        (rows, columns), sums = self.cluster_, grid.m_per_block * grid.n_per_block
        is_abreast = goes_abreast(mode, self.units, grid.k_steps, self.clusters, sums, rows * columns)
        return Plan(Tiles(self.units, 1, grid.k_steps), self.clusters, mode, is_abreast)

    @property
    def blocks_(self) -> Map:
        """Unit of one batch -> (row block, column block)."""
        grid, (rows, columns), tuning = self.grid_, self.cluster_, self.tuning_
        group = tuning.group if isinstance(tuning, WarpgroupTuning) else 1
        return blocks_in_order(grid.m_blocks // rows, grid.n_blocks // columns, group)

    def verify_(self) -> None:
        expect_known(self.store_method, STORE_METHODS, "store_method")
        verify_product((self.a, self.b, self.c), self.phases)
        plan = self.plan.data
        message = f"warpgroups have the pipeline 'warpgroup', not '{plan.pipeline}'"
        expect(isinstance(plan, WarpgroupBlock), message, "pipeline")
        verify_entries(plan)
        verify_clusters(self.block, self.schedule)
        if None not in (*shape_of(self.a), *shape_of(self.b)):
            self._verify_schedule()
            self._verify_launch()
            self._verify_phases()
            self._verify_window()
            self._verify_workspace()

    def _verify_schedule(self) -> None:
        """As many clusters as it says; under cluster_k each workgroup of a unit stores whole columns."""
        if self.schedule is None:
            return
        schedule, tuning = self.schedule.data, self.tuning_
        message = "a window's tiles are of single workgroups, which compute all of them"
        expect(isinstance(tuning, WarpgroupTuning), message, "schedule")
        expect(schedule.order is None, "a tuning of warpgroups has an order of tiles of its own", "schedule")
        message = f"'{schedule.mode}' is said by leaving 'schedule' out: clusters share no units"
        expect(schedule.is_shared, message, "schedule", "mode")
        message = "'workgroups' is needed where clusters share units"
        expect(clusters_of(schedule, self.units) is not None, message, "schedule")
        if schedule.mode == "cluster_k":
            parts, columns = self.clusters // self.units, tuning.n_per_block
            message = f"{columns} columns are not {parts} parts of whole {ATOM_ROWS}"
            expect(columns % (ATOM_ROWS * parts) == 0, message, "tuning", "n_per_block")

    def _verify_launch(self) -> None:
        """What is launched around it is what its plan has."""
        launch = self.parent_op()
        if isinstance(launch, LaunchOp):
            count, (rows, columns) = launch.grid_size.data, self.cluster_
            message = f"{count} workgroups are launched, not {self.clusters} clusters of {rows} x {columns}"
            expect(count == self.workgroups, message, "schedule" if self.schedule else "clusters")

    def _verify_phases(self) -> None:
        """Parts of K are whole steps of whole tiles."""
        if self.phases is None:
            return
        message = "'phases' is for whole tiles, each of whose stages has a part of K"
        expect(self.schedule is None and isinstance(self.tuning_, WarpgroupTuning), message, "phases")
        phases, depth, k = self.phases.data, self.tuning_.k_per_block, shape_of(self.a)[-2] or 1
        lengths = (k // len(phases.of), *phases.lengths)
        message = f"k_per_block {depth} does not divide parts of K of {list(lengths)}"
        expect(all(x % depth == 0 for x in lengths), message, "tuning", "k_per_block")
        message = f"a lane's {ATOM_ROWS} neighbouring columns are not whole runs of {phases.box.run}"
        expect(ATOM_ROWS % phases.box.run == 0, message, "phases", "run")

    def _verify_window(self) -> None:
        """Windows are whole, and consumers have as many of their columns each."""
        tuning = self.tuning_
        match tuning:
            case WarpgroupTuning():
                return
            case HaloTuning() | LinesTuning():
                message = f"{tuning.k_per_block} elements of a window are not all of K"
                expect(self.grid_.k_steps == 1, message, "tuning")
            case HaloWeightTuning():
                self._verify_taps(tuning)
            case _:
                assert_never(tuning)

    def _verify_taps(self, tuning: HaloWeightTuning) -> None:
        columns, consumers = tuning.n_per_block, 1 if tuning.by_warps else tuning.consumers
        message = f"'clusters' {self.clusters} are not one for each of {self.units} tiles of warps"
        expect(not tuning.by_warps or self.clusters == self.units, message, "clusters")
        message = f"stages {tuning.stages} are not as many for each of {tuning.consumers} consumers"
        expect(tuning.stages % tuning.turns == 0, message, "tuning", "stages")
        said = f"{tuning.taps} taps of {tuning.channels} channels"
        message = f"{said} are not all columns, whole parts of them for {consumers} consumers"
        expect(columns == shape_of(self.b)[-1] and columns % consumers == 0, message, "tuning", "taps")

    def _verify_workspace(self) -> None:
        """Where tiles are shared there is a slot for the sums and the flag of every workgroup."""
        sharing, tuning = self.sharing, self.tuning_
        shared = sharing is not None and bool(sharing.shared)
        given = self.partials is not None and self.flags is not None
        message = "'partials' and 'flags' are given where, and only where, workgroups share tiles"
        expect(given == shared, message, "schedule" if self.schedule else "clusters")
        if self.partials is None or self.flags is None:
            return
        count, tile = self.workgroups, tuning.m_per_block * tuning.n_per_block
        wanted = (
            (self.partials, (count, tile), accumulator_type(element_of(self.a))),
            (self.flags, (count,), i32),
        )
        for position, (value, shape, element) in enumerate(wanted, 3):
            text = "x".join(map(str, (*shape, element)))
            message = f"'{('partials', 'flags')[position - 3]}' is a memref<{text}> in global memory"
            fits = shape_of(value) == shape and element_of(value) == element and space_of(value) == 0
            expect(fits, message, "type", position)


def clusters_of(schedule: TileSchedule, units: int) -> int | None:
    """Clusters that are launched; of cluster_k the parts of every unit."""
    return units * (schedule.workgroups or 0) if schedule.mode == "cluster_k" else schedule.workgroups


def cluster_of(tuning: Tuning) -> tuple[int, int]:
    """Workgroups along rows and columns that load for each other."""
    return (tuning.cluster_m, tuning.cluster_n) if isinstance(tuning, WarpgroupTuning) else (1, 1)


def grid_of(a: tuple[int | None, ...], b: tuple[int | None, ...], tuning: PipelineTuning) -> Grid:
    """Tiles of operands (batch?, k, row) and (batch?, k, column), whole clusters of them."""
    (*batch, k, rows), (*_, columns) = a, b
    assert k is not None and rows is not None and columns is not None, "sizes are not known"
    tile = (tuning.m_per_block, tuning.n_per_block, tuning.k_per_block)
    m, n = (
        -(-size // (length * count)) * count
        for size, length, count in zip((rows, columns), tile, cluster_of(tuning), strict=False)
    )
    return Grid((batch[0] or 1) if batch else 1, m, n, -(-k // tile[2]), *tile)
