"""Arrays in: NumPy's own, and through DLPack everybody else's; arrays out: in the kind that came in.

Law: nothing is copied on the way in; what cannot be taken as it lies is refused with the error that NumPy
would raise (TypeError for what a thing is, ValueError for the shape it has).  `dense_order` tells how it
lies, `contiguous` is the only function that copies.  Strides are NumPy's, in bytes, but for those that a
kernel was compiled for, in elements.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import prod
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from imbrex.dtype import BF16, DTYPES, dtype
from imbrex.numeral import counted
from imbrex.problem.operand import reach
from imbrex.run.traced import expect_numbers, expect_readable

__all__ = [
    "Array", "as_array", "check", "contiguous", "dense_order", "dlpack_device", "empty", "expect_strides",
    "handed", "in_memory", "new_array", "on_one_device", "order_of", "same_kind", "share_memory",
    "strided_view",
]  # fmt: skip

Array = NDArray[Any]

_NARROW = frozenset(
    name
    for t in DTYPES.values()
    if t.array_type.startswith("ml_dtypes.")
    for name in (t.array_name, t.numpy.name)
    if name != "uint8"  # whose packs are read as such
)
"""NumPy knows most of them, and packs, as records."""
_LINE = 64
"""Bytes of a line of a cache."""
_LARGE = 1 << 19
"""Bytes from which on it repays two microseconds to begin with a line.  On an Intel Xeon 243x896x10 takes
39 us into such an array, and 51 into one of NumPy's.
"""
_MOST_WORK = 1000  # of NumPy, to tell whether two arrays with gaps share an element
_DLPACK_CPU = 1  # dlpack.h, DLDeviceType
_DLPACK_DEVICES = {
    2: "CUDA",
    3: "pinned CUDA",
    4: "OpenCL",
    7: "Vulkan",
    8: "Metal",
    10: "ROCm",
    11: "pinned ROCm",
}


def as_array(value: object, name: str = "array") -> Array:
    """`value` as a NumPy array over the same memory.  name: what errors call it.

    Takes NumPy arrays, torch tensors on the CPU (bfloat16 and 8-bit floats too, as those of ml_dtypes),
    whatever speaks DLPack or NumPy's array protocol, and nested sequences of numbers (only those are copied).
    """
    expect_numbers(value, name)
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"'{name}' is a masked array, and kernels know no mask; fill it first")
    if isinstance(value, np.ndarray):
        array = cast("Array", value)
    elif _is_torch(value):
        array = _from_torch(value, name)
    elif hasattr(value, "__dlpack__"):
        array = _from_dlpack(value, name)
    else:
        array = _from_protocol(value, name)
    if array.dtype.kind in "OSUTMmV" and array.dtype.name not in _NARROW:
        raise TypeError(f"'{name}' should be an array of numbers, got dtype {array.dtype}")
    if not array.dtype.isnative:
        native = array.dtype.newbyteorder("=").str
        message = f"'{name}' has dtype {array.dtype.str!r}, whose bytes are swapped"
        raise TypeError(f"{message}; give '.astype(\"{native}\")' of it")
    return array


def check(
    array: Array,
    name: str,
    *,
    dtype: np.dtype[Any],
    shape: Sequence[int],
    strides: Sequence[int] | None = None,
    written: bool = False,
) -> None:
    """TypeError for another dtype, ValueError for another shape, or for memory that a kernel cannot use
    as it lies.  strides: those it was compiled for, in elements; None: no gaps.
    """
    if array.dtype != dtype:
        raise TypeError(f"'{name}' should have dtype {dtype}, got {array.dtype}")
    if array.shape != tuple(shape):
        raise ValueError(f"'{name}' should have shape {tuple(shape)}, got {array.shape}")
    if not array.flags.aligned:
        raise ValueError(f"'{name}' should lie at a multiple of {array.dtype.alignment} bytes, copy it first")
    if strides is not None:
        expect_strides(name, shape, [s / array.itemsize for s in array.strides], strides)
    elif not array.flags.c_contiguous:
        way = "a result is written where it lies" if written else "numpy.ascontiguousarray copies it"
        message = f"'{name}' should be contiguous, got strides {array.strides} for shape {array.shape}"
        raise ValueError(f"{message}; {way}")
    if written and not array.flags.writeable:
        raise ValueError(f"'{name}' is the output, but it is read-only")


def expect_strides(name: str, shape: Sequence[int], got: Sequence[float], wanted: Sequence[int]) -> None:
    """ValueError where strides, in elements, are not those that a kernel was compiled for; that of a
    dimension of size 1 may be any.
    """
    if any(size > 1 and x != y for size, x, y in zip(shape, got, wanted, strict=True)):
        given = tuple(int(x) if x == int(x) else x for x in got)
        message = (
            f"'{name}' should have strides {tuple(wanted)} in elements, for which the kernel was compiled"
        )
        raise ValueError(f"{message}, got {given}")


def share_memory(one: Array, other: Array) -> bool:
    """Have they an element in common?  True also where that is hard to tell."""
    if not np.may_share_memory(one, other):
        return False
    try:
        most: Any = _MOST_WORK  # NumPy's stub knows only -1 and 0
        return np.shares_memory(one, other, max_work=most)
    except (np.exceptions.TooHardError, OverflowError):
        return True


def strided_view(memory: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """Elements of a row of memory as an array with these strides, in elements."""
    size = memory.itemsize
    # NumPy has no code for some of ml_dtypes.
    plain = memory.view(f"u{size}") if size in (1, 2, 4, 8) else memory
    return as_strided(plain, tuple(shape), [s * size for s in strides]).view(memory.dtype)


def in_memory(array: Array) -> Array:
    """All from the first element to the last, gaps and all, as a row; `array` itself where it is dense."""
    if array.flags.c_contiguous or not array.size:
        return array
    strides = [s // array.itemsize for s in array.strides]
    return strided_view(array, (reach(array.shape, tuple(strides)),), (1,))


def new_array(shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...] | None) -> Array:
    """A new array with these strides in elements; None: no gaps."""
    if strides is None:
        return empty(shape, dtype)
    return strided_view(empty((reach(shape, strides),), dtype), shape, strides)


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A new array without values; a large one begins with a line of the caches, where NumPy's begins 16
    bytes behind one, so that each vector that is stored, or read later, crosses into the next.
    """
    size = prod(shape) * dtype.itemsize
    if size < _LARGE:
        return np.empty(shape, dtype)
    memory = np.empty(size + _LINE, np.uint8)
    return np.ndarray(shape, dtype, memory, -memory.__array_interface__["data"][0] % _LINE)


