"""Arrays in the memory of a GPU: where each lies, told by DLPack or by `__cuda_array_interface__`.

Law: nothing is copied; what a kernel cannot use as it lies is refused as `arrays.check` refuses it.  The
layout of a DLPack tensor is that of dlpack.h, version 1 (`DLTensor`), which older versions share.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from imbrex.dtype import DTYPES
from imbrex.problem.operand import dense_strides, reach
from imbrex.run.arrays import dlpack_device, expect_strides, on_one_device
from imbrex.run.traced import expect_numbers, expect_readable

__all__ = ["ALIGNMENT", "DeviceArray", "check_device_array", "is_on_nvidia", "new_array", "on_device"]

_GPU_TYPES = (2, 10, 13)  # dlpack.h, DLDeviceType: kDLCUDA, as which some present ROCm, kDLROCM, managed CUDA
_NVIDIA_TYPES = (2, 13)
_NO_WAIT = -1  # of `__dlpack__`
ALIGNMENT = 16
"""Bytes of the widest access of a lane, and of what a tensor map begins with."""


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """address: of the first element.  strides: in elements; None for row-major.  dtype: as NumPy names it.

    device: the GPU's number, None where nobody says.  source: the caller's array.  owner: what keeps the
    memory alive.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: str
    device: int | None
    is_read_only: bool = False
    source: Any = field(default=None, repr=False, compare=False)
    owner: object = field(default=None, repr=False, compare=False)


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("type_bits", ctypes.c_uint8),
        ("type_lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def on_device(value: Any, name: str) -> DeviceArray | None:
    """`value` where it lies on a GPU; None where it does not.

    Nobody waits for it: as with any launch, it must be ready in the stream in which it will be used.
    """
    expect_numbers(value, name)
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _from_torch(value, name) if value.device.type == "cuda" else None
    if hasattr(value, "__dlpack_device__"):
        value = on_one_device(value, name)
        return _from_dlpack(value, name) if dlpack_device(value, name) in _GPU_TYPES else None
    if hasattr(value, "__cuda_array_interface__"):
        return _from_interface(value)
    return None


def is_on_nvidia(value: Any) -> bool:
    """Does the array lie on a GPU that CUDA's driver knows?"""
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return bool(value.is_cuda) and torch.version.hip is None
    if hasattr(value, "__cuda_array_interface__"):
        return True
    try:
        return hasattr(value, "__dlpack_device__") and dlpack_device(value, "array") in _NVIDIA_TYPES
    except TypeError:  # it lies nowhere, which whoever reads it says
        return False


def new_array(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    like: Any,
    name: str,
    strides: tuple[int, ...] | None = None,
) -> Any:
    """A new array where `like` lies and of its kind, torch's or CuPy's; TypeError for another kind.

    strides: in elements; None: no gaps.
    """
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        of: dict[str, Any] = {"dtype": getattr(torch, dtype.name), "device": like.device}
        return torch.empty(shape, **of) if strides is None else torch.empty_strided(shape, strides, **of)
    cupy: Any = sys.modules.get("cupy")
    if cupy is not None and isinstance(like, cupy.ndarray):
        with like.device:
            if strides is None:
                return cupy.empty(shape, dtype)
            in_bytes = tuple(s * dtype.itemsize for s in strides)
            return cupy.ndarray(
                shape, dtype, strides=in_bytes, memptr=cupy.empty(reach(shape, strides), dtype).data
            )
    raise TypeError(f"give '{name}', too: a new array on a GPU can only be one of torch or CuPy")


def check_device_array(
    array: DeviceArray,
    name: str,
    *,
    dtype: str,
    shape: Sequence[int],
    written: bool,
    strides: Sequence[int] | None = None,
) -> None:
    """TypeError for another type; ValueError for another shape, for other strides, and for a read-only
    output.  strides: those the kernel was compiled for, in elements; None: no gaps.
    """
    if array.dtype != dtype:
        raise TypeError(f"'{name}' should have dtype {dtype}, got {array.dtype}")
    if array.shape != tuple(shape):
        raise ValueError(f"'{name}' should have shape {tuple(shape)}, got {array.shape}")
    if strides is not None:
        expect_strides(name, array.shape, array.strides or dense_strides(array.shape), strides)
    elif array.strides is not None and not _is_row_major(array.shape, array.strides):
        got = f"strides {array.strides} for shape {array.shape}"
        raise ValueError(f"'{name}' should be contiguous, got {got}")
    if array.address % ALIGNMENT:
        raise ValueError(f"'{name}' should lie at a multiple of {ALIGNMENT} bytes, copy it first")
    if written and array.is_read_only:
        raise ValueError(f"'{name}' is the output, but it is read-only")


def _from_torch(tensor: Any, name: str) -> DeviceArray:
    """What the tensor says of itself, types that its DLPack has not included."""
    expect_readable(tensor, name)
    if "strided" not in str(tensor.layout):
        raise TypeError(f"'{name}' should be a dense tensor, got layout {tensor.layout}")
    return DeviceArray(
        tensor.data_ptr(),
        tuple(tensor.shape),
        tuple(tensor.stride()),
        str(tensor.dtype).removeprefix("torch."),
        tensor.device.index,
        source=tensor,
        owner=tensor,
    )


def _from_dlpack(value: Any, name: str) -> DeviceArray:
    """The capsule frees the tensor when it goes, unless a consumer renames it; we keep it instead."""
    try:
        capsule = value.__dlpack__(stream=_NO_WAIT)
    except (BufferError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise TypeError(f"'{name}' cannot be read by DLPack: {reason}") from None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    rank = tensor.rank
    strides = tuple(tensor.strides[:rank]) if tensor.strides else None
    return DeviceArray(
        (tensor.data or 0) + tensor.byte_offset,
        tuple(tensor.shape[:rank]),
        strides,
        _type_name(tensor.type_code, tensor.type_bits),
        tensor.device,
        source=value,
        owner=capsule,
    )


def _type_name(code: int, bits: int) -> str:
    """The name of a DLDataType's elements: NumPy's or ml_dtypes' where we have the type, too."""
    ours = next((t for t in DTYPES.values() if (t.dlpack_code, t.bits) == (code, bits)), None)
    if ours is not None:
        return ours.array_name
    names = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
    return f"{names.get(code, f'DLPack type {code} of ')}{bits}"


def _from_interface(value: Any) -> DeviceArray:
    """CUDA array interface, version 3, which ROCm's libraries speak, too.  Its strides are in bytes."""
    interface = value.__cuda_array_interface__
    address, is_read_only = interface["data"]
    dtype = np.dtype(interface["typestr"])
    strides = interface.get("strides")
    elements = None if strides is None else tuple(s // dtype.itemsize for s in strides)
    shape = tuple(interface["shape"])
    return DeviceArray(address, shape, elements, dtype.name, None, bool(is_read_only), value)


def _is_row_major(shape: Sequence[int], strides: Sequence[int]) -> bool:
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size > 1 and stride != expected:
            return False
        expected *= size
    return True
