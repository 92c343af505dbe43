"""Watched: arrays of the host copied to a GPU for a call, between margins that nobody may write.

Law: as `gpu.uploaded`; a margin reads as NaN in every type of floats, and has to stay, as have the gaps
between rows and all of an input.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from imbrex.run.array_check import put_back
from imbrex.run.arrays import Array, in_memory, strided_view
from imbrex.run.cpu import Parameter
from imbrex.run.guarded import CANARY

__all__ = ["MARGIN", "GpuMemory", "watched"]

MARGIN = 4096
"""Bytes before and after an array."""


class GpuMemory(Protocol):
    """Memory of a GPU, through its driver; a Diagnostic where the driver refuses.  name: of the array."""

    def allocate(self, size: int, name: str) -> Any:
        """So many bytes; as an integer their address."""
        ...

    def free(self, memory: Any) -> None:
        """Waits for what still runs."""
        ...

    def put(self, memory: Any, array: Array, name: str) -> None:
        """memory = array."""
        ...

    def get(self, array: Array, memory: Any, name: str) -> None:
        """array = memory."""
        ...

    def wait(self) -> None:
        """Returns when the stream of the call is done."""
        ...


@contextmanager
def watched(
    gpu: GpuMemory, arrays: Sequence[Array], parameters: Sequence[Parameter], faults: list[str]
) -> Generator[tuple[int, ...]]:
    """Where each array lies on the GPU; the written one comes back, and what else a call did is added to
    `faults`.
    """
    copies: list[tuple[Any, Array]] = []
    try:
        for array, p in zip(arrays, parameters, strict=True):
            row = in_memory(array).reshape(-1).view(np.uint8)
            whole = np.full(row.size + 2 * MARGIN, CANARY, np.uint8)
            whole[MARGIN:-MARGIN] = row
            memory = gpu.allocate(whole.nbytes, p.name)
            copies.append((memory, whole))
            gpu.put(memory, whole, p.name)
        yield tuple(int(memory) + MARGIN for memory, _ in copies)
        gpu.wait()
        for (memory, before), array, p in zip(copies, arrays, parameters, strict=True):
            after = np.empty_like(before)
            gpu.get(after, memory, p.name)
            faults += _faults(before, after, p)
            if p.is_written:
                _brought_back(after, array, p)
    finally:
        for memory, _ in copies:
            gpu.free(memory)


def _faults(before: Array, after: Array, p: Parameter) -> list[str]:
    """What changed that is not the result."""
    if not np.array_equal(before[:MARGIN], after[:MARGIN]):
        return [f"it writes before the start of '{p.name}'"]
    if not np.array_equal(before[-MARGIN:], after[-MARGIN:]):
        return [f"it writes beyond the end of '{p.name}'"]
    if not p.is_written and not np.array_equal(before, after):
        return [f"it writes into its input '{p.name}'"]
    if p.strides is not None and p.is_written:
        gaps = np.ones(p.bytes // p.dtype.itemsize, np.bool_)
        strided_view(gaps, p.shape, p.strides)[...] = False
        changed = (before != after)[MARGIN:-MARGIN].reshape(-1, p.dtype.itemsize).any(axis=1)
        if np.any(changed & gaps):
            return [f"it writes between the rows of '{p.name}'"]
    return []


def _brought_back(after: Array, array: Array, p: Parameter) -> None:
    row = after[MARGIN:-MARGIN].view(p.dtype)
    if p.strides is None:
        np.copyto(array, row.reshape(p.shape))
    else:
        put_back(row, array, p)
