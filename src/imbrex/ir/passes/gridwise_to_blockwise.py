"""gridwise-to-blockwise: a gridwise_gemm_ex becomes a launch whose workgroups copy, multiply and store tiles.

Operands are first grown to whole tiles; what overhangs does not exist.  Then a GPU schedule is double
buffered (`gridwise_gpu`, and `gridwise_xdlops` with matrix instructions), and the pipeline "cpu" packs panels
(`gridwise_cpu`).  The pipeline "warpgroup" becomes one operation, which grows nothing (`gridwise_warpgroup`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass

from imbrex.config.block_plan import ItemsBlock, PanelBlock, WarpgroupBlock, WavesBlock
from imbrex.ir.ops.grid import GridwiseGemmExOp, LaunchOp
from imbrex.ir.passes import gridwise_cpu, gridwise_gpu, gridwise_warpgroup, gridwise_xdlops
from imbrex.ir.passes.accesses import expect_served
from imbrex.ir.passes.gridwise_schedule import Scheduled
from imbrex.ir.passes.gridwise_tiles import Tiles
from imbrex.ir.passes.gridwise_workgroup import Workgroup
from imbrex.ir.passes.tiling import expect_injective
from imbrex.ir.rewrite import Run, require_static, rewrite_each


@dataclass(frozen=True)
class GridwiseToBlockwise(ModulePass):
    """See the module's first lines."""

    name = "gridwise-to-blockwise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_each([o for o in op.walk() if isinstance(o, GridwiseGemmExOp)], _launch)


def _launch(op: GridwiseGemmExOp, run: Run) -> None:
    require_static(op, (op.a, op.b, op.c))
    expect_injective(op, op.c, op.adds_atomically)
    plan = op.plan.data
    if isinstance(plan, WarpgroupBlock):
        gridwise_warpgroup.launch(op, plan, run)
    else:
        _workgroups(op, plan, run)
        expect_served(op, plan)


def _workgroups(op: GridwiseGemmExOp, plan: ItemsBlock | WavesBlock | PanelBlock, run: Run) -> None:
    """The operands' tiles before the launch, the work of one workgroup in it."""
    taps = gridwise_xdlops.taps_of(op, plan) if isinstance(plan, WavesBlock) else None
    tiles = Tiles.of(op, (plan.m_per_block, plan.n_per_block, plan.k_per_block), run, taps)
    sharing = Scheduled.of(op, tiles.grid, run)
    block = Block(arg_types=[IndexType(), IndexType()])
    body, later = Run(), None
    given = Workgroup(op, tiles, sharing, run, body, *block.args)
    match plan:
        case PanelBlock():
            gridwise_cpu.workgroup(given, plan)
        case WavesBlock():
            later = gridwise_xdlops.workgroup(given, plan)
        case ItemsBlock():
            gridwise_gpu.workgroup(given, plan)
        case _:
            assert_never(plan)
    block.add_ops(body.ops)
    run.add(LaunchOp.over(sharing.workgroups, plan.block_size, Region(block)))
    if later is not None:
        later.launch(run)
