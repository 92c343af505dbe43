"""The families of pipelined products: which parts each is made of.

product       tiles of A and B step by step; consumers share rows, or have tiles in turn; phases of columns
raster        all taps of a window out of one raster of pixels; the filter stays in shared memory
lines         a line of pixels at a time, times all rows of a window; the filter stays for all of the kernel
taps          backward weight: taps as columns of one raster, which consumers share
diagonal      the same of groups of few channels, by warps, whose consumers have steps in turn
planes        the same out of lines of planes
"""

from __future__ import annotations

from imbrex.config.warpgroup.plan import instruction_of
from imbrex.diagnostic import Diagnostic
from imbrex.index.expr import lin, var
from imbrex.ir.ops.phases import phase_box_of
from imbrex.ir.ops.standard import SSAValue
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.lower.drain import drain
from imbrex.lower.lines import ByLines, by_lines
from imbrex.lower.parts import (
    Blocks,
    Dealt,
    Dense,
    LineWork,
    Multiply,
    OneTile,
    Phases,
    PingPong,
    Plain,
    Planned,
    Shared,
    Slots,
    SplitColumns,
    SplitRows,
    SplitSteps,
    Streams,
    Sums,
    Team,
    Tiles,
    WarpPlanes,
    WarpRaster,
    WindowRows,
    Work,
    Workspace,
)
from imbrex.lower.pipeline import Lanes, Pipeline, Stage
from imbrex.lower.place import Ref
from imbrex.lower.reader import Reader, element_type, number, sizes
from imbrex.lower.stage import raster, stage
from imbrex.lower.taps import plane_filters, plane_pixels, plane_stage, taps
from imbrex.view.mma import Instruction
from imbrex.view.stage.plane_stage import PlaneStage

__all__ = ["pipeline"]


def pipeline(op: WarpgroupGemmOp, reader: Reader) -> Pipeline:
    """The statement of an operation, of the family that its attributes name."""
    if op.halo is not None and op.slots is not None:
        return _lines(op, by_lines(op, op.halo.data, op.slots.data, reader), reader)
    if op.halo is not None:
        return _raster(op, op.halo.data, reader)
    if op.b_halo is None:
        return _product(op, reader)
    if op.matrix_a_source_vector_read_dim.data == 0:
        return _planes(op, plane_stage(op, op.b_halo.data), reader)
    if op.diagonal is None:
        return _taps(op, op.b_halo.data, reader)
    return _diagonal(op, op.b_halo.data, reader)


def _product(op: WarpgroupGemmOp, reader: Reader) -> Pipeline:
    return Pipeline(
        a=stage(op, "a", reader),
        b=_kept(op, reader),
        stages=op.stages.data,
        work=_work(op, reader),
        team=_rows(op),
        multiply=_multiply(op, op.k_per_block.data),
        sums=_sums(op),
        c=drain(op, reader),
    )


def _raster(op: WarpgroupGemmOp, room: int, reader: Reader) -> Pipeline:
    a, tile = raster(op, room, reader)
    return Pipeline(
        a=a,
        b=_kept(op, reader),
        stages=op.stages.data,
        work=_work(op, reader),
        team=_rows(op),
        multiply=_multiply(op, tile.channels),
        sums=Plain(_layout(op)),
        c=drain(op, reader),
    )


def _lines(op: WarpgroupGemmOp, by: ByLines, reader: Reader) -> Pipeline:
    rows = instruction_of(element_type(op.a), by.filter.rows * by.filter.each)
    return Pipeline(
        a=by.a,
        b=by.b,
        stages=op.stages.data,
        work=LineWork(_tiles(op), by.line, by.filter.rows, by.exists, by.streams),
        team=Streams(op.consumers.data, in_turn=number(op.pingpong, False)),
        multiply=WindowRows(rows, by.tile, by.filter),
        sums=Slots(_layout(op), by.filter.rows),
        c=drain(op, reader),
    )


def _taps(op: WarpgroupGemmOp, room: int, reader: Reader) -> Pipeline:
    return Pipeline(
        a=_by_engine(stage(op, "a", reader), "pixels that windows are multiplied by come by TMA"),
        b=taps(op, room, reader)[0],
        stages=op.stages.data,
        work=Dealt(_tiles(op)),
        team=SplitColumns(op.consumers.data),
        multiply=Dense(_layout(op), op.k_per_block.data),
        sums=Plain(_layout(op)),
        c=drain(op, reader),
    )


