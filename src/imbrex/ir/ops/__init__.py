"""Operations of the dialect, one file a level."""

from imbrex.ir.ops.block import BlockwiseCopyOp, BlockwiseGemmOp
from imbrex.ir.ops.finish import FinishOp
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.ops.grid import GridwiseGemmExOp, GridwiseGemmOp, LaunchOp
from imbrex.ir.ops.linalg import LinalgConvOp
from imbrex.ir.ops.matrix import MfmaOp
from imbrex.ir.ops.memory import AllocOp, FillOp, LdsBarrierOp, SubviewOp
from imbrex.ir.ops.problem import Conv2dBwdDataOp, Conv2dBwdWeightOp, Conv2dOp, ConvOp, DraftConvOp, GemmOp
from imbrex.ir.ops.schedule import AwaitOp, BoundOp, GroupOp, JoinOp, SegmentOp, SignalOp, TileOp, WithinOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp, ThreadwiseGemmOp
from imbrex.ir.ops.view import TransformOp, transform, transform_from_layer
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.ir.ops.windows import ThreadwiseFilterSumsOp, ThreadwiseWindowsOp
from imbrex.ir.ops.workspace import WorkspaceOp

__all__ = [
    "AllocOp",
    "AwaitOp",
    "BlockwiseCopyOp",
    "BlockwiseGemmOp",
    "BoundOp",
    "Conv2dBwdDataOp",
    "Conv2dBwdWeightOp",
    "Conv2dOp",
    "ConvOp",
    "DraftConvOp",
    "FillOp",
    "FinishOp",
    "GemmOp",
    "GridwiseGemmExOp",
    "GridwiseGemmOp",
    "GroupOp",
    "JoinOp",
    "LaunchOp",
    "LdsBarrierOp",
    "LinalgConvOp",
    "MfmaOp",
    "MiopenOp",
    "SegmentOp",
    "SignalOp",
    "SubviewOp",
    "ThreadwiseCopyOp",
    "ThreadwiseFilterSumsOp",
    "ThreadwiseGemmOp",
    "ThreadwiseWindowsOp",
    "TileOp",
    "TransformOp",
    "WarpgroupGemmOp",
    "WithinOp",
    "WorkspaceOp",
    "transform",
    "transform_from_layer",
]