def dense_order(array: Array) -> tuple[int, ...] | None:
    """The order of the dimensions, outermost first, in which `array` lies without gaps; None when there
    is none.

    (0, 1, 2, 3) for a C-contiguous array, (0, 2, 3, 1) for one seen as NCHW that lies as NHWC: such an
    array needs no copy, only the other layout.  Dimensions of size 1 keep their place.
    """
    if array.flags.c_contiguous:
        return tuple(range(array.ndim))
    return order_of(array.shape, array.strides, array.itemsize)


def order_of(shape: Sequence[int], strides: Sequence[int] | None, unit: int = 1) -> tuple[int, ...] | None:
    """The same of an array that is told of by its shape and strides; unit: the innermost stride of a dense
    one.  Strides of None are those of a row-major array.
    """
    plain = tuple(range(len(shape)))
    if strides is None:
        return plain
    if 0 in shape or min(strides, default=0) < 0:
        return None
    real = sorted((i for i in plain if shape[i] > 1), key=lambda i: -strides[i])
    expected = unit
    for i in reversed(real):
        if strides[i] != expected:
            return None
        expected *= shape[i]
    places = iter(real)
    return tuple(i if shape[i] == 1 else next(places) for i in plain)


def contiguous(array: Array) -> Array:
    """`array` itself when it is C-contiguous and aligned, else a copy that is."""
    return np.require(array, requirements=["C", "A"])


