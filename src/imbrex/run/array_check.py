"""Arrays of a call on a GPU, each where it lies: on that GPU, or on the host, from where it is copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from imbrex.numeral import counted
from imbrex.problem.operand import dense_strides
from imbrex.run import arrays as of_host
from imbrex.run.arrays import Array, as_array, check, same_kind, share_memory, strided_view
from imbrex.run.cpu import Parameter
from imbrex.run.device import DeviceArray, check_device_array, new_array, on_device

__all__ = ["AnyArray", "accepted", "check_arrays", "lying", "new_result", "put_back"]

AnyArray: TypeAlias = Array | DeviceArray


def accepted(value: object, name: str) -> AnyArray:
    """`value` as a call takes it."""
    return on_device(value, name) or as_array(value, name)


def new_result(parameter: Parameter, like: Any) -> Any:
    """An array for the output, where `like` lies and of its kind."""
    if getattr(like, "is_cuda", False) or on_device(like, "array") is not None:
        return new_array(parameter.shape, parameter.dtype, like, parameter.name, parameter.strides)
    return same_kind(of_host.new_array(parameter.shape, parameter.dtype, parameter.strides), like)


def check_arrays(symbol: str, parameters: Sequence[Parameter], arrays: Sequence[AnyArray]) -> None:
    """TypeError and ValueError for arrays that the kernel `symbol` of these parameters does not take, or a
    result on a GPU that shares memory with another one of them.
    """
    if len(arrays) != len(parameters):
        raise TypeError(f"'{symbol}' takes {counted(len(parameters), 'array')}, got {len(arrays)}")
    for array, p in zip(arrays, parameters, strict=True):
        if isinstance(array, DeviceArray):
            check_device_array(
                array, p.name, dtype=p.dtype.name, shape=p.shape, strides=p.strides, written=p.is_written
            )
        else:
            check(array, p.name, dtype=p.dtype, shape=p.shape, strides=p.strides, written=p.is_written)
    pairs = zip(arrays, parameters, strict=True)
    on_gpu = [(lying(a, p.dtype.itemsize), p) for a, p in pairs if isinstance(a, DeviceArray)]
    for out, p in on_gpu:
        for other, q in on_gpu:
            if p.is_written and p is not q and share_memory(out, other):
                raise ValueError(f"the output '{p.name}' shares memory with '{q.name}'")


def lying(seen: DeviceArray, element_bytes: int) -> Array:
    """How an array on a GPU lies, for NumPy to compare; nothing reads what is there."""
    return np.asarray(_Lying(seen, element_bytes))


class _Lying:
    """Speaks NumPy's protocol of arrays."""

    def __init__(self, seen: DeviceArray, size: int) -> None:
        strides = dense_strides(seen.shape) if seen.strides is None else seen.strides
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{size}",
            "data": (seen.address, True),
            "shape": tuple(seen.shape),
            "strides": tuple(stride * size for stride in strides),
        }


def put_back(memory: Array, array: Array, parameter: Parameter) -> None:
    """The elements of an array, from a copy of what `in_memory` makes of it; its gaps stay as they are."""
    assert parameter.strides is not None, parameter
    np.copyto(array, strided_view(memory, parameter.shape, parameter.strides))