def _diagonal(op: WarpgroupGemmOp, room: int, reader: Reader) -> Pipeline:
    b, tile = taps(op, room, reader)
    return Pipeline(
        a=_by_engine(stage(op, "a", reader), "pixels that windows are multiplied by come by TMA"),
        b=b,
        stages=op.stages.data,
        work=OneTile(_tiles(op)),
        team=SplitSteps(op.consumers.data),
        multiply=WarpRaster(tile, op.k_per_block.data, _blocks(op)),
        sums=Plain(_layout(op)),
        c=drain(op, reader),
    )


def _planes(op: WarpgroupGemmOp, planes: PlaneStage, reader: Reader) -> Pipeline:
    return Pipeline(
        a=plane_pixels(op, planes, reader),
        b=plane_filters(op, planes, reader),
        stages=op.stages.data,
        work=OneTile(_tiles(op)),
        team=SplitSteps(op.consumers.data),
        multiply=WarpPlanes(planes, _blocks(op)),
        sums=Plain(_layout(op)),
        c=drain(op, reader),
    )


def _kept(op: WarpgroupGemmOp, reader: Reader) -> Stage:
    """B, whose tile stays while tiles of C want the same one, if the operation says so."""
    if op.stationary is None:
        return stage(op, "b", reader)
    return _by_engine(stage(op, "b", reader, "tile"), "a tile of B that stays in shared memory comes by TMA")


def _rows(op: WarpgroupGemmOp) -> Team:
    """Consumers with whole rows: of one tile, or of one each."""
    return PingPong() if number(op.pingpong, False) else SplitRows(op.consumers.data)


def _tiles(op: WarpgroupGemmOp) -> Tiles:
    grid = op.grid_
    return Tiles(
        rows=grid.m_per_block,
        columns=grid.n_per_block * op.phase_count,
        row_tiles=grid.m_blocks,
        column_tiles=grid.n_blocks,
        batches=grid.g,
        steps=grid.k_steps,
        cluster=op.cluster_,
        order=op.blocks_,
        is_batch_first=op.is_batch_first,
        workgroups=op.workgroups.data,
    )


def _work(op: WarpgroupGemmOp, reader: Reader) -> Work:
    """Who computes whole tiles, or shares them."""
    tiles, plan = _tiles(op), op.plan_
    if plan is None:
        return Dealt(tiles, 1 if op.part_k is None else len(op.part_k.data))
    if plan.mode == "cluster_k":
        return Shared(tiles, plan)
    if not plan.shared:
        return Planned(tiles, plan, None)
    return Planned(tiles, plan, Workspace(_slot(op.partials, op, reader), _slot(op.flags, op, reader)))


def _multiply(op: WarpgroupGemmOp, channels: int) -> Multiply:
    """All columns by all of a tap's channels, or blocks of them."""
    depth, blocks = op.k_per_block.data, _blocks(op)
    if blocks == 1:
        return Dense(_layout(op), depth)
    return Blocks(instruction_of(element_type(op.a), op.own_columns // blocks), depth, blocks, channels)


def _blocks(op: WarpgroupGemmOp) -> int:
    """Blocks of columns and channels."""
    return 1 if op.diagonal is None else op.diagonal.data


def _sums(op: WarpgroupGemmOp) -> Sums:
    if op.phases is None or op.part_k is None:
        return Plain(_layout(op))
    steps = tuple(length // op.k_per_block.data for length in op.part_k.data)
    return Phases(_layout(op), phase_box_of(op.phase_box), op.phases.data, steps)


def _layout(op: WarpgroupGemmOp) -> Instruction:
    """The instruction of all columns (of a phase) that a consumer has."""
    return instruction_of(element_type(op.a), op.own_columns)


def _by_engine(found: Stage, rule: str) -> Stage:
    """A stage that no lanes may load, as a rule says."""
    if isinstance(found.access, Lanes):
        raise Diagnostic(f"{rule}: {found.access.reason}")
    return found


def _slot(value: SSAValue | None, op: WarpgroupGemmOp, reader: Reader) -> Ref:
    """The place of a slot: of its first sum, or of its flag."""
    assert value is not None, "workgroups that share tiles have a workspace"
    count, *rest = sizes(value)
    assert count == op.workgroups.data, value
    size = rest[0] if rest else 1
    return Ref(reader.buffers[value], var("workgroup", count) * size + lin(0))
