"""gridwise-to-blockwise: a gridwise_gemm_ex becomes a launch whose workgroups copy, multiply and store tiles.

Operands are first grown to whole tiles; what overhangs does not exist.  Then a GPU schedule is double
buffered (`gridwise_gpu`, and `gridwise_xdlops` with matrix instructions), and the pipeline "cpu" packs panels
(`gridwise_cpu`).  The pipeline "warpgroup" becomes one operation, which grows nothing (`gridwise_warpgroup`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass

from imbrex.ir.ops.grid import GridwiseGemmExOp, LaunchOp
from imbrex.ir.passes import gridwise_cpu, gridwise_gpu, gridwise_warpgroup, gridwise_xdlops
from imbrex.ir.passes.accesses import expect_served
from imbrex.ir.passes.gridwise_share import Sharing
from imbrex.ir.passes.gridwise_tiles import Tiles
from imbrex.ir.passes.tiling import expect_one_place
from imbrex.ir.rewrite import Run, require_static, rewrite_each


@dataclass(frozen=True)
class GridwiseToBlockwise(ModulePass):
    """See the module's first lines."""

    name = "gridwise-to-blockwise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_each([o for o in op.walk() if isinstance(o, GridwiseGemmExOp)], _launch)


def _launch(op: GridwiseGemmExOp, run: Run) -> None:
    require_static(op, (op.a, op.b, op.c))
    expect_one_place(op, op.c, op.adds_atomically)
    if op.pipeline is not None and op.pipeline.data == "warpgroup":
        gridwise_warpgroup.launch(op, run)
    else:
        _workgroups(op, run)
    expect_served(op)


def _workgroups(op: GridwiseGemmExOp, run: Run) -> None:
    """The operands' tiles before the launch, the work of one workgroup in it."""
    tiles = Tiles.of(op, run)
    sharing = Sharing.of(op, tiles.grid, run)
    block = Block(arg_types=[IndexType(), IndexType()])
    body = Run()
    match op.pipeline.data if op.pipeline is not None else "naive":
        case "cpu":
            gridwise_cpu.workgroup(op, tiles, sharing, run, body, block.args[0])
        case "xdlops":
            gridwise_xdlops.workgroup(op, tiles, sharing, run, body, block.args[0], block.args[1])
        case _:
            gridwise_gpu.workgroup(op, tiles, sharing, run, body, block.args[0], block.args[1])
    block.add_ops(body.ops)
    run.add(LaunchOp.over(sharing.workgroups, op.block_size.data, Region(block)))
