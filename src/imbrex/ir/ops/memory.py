"""Memory of a workgroup: buffers in LDS and in registers, views of bytes, filling, and the barrier."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FixedBitwidthType, FloatAttr, IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.printer import Printer
from xdsl.traits import Pure

from imbrex.dtype import ACROSS, DTYPES, HELD, PANELS
from imbrex.ir.attrs import Extents, Int, Literal
from imbrex.ir.element import BY_MLIR_NAME
from imbrex.ir.literal import Reference
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.printed import write
from imbrex.ir.shape import LDS, PRIVATE, Buffer, Size, element_of, is_bytes, shape_of, space_of
from imbrex.ir.source import expect
from imbrex.numeral import counted
from imbrex.view.mma.vector import CPU_UNITS

COPIES: Final = {
    pair
    for t, other in (
        *((t, t.accumulator) for t in DTYPES.values()),
        *((t, t.loaded) for t in HELD.values()),
        *((t.in_lds, t.along_k) for t in ACROSS.values()),
    )
    for pair in ((t.mlir_name, other.mlir_name), (other.mlir_name, t.mlir_name))
} | {(PANELS[u.held].mlir_name, DTYPES[u.operand].mlir_name) for u in CPU_UNITS.values() if u.held}
"""Element types of destination and source between which a copy converts, or goes to LDS and back."""


def constant_of(value: SSAValue) -> int | None:
    """The number that an `arith.constant` gives, or None."""
    owner = value.owner
    if isinstance(owner, ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def bytes_of(source: Buffer) -> Size:
    """Bytes of a buffer; None while a size is unknown."""
    size, sizes = _size_of(element_of(source)), shape_of(source)
    known = [s for s in sizes if s is not None]
    if len(known) != len(sizes) or size is None:
        return None
    return prod(known) * size


def _size_of(element: Attribute) -> int | None:
    """Bytes of an element in memory, which of a tf32 are more than its bits; None of what has no size."""
    if (known := BY_MLIR_NAME.get(str(element))) is not None:
        return known.bytes
    return element.size if isinstance(element, FixedBitwidthType) else None


@irdl_op_definition
class AllocOp(MiopenOp):
    """A buffer in LDS (`#3`) or in private registers (`#5`).

    size: elements of a buffer of size `?`; space: the address space again, as the seeds write it.
    """

    name = "miopen.alloc"
    size = opt_operand_def(IndexType)
    space = opt_operand_def(IndexType)
    result = result_def(MemRefType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        space = space_of(self.result)
        expect(space in (LDS, PRIVATE), f"a buffer is in LDS (#3) or private (#5), got {space}", "result", 0)
        unknown = sum(s is None for s in shape_of(self.result))
        expect(unknown <= 1, "at most one size of a buffer is '?'", "result", 0)
        expect(
            not unknown or self.size is not None,
            "a buffer of size '?' needs its size as operand",
            "result",
            0,
        )
        if self.space is not None and (given := constant_of(self.space)) is not None:
            expect(
                given == space, f"the address space is {given} here but #{space} in the type", "operand", 1
            )
        if self.size is not None and (given := constant_of(self.size)) is not None:
            expect(given > 0, f"a buffer has a positive size, got {given}", "operand", 0)


@irdl_op_definition
class SubviewOp(MiopenOp):
    """The part of `source` that starts `offset` bytes into it (elements, unless the source is bytes).

    dimension: sizes of the result: numbers, `?`, or SSA values (`[%k, %m]`).
    """

    name = "miopen.subview"
    source = operand_def(MemRefType)
    offset = operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    dimension = opt_prop_def(Extents)
    result = result_def(MemRefType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        shape = shape_of(self.result)
        if self.dimension is not None:
            given = self.dimension.data
            message = f"'dimension' has {counted(len(given), 'entry')}, the result has rank {len(shape)}"
            expect(len(given) == len(shape), message, "dimension")
            for i, (extent, size) in enumerate(zip(given, shape, strict=True)):
                if isinstance(extent, Reference):
                    expect(
                        extent.index < len(self.sizes), "names a value that is not an operand", "dimension", i
                    )
                elif extent is not None and size is not None:
                    message = f"size {extent} of 'dimension' is {size} in the result type"
                    expect(extent == size, message, "dimension", i)
        expect(space_of(self.source) == space_of(self.result), "a view keeps its memory space", "result", 0)
        self._verify_bounds()

    def _verify_bounds(self) -> None:
        """A view whose place is known lies inside its source."""
        offset, have, need = constant_of(self.offset), bytes_of(self.source), bytes_of(self.result)
        if offset is None:
            return
        expect(offset >= 0, f"an offset is not negative, got {offset}", "operand", 1)
        size = _size_of(element_of(self.source))
        if not is_bytes(self.source) and size is not None:
            offset *= size
        if have is None or need is None:
            return
        fix = ""
        if isinstance(self.source.owner, SubviewOp) and offset == constant_of(self.source.owner.offset):
            fix = "; the source already starts at this offset: write an offset of 0"
        message = f"bytes {offset} to {offset + need} lie outside the source's {have} bytes{fix}"
        expect(offset + need <= have, message, "operand", 1)

    def write_value(self, printer: Printer, key: str, value: Literal[Any], compact: bool) -> None:
        if not isinstance(value, Extents):
            return super().write_value(printer, key, value, compact)
        extents = [self.sizes[e.index] if isinstance(e, Reference) else e for e in value.data]
        write(printer, extents)


@irdl_op_definition
class FillOp(MiopenOp):
    """Every element of `buffer` becomes `value`: a number of the element type, or an index constant."""

    name = "miopen.fill"
    buffer = operand_def(MemRefType)
    value = operand_def()

    def verify_(self) -> None:
        element, given = element_of(self.buffer), self.value.type
        message = f"the value has type {given}, the elements {element}"
        expect(given == element or isinstance(given, IndexType), message, "operand", 1)


def filled_with(op: FillOp) -> float:
    """The number that a fill writes: 0 where it is no constant of a float type."""
    owner = op.value.owner
    if isinstance(owner, ConstantOp) and isinstance(owner.value, FloatAttr):
        return owner.value.value.data or 0
    return 0


@irdl_op_definition
class LdsBarrierOp(MiopenOp):
    """All work items of the workgroup have written and read LDS up to here.

    in_flight: how many direct loads of a work item, the last that it began, need not have come.
    """

    name = "miopen.lds_barrier"
    in_flight = opt_prop_def(Int)

    def verify_(self) -> None:
        wanted = self.in_flight is None or self.in_flight.data >= 0
        expect(wanted, "'in_flight' is a number of loads, 0 or more", "in_flight")


def verify_same_elements(source: SSAValue, dest: SSAValue) -> None:
    """Copies keep the element type, widen it to its accumulator or to what a unit's panels hold, or round the
    accumulator to it.

    A buffer of bytes takes any.
    """
    have, want = str(element_of(dest)), str(element_of(source))
    fit = (have, want) in COPIES or have == want or is_bytes(dest) or is_bytes(source)
    expect(fit, f"the element type is {have} here but {want} in the source", "type", 1)
