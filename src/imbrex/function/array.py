"""Arrays of a call: how each lies in memory, the element type that they share, and where a result goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import I32, DType, dtype
from imbrex.function.host import HOST
from imbrex.function.memory import Memory

__all__ = ["KERNELS", "Laid", "as_output", "computed", "expect_apart", "laid", "shared_element", "writable"]

KERNELS = 1024
"""The kernels used last that a function keeps loaded, a few tens of KiB each."""


class Laid(NamedTuple):
    """`array` is row-major; its dimension i is the caller's dimension `order[i]`."""

    array: Any
    order: tuple[int, ...]
    memory: Memory = HOST

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes as the caller indexes it."""
        sizes = dict(zip(self.order, self.array.shape, strict=True))
        return tuple(sizes[i] for i in range(self.array.ndim))

    @property
    def type_name(self) -> str:
        """Name of the type of its elements."""
        return self.memory.type_name(self.array)

    def named(self, names: Sequence[str]) -> tuple[str, ...]:
        """Names of the caller's dimensions, in memory order."""
        return tuple(names[i] for i in self.order)

    def as_indexed(self) -> Any:
        """The array with the caller's dimensions."""
        return self.memory.permuted(self.array, tuple(int(i) for i in np.argsort(self.order)))


def laid(value: object, name: str, memory: Memory = HOST) -> Laid:
    """`value` in place where it is dense and aligned, else a copy."""
    array = memory.taken(value, name)
    order = memory.order(array)
    if order is None:
        return Laid(memory.contiguous(array), tuple(range(array.ndim)), memory)
    return Laid(memory.permuted(array, order), order, memory)


def shared_element(arrays: Mapping[str, Laid]) -> DType:
    """The element type that all arrays have; TypeError where they differ or kernels know none such."""
    (first, one), *rest = arrays.items()
    for name, other in rest:
        if other.type_name != one.type_name:
            kinds = f"{one.type_name} and {other.type_name}"
            raise TypeError(f"'{first}' and '{name}' should have the same dtype, got {kinds}")
    try:
        found = dtype(one.type_name)
    except Diagnostic:
        found = I32
    if found == I32:
        known = "float32, float64, float16, bfloat16, 8-bit floats, int8"
        raise TypeError(f"'{first}' has dtype {one.type_name}; convert it to what kernels take: {known}")
    return found


def computed(element: DType, compute: object) -> DType:
    """The type as which a product reads elements of the arrays: their own, or the one that `compute` names,
    which must lie in memory as they do.
    """
    if compute is None:
        return element
    try:
        found = dtype(compute)  # type: ignore[arg-type]
    except Diagnostic as error:
        raise ValueError(f"'compute' is no type: {error.message}") from None
    if found.numpy != element.numpy or found.pair != element.pair:
        message = f"'compute' is {found}, and the arrays have dtype {element.numpy}"
        raise TypeError(f"{message}; another type is 'tf32', of float32")
    return found


def expect_apart(out: Laid, read: Mapping[str, Laid]) -> None:
    """ValueError where the caller's `out` has elements of what is read."""
    for name, operand in read.items():
        if out.memory.shares_memory(out.array, operand.array):
            raise ValueError(f"'out' shares memory with '{name}'; copy one of them first")


def as_output(value: object, shape: tuple[int, ...], element: DType, memory: Memory = HOST) -> Laid:
    """The caller's `out`, in place; ValueError where a result cannot be written into it as it lies."""
    array = writable(value, shape, element, memory)
    order = memory.order(array)
    if order is None:
        strides = memory.strides(array)
        raise ValueError(f"'out' should be dense, got strides {strides} for shape {shape}")
    return Laid(memory.permuted(array, order), order, memory)


def writable(value: object, shape: tuple[int, ...], element: DType, memory: Memory = HOST) -> Any:
    """The caller's `out`, however it lies."""
    if isinstance(value, list | tuple):
        raise TypeError("'out' should be an array, got a sequence")
    array = memory.taken(value, "out")
    if memory.type_name(array) != element.numpy.name:
        raise TypeError(f"'out' should have dtype {element.numpy}, got {memory.type_name(array)}")
    if tuple(array.shape) != shape:
        raise ValueError(f"'out' should have shape {shape}, got {tuple(array.shape)}")
    if not memory.is_writable(array):
        raise ValueError("'out' is read-only")
    return array
