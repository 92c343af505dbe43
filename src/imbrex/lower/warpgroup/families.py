"""The families of pipelined products, by the kind of their tunings: which parts each is made of.

product       tiles of A and B step by step; consumers share rows, or have tiles in turn; phases of columns
raster        all taps of a window out of one raster of pixels; the filter stays in shared memory
lines         a line of pixels at a time, times all rows of a window; the filter stays for all of the kernel
taps          backward weight: taps as columns of one raster, which consumers share
diagonal      the same of groups of few channels, by warps, whose consumers have steps in turn
planes        the same out of lines of planes
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from imbrex.config.halo.plan import HaloTuning, HaloWeightTuning, LinesTuning
from imbrex.config.warpgroup.consumers import accumulators
from imbrex.config.warpgroup.instruction import instruction_of
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.diagnostic import Diagnostic
from imbrex.index.atom import Param
from imbrex.index.expr import lin, var
from imbrex.ir.ops.standard import SSAValue
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.lower.buffer import Ref
from imbrex.lower.grid import is_of_count
from imbrex.lower.reader import Reader, element_type, sizes
from imbrex.lower.warpgroup.drain import drain
from imbrex.lower.warpgroup.lines import by_lines
from imbrex.lower.warpgroup.parts import (
    Blocks,
    ClusterK,
    Dealt,
    Dense,
    Multiply,
    OneTile,
    Phases,
    PingPong,
    Plain,
    Planned,
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
    Work,
    Workspace,
)
from imbrex.lower.warpgroup.pipeline import Drain, Lanes, Pipeline, Stage
from imbrex.lower.warpgroup.run_time_steps import RunTimeSteps
from imbrex.lower.warpgroup.run_time_tiles import RunTimeTiles
from imbrex.lower.warpgroup.stage import operand_map, raster, stage
from imbrex.lower.warpgroup.taps import planes, taps
from imbrex.view.mma import Instruction
from imbrex.view.stage.shared_tile import SharedTile

__all__ = ["pipeline"]


def pipeline(op: WarpgroupGemmOp, reader: Reader) -> Pipeline:
    """The statement of an operation, of the family that its tuning is of."""
    tuning = op.tuning_
    assert reader.gpu.has_warpgroups, f"a product of warpgroups in a program for {reader.gpu.name}"
    match tuning:
        case WarpgroupTuning():
            return _product(op, tuning, reader)
        case HaloTuning():
            return _raster(op, tuning, reader)
        case LinesTuning():
            return _lines(op, tuning, reader)
        case HaloWeightTuning() if op.reads_planes:
            return _planes(op, tuning, reader)
        case HaloWeightTuning():
            return _diagonal(op, tuning, reader) if tuning.by_warps else _taps(op, tuning, reader)
        case _:
            assert_never(tuning)


def _product(op: WarpgroupGemmOp, tuning: WarpgroupTuning, reader: Reader) -> Pipeline:
    out, a, instruction = drain(op, reader), stage(op, "a", reader), _layout(op, reader)
    return Pipeline(
        a=a,
        b=stage(op, "b", reader),
        stages=tuning.stages,
        work=_work(op, replace(_tiles(op), run_time=_run_time_tiles(op, out) or _run_time_steps(op)), reader),
        team=_rows(tuning),
        multiply=Dense(
            instruction, tuning.k_per_block, isinstance(a.tile, SharedTile) and not a.tile.has_descriptor
        ),
        sums=_sums(op, tuning, reader),
        c=out,
        machine=reader.gpu,
    )


def _raster(op: WarpgroupGemmOp, tuning: HaloTuning, reader: Reader) -> Pipeline:
    a, tile = raster(op, tuning, reader)
    filters = stage(op, "b", reader, "tile")
    return Pipeline(
        a=a,
        b=_by_engine(filters, "a tile of B that stays in shared memory comes by TMA"),
        stages=tuning.stages,
        work=Dealt(_tiles(op)),
        team=_rows(tuning),
        multiply=_of_taps(op, tuning, tile.channels, reader),
        sums=Plain(_layout(op, reader), accumulators(tuning)),
        c=drain(op, reader),
        machine=reader.gpu,
    )


def _lines(op: WarpgroupGemmOp, tuning: LinesTuning, reader: Reader) -> Pipeline:
    a, b, work, multiply = by_lines(op, tuning, _tiles(op), reader)
    return Pipeline(
        a=a,
        b=b,
        stages=tuning.stages,
        work=work,
        team=Streams(tuning.consumers, in_turn=tuning.pingpong),
        multiply=multiply,
        sums=Slots(_layout(op, reader), accumulators(tuning), tuning.window_rows),
        c=drain(op, reader),
        machine=reader.gpu,
    )


def _taps(op: WarpgroupGemmOp, tuning: HaloWeightTuning, reader: Reader) -> Pipeline:
    return Pipeline(
        a=_by_engine(stage(op, "a", reader), "pixels that windows are multiplied by come by TMA"),
        b=taps(op, tuning, reader)[0],
        stages=tuning.stages,
        work=Dealt(_tiles(op)),
        team=SplitColumns(tuning.consumers),
        multiply=Dense(_layout(op, reader), tuning.k_per_block),
        sums=Plain(_layout(op, reader), accumulators(tuning)),
        c=drain(op, reader),
        machine=reader.gpu,
    )


def _diagonal(op: WarpgroupGemmOp, tuning: HaloWeightTuning, reader: Reader) -> Pipeline:
    b, tile = taps(op, tuning, reader)
    return Pipeline(
        a=_by_engine(stage(op, "a", reader), "pixels that windows are multiplied by come by TMA"),
        b=b,
        stages=tuning.stages,
        work=OneTile(_tiles(op)),
        team=SplitSteps(tuning.consumers),
        multiply=WarpRaster(tile, tuning.k_per_block, tuning.diagonal),
        sums=Plain(_layout(op, reader), accumulators(tuning)),
        c=drain(op, reader),
        machine=reader.gpu,
    )


def _planes(op: WarpgroupGemmOp, tuning: HaloWeightTuning, reader: Reader) -> Pipeline:
    a, b, lines = planes(op, tuning, reader)
    return Pipeline(
        a=a,
        b=b,
        stages=tuning.stages,
        work=OneTile(_tiles(op)),
        team=SplitSteps(tuning.consumers),
        multiply=WarpPlanes(lines, tuning.diagonal),
        sums=Plain(_layout(op, reader), accumulators(tuning)),
        c=drain(op, reader),
        machine=reader.gpu,
    )


def _rows(tuning: WarpgroupTuning | HaloTuning) -> Team:
    """Consumers with whole rows: of one tile, or of one each."""
    return PingPong() if tuning.pingpong else SplitRows(tuning.consumers)


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
        workgroups=op.workgroups,
    )


def _run_time_tiles(op: WarpgroupGemmOp, out: Drain) -> RunTimeTiles | None:
    """What there is of tiles whose rows or columns are told when the kernel runs, as C's guards say it."""
    found = next((g for g in out.guards if is_of_count(g)), None)
    if found is None:
        return None
    grid, tuning = op.grid_, op.tuning_
    assert isinstance(tuning, WarpgroupTuning), "windows have fixed sizes"
    ((count, each),), along = lin(found.size).terms, "row" if found.index.mentions("row") else "column"
    assert isinstance(count, Param), found
    (rows, columns), (m, n) = op.cluster_, (grid.m_blocks, grid.n_blocks)
    parts = 1 if op.sharing is None else op.sharing.parts
    facts = tuning.group, parts, each, grid.g
    if along == "row":
        return RunTimeTiles(count, "row", grid.m_per_block * rows, n // columns, *facts)
    return RunTimeTiles(count, "column", grid.n_per_block * columns, m // rows, *facts)


def _run_time_steps(op: WarpgroupGemmOp) -> RunTimeSteps | None:
    """Steps over what is told when the kernel runs, as A's guards say it."""
    found = next((g for g in operand_map(op, "a").symbolic.guards if is_of_count(g)), None)
    if found is None:
        return None
    ((count, each),) = lin(found.size).terms
    assert isinstance(count, Param) and found.index.variables == {"gemmK"}, found
    return RunTimeSteps(count, each, op.grid_.k_per_block)


def _work(op: WarpgroupGemmOp, tiles: Tiles, reader: Reader) -> Work:
    """Who computes whole tiles, or shares them."""
    plan = op.sharing
    if plan is None:
        return Dealt(tiles, 1 if op.phases is None else len(op.phases.data.lengths))
    if plan.mode == "cluster_k":
        return ClusterK(tiles, plan)
    if not plan.shared:
        return Planned(tiles, plan, None)
    plan = replace(plan, is_open=tiles.open_steps is not None)
    return Planned(tiles, plan, Workspace(_slot(op.partials, op, reader), _slot(op.flags, op, reader)))


def _of_taps(op: WarpgroupGemmOp, tuning: HaloTuning, channels: int, reader: Reader) -> Multiply:
    """All columns by all of a tap's channels, or blocks of them."""
    depth, blocks = tuning.k_per_block, tuning.diagonal
    if blocks == 1:
        return Dense(_layout(op, reader), depth)
    block = instruction_of(element_type(op.a), tuning.instruction_columns, reader.gpu)
    return Blocks(block, depth, blocks, channels)


def _sums(op: WarpgroupGemmOp, tuning: WarpgroupTuning, reader: Reader) -> Sums:
    if op.phases is None:
        return Plain(_layout(op, reader), accumulators(tuning))
    phases = op.phases.data
    steps = tuple(length // tuning.k_per_block for length in phases.lengths)
    registers = accumulators(tuning, len(set(phases.of)))
    return Phases(_layout(op, reader), registers, phases.box, phases.of, steps)


def _layout(op: WarpgroupGemmOp, reader: Reader) -> Instruction:
    """The instruction of all columns (of a phase) that a consumer has."""
    return instruction_of(element_type(op.a), op.tuning_.own_columns, reader.gpu)


def _by_engine(found: Stage, rule: str) -> Stage:
    """A stage that no lanes may load, as a rule says."""
    if isinstance(found.access, Lanes):
        raise Diagnostic(f"{rule}: {found.access.reason}")
    return found


def _slot(value: SSAValue | None, op: WarpgroupGemmOp, reader: Reader) -> Ref:
    """Where a slot begins: its first sum, or its flag."""
    assert value is not None, "workgroups that share tiles have a workspace"
    count, *rest = sizes(value)
    assert count == op.workgroups, value
    size = rest[0] if rest else 1
    return Ref(reader.buffers[value], var("workgroup", count) * size + lin(0))
