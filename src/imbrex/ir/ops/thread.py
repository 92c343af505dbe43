"""The thread level: what one work item does by itself."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    var_operand_def,
)

from imbrex.ir.attrs import Bool, Float, Int, Offset, Word
from imbrex.ir.ops.block import verify_index, verify_reduction
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.ops.grid import STORE_METHODS, expect_word
from imbrex.ir.ops.memory import verify_same_elements
from imbrex.ir.shape import shape_of
from imbrex.ir.source import expect


@irdl_op_definition
class ThreadwiseCopyOp(MiopenOp):
    """One work item copies `source` to `dest`: dest = alpha * source + beta * dest, or adds atomically.

    offset_*: where the copy starts, in elements: of the source, of the destination, and of the block and the
    thread that the seeds' naive form names.  vector: elements in one access.  direct: from global memory to
    LDS, past the registers; the work items of a wave then write neighbouring vectors, in their order.
    """

    name = "miopen.threadwise_copy"
    source = operand_def(MemRefType)
    source_index = var_operand_def(IndexType)
    dest = operand_def(MemRefType)
    dest_index = var_operand_def(IndexType)
    offset_source = opt_prop_def(Offset)
    offset_dest = opt_prop_def(Offset)
    offset_block = opt_prop_def(Offset)
    offset_thread = opt_prop_def(Offset)
    vector = opt_prop_def(Int)
    direct = opt_prop_def(Bool)
    store_method = opt_prop_def(Word)
    alpha = opt_prop_def(Float)
    beta = opt_prop_def(Float)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        expect_word(self.store_method, STORE_METHODS, "store_method")
        if self.vector is not None:
            expect(self.vector.data > 0, f"'vector' is positive, got {self.vector.data}", "vector")
        verify_same_elements(self.source, self.dest)
        verify_index(self.source, len(self.source_index), 0)
        verify_index(self.dest, len(self.dest_index), 1)


@irdl_op_definition
class ThreadwiseGemmOp(MiopenOp):
    """c[m, n] += sum_k a[k, m] * b[k, n] in one work item's registers, on the dims that are not indexed.

    offset_*: where the product's part of a buffer starts, in elements; m_per_thread, n_per_thread: its size,
    all of the buffer if not given.  An `a` of rank 3 is [k / inner, m, k % inner].
    """

    name = "miopen.threadwise_gemm"
    a = operand_def(MemRefType)
    a_index = var_operand_def(IndexType)
    b = operand_def(MemRefType)
    b_index = var_operand_def(IndexType)
    c = operand_def(MemRefType)
    c_index = var_operand_def(IndexType)
    offset_a = opt_prop_def(Offset)
    offset_b = opt_prop_def(Offset)
    offset_c = opt_prop_def(Offset)
    m_per_thread = opt_prop_def(Int)
    n_per_thread = opt_prop_def(Int)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        for i, count in enumerate((len(self.a_index), len(self.b_index), len(self.c_index))):
            verify_index((self.a, self.b, self.c)[i], count, i)
        if len(shape_of(self.a)) - len(self.a_index) == 2:
            verify_reduction(self.a, len(self.a_index), self.b, len(self.b_index))
