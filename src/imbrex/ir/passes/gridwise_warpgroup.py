"""A product for the warpgroups of NVIDIA Hopper: one operation a workgroup, which has the whole pipeline.

    miopen.gridwise_gemm_ex(%a, %b, %c) { pipeline = "warpgroup", ... }
    ->  miopen.launch(%wg, %item) { ... } do { miopen.warpgroup_gemm(%a, %b, %c, %wg) { ... } }

There are as many workgroups as the machine runs at a time, but no more than there are tiles; where the
product says how many, that counts units, each the tiles of one cluster; of cluster_k, the parts of a unit.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import Attribute, Block, Region, SSAValue

from imbrex.ir.element import accumulator_type
from imbrex.ir.ops.grid import GridwiseGemmExOp, LaunchOp
from imbrex.ir.ops.warpgroup import KEYS, WarpgroupGemmOp, grid_of
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.ir.rewrite import Run, properties, require_static
from imbrex.ir.shape import element_of, memref, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.view.work.streamk import WORDS, Plan, Tiles

THREADS: Final = 128
"""Threads of a warpgroup."""


def launch(op: GridwiseGemmExOp, run: Run) -> None:
    """The workspace, and the launch with the product in it."""
    require_static(op, (op.a, op.b, op.c))
    assert op.cluster is not None and op.consumers is not None, "the operation's verifier wants them"
    rows, columns = op.cluster.data
    threads = THREADS * (op.consumers.data + 1)
    if op.block_size.data != threads:
        message = f"{op.consumers.data} consumers and a producer are {threads} work items"
        raise InvalidOp(op, f"{message}, the block has {op.block_size.data}", "block_size")
    tile = (op.m_per_block.data, op.n_per_block.data, op.k_per_block.data)
    grid = grid_of(shape_of(op.a), shape_of(op.b), tile, (rows, columns))
    units = grid.workgroups // (rows * columns)
    clusters = op.workgroups.data if op.workgroups is not None else units
    if op.schedule is not None and op.schedule.data == "cluster_k":
        clusters *= units
    plan = _plan(op, units, grid.k_steps, clusters)
    workgroups = clusters * rows * columns
    slots: tuple[list[SSAValue], list[SSAValue]] = ([], [])
    if plan is not None and plan.shared:
        slots = _slots(op, workgroups, run)
    block = Block(arg_types=[IndexType(), IndexType()])
    given: dict[str, Attribute] = {key: op.properties[key] for key in KEYS if key in op.properties}
    if plan is None:
        given.pop("schedule", None)
    operands = [op.a, op.b, op.c, block.args[0], *slots]
    product = WarpgroupGemmOp.build(
        operands=operands, properties=given | properties({"workgroups": workgroups})
    )
    block.add_op(product)
    run.add(LaunchOp.over(workgroups, threads, Region(block)))


def _plan(op: GridwiseGemmExOp, units: int, steps: int, clusters: int) -> Plan | None:
    """How clusters share units; None where they compute whole ones."""
    if op.schedule is None or op.schedule.data == "data_parallel":
        return None
    if op.workgroups is None:
        raise InvalidOp(op, "'workgroups' is needed where 'schedule' is given")
    if op.pingpong is not None and op.pingpong.data:
        raise InvalidOp(op, "pingpong consumers have whole tiles; only data_parallel serves them", "schedule")
    mode = next(m for m in WORDS if m == op.schedule.data)
    return Plan(Tiles(units, 1, steps), clusters, mode)


def _slots(op: GridwiseGemmExOp, workgroups: int, run: Run) -> tuple[list[SSAValue], list[SSAValue]]:
    """Room for the partial sums of every workgroup, and the flags."""
    tile = op.m_per_block.data * op.n_per_block.data
    sums = WorkspaceOp.build(result_types=[memref(accumulator_type(element_of(op.a)), [workgroups, tile], 0)])
    flags = WorkspaceOp.build(
        result_types=[memref(i32, [workgroups], 0)], properties=properties({"zeroed": True})
    )
    sums.result.name_hint, flags.result.name_hint = "partial_sums", "flags"
    return [run.add(sums).result], [run.add(flags).result]
