"""Memory of an NVIDIA GPU that is ours: copies of host arrays for a call, workspaces for good.

Law: a workspace is made and cleared before its first launch, on a stream of its own, and every launch leaves
its zeros as they were; so a call allocates nothing, clears nothing, and may be captured into a graph.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from imbrex.run.answer import done
from imbrex.run.arrays import Array
from imbrex.run.cpu import Parameter
from imbrex.run.device import DeviceArray
from imbrex.run.placed import Placed

__all__ = ["capture_of", "uploaded", "workspace"]


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


@contextmanager
def uploaded(
    cuda: Any, arrays: Sequence[Placed], parameters: Sequence[Parameter], stream: int
) -> Generator[tuple[int, ...]]:
    """Where each array lies on the GPU; those of the host in copies, of which the written ones come back.

    Waits for the GPU at the end where there are copies.
    """
    copies: list[tuple[Any, Array, Parameter]] = []
    addresses: list[int] = []
    try:
        for array, p in zip(arrays, parameters, strict=True):
            if isinstance(array, DeviceArray):
                addresses.append(array.address)
                continue
            (memory,) = done(cuda.cuMemAlloc(array.nbytes), f"memory for '{p.name}'")
            copies.append((memory, array, p))
            addresses.append(int(memory))
            done(cuda.cuMemcpyHtoD(memory, array.ctypes.data, array.nbytes), f"copying '{p.name}'")
        yield tuple(addresses)
        if copies:
            done(cuda.cuStreamSynchronize(stream), "waiting for the GPU")
        for memory, array, p in copies:
            if p.is_written:
                done(cuda.cuMemcpyDtoH(array.ctypes.data, memory, array.nbytes), f"copying '{p.name}'")
    finally:
        for memory, _, _ in copies:
            cuda.cuMemFree(memory)  # waits for what still runs
