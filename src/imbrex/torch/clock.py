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

__all__ = ["sampler"]

torch: Any = import_module("torch")

QUEUED: Final = 8
"""Calls that are queued for one sample of a GPU's."""


def sampler(call: Callable[[], object], device: Any, as_graph: bool) -> Callable[[], float]:
    """What gives the seconds of a call; it has been called before.  as_graph: of replays, on a GPU."""
    if device.type != "cuda":
        return lambda: _seconds(call)
    repeated = _recorded(call, device) if as_graph else call

    def sample() -> float:
        torch.cuda.synchronize(device)
        return _seconds(lambda: _queued(repeated, device)) / QUEUED

    return sample


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _queued(call: Callable[[], object], device: Any) -> None:
    for _ in range(QUEUED):
        call()
    torch.cuda.synchronize(device)


def _recorded(call: Callable[[], object], device: Any) -> Callable[[], object]:
    with torch.cuda.device(device):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = call()

    def replay(kept: object = (result, call)) -> None:
        """kept: what the graph writes and reads."""
        graph.replay()

    return replay
