"""Numbers to the arrays that kernels take, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from imbrex.dtype.row import DType

__all__ = ["packed", "saturated", "widened"]


def saturated(values: npt.NDArray[np.float64], element: DType) -> npt.NDArray[np.float64]:
    """Integers of that type: the nearest ones, halves to even; its least or largest beyond; 0 of a NaN."""
    found = np.clip(np.rint(values), -element.largest - 1.0, element.largest)
    return np.where(np.isnan(values), 0.0, found)


def packed(values: npt.NDArray[Any], element: DType) -> npt.NDArray[Any]:
    """An array that a kernel takes: numbers rounded to that type, where memory holds packs those of
    neighbours along the last dimension, the first in the lowest bits.
    """
    found = np.ascontiguousarray(values.astype(element.unpacked, copy=False))
    if element.pack == 1:
        return found
    places = np.arange(element.bits, dtype=np.uint8)
    bits = (found.view(np.uint8)[..., None] >> places & 1).reshape(*found.shape[:-1], -1)
    return np.packbits(bits, axis=-1, bitorder="little").view(element.numpy)


def widened(array: npt.NDArray[Any], element: DType) -> npt.NDArray[np.float64]:
    """The numbers of an array that a kernel takes: single elements."""
    if element.pack == 1:
        return array.astype(np.float64)
    row = np.ascontiguousarray(array).view(np.uint8)
    if element.padded_bytes is not None:
        row = row.reshape(*row.shape[:-1], -1, element.bytes)[..., : element.loaded.bytes]
        row = row.reshape(*row.shape[:-2], -1)
    bits = np.unpackbits(row, axis=-1, bitorder="little").reshape(*row.shape[:-1], -1, element.bits)
    codes = np.packbits(bits, axis=-1, bitorder="little")[..., 0]
    return codes.view(element.unpacked).astype(np.float64)
