"""Memory: where the arrays of a call lie, and what a function does with arrays there.

Law: a function is written once, for arrays of any memory; its result lies where its first array lies, and is
of that array's kind.  An array that lies elsewhere is refused, never moved.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from imbrex.dtype import DType
from imbrex.kernel import ARCHITECTURES, Kernel
from imbrex.run.arrays import as_array, contiguous, dense_order, same_kind
from imbrex.run.device import is_on_nvidia

__all__ = ["HOST", "Memory", "memory_of"]


class Memory(Protocol):
    """Arrays of one library, in one memory."""

    target: str
    """Of a kernel that runs there."""

    def taken(self, value: object, name: str) -> Any:
        """`value` as an array of this memory; TypeError where it is none."""
        ...

    def type_name(self, array: Any) -> str:
        """Of its elements, as NumPy or ml_dtypes names it."""
        ...

    def order(self, array: Any) -> tuple[int, ...] | None:
        """In which its dimensions lie without gaps where a kernel can read it; None where there is none."""
        ...

    def steps(self, array: Any) -> tuple[int, ...] | None:
        """Elements from one to the next along each dimension; None where a kernel cannot read it."""
        ...

    def is_writable(self, array: Any) -> bool: ...

    def strides(self, array: Any) -> tuple[int, ...]:
        """In bytes, for messages."""
        ...

    def contiguous(self, array: Any) -> Any:
        """A row-major copy, or itself where it is row-major."""
        ...

    def copied(self, array: Any) -> Any:
        """Of a row-major array, one in other memory."""
        ...

    def permuted(self, array: Any, order: tuple[int, ...]) -> Any:
        """The same memory, dimension i being its dimension `order[i]`."""
        ...

    def empty(self, shape: tuple[int, ...], element: DType) -> Any:
        """A new row-major array."""
        ...

    def clear(self, array: Any) -> None: ...

    def scale(self, array: Any, factor: float) -> None: ...

    def put(self, source: Any, result: Any) -> None:
        """Copies `source`, broadcast, into `result`; ValueError where it does not fit."""
        ...

    def returned(self, array: Any, like: Any) -> Any:
        """As the caller gets it."""
        ...

    def run(self, kernel: Kernel, arrays: tuple[Any, ...], threads: int | None, stream: Any) -> None: ...


class Host:
    """NumPy's arrays, and what becomes one without a copy."""

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
        return np.empty(shape, element.numpy)

    def clear(self, array: Any) -> None:
        array.fill(0)

    def scale(self, array: Any, factor: float) -> None:
        np.multiply(array, factor, out=array, casting="unsafe")

    def put(self, source: Any, result: Any) -> None:
        np.copyto(result, np.broadcast_to(source, result.shape))

    def returned(self, array: Any, like: Any) -> Any:
        return same_kind(array, like)

    def run(self, kernel: Kernel, arrays: tuple[Any, ...], threads: int | None, stream: Any) -> None:
        if stream is not None and kernel.goal.is_native:
            raise TypeError("'stream' is of a GPU, and this kernel runs on the CPU")
        more = {} if kernel.goal.is_native else {"stream": stream}
        kernel.loaded(*arrays, threads=threads, **more)


HOST = Host()


def memory_of(value: object, target: str | None) -> Memory:
    """Where a call's first array lies, which its others must share.

    target: what the caller asks for; a GPU of NVIDIA's reads memory of its own, or copies the host's.
    """
    if target not in (None, *ARCHITECTURES) or not is_on_nvidia(value):
        return HOST
    from imbrex.function.gpu import gpu_memory

    return gpu_memory(value)
