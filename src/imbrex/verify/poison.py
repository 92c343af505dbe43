"""Poison: a bit pattern that no kernel computes, in outputs from the start, to show what is never written.

Floating-point poison is a NaN with a payload of its own (`imbrex.dtype`), so that a NaN that was computed is
told from it.  Of an array with gaps, these hold poison before and after, as does the memory behind its last
row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from imbrex.dtype import DType, dtype
from imbrex.problem.operand import reach
from imbrex.run.arrays import strided_view

__all__ = ["is_poison", "poison", "poisoned", "spoiled", "spoiled_in"]


def poison(array: npt.NDArray[Any]) -> None:
    """Fill `array`, of any of our element types, in place."""
    array.view(_bits(array)).fill(dtype(array.dtype).poison)


def poisoned(
    shape: tuple[int, ...], element: DType, strides: tuple[int, ...] | None = None
) -> npt.NDArray[Any]:
    """A new array full of poison; with strides, in elements, in memory of poison that `spoiled` looks at."""
    array = np.empty(shape if strides is None else _allocated(shape, strides), element.numpy)
    if element.pack == 1:
        poison(array)
    else:
        array.view(np.uint8).fill(element.poison)
    return array if strides is None else strided_view(array, shape, strides)


def spoiled(array: npt.NDArray[Any], strides: tuple[int, ...] | None) -> int:
    """Elements beside those of a poisoned array that are not poison any more."""
    if strides is None:
        return 0
    return spoiled_in(strided_view(array, (_allocated(array.shape, strides),), (1,)), array.shape, strides)


def spoiled_in(memory: npt.NDArray[Any], shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The same of an array that begins where this memory does, which is dense."""
    row = memory.reshape(-1)
    beside = np.ones(row.shape, np.bool_)
    strided_view(beside, shape, strides)[...] = False
    return int(np.count_nonzero(beside & ~is_poison(row)))


def _allocated(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Elements to the end of the last row, were it as long as those before it."""
    return reach(shape, strides) + max(strides)


def is_poison(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Where `array` holds poison still."""
    return np.equal(array.view(_bits(array)), dtype(array.dtype).poison)


def _bits(array: npt.NDArray[Any]) -> np.dtype[Any]:
    return np.dtype(f"u{array.dtype.itemsize}")
