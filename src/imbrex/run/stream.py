"""Streams: what a driver calls the stream that a caller means."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["current_stream", "stream_handle"]


def stream_handle(stream: Any, arrays: Sequence[Any]) -> Any:
    """What HIP and CUDA call a stream.

    stream: a handle, a stream of torch or CuPy, what speaks `__cuda_stream__`, or an object of hip-python;
    None for torch's current one where one of the arrays is torch's, else the null stream.
    """
    if stream is None:
        torch: Any = sys.modules.get("torch")
        if torch is None:
            return 0
        devices = [a.device for a in arrays if isinstance(a, torch.Tensor)]
        return torch.cuda.current_stream(devices[0]).cuda_stream if devices else 0
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    for attribute in ("cuda_stream", "ptr"):
        if hasattr(stream, attribute):
            return getattr(stream, attribute)
    return stream


def current_stream(torch: Any) -> Callable[[int], int]:
    """Function from a GPU's number to the handle of torch's current stream there, by the shortest way."""
    short = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return short or (lambda device: torch.cuda.current_stream(device).cuda_stream)
