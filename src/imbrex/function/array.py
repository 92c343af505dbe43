"""Arrays of a call: how each lies in memory, the element type that they share, and where a result goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import I32, DType, dtype
from imbrex.run.arrays import Array, as_array, contiguous, dense_order

__all__ = ["KERNELS", "Laid", "as_output", "laid", "shared_element"]

KERNELS = 1024
"""The kernels used last that a function keeps loaded, a few tens of KiB each."""


class Laid(NamedTuple):
    """`array` is row-major; its dimension i is the caller's dimension `order[i]`."""

    array: Array
    order: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """As the caller indexes it."""
        sizes = dict(zip(self.order, self.array.shape, strict=True))
        return tuple(sizes[i] for i in range(self.array.ndim))

    def named(self, names: Sequence[str]) -> tuple[str, ...]:
        """Names of the caller's dimensions, in memory order."""
        return tuple(names[i] for i in self.order)

    def as_indexed(self) -> Array:
        """The array with the caller's dimensions."""
        return self.array.transpose(np.argsort(self.order))


def laid(value: object, name: str) -> Laid:
    """`value` in place where it is dense and aligned, else a copy."""
    array = as_array(value, name)
    order = dense_order(array)
    if order is None or not array.flags.aligned:
        return Laid(contiguous(array), tuple(range(array.ndim)))
    return Laid(array.transpose(order), order)


def shared_element(arrays: Mapping[str, Laid]) -> DType:
    """The element type that all arrays have; TypeError where they differ or kernels know none such."""
    (first, one), *rest = arrays.items()
    for name, other in rest:
        if other.array.dtype != one.array.dtype:
            kinds = f"{one.array.dtype} and {other.array.dtype}"
            raise TypeError(f"'{first}' and '{name}' should have the same dtype, got {kinds}")
    try:
        found = dtype(one.array.dtype)
    except Diagnostic:
        found = I32
    if found == I32:
        known = "float32, float64, float16, bfloat16, 8-bit floats and int8"
        raise TypeError(f"'{first}' has dtype {one.array.dtype}; kernels take {known}")
    return found


def as_output(value: object, shape: tuple[int, ...], element: DType) -> Laid:
    """The caller's `out`, in place; ValueError where a result cannot be written into it as it lies."""
    if isinstance(value, list | tuple):
        raise TypeError("'out' should be an array, got a sequence")
    array = as_array(value, "out")
    if array.dtype != element.numpy:
        raise TypeError(f"'out' should have dtype {element.numpy}, got {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"'out' should have shape {shape}, got {array.shape}")
    if not array.flags.writeable:
        raise ValueError("'out' is read-only")
    order = dense_order(array)
    if order is None or not array.flags.aligned:
        raise ValueError(f"'out' should be dense, got strides {array.strides} for shape {shape}")
    return Laid(array.transpose(order), order)
