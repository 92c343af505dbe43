"""Arrays of the host, NumPy's and what becomes one without a copy, as a function treats them."""

from __future__ import annotations

from typing import Any

import numpy as np

from imbrex.dtype import DType
from imbrex.kernel import Kernel
from imbrex.run.arrays import as_array, contiguous, dense_order, empty, same_kind, share_memory

__all__ = ["HOST"]


class Host:
    """See `imbrex.function.memory.Memory`."""

    target = "cpu"

    def taken(self, value: object, name: str) -> Any:
        return as_array(value, name)

    def type_name(self, array: Any) -> str:
        return str(array.dtype)

    def order(self, array: Any) -> tuple[int, ...] | None:
        return dense_order(array) if array.flags.aligned else None

    def steps(self, array: Any) -> tuple[int, ...] | None:
        size = array.itemsize
        if not array.flags.aligned or any(s % size for s in array.strides):
            return None
        return tuple(s // size for s in array.strides)

    def is_writable(self, array: Any) -> bool:
        return bool(array.flags.writeable)

    def strides(self, array: Any) -> tuple[int, ...]:
        return array.strides

    def contiguous(self, array: Any) -> Any:
        return contiguous(array)

    def copied(self, array: Any) -> Any:
        return array.copy()

    def permuted(self, array: Any, order: tuple[int, ...]) -> Any:
        return array.transpose(order)

    def empty(self, shape: tuple[int, ...], element: DType) -> Any:
        return empty(shape, element.numpy)

    def shares_memory(self, one: Any, other: Any) -> bool:
        return share_memory(one, other)

    def clear(self, array: Any) -> None:
        array.fill(0)

    def scale(self, array: Any, factor: float) -> None:
        np.multiply(array, factor, out=array, casting="unsafe")

    def put(self, source: Any, result: Any) -> None:
        np.copyto(result, np.broadcast_to(source, result.shape))

    def returned(self, array: Any, like: Any) -> Any:
        return same_kind(array, like)

    def run(self, kernel: Kernel, arrays: tuple[Any, ...], threads: int | None, stream: Any) -> None:
        if stream is not None and kernel.target.is_native:
            raise TypeError("'stream' is of a GPU, and this kernel runs on the CPU")
        more = {} if kernel.target.is_native else {"stream": stream}
        kernel.loaded(*arrays, threads=threads, **more)


HOST = Host()
