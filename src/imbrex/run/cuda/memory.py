"""Memory of an NVIDIA GPU that is ours: copies of host arrays for a call, workspaces for good.

Law: a workspace is made and cleared before its first launch, on a stream of its own, and every launch leaves
its zeros as they were; so a call allocates nothing, clears nothing, and may be captured into a graph.  One
that a graph has is another's when that graph is gone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from imbrex.run.answer import done
from imbrex.run.arrays import Array
from imbrex.run.cpu import Parameter

__all__ = ["CudaMemory", "GraphEnd", "capture_of", "workspace"]

_SEMAPHORE_BYTES: Final = 64
"""Room for a sem_t (32 bytes in glibc)."""
_waiting: Final = set["GraphEnd"]()
"""Semaphores that the driver may still post, whatever becomes of who asks them."""


def capture_of(cuda: Any, stream: int) -> int:
    """The number of the capture into a graph that the stream is in; 0 for none."""
    error, *answer = cuda.cuStreamGetCaptureInfo(stream)
    if int(error):  # the null stream, while another one is captured
        return 0
    status, number = answer[:2]
    return int(number) if int(status) else 0


class GraphEnd:
    """Whether the graph into which a stream is now captured is gone, with all that was instantiated of it.

    The driver posts a semaphore then (CUDA's user objects), so that no Python runs on a thread of its own,
    which may outlive the interpreter.
    """

    def __init__(self, cuda: Any, stream: int) -> None:
        libc = ctypes.CDLL(None)
        self._semaphore = ctypes.create_string_buffer(_SEMAPHORE_BYTES)
        self._try = libc.sem_trywait
        libc.sem_init(self._semaphore, 0, 0)
        _, _, graph, *_ = done(cuda.cuStreamGetCaptureInfo(stream), "asking for a graph")
        post = ctypes.cast(libc.sem_post, ctypes.c_void_p).value
        no_sync = int(cuda.CUuserObject_flags.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        moved = int(cuda.CUuserObjectRetain_flags.CU_GRAPH_USER_OBJECT_MOVE)
        at = ctypes.addressof(self._semaphore)
        (made,) = done(cuda.cuUserObjectCreate(at, post, 1, no_sync), "following a graph")
        _waiting.add(self)
        done(cuda.cuGraphRetainUserObject(graph, made, 1, moved), "following a graph")

    def is_met(self) -> bool:
        """Is it gone?  True once; nobody asks again."""
        is_gone = self._try(self._semaphore) == 0
        if is_gone:
            _waiting.discard(self)
        return is_gone


def workspace(cuda: Any, parameters: Sequence[Parameter]) -> tuple[int, ...]:
    """Where each array lies, on the current GPU, as long as the process lives.  Waits for its clearing."""
    made: list[Any] = []
    try:
        for p in parameters:
            (address,) = done(cuda.cuMemAlloc(p.bytes), f"memory for '{p.name}'")
            made.append(address)
        _cleared(cuda, [(int(at), p) for at, p in zip(made, parameters, strict=True) if p.is_zeroed])
    except BaseException:
        for address in made:
            cuda.cuMemFree(address)
        raise
    return tuple(int(address) for address in made)


def _cleared(cuda: Any, arrays: Sequence[tuple[int, Parameter]]) -> None:
    if not arrays:
        return
    flags = cuda.CUstream_flags.CU_STREAM_NON_BLOCKING
    (stream,) = done(cuda.cuStreamCreate(flags), "a stream")
    try:
        for address, p in arrays:
            done(cuda.cuMemsetD8Async(address, 0, p.bytes, stream), f"clearing '{p.name}'")
        done(cuda.cuStreamSynchronize(stream), "waiting for the GPU")
    finally:
        cuda.cuStreamDestroy(stream)


@dataclass(frozen=True)
class CudaMemory:
    """cuda: cuda-bindings' module `driver`; stream: of the call."""

    cuda: Any
    stream: int

    def allocate(self, size: int, name: str) -> Any:
        return done(self.cuda.cuMemAlloc(size), f"memory for '{name}'")[0]

    def free(self, memory: Any) -> None:
        self.cuda.cuMemFree(memory)

    def put(self, memory: Any, array: Array, name: str) -> None:
        done(self.cuda.cuMemcpyHtoD(memory, array.ctypes.data, array.nbytes), f"copying '{name}'")

    def get(self, array: Array, memory: Any, name: str) -> None:
        done(self.cuda.cuMemcpyDtoH(array.ctypes.data, memory, array.nbytes), f"copying '{name}'")

    def wait(self) -> None:
        done(self.cuda.cuStreamSynchronize(self.stream), "waiting for the GPU")
