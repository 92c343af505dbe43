"""What the work of a workgroup is lowered out of, by CPUs and by both kinds of GPU kernels."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from imbrex.ir.ops.grid import GridwiseGemmExOp
from imbrex.ir.passes.gridwise_schedule import Scheduled
from imbrex.ir.passes.gridwise_tiles import Tiles
from imbrex.ir.rewrite import Run

__all__ = ["Workgroup"]


@dataclass(frozen=True)
class Workgroup:
    """A product, its tiles, and which of them a workgroup computes.

    before: stands outside of the launch, body inside.  number, item: of the workgroup, and of a work item.
    """

    op: GridwiseGemmExOp
    tiles: Tiles
    sharing: Scheduled
    before: Run
    body: Run
    number: SSAValue
    item: SSAValue
