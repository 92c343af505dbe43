"""Fault: what a program may not do, found while it is executed; it is located at the operation that runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Fault(BaseException):
    """A race, an offset outside of a buffer, or an element that nobody has written.

    No Exception: to those xDSL's interpreter adds the text of the whole module, once for every operation
    around, which takes longer than what was executed.  `execute` lets none out.
    """


def expect_inside(offsets: Array, exist: Array, size: int, does: str) -> None:
    """Every offset that exists is one of a buffer of so many elements."""
    outside = exist & ((offsets < 0) | (offsets >= size))
    if np.any(outside):
        raise Fault(f"{does} element {int(offsets[outside].flat[0])} of a buffer of {size}")


def expect_index(index: Any, sizes: tuple[int, ...]) -> None:
    """The leading coordinates that an index gives are coordinates of their dimensions."""
    for dimension, (coordinate, size) in enumerate(zip(index, sizes, strict=False)):
        low, high = int(np.min(coordinate)), int(np.max(coordinate))
        if low < 0 or high >= size:
            wrong = low if low < 0 else high
            raise Fault(f"index {wrong} of dimension {dimension} lies outside of its size {size}")


def expect_single(offsets: Array, values: Array) -> None:
    """What is set at one element at a time is one value: of several only one would be kept."""
    order = np.argsort(offsets, kind="stable")
    offsets, values = offsets[order], np.ascontiguousarray(values[order])
    raw = values.view(np.uint8).reshape(len(values), values.itemsize)
    clash = (offsets[1:] == offsets[:-1]) & (raw[1:] != raw[:-1]).any(axis=1)
    if clash.any():
        where = int(offsets[1:][clash][0])
        raise Fault(f"sets element {where} of an array to several values at once, of which one is kept")
