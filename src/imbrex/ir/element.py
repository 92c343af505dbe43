"""Element types of the dialect and `imbrex.dtype`, both ways."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute

from imbrex.dtype import DTYPES, DType

FLOATS = {"f16": Float16Type, "bf16": BFloat16Type, "f32": Float32Type, "f64": Float64Type}


def dtype_of(element: Attribute) -> DType:
    """The type table's entry for an element type."""
    name = str(element)
    assert name in DTYPES, f"no element type {name}"
    return DTYPES[name]


def element_of(dtype: DType) -> Attribute:
    """The dialect's element type."""
    return FLOATS[dtype.name]() if dtype.is_float else IntegerType(dtype.bytes * 8)


def accumulator_type(element: Attribute) -> Attribute:
    """What a product of this type is summed in."""
    return element_of(dtype_of(element).accumulator)


def element_bytes(element: Attribute) -> int:
    return dtype_of(element).bytes


def zero_of(element: Attribute) -> Attribute:
    """The constant 0 of an element type."""
    if isinstance(element, IntegerType):
        return IntegerAttr(0, element)
    assert isinstance(element, Float16Type | BFloat16Type | Float32Type | Float64Type)
    return FloatAttr(0.0, element)
