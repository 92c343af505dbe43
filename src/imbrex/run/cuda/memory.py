"""Memory of an NVIDIA GPU that is ours: copies of host arrays for a call, workspaces for good.

Law: a workspace is made and cleared before its first launch, on a stream of its own, and every launch leaves
its zeros as they were; so a call allocates nothing, clears nothing, and may be captured into a graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from imbrex.run.answer import done
from imbrex.run.arrays import Array
from imbrex.run.cpu import Parameter

__all__ = ["CudaMemory", "capture_of", "workspace"]


def capture_of(cuda: Any, stream: int) -> int:
    """The number of the capture into a graph that the stream is in; 0 for none."""
    error, *told = cuda.cuStreamGetCaptureInfo(stream)
    if int(error):  # the null stream, while another one is captured
        return 0
    status, number = told[:2]
    return int(number) if int(status) else 0


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
