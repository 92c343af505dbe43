"""Matrices of a call whose elements have fewer than 8 bits, as a kernel takes them: in packs."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import SCALED, DType, dtype, microscaled, packed, product_of
from imbrex.numeral import counted

__all__ = ["InPacks", "in_packs"]


class InPacks(NamedTuple):
    """a is [.., m, k / pack], b [.., n, k / pack], each with a pack of its own: b is transposed, a is not.
    Of bytes that were packed already along m or n it is the other way round.
    transposes: of a and b.  product: the type of both with scales.
    """

    a: Any
    b: Any
    transposes: tuple[bool, bool]
    product: DType


def in_packs(a: Any, b: Any, transposes: tuple[bool, bool], compute: object) -> InPacks | None:
    """Arrays of single elements, one to a byte as `ml_dtypes` has them, are packed, whatever is transposed;
    bytes in which they are packed already are taken where `compute` names the product's type.  None where
    elements of both are of 8 bits or more.
    """
    requested = _narrow(compute)
    if requested is not None and (_is_bytes(a) or _is_bytes(b)):
        product = requested
    else:
        found = _of_both(_element(a), _element(b))
        if found is None or found.pack == 1:
            return None
        if requested not in (None, found):
            raise TypeError(f"'compute' is {requested}, and the arrays are those of {found}")
        product = found
    of_a, of_b = product.operands
    taken = (
        _taken(a, "a", transposes[0], of_a, product),
        _taken(b, "b", not transposes[1], of_b, product),
    )
    kept = [of.pack > 1 and _is_bytes(x) for x, of in ((a, of_a), (b, of_b))]
    return InPacks(*taken, (kept[0] and transposes[0], transposes[1] or not kept[1]), product)


def _of_both(a: DType | None, b: DType | None) -> DType | None:
    """The microscaled type of a product of such elements."""
    found = None if a is None or b is None else product_of(a, b)
    return None if found is None else microscaled(found)


def _taken(array: Any, name: str, is_turned: bool, of: DType, product: DType) -> Any:
    """is_turned: is k the dimension before the last one?"""
    if of.pack > 1 and _is_bytes(array):
        return _viewed(array, name, of)
    if _element(array) != of:
        kind = getattr(array, "dtype", type(array).__name__)
        wanted = f"{of.unpacked}, or bytes of it in packs" if of.pack > 1 else of.unpacked
        raise TypeError(f"'compute' is {product}, and '{name}' should have dtype {wanted}, got {kind}")
    return _packed(array, name, is_turned, of)


def _narrow(name: object) -> DType | None:
    """The microscaled type of that name whose elements lie in packs; None of any other word."""
    try:
        found = dtype(cast("Any", name)) if name is not None else None
    except Diagnostic:
        return None
    return found if found is not None and found.is_microscaled and found.pack > 1 else None


def _is_bytes(value: Any) -> bool:
    return isinstance(value, np.ndarray) and cast("Any", value).dtype == np.uint8


def _element(value: Any) -> DType | None:
    """The type of NumPy's array; None of what kernels do not know, or of another's array."""
    if not isinstance(value, np.ndarray):
        return None
    try:
        return dtype(cast("Any", value).dtype)
    except Diagnostic:
        return None


def _packed(array: Any, name: str, is_turned: bool, of: DType) -> Any:
    values = array.swapaxes(-1, -2) if is_turned and array.ndim > 1 else array
    if values.ndim and values.shape[-1] % SCALED:
        raise ValueError(
            f"'{name}' has {counted(values.shape[-1], 'element')} along k, no multiple of {SCALED}"
        )
    return packed(values, of)


def _viewed(array: Any, name: str, of: DType) -> Any:
    block = SCALED * of.bits // 8
    if array.shape[-1] % block:
        raise ValueError(
            f"'{name}' has rows of {array.shape[-1]} bytes, no multiple of {block}, {SCALED} elements"
        )
    return np.ascontiguousarray(array).view(of.numpy)
