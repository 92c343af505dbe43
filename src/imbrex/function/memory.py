"""Memory: where the arrays of a call lie, and what a function does with arrays there.

Law: a function is written once, for arrays of any memory; its result lies where its first array lies, and is
of that array's kind.  An array that lies elsewhere is refused, never moved.
"""

from __future__ import annotations

from typing import Any, Protocol

from imbrex.dtype import DType
from imbrex.kernel import Kernel

__all__ = ["Memory"]


class Memory(Protocol):
    """Arrays of one library, in one memory."""

    target: str
    """Target of a kernel that runs there."""

    def taken(self, value: object, name: str) -> Any:
        """`value` as an array of this memory; TypeError where it is none."""
        ...

    def type_name(self, array: Any) -> str:
        """Name of its elements' type, as NumPy or ml_dtypes has it."""
        ...

    def order(self, array: Any) -> tuple[int, ...] | None:
        """Order in which its dimensions lie without gaps where a kernel can read it; None without one."""
        ...

    def steps(self, array: Any) -> tuple[int, ...] | None:
        """Elements from one to the next along each dimension; None where a kernel cannot read it."""
        ...

    def is_writable(self, array: Any) -> bool: ...

    def strides(self, array: Any) -> tuple[int, ...]:
        """Size in bytes, for messages."""
        ...

    def contiguous(self, array: Any) -> Any:
        """A row-major copy, or itself where it is row-major."""
        ...

    def copied(self, array: Any) -> Any:
        """A copy of a row-major array in other memory."""
        ...

    def permuted(self, array: Any, order: tuple[int, ...]) -> Any:
        """The same memory, dimension i being its dimension `order[i]`."""
        ...

    def empty(self, shape: tuple[int, ...], element: DType) -> Any:
        """A new row-major array."""
        ...

    def shares_memory(self, one: Any, other: Any) -> bool:
        """Have two arrays an element in common?  True also where that is hard to tell."""
        ...

    def clear(self, array: Any) -> None: ...

    def scale(self, array: Any, factor: float) -> None: ...

    def put(self, source: Any, result: Any) -> None:
        """Copies `source`, broadcast, into `result`; ValueError where it does not fit."""
        ...

    def returned(self, array: Any, like: Any) -> Any:
        """The array as the caller gets it, before it is written; `handed` of `run.arrays` after that."""
        ...

    def run(self, kernel: Kernel, arrays: tuple[Any, ...], threads: int | None, stream: Any) -> None: ...
