"""The product of a Hopper workgroup, whose warpgroups multiply tiles that another one brings into shared
memory.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import IndexType, MemRefType, i32
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)

from imbrex.config.tiles import PARTS
from imbrex.index.expr import lin
from imbrex.index.map import Map
from imbrex.ir.attrs import Bool, Float, Int, Ints, Word
from imbrex.ir.element import accumulator_type
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.ops.grid import STORE_METHODS, verify_product
from imbrex.ir.ops.phases import Phased, phase_box_of
from imbrex.ir.ops.pipelines import expect_together, expect_word
from imbrex.ir.shape import element_of, shape_of, space_of
from imbrex.ir.source import expect
from imbrex.view.gemm.tile import Grid
from imbrex.view.stage.shared_tile import ATOM_ROWS
from imbrex.view.work.cluster import blocks_in_order, place_of
from imbrex.view.work.streamk import WORDS, Plan, Tiles, goes_abreast

KEYS: Final = (
    "m_per_block",
    "n_per_block",
    "k_per_block",
    "stages",
    "consumers",
    "cluster",
    "pingpong",
    "group",
    "halo",
    "slots",
    "b_halo",
    "stationary",
    "diagonal",
    "matrix_a_source_vector_read_dim",
    "matrix_b_source_vector_read_dim",
    "store_method",
    "alpha",
    "beta",
    "phases",
    "phase_box",
    "part_k",
    "schedule",
)
"""What it has of a gridwise product."""


@irdl_op_definition
class WarpgroupGemmOp(MiopenOp):
    """c[row, column] = alpha * sum over k of a[k, row] * b[k, column] + beta * c, of a workgroup's tiles.

    Operands have rank 2, or 3 with a leading batch; their overhang over whole tiles does not exist.  Which
    tiles a workgroup has: `view.work.cluster` numbers units, each the tiles of one cluster, in groups of
    `group` blocks.  Cluster c computes units c, c + clusters, ..; with a schedule, the segments of the plan
    over units that `view.work.streamk` gives it.  Partial sums go through `partials`, in accumulators, and
    a flag each tells that they are there; both have a place for every workgroup, that of its slot.  Under
    cluster_k the workgroups of each of so many parts of K are a cluster of their own, and sums stay in it.

    stages: of shared memory; consumers: warpgroups that multiply, sharing the rows of a tile, or, pingpong,
    with a tile each.  cluster: workgroups along rows and columns that load for each other.  *_read_dim: the
    dim whose neighbours lie together in global memory, 0 for k.

    halo: A's stages are rasters of so many pixels, out of which all taps of a window are read, see
    `view.stage.halo_tile`.  slots: rows of the window, all of which are multiplied at a time, by a raster
    that is one line of pixels; each consumer has tiles and stages of its own.  stationary: "b", whose tile
    stays in shared memory until another one is wanted; batches then are the fastest digit of a unit's number.
    diagonal: of the channels of a tap and the columns in so many blocks each, only pairs of the same number
    are multiplied, as B is zero elsewhere.

    b_halo: B's stages are rasters of so many pixels of K, out of which a window's taps are read as columns,
    which consumers share, see `view.stage.tap_tile`.  With it, diagonal is of rows and of a tap's columns,
    and warps have a block each; of C no others are stored.

    phases, phase_box, part_k: as of `miopen.gridwise_gemm`; a tile has the columns of all phases, and
    batches are the fastest digit of a unit's number.
    """

    name = "miopen.warpgroup_gemm"
    a = operand_def(MemRefType)
    b = operand_def(MemRefType)
    c = operand_def(MemRefType)
    workgroup = operand_def(IndexType)
    partials = opt_operand_def(MemRefType)
    flags = opt_operand_def(MemRefType)
    m_per_block = prop_def(Int)
    n_per_block = prop_def(Int)
    k_per_block = prop_def(Int)
    stages = prop_def(Int)
    consumers = prop_def(Int)
    cluster = prop_def(Ints)
    pingpong = opt_prop_def(Bool)
    group = prop_def(Int)
    halo = opt_prop_def(Int)
    slots = opt_prop_def(Int)
    b_halo = opt_prop_def(Int)
    stationary = opt_prop_def(Word)
    diagonal = opt_prop_def(Int)
    matrix_a_source_vector_read_dim = prop_def(Int)
    matrix_b_source_vector_read_dim = prop_def(Int)
    store_method = opt_prop_def(Word)
    alpha = opt_prop_def(Float)
    beta = opt_prop_def(Float)
    phases = opt_prop_def(Ints)
    phase_box = opt_prop_def(Ints)
    part_k = opt_prop_def(Ints)
    schedule = opt_prop_def(Word)
    workgroups = prop_def(Int)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @property
    def cluster_(self) -> tuple[int, int]:
        rows, columns = self.cluster.data
        return rows, columns

    @property
    def grid_(self) -> Grid:
        """Tiles along each dim, whole clusters of them."""
        tile = (self.m_per_block.data, self.n_per_block.data, self.k_per_block.data)
        return grid_of(shape_of(self.a), shape_of(self.b), tile, self.cluster_)

    @property
    def is_batch_first(self) -> bool:
        """Are units that follow one another of different batches?"""
        return self.stationary is not None or self.phases is not None

    def units_of(self, cluster: int) -> list[int]:
        """Where whole ones are dealt out."""
        count, turns = self.clusters, 1 if self.part_k is None else len(self.part_k.data)
        places = (place_of(lin(cluster), lin(i), count, turns).const for i in range(-(-self.units // count)))
        return [unit for i, place in enumerate(places) if (unit := place + i * count) < self.units]

    @property
    def phased(self) -> Phased:
        return Phased(self.phases, self.phase_box, self.part_k)

    @property
    def phase_count(self) -> int:
        """Columns of C for each of B."""
        return phase_box_of(self.phase_box).count

    @property
    def own_columns(self) -> int:
        """Columns of a consumer: a tile's, but where consumers share a window's taps; by warps, one tap's."""
        if self.b_halo is None:
            return self.n_per_block.data
        by_warps = self.diagonal is not None
        return self.m_per_block.data if by_warps else self.n_per_block.data // self.consumers.data

    @property
    def units(self) -> int:
        """Units of all batches: what a cluster computes at a time."""
        rows, columns = self.cluster_
        return self.grid_.workgroups // (rows * columns)

    @property
    def clusters(self) -> int:
        rows, columns = self.cluster_
        return self.workgroups.data // (rows * columns)

    @property
    def plan_(self) -> Plan | None:
        """How clusters share units; None where each computes whole ones in turn."""
        if self.schedule is None:
            return None
        mode = next(m for m in WORDS if m == self.schedule.data)
        tiles, sums = (
            Tiles(self.units, 1, self.grid_.k_steps),
            self.grid_.m_per_block * self.grid_.n_per_block,
        )
        beside = goes_abreast(mode, tiles, self.clusters, sums, self.cluster_)
        return Plan(tiles, self.clusters, mode, beside)

    @property
    def blocks_(self) -> Map:
        """Unit of one batch -> (row block, column block)."""
        grid, (rows, columns) = self.grid_, self.cluster_
        return blocks_in_order(grid.m_blocks // rows, grid.n_blocks // columns, self.group.data)

    def verify_(self) -> None:
        expect_word(self.store_method, STORE_METHODS, "store_method")
        expect_word(self.schedule, WORDS, "schedule")
        expect_word(self.stationary, ("b",), "stationary")
        expect_together(self, ("phases", "phase_box", "part_k"))
        verify_product((self.a, self.b, self.c), self.phased)
        for key, value in self.properties.items():
            if isinstance(value, Int):
                least, most = (0, 1) if key.endswith("_dim") else (1, None)
                message = f"'{key}' is from {least}{f' to {most}' if most else ' on'}, got {value.data}"
                expect(least <= value.data and (most is None or value.data <= most), message, key)
        sizes = self.cluster.data
        message = f"'cluster' takes two positive numbers, of rows first; got {list(sizes)}"
        expect(len(sizes) == 2 and min(sizes) > 0, message, "cluster")
        size = sizes[0] * sizes[1]
        if self.halo is not None or self.stationary is not None:
            message = "'halo' and 'stationary' are for single workgroups that compute whole tiles"
            expect(size == 1 and self.schedule is None, message, "cluster")
        if self.slots is not None:
            message = "'slots' are of a 'halo' whose 'stationary' operand is b"
            expect(self.halo is not None and self.stationary is not None, message, "slots")
        message = f"'workgroups' {self.workgroups.data} are not whole clusters of {sizes[0]} x {sizes[1]}"
        expect(self.workgroups.data % size == 0, message, "workgroups")
        if None not in (*shape_of(self.a), *shape_of(self.b)):
            self._verify_phases()
            one = self.halo is None and self.stationary is None
            message = f"'k_per_block' {self.k_per_block.data} is not all of K, which 'halo' wants"
            expect(one or self.grid_.k_steps == 1, message, "k_per_block")
            self._verify_parts()
            self._verify_workspace()
            self._verify_taps()

    def _verify_phases(self) -> None:
        """Parts of K are whole steps of whole tiles."""
        if self.phases is None:
            return
        message = "'phases' is for whole tiles, each of whose stages has a part of K"
        expect(self.schedule is None and self.halo is None and self.stationary is None, message, "phases")
        k = shape_of(self.a)[-2] or 1
        part = k // len(self.phases.data)
        lengths = (part, *(self.part_k.data if self.part_k else ()))
        message = f"'k_per_block' {self.k_per_block.data} does not divide parts of K of {list(lengths)}"
        expect(all(x % self.k_per_block.data == 0 for x in lengths), message, "k_per_block")
        run = phase_box_of(self.phase_box).run
        message = f"a lane's {ATOM_ROWS} neighbouring columns are not whole runs of {run}"
        expect(ATOM_ROWS % run == 0, message, "phase_box")

    def _verify_taps(self) -> None:
        """Whole windows, of which each consumer has as many columns."""
        if self.b_halo is None:
            return
        are_whole = self.cluster_ == (1, 1) and self.schedule is None and self.pingpong is None
        message = "'b_halo' is for single workgroups whose consumers compute whole tiles together"
        expect(are_whole and (self.halo, self.stationary) == (None, None), message, "b_halo")
        columns, consumers = self.n_per_block.data, 1 if self.diagonal else self.consumers.data
        message = f"'workgroups' {self.workgroups.data} are not one for each of {self.units} tiles of warps"
        expect(self.diagonal is None or self.workgroups.data == self.units, message, "workgroups")
        message = f"'stages' {self.stages.data} are not as many for each of {self.consumers.data} consumers"
        expect(self.diagonal is None or self.stages.data % self.consumers.data == 0, message, "stages")
        message = f"'n_per_block' {columns} is not all columns, whole parts of them for {consumers} consumers"
        expect(columns == shape_of(self.b)[-1] and columns % consumers == 0, message, "n_per_block")

    def _verify_parts(self) -> None:
        """Under cluster_k all units have as many workgroups, of which each stores whole columns."""
        if self.schedule is None or self.schedule.data != "cluster_k":
            return
        parts, left = divmod(self.clusters, self.units)
        message = f"cluster_k has 2, 4 or 8 parts of K for each of {self.units} units, not {self.clusters}"
        expect(not left and parts in PARTS, message, "workgroups")
        columns = self.n_per_block.data
        message = f"{columns} columns are not {parts} parts of whole {ATOM_ROWS}"
        expect(columns % (ATOM_ROWS * parts) == 0, message, "n_per_block")

    def _verify_workspace(self) -> None:
        """Where tiles are shared there is a place for the sums and the flag of every workgroup."""
        plan = self.plan_
        shared = plan is not None and bool(plan.shared)
        given = self.partials is not None and self.flags is not None
        message = "'partials' and 'flags' are given where, and only where, workgroups share tiles"
        expect(given == shared, message, "schedule" if self.schedule else "workgroups")
        if self.partials is None or self.flags is None:
            return
        count, tile = self.workgroups.data, self.m_per_block.data * self.n_per_block.data
        wanted = (
            (self.partials, (count, tile), accumulator_type(element_of(self.a))),
            (self.flags, (count,), i32),
        )
        for place, (value, shape, element) in enumerate(wanted, 3):
            text = "x".join(map(str, (*shape, element)))
            message = f"'{('partials', 'flags')[place - 3]}' is a memref<{text}> in global memory"
            fits = shape_of(value) == shape and element_of(value) == element and space_of(value) == 0
            expect(fits, message, "type", place)


def grid_of(
    a: tuple[int | None, ...], b: tuple[int | None, ...], tile: tuple[int, int, int], cluster: tuple[int, int]
) -> Grid:
    """Tiles of operands (batch?, k, row) and (batch?, k, column), whole clusters of them."""
    (*batch, k, rows), (*_, columns) = a, b
    assert k is not None and rows is not None and columns is not None, "sizes are not known"
    m, n = (
        -(-size // (length * count)) * count
        for size, length, count in zip((rows, columns), tile, cluster, strict=False)
    )
    return Grid((batch[0] or 1) if batch else 1, m, n, -(-k // tile[2]), *tile)
