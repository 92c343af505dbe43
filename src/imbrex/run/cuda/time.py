"""How long a call takes on an NVIDIA GPU: by its own clock, many calls in one graph, nothing of the host.

Law: a sample is the time between two events around one launch of a graph that holds `calls_per_sample` calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from imbrex.run.answer import done
from imbrex.run.array_check import AnyArray
from imbrex.run.cuda.driver import require_gpu, using_device
from imbrex.run.cuda.kernel import CudaKernel
from imbrex.run.time import Timing

__all__ = ["measure_on_gpu"]

_LEAST_SAMPLE_NS = 200_000  # an event's clock ticks every half microsecond
_MOST_CALLS = 1000


def measure_on_gpu(
    kernel: CudaKernel, *arrays: AnyArray, budget_s: float = 0.3, warmup_s: float = 0.05, least: int = 5
) -> Timing:
    """Samples until `budget_s` has passed, at least `least`, after warming up; arrays stay on the GPU."""
    cuda = require_gpu(kernel.chip)
    with using_device(cuda, 0), _stream(cuda) as stream:
        with kernel.resident(*arrays, stream=stream, waits=False) as call:
            call()
            one_ns = _sample(cuda, stream, call)
            count = max(1, min(_MOST_CALLS, round(_LEAST_SAMPLE_NS / max(1.0, one_ns))))
            with _graph(cuda, stream, call, count) as launch:
                _until(time.perf_counter() + warmup_s, 1, lambda: _sample(cuda, stream, launch))
                end = time.perf_counter() + budget_s
                samples = _until(end, least, lambda: _sample(cuda, stream, launch))
    return Timing(tuple(sample / count for sample in samples), count)


def _until(end_s: float, least: int, sample: Callable[[], float]) -> list[float]:
    found: list[float] = []
    while len(found) < least or time.perf_counter() < end_s:
        found.append(sample())
    return found


def _sample(cuda: Any, stream: int, call: Callable[[], None]) -> float:
    """Nanoseconds between two events around the call."""
    events: list[Any] = []
    try:
        for _ in range(2):
            events += done(cuda.cuEventCreate(0), "an event")
        done(cuda.cuEventRecord(events[0], stream), "recording an event")
        call()
        done(cuda.cuEventRecord(events[1], stream), "recording an event")
        done(cuda.cuEventSynchronize(events[1]), "waiting for the GPU")
        return float(done(cuda.cuEventElapsedTime(*events), "reading the GPU's clock")[0]) * 1e6
    finally:
        for event in events:
            cuda.cuEventDestroy(event)


@contextmanager
def _stream(cuda: Any) -> Generator[int]:
    (stream,) = done(cuda.cuStreamCreate(cuda.CUstream_flags.CU_STREAM_NON_BLOCKING), "a stream")
    try:
        yield int(stream)
    finally:
        cuda.cuStreamDestroy(stream)


@contextmanager
def _graph(cuda: Any, stream: int, call: Callable[[], None], count: int) -> Generator[Callable[[], None]]:
    """`count` calls as one launch."""
    mode = cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    done(cuda.cuStreamBeginCapture(stream, mode), "capturing a graph")
    try:
        for _ in range(count):
            call()
    finally:
        ended = cuda.cuStreamEndCapture(stream)
    (graph,) = done(ended, "capturing a graph")
    try:
        (made,) = done(cuda.cuGraphInstantiate(graph, 0), "making a graph")
    finally:
        cuda.cuGraphDestroy(graph)
    try:

        def launch() -> None:
            done(cuda.cuGraphLaunch(made, stream), "launching a graph")

        yield launch
    finally:
        cuda.cuGraphExecDestroy(made)
