"""Scales of a microscaled product: none, or one array for A and one for B, beside what they scale."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import E8M0, DType, microscaled, product_of_packs
from imbrex.ir.element import dtype_of
from imbrex.ir.shape import Size, agree, element_of, shape_of, shape_text
from imbrex.ir.source import expect

__all__ = ["product_type", "verify_scales"]


def product_type(a: Attribute, b: Attribute, scales: Sequence[SSAValue]) -> DType:
    """The type of a product of such elements of A by such of B, with these scales or without."""
    own = product_of_packs(dtype_of(a), dtype_of(b))
    found = microscaled(own) if own is not None and scales else own
    if found is None:
        raise Diagnostic(f"there is no product of {a} by {b}")
    return found


def verify_scales(
    scales: Sequence[SSAValue], a: SSAValue, shapes: Sequence[Sequence[Size]], first: int
) -> None:
    """Two or none, e8m0, of these shapes, of operands that may have some.  first: the place of the first."""
    if not scales:
        return
    expect(len(scales) == 2, f"there are scales of a and of b, or none; got {len(scales)}", "type", first)
    own = dtype_of(element_of(a)).in_array
    expect(microscaled(own) is not None, f"no product of {own} has scales", "type", 0)
    for position, (value, shape) in enumerate(zip(scales, shapes, strict=True), first):
        have = str(element_of(value))
        expect(have == E8M0.mlir_name, f"scales are {E8M0.mlir_name}, got {have}", "type", position)
        own_shape = shape_of(value)
        fits = len(own_shape) == len(shape) and all(map(agree, own_shape, shape))
        message = (
            f"scales of '{'ab'[position - first]}' are {shape_text(shape)} here, got {shape_text(own_shape)}"
        )
        expect(fits, message, "type", position)
