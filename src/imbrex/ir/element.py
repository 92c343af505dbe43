"""Element types of the dialect and `imbrex.dtype`, both ways."""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias, cast

from xdsl.dialects.builtin import AnyFloat, Builtin, FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute

from imbrex.dtype import DTYPES, DType

Zero: TypeAlias = IntegerAttr[IntegerType] | FloatAttr[AnyFloat]

BY_MLIR_NAME: Final[dict[str, DType]] = {t.mlir_name: t for t in DTYPES.values() if not t.is_microscaled}
FLOATS: Final[dict[str, type[AnyFloat]]] = {
    BY_MLIR_NAME[a.name].name: cast("type[AnyFloat]", a) for a in Builtin.attributes if a.name in BY_MLIR_NAME
}


@cache
def dtype_of(element: Attribute) -> DType:
    """The type table's entry for an element type."""
    name = str(element)
    assert name in BY_MLIR_NAME, f"no element type {name}"
    return BY_MLIR_NAME[name]


def element_of(dtype: DType) -> Attribute:
    """The dialect's element type."""
    return FLOATS[dtype.name]() if dtype.is_float else IntegerType(dtype.bytes * 8)


def accumulator_type(element: Attribute) -> Attribute:
    """What a product of this type is summed in."""
    return element_of(dtype_of(element).accumulator)


def element_bytes(element: Attribute) -> int:
    return dtype_of(element).bytes


def zero_of(element: Attribute) -> Zero:
    """The constant 0 of an element type."""
    dtype = dtype_of(element)
    return FloatAttr(0.0, FLOATS[dtype.name]()) if dtype.is_float else IntegerAttr(0, dtype.bytes * 8)
