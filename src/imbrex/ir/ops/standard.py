"""The operations of other dialects that kernels use, for readers outside of this folder."""

from xdsl.dialects.arith import AddiOp, ConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Block, Operation, SSAValue

__all__ = [
    "ROLLED",
    "AddiOp",
    "Block",
    "ConstantOp",
    "ForOp",
    "FuncOp",
    "IntegerAttr",
    "ModuleOp",
    "Operation",
    "ReturnOp",
    "SSAValue",
    "YieldOp",
]

ROLLED = "rolled"
"""The attribute of a loop that a work item's code keeps as a loop."""
