"""Element types of the dialect and `imbrex.dtype`, both ways."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, TypeAlias, cast

from xdsl.dialects.builtin import AnyFloat, Builtin, FloatAttr, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute

from imbrex.dtype import DTYPES, DType

Zero: TypeAlias = IntegerAttr[IntegerType] | FloatAttr[AnyFloat]

BY_MLIR_NAME: Final[dict[str, DType]] = {t.mlir_name: t for t in DTYPES.values() if not t.is_microscaled}
_SINGLE: Final = {re.sub(r"vector<\d+x(.*)>", r"\1", name): t.name for name, t in BY_MLIR_NAME.items()}
"""What MLIR calls one element of a pack -> our name."""
FLOATS: Final[dict[str, type[AnyFloat]]] = {
    _SINGLE[a.name]: cast("type[AnyFloat]", a) for a in Builtin.attributes if a.name in _SINGLE
}


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
    single = FLOATS[dtype.name]()
    return single if dtype.pack == 1 else VectorType(single, [dtype.pack])


def accumulator_type(element: Attribute) -> Attribute:
    """What a product of this type is summed in."""
    return element_of(dtype_of(element).accumulator)


def element_bytes(element: Attribute) -> int:
    return dtype_of(element).bytes


def zero_of(element: Attribute) -> Zero:
    """The constant 0 of an element type."""
    dtype = dtype_of(element)
    return FloatAttr(0.0, FLOATS[dtype.name]()) if dtype.is_float else IntegerAttr(0, dtype.bytes * 8)
