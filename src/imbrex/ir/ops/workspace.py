"""workspace: global memory that lives as long as a function runs."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.irdl import irdl_op_definition, opt_prop_def, result_def

from imbrex.ir.attrs import Bool
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.shape import shape_of, space_of
from imbrex.ir.source import expect


@irdl_op_definition
class WorkspaceOp(MiopenOp):
    """A buffer in global memory that one launch leaves something in for the next; its start holds anything.

    zeroed: it starts as zeros, and every run leaves zeros.

    Whoever calls the function provides it, after the function's own arrays, in the order of these operations.
    """

    name = "miopen.workspace"
    zeroed = opt_prop_def(Bool)
    result = result_def(MemRefType)

    def verify_(self) -> None:
        space = space_of(self.result)
        expect(space == 0, f"a workspace is in global memory, got #{space}", "result", 0)
        expect(None not in shape_of(self.result), "the sizes of a workspace are numbers", "result", 0)
        message = "a workspace belongs to a function; a launch has 'miopen.alloc'"
        expect(isinstance(self.parent_op(), FuncOp | None), message, "result", 0)
