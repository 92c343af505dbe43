"""Guarded: a CPU kernel called in a process of its own, each array next to pages that nobody may touch.

Law: a kernel touches its arrays and nothing else.  An array ends where a page ends, or begins where one
begins; the page beyond is not mapped, so that a read or a write there ends the process, and is told apart by
calls with fewer guards.  What lies in an array's own pages beside it is filled with `CANARY`, NaN in every
type of floats, and has to stay.  Inputs have to stay bit by bit, and so have the thread's control words.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from imbrex.run.arrays import Array, in_memory, strided_view
from imbrex.run.cpu import CpuKernel, Parameter, allocated, thread_count
from imbrex.run.guarded_request import Answer, FilePages, Guard, GuardedRequest

__all__ = ["IS_POSSIBLE", "Outcome", "Side", "guarded"]

Side = Literal["before", "after"]
"""Side of an array where the guard touches it."""

IS_POSSIBLE: Final = os.name == "posix" and bool(sys.executable)
CANARY: Final = 0xFF
PAGE: Final = mmap.ALLOCATIONGRANULARITY


@dataclass(frozen=True)
class Outcome:
    """results: the written arrays after the call; none where it did not return.  fault: what else it did."""

    results: tuple[Array, ...]
    fault: str | None


@dataclass(frozen=True)
class _Region:
    """A part of the file that is an array's: whole pages, of which the array's bytes begin at `place`."""

    parameter: Parameter
    offset: int
    span: int
    begin: int
    before: Guard = "none"
    after: Guard = "none"

    @property
    def pages(self) -> FilePages:
        """Pages as a process is told of them."""
        return FilePages(self.offset, self.span, self.begin, self.before, self.after)


def guarded(
    kernel: CpuKernel,
    arrays: Sequence[Array],
    side: Side = "after",
    *,
    alignment: int = 1,
    threads: int | None = None,
) -> Outcome:
    """The call `kernel(*arrays)`; the arrays themselves stay as they are.

    alignment: in bytes, of arrays whose type asks for less; where they end before a page does, these bytes
    are canaries.  MemoryError as of the call.
    """
    kernel = kernel.sized(arrays)
    given = [*(in_memory(array) for array in arrays), *(allocated(p) for p in kernel.workspace)]
    regions = list(_laid((*kernel.parameters, *kernel.workspace), side, alignment))
    with ExitStack() as stack:
        fd = _file(stack, regions[-1].offset + regions[-1].span)
        memory = np.frombuffer(mmap.mmap(fd, 0), np.uint8)
        call = _Call(kernel, fd, memory, given, thread_count(threads))
        ended = call(regions)
        if isinstance(ended, int):
            return Outcome((), _named(call, regions, ended))
        kernel.expect_done(ended.status, ended.fault)
        fault = ended.changed or next(filter(None, map(call.fault, regions, given)), None)
        pairs = zip(kernel.parameters, regions, strict=False)
        return Outcome(tuple(_array(memory, at) for p, at in pairs if p.is_written), fault)


@dataclass(frozen=True)
class _Call:
    """`call(regions)` is the answer of a process, or the signal that ended it."""

    kernel: CpuKernel
    fd: int
    memory: Array
    given: Sequence[Array]
    threads: int

    def __call__(self, regions: Sequence[_Region]) -> Answer | int:
        self.memory.fill(CANARY)
        for region, array in zip(regions, self.given, strict=True):
            _row(self.memory, region)[:] = _bytes(array)
        kernel, placed = self.kernel, tuple(region.pages for region in regions)
        return kernel.in_process(
            GuardedRequest(str(kernel.path), kernel.symbol, self.threads, self.fd, placed, kernel.count)
        )

    def fault(self, region: _Region, array: Array) -> str | None:
        """What was written beside an array, or into one that is read."""
        p, end = region.parameter, region.begin + region.parameter.bytes
        whole = self.memory[region.offset : region.offset + region.span]
        if np.any(whole[: region.begin] != CANARY):
            return f"it writes before the start of '{p.name}'"
        if np.any(whole[end:] != CANARY):
            return f"it writes beyond the end of '{p.name}'"
        is_own = p.is_written or p in self.kernel.workspace
        if not is_own and not np.array_equal(whole[region.begin : end], _bytes(array)):
            return f"it writes into its input '{p.name}'"
        return None


def _named(call: _Call, regions: Sequence[_Region], number: int) -> str:
    """What a call did that ended by a signal: which of the guards it meets, and whether it may read there."""
    name = signal.Signals(number).name
    bare = [replace(region, before="all", after="all") for region in regions]
    if isinstance(call(bare), int):
        return f"its call ends with {name}, and not at the pages beside its arrays"
    for i, region in enumerate(regions):
        for side, where in (("after", "beyond the end"), ("before", "before the start")):
            for guard, does in (("read", "writes"), ("none", "reads")):
                one: Any = {side: guard}
                if isinstance(call([*bare[:i], replace(bare[i], **one), *bare[i + 1 :]]), int):
                    return f"it {does} {where} of '{region.parameter.name}'"
    return f"its call ends with {name} at the pages beside its arrays, and not time and again"


def _laid(parameters: Sequence[Parameter], side: Side, alignment: int) -> Iterator[_Region]:
    offset = 0
    for p in parameters:
        span = -(-p.bytes // PAGE) * PAGE
        step = max(alignment, p.dtype.itemsize)
        yield _Region(p, offset, span, (span - p.bytes) // step * step if side == "after" else 0)
        offset += span


def _file(stack: ExitStack, size: int) -> int:
    """A file of so many bytes, in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("imbrex")
        stack.callback(os.close, fd)
    else:
        fd = stack.enter_context(tempfile.TemporaryFile()).fileno()
    os.ftruncate(fd, size)
    return fd


def _row(memory: Array, region: _Region) -> Array:
    start = region.offset + region.begin
    return memory[start : start + region.parameter.bytes]


def _array(memory: Array, region: _Region) -> Array:
    p, row = region.parameter, _row(memory, region).view(region.parameter.dtype)
    return row.reshape(p.shape) if p.strides is None else strided_view(row, p.shape, p.strides)


def _bytes(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)