def same_kind(result: Array, like: object) -> Any:
    """`result` as a torch tensor over the same memory where `like` is one; else itself."""
    if not _is_torch(like):
        return result
    torch = sys.modules["torch"]
    if result.dtype == BF16.numpy:
        return torch.from_numpy(result.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(result)


def handed(result: Any, like: Any) -> Any:
    """What a kernel has written, as an array of JAX where `like` is one, on its device; else itself.

    result: an array that nobody writes into afterwards, or a pair of them.
    """
    jax: Any = sys.modules.get("jax")  # who has such an array has imported it
    if jax is None or not isinstance(like, getattr(jax, "Array", ())):
        return result
    return jax.device_put(result, like.sharding)


def _is_torch(value: object) -> TypeGuard[Any]:
    """Without importing torch: who has a tensor has imported it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _from_torch(tensor: Any, name: str) -> Array:
    torch = sys.modules["torch"]
    if tensor.device.type == "meta":
        raise TypeError(f"'{name}' lies on meta: it has a shape and no numbers")
    if tensor.device.type != "cpu":
        raise TypeError(
            f"'{name}' lies on {tensor.device}, and this kernel runs on the CPU; use .cpu() first"
        )
    expect_readable(tensor, name)
    if tensor.layout != torch.strided:
        raise TypeError(f"'{name}' should be a dense tensor, got layout {tensor.layout}")
    try:
        tensor = tensor.detach()  # NumPy sees no tensor that requires grad, whatever the mode
        name_there = str(tensor.dtype).removeprefix("torch.")
        if name_there in _NARROW:
            whole = torch.int16 if tensor.dtype == torch.bfloat16 else torch.uint8
            return cast("Array", tensor.view(whole).numpy().view(dtype(name_there).numpy))
        return cast("Array", tensor.numpy())
    except (RuntimeError, TypeError) as error:
        raise TypeError(f"'{name}' cannot be read as an array: {_first_line(error)}") from None


def _from_dlpack(value: Any, name: str) -> Array:
    value = on_one_device(value, name)
    device = dlpack_device(value, name)
    if device != _DLPACK_CPU:
        where = _DLPACK_DEVICES.get(device, f"DLPack device {device}")
        raise TypeError(
            f"'{name}' lies in {where} memory, and this kernel runs on the CPU; copy it there first"
        )
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError) as error:
        if hasattr(value, "__array__"):  # NumPy reads no bfloat16 by DLPack, but its owner may give one
            return _from_protocol(value, name)
        raise TypeError(f"'{name}' cannot be read by DLPack: {_first_line(error)}") from None


def on_one_device(value: Any, name: str) -> Any:
    """An array of JAX that several devices have as that of the first of them, others as they are; TypeError
    where each has a part, or none has any.
    """
    jax: Any = sys.modules.get("jax")
    if jax is None or not isinstance(value, getattr(jax, "Array", ())):
        return value
    if value.is_deleted():
        raise TypeError(f"'{name}' has no numbers any more: it is deleted, or was donated")
    if (many := len(value.devices())) == 1:
        return value
    if not value.is_fully_replicated:
        way = "use imbrex.jax, or jax.device_put it to one of them"
        raise TypeError(f"'{name}' lies on {counted(many, 'device')}, a part on each; {way}")
    return value.addressable_data(0)


def dlpack_device(value: Any, name: str) -> int:
    """The kind of device on which an array lies; TypeError where it lies on none, or in parts on several."""
    try:
        return int(on_one_device(value, name).__dlpack_device__()[0])
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(f"'{name}' cannot be read by DLPack: {_first_line(error)}") from None


def _from_protocol(value: object, name: str) -> Array:
    try:
        return np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise TypeError(
            f"'{name}' should be an array, got {_describe(value)}: {_first_line(error)}"
        ) from None


def _describe(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
