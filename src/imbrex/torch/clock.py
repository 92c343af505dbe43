"""Times of calls on torch's tensors: on a CPU that of a call, on a GPU what a call adds to a queue of them.

Law: whoever calls a model on a GPU waits for none of its layers.  So calls are queued one behind the other,
and their time is the host's or the GPU's, whichever takes longer; of a CUDA graph, which the host only
replays, it is the GPU's alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

__all__ = ["recorded", "sampler"]

torch: Any = import_module("torch")

QUEUED: Final = 8
"""Calls that are queued for one sample of a GPU's."""


def sampler(
    call: Callable[[], object], device: Any, as_graph: bool = False, queued: int = QUEUED
) -> Callable[[], float]:
    """What gives the seconds of a call; it has been called before.  as_graph: of replays, on a GPU.

    queued: calls of a sample there; 1 where the time is that until the result is there.
    """
    if device.type != "cuda":
        return lambda: _seconds(call)
    repeated = recorded(call, device) if as_graph else call

    def several() -> None:
        for _ in range(queued):
            repeated()
        torch.cuda.synchronize(device)

    def sample() -> float:
        torch.cuda.synchronize(device)
        return _seconds(several) / queued

    return sample


def recorded(call: Callable[[], Any], device: Any) -> Callable[[], Any]:
    """The call as replays of a CUDA graph, which give its result, always the same tensors; it has been called
    before.
    """
    with torch.cuda.device(device):
        torch.cuda.synchronize(device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = call()

    def replay(kept: object = call) -> Any:
        """kept: what has what the graph reads."""
        graph.replay()
        return result

    return replay


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
