"""Windows: a convolution of groups of few channels, of one work item, and the gradient of its filter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, var_operand_def

from imbrex.ir.ops.block import verify_index
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.shape import Shape, shape_of
from imbrex.ir.source import expect


@irdl_op_definition
class ThreadwiseWindowsOp(MiopenOp):
    """c[row, column, slot] = sum over y, x and depth of filter[y, x, depth, slot] * window[row, y, column, x,
    depth, slot], on the dims that are not indexed.

    window: an array seen by windows and taps, so that strides, dilations and pads are those of its map.
    depth: channels of a slot's group.
    """

    name = "miopen.threadwise_windows"
    filter = operand_def(MemRefType)
    filter_index = var_operand_def(IndexType)
    window = operand_def(MemRefType)
    window_index = var_operand_def(IndexType)
    c = operand_def(MemRefType)
    c_index = var_operand_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        arrays = (self.filter, self.filter_index), (self.window, self.window_index), (self.c, self.c_index)
        taps, seen, sums = _unindexed(arrays)
        ranks = [len(taps), len(seen), len(sums)]
        expect(ranks == [4, 6, 3], f"a filter has 4 dims, windows 6 and sums 3, got {ranks}", "type", 0)
        rows, y, columns, x, depth, slots = seen
        _expect_taken(seen, (taps, (y, x, depth, slots)), (sums, (rows, columns, slots)))


@irdl_op_definition
class ThreadwiseFilterSumsOp(MiopenOp):
    """filter[y, x, depth, slot] = sum over images, rows and columns of output[image, row, column, slot] *
    window[image, row, y, column, x, depth, slot], on the dims that are not indexed.
    """

    name = "miopen.threadwise_filter_sums"
    output = operand_def(MemRefType)
    output_index = var_operand_def(IndexType)
    window = operand_def(MemRefType)
    window_index = var_operand_def(IndexType)
    filter = operand_def(MemRefType)
    filter_index = var_operand_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        windows, filters = (self.window, self.window_index), (self.filter, self.filter_index)
        met, seen, sums = _unindexed(((self.output, self.output_index), windows, filters))
        ranks = [len(met), len(seen), len(sums)]
        message = f"an output has 4 dims, windows 7 and filters 4, got {ranks}"
        expect(ranks == [4, 7, 4], message, "type", 0)
        images, rows, y, columns, x, depth, slots = seen
        _expect_taken(seen, (met, (images, rows, columns, slots)), (sums, (y, x, depth, slots)))


def _unindexed(arrays: Iterable[tuple[SSAValue, Sequence[SSAValue]]]) -> list[Shape]:
    """The dims of arrays behind those that are indexed, of which there are as many as there are indices."""
    found = list[Shape]()
    for i, (array, index) in enumerate(arrays):
        verify_index(array, len(index), i)
        found.append(shape_of(array)[len(index) :])
    return found


def _expect_taken(seen: Shape, first: tuple[Shape, Shape], last: tuple[Shape, Shape]) -> None:
    """The first and the last array have the dims that windows of a shape take."""
    for place, (have, want) in ((0, first), (2, last)):
        message = f"windows of {list(seen)} take {list(want)}, got {list(have)}"
        expect(tuple(have) == tuple(want), message, "type", place)
