"""Tensor maps: the 128 bytes by which the Tensor Memory Accelerator knows an array, made by the driver.

Law: a map is of one address; sizes, strides and boxes are those that the kernel was compiled with.  What the
driver wants of them is checked when they are derived (`view.tensor`); here only the address can be wrong.
L2 fetches lines of 128 bytes, not pairs of them: of 33 products and convolutions on an H200 none was more
than 2 % faster with pairs, and most were slower, by up to 6 %.
Sources: CUDA driver API, "Tensor Map Object Management"; CUTLASS for the driver's fault in small im2col maps.
"""

from __future__ import annotations

import ctypes
import struct
from math import prod
from typing import TYPE_CHECKING, Any, assert_never

from imbrex.dtype import dtype
from imbrex.run.cuda.driver import MAP_BYTES
from imbrex.run.device import ALIGNMENT
from imbrex.view.tensor.form import Box, Walk

if TYPE_CHECKING:
    from imbrex.view.tensor.form import TensorMap

__all__ = ["encoded"]

_SWIZZLES = {0: "NONE", 32: "32B", 64: "64B", 128: "128B"}
_SMALL_BYTES = 1 << 17  # below it drivers up to CUDA 13.1 set a bit of im2col maps that makes loads go wrong
_LAST_WRONG_DRIVER = 13010
_WRONG_BIT = 1 << 21  # of the second 64-bit word


def encoded(cuda: Any, tensor: TensorMap, address: int, driver_version: int) -> bytes:
    """The map of the array at this address.  cuda: the driver's module.

    ValueError where the address does not serve; the driver's own error where it refuses the rest.
    """
    form, element = tensor.form, dtype(tensor.dtype)
    bytes_each = element.bytes
    first = address + form.base * bytes_each
    if first % ALIGNMENT:
        raise ValueError(f"a tensor map needs a multiple of {ALIGNMENT} bytes, got address {first:#x}")
    kind = getattr(cuda.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{element.tensor_map}")
    sizes = [cuda.cuuint64_t(size) for size in form.sizes]
    strides = [cuda.cuuint64_t(stride * bytes_each) for stride in form.strides]
    common = (
        cuda.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        getattr(cuda.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{_SWIZZLES[form.swizzle]}"),
        cuda.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        cuda.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    match form:
        case Box():
            box, steps = ([cuda.cuuint32_t(n) for n in numbers] for numbers in (form.box, form.steps))
            answer = cuda.cuTensorMapEncodeTiled(kind, len(sizes), first, sizes, strides, box, steps, *common)
            return _map_bytes(answer, is_wrong=False)
        case Walk():
            steps = [cuda.cuuint32_t(n) for n in (1, *form.steps, 1)]
            answer = cuda.cuTensorMapEncodeIm2col(
                kind, len(sizes), first, sizes, strides, list(form.lower), list(form.upper),
                form.channels, form.pixels, steps, *common,
            )  # fmt: skip
            is_small = _span_bytes(form, bytes_each) < _SMALL_BYTES
            return _map_bytes(answer, is_wrong=is_small and driver_version <= _LAST_WRONG_DRIVER)
        case _:
            assert_never(form)


def _span_bytes(form: Walk, bytes_each: int) -> int:
    """Bytes from the first element to behind the last, at least all elements."""
    strides = (1, *form.strides)
    span = 1 + sum((size - 1) * stride for size, stride in zip(form.sizes, strides, strict=True))
    return max(span, prod(form.sizes)) * bytes_each


def _map_bytes(answer: Any, *, is_wrong: bool) -> bytes:
    error, *made = answer
    if int(error):
        raise ValueError(f"the driver refuses the tensor map: {getattr(error, 'name', error)}")
    words = list(struct.unpack("<16Q", ctypes.string_at(int(made[0].getPtr()), MAP_BYTES)))
    if is_wrong:
        words[1] &= ~_WRONG_BIT
    return struct.pack("<16Q", *words)
