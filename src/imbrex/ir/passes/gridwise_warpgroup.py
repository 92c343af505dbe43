"""A product for the warpgroups of NVIDIA Hopper: one operation a workgroup, which has the whole pipeline.

    miopen.gridwise_gemm_ex(%a, %b, %c) { pipeline = "warpgroup", ... }
    ->  miopen.launch(%wg, %item) { ... } do { miopen.warpgroup_gemm(%a, %b, %c, %wg) { ... } }

There are as many workgroups as the machine runs at a time, but no more than there are tiles; where the
product says how many, that counts clusters; of cluster_k, the parts of a unit.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import Attribute, Block, Region, SSAValue

from imbrex.config import tuning as tunings
from imbrex.config.block_plan import WarpgroupBlock
from imbrex.config.tiles import TileSchedule
from imbrex.config.tuning import PipelineTuning, is_pipelined
from imbrex.ir.element import accumulator_type
from imbrex.ir.ops.grid import GridwiseGemmExOp, LaunchOp
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp, cluster_of, clusters_of, grid_of
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.ir.rewrite import Run, properties, require_static
from imbrex.ir.shape import element_of, memref, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.view.work.streamk import Plan, Tiles


def launch(op: GridwiseGemmExOp, given: WarpgroupBlock, run: Run) -> None:
    """The workspace, and the launch with the product in it."""
    require_static(op, (op.a, op.b, op.c))
    tuning = given.tuning
    assert is_pipelined(tuning), tuning
    rows, columns = cluster_of(tuning)
    grid = grid_of(shape_of(op.a), shape_of(op.b), tuning)
    units = grid.workgroups // (rows * columns)
    clusters = given.clusters or units
    plan = None
    if op.schedule is not None and op.schedule.data.is_shared:
        plan = _plan(op, tuning, op.schedule.data, units, grid.k_steps)
        clusters = plan.workgroups
    workgroups = clusters * rows * columns
    slots: tuple[list[SSAValue], list[SSAValue]] = ([], [])
    if plan is not None and plan.shared:
        slots = _slots(op, workgroups, tuning.m_per_block * tuning.n_per_block, run)
    block = Block(arg_types=[IndexType(), IndexType()])
    left_out = ("kernel_algorithm", "schedule") if plan is None else ("kernel_algorithm",)
    kept: dict[str, Attribute] = {key: of for key, of in op.properties.items() if key not in left_out}
    operands = [op.a, op.b, op.c, block.args[0], *slots]
    product = WarpgroupGemmOp.build(operands=operands, properties=kept)
    block.add_op(product)
    run.add(LaunchOp.over(workgroups, tuning.block_size, Region(block)))


def _plan(
    op: GridwiseGemmExOp, tuning: PipelineTuning, schedule: TileSchedule, units: int, steps: int
) -> Plan:
    """How clusters share units."""
    clusters = clusters_of(schedule, units)
    if clusters is None:
        raise InvalidOp(op, "'workgroups' is needed where clusters share units", "schedule")
    if tunings.values(tuning).get("pingpong"):
        raise InvalidOp(op, "pingpong consumers have whole tiles; only data_parallel serves them", "schedule")
    return Plan(Tiles(units, 1, steps), clusters, schedule.mode)


def _slots(
    op: GridwiseGemmExOp, workgroups: int, tile: int, run: Run
) -> tuple[list[SSAValue], list[SSAValue]]:
    """Room for the partial sums of every workgroup, and the flags."""
    sums = WorkspaceOp.build(result_types=[memref(accumulator_type(element_of(op.a)), [workgroups, tile], 0)])
    flags = WorkspaceOp.build(
        result_types=[memref(i32, [workgroups], 0)], properties=properties({"zeroed": True})
    )
    sums.result.name_hint, flags.result.name_hint = "partial_sums", "flags"
    return [run.add(sums).result], [run.add(flags).result]
