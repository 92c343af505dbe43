"""Replay: contenders recorded as CUDA graphs of several calls and replayed in turn, timed by events.

Law: every contender gives one sample a round, in the same order, on the same operands, so that all of them
meet the same clock and temperature; a sample is the time of a replay over its calls, the host's part not in
it.  For that each is queued while another still runs: before the first of a round the last one is replayed
once more, or its sample would hold the launch of its graph, 5 to 15 microseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from imbrex.bench.peer import Call
from imbrex.run.time import Timing

__all__ = ["Replay", "host_contest", "recorded", "replay_contest", "wait"]

WARM = 3
"""Calls, or replays, before the first that counts."""
LEAST, MOST = 5, 400
HOST_CALLS = 300
PATIENCE_S = 4.0
"""Replay with a kernel that runs for the first time."""


@dataclass(frozen=True)
class Replay:
    """graph: `calls` calls, recorded.  kept: what must live as long as it does."""

    graph: Any
    calls: int
    kept: object


def wait(limit_s: float = PATIENCE_S) -> None:
    """Waits until the GPU has done all that was queued; TimeoutError where a kernel seems to hang."""
    torch: Any = import_module("torch")
    mark = torch.cuda.Event()
    mark.record()
    end = time.monotonic() + limit_s
    while not mark.query():
        if time.monotonic() > end:
            raise TimeoutError(f"the GPU was not done after {limit_s:.0f} s")
        time.sleep(0.0005)


def recorded(calls: Sequence[Call]) -> Replay:
    """All calls in one graph, in order.  They have run before, so nothing is compiled or searched for in it.

    What they return lives on, so that each has memory of its own to write to.
    """
    torch: Any = import_module("torch")
    kept: list[object] = []
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for call in calls[:WARM]:
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for call in calls:
            kept.append(call())
    torch.cuda.synchronize()
    return Replay(graph, len(calls), kept)


def replay_contest(contenders: Mapping[str, Replay], budget_s: float) -> dict[str, Timing]:
    """Timings by name.  budget_s: of all contenders together, warm-up apart."""
    torch: Any = import_module("torch")
    for replay in contenders.values():
        for _ in range(WARM):
            replay.graph.replay()
    torch.cuda.synchronize()
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    ahead = list(contenders.values())[-1]
    end, rounds = time.perf_counter() + budget_s, 0
    while rounds < LEAST or (rounds < MOST and time.perf_counter() < end):
        rounds += 1
        ahead.graph.replay()
        marks = [(name, _timed(torch, replay.graph.replay)) for name, replay in contenders.items()]
        torch.cuda.synchronize()
        for name, (start, stop) in marks:
            samples[name].append(start.elapsed_time(stop) * 1e6 / contenders[name].calls)
    return {name: Timing(tuple(found), contenders[name].calls) for name, found in samples.items()}


def _timed(torch: Any, call: Callable[[], object]) -> tuple[Any, Any]:
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    stop.record()
    return start, stop


def host_contest(contenders: Mapping[str, Call], budget_s: float) -> dict[str, Timing]:
    """What a call takes of the host: many in a row, none waited for, the queue emptied between samples."""
    torch: Any = import_module("torch")
    for call in contenders.values():
        for _ in range(HOST_CALLS // 3):
            call()
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    end, rounds = time.perf_counter() + budget_s, 0
    while rounds < LEAST or (rounds < MOST and time.perf_counter() < end):
        rounds += 1
        for name, call in contenders.items():
            torch.cuda.synchronize()
            started = time.perf_counter_ns()
            for _ in range(HOST_CALLS):
                call()
            samples[name].append((time.perf_counter_ns() - started) / HOST_CALLS)
    torch.cuda.synchronize()
    return {name: Timing(tuple(found), HOST_CALLS) for name, found in samples.items()}
