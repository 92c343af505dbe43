"""Element types of the dialect and `imbrex.dtype`, both ways."""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias, cast

from xdsl.dialects.builtin import AnyFloat, Builtin, FloatAttr, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute

from imbrex.dtype import ACROSS, DTYPES, HELD, PACKED, PANELS, DType

Zero: TypeAlias = IntegerAttr[IntegerType] | FloatAttr[AnyFloat]

BY_MLIR_NAME: Final[dict[str, DType]] = {
    t.mlir_name: t
    for rows in (DTYPES, PACKED, ACROSS, HELD, PANELS)
    for t in rows.values()
    if not t.is_microscaled
}
_SINGLE: Final = {t.single_mlir_name for t in BY_MLIR_NAME.values()}
FLOATS: Final[dict[str, type[AnyFloat]]] = {
    a.name: cast("type[AnyFloat]", a) for a in Builtin.attributes if a.name in _SINGLE
}
"""What MLIR calls one element -> the attribute."""


@cache
def dtype_of(element: Attribute) -> DType:
    """The type table's entry for an element type."""
    name = str(element)
    assert name in BY_MLIR_NAME, f"no element type {name}"
    return BY_MLIR_NAME[name]


def element_of(dtype: DType) -> Attribute:
    """The dialect's element type, a vector of a pack."""
    if not dtype.is_float:
        return IntegerType(dtype.bytes * 8)
    single = FLOATS[dtype.single_mlir_name]()
    return VectorType(single, dtype.mlir_shape) if dtype.mlir_shape else single


def in_lds(element: Attribute) -> Attribute:
    """What LDS holds of an element type."""
    of = dtype_of(element)
    return element if of.in_lds == of else element_of(of.in_lds)


def loaded(element: Attribute) -> Attribute:
    """What memory and registers have of an element type that LDS holds."""
    of = dtype_of(element)
    return element if of.loaded == of else element_of(of.loaded)


def along_k(element: Attribute) -> Attribute:
    """What a lane's registers have of an element type of LDS: packs along k."""
    of = dtype_of(element)
    return element if of.along_k == of else element_of(of.along_k)


def accumulator_type(element: Attribute) -> Attribute:
    """What a product of this type is summed in."""
    return element_of(dtype_of(element).accumulator)


def element_bytes(element: Attribute) -> int:
    return dtype_of(element).bytes


def zero_of(element: Attribute) -> Zero:
    """The constant 0 of an element type."""
    dtype = dtype_of(element)
    if dtype.is_float:
        return FloatAttr(0.0, FLOATS[dtype.single_mlir_name]())
    return IntegerAttr(0, dtype.bytes * 8)
