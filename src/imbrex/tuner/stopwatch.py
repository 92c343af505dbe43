"""Stopwatch: kernels of one problem, timed in turn on arrays that caches have forgotten.

    a block      each kernel once, in an order drawn anew
    a sample     so many calls in a row that the clock is exact, each on the next set of arrays

On a CPU the sets together hold twice what its L2 keeps; L3 is shared, and of a virtual machine unknown.  What
one thread does is timed by the clock of this thread, which stands while others have the processor.  On
a GPU they hold several times its L2 (`bench.gpu.rotation`), and calls are replayed from a graph, so that no
time of the host is in them; without torch there is one set, and the time is that of warm caches.

Law: all kernels of a block meet the same arrays and the same state of the machine.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from imbrex.kernel import Kernel, Target
from imbrex.problem import Problem
from imbrex.run.host_machine import host_machine
from imbrex.verify.data import random_operands

__all__ = ["Block", "blocks", "is_cold"]

SAMPLE_NS: Final = 2_000_000
MOST_SETS: Final = 8
MOST_BYTES: Final = 256 << 20
"""Arrays of all sets on a host."""
REPLAY_S: Final = 0.002
"""Time of all replays of a kernel in one block."""
STOLEN_TICKS: Final = 1
"""Ticks of 10 ms that another guest had while a block was timed, from which on it is disturbed."""
WAITED: Final = 0.01
"""The part of a block for which threads of this process stood in line for a processor, likewise, where more
than one is timed.
"""

Block: TypeAlias = tuple[tuple[float, ...], bool]
"""Nanoseconds of one call of each kernel, and whether others had a part of the processor meanwhile."""
Sample: TypeAlias = Callable[[], float]


def is_cold(target: Target) -> bool:
    """Do samples of a target's kernels defeat caches?"""
    return not target.is_cuda or find_spec("torch") is not None


def blocks(kernels: Sequence[Kernel], seed: int = 0) -> Generator[Block]:
    """Blocks without end; after some calls to warm up."""
    order, rng = list(range(len(kernels))), random.Random(seed)
    with ExitStack() as stack:
        samples = [stack.enter_context(_sampled(kernel)) for kernel in kernels]
        waiting = _none if kernels[0].threads == 1 else _waited_ns
        for sample in samples:
            sample()
        while True:
            rng.shuffle(order)
            stolen, waited, began = _stolen(), waiting(), time.perf_counter_ns()
            found = [0.0] * len(kernels)
            for index in order:
                found[index] = samples[index]()
            least = WAITED * (time.perf_counter_ns() - began)
            yield tuple(found), _stolen() - stolen >= STOLEN_TICKS or waiting() - waited > least


@contextmanager
def _sampled(kernel: Kernel) -> Generator[Sample]:
    if not kernel.target.is_cuda:
        with ExitStack() as stack:
            resident = kernel.loaded.resident
            calls = [stack.enter_context(resident(*s, threads=kernel.threads)) for s in _sets(kernel.problem)]
            yield _in_turn(calls, time.thread_time_ns if kernel.threads == 1 else time.perf_counter_ns)
    elif is_cold(kernel.target):
        yield _replayed(kernel)
    else:
        yield _on_gpu_alone(kernel)


def _in_turn(calls: Sequence[Callable[[], None]], clock: Callable[[], int]) -> Sample:
    """A sample on the host, by a clock of nanoseconds."""
    turn = cycle(calls)

    def timed(count: int) -> float:
        started = clock()
        for _ in range(count):
            next(turn)()
        return (clock() - started) / count

    one = min(timed(1) for _ in range(2))
    count = max(1, round(SAMPLE_NS / max(1.0, one)))
    return lambda: timed(count)


@lru_cache(maxsize=1)
def _sets(problem: Problem) -> tuple[tuple[Any, ...], ...]:
    """Arrays for calls in turn."""
    size = max(1, sum(o.reach * o.dtype.bytes for o in problem.operands))
    wanted = -(-2 * (host_machine().l2_bytes or 0) // size) + 1
    count = max(1, min(wanted, MOST_SETS, MOST_BYTES // size))
    operands = [random_operands(problem, seed, "float").arrays for seed in range(count)]
    return tuple(tuple(arrays[o.role] for o in problem.operands) for arrays in operands)


def _replayed(kernel: Kernel) -> Sample:
    """A sample on a GPU: replays of a graph, queued behind one that is not timed."""
    from imbrex.bench.gpu.replay import recorded, replay_contest

    turning = _turning(kernel.problem)
    arrays = [[tensors[o.role] for o in kernel.problem.operands] for tensors in turning.sets]
    replay = recorded([lambda mine=mine: kernel(*mine) for mine in arrays])
    return lambda: float(np.median(replay_contest({"": replay}, REPLAY_S)[""].samples_ns))


@lru_cache(maxsize=1)
def _turning(problem: Problem) -> Any:
    from imbrex.bench.gpu.rotation import rotation

    torch: Any = import_module("torch")
    return rotation(problem, torch.device("cuda"))


def _on_gpu_alone(kernel: Kernel) -> Sample:
    from imbrex.run.cuda.kernel import CudaKernel
    from imbrex.run.cuda.time import measure_on_gpu

    (arrays,), loaded = _sets(kernel.problem)[:1], kernel.loaded
    assert isinstance(loaded, CudaKernel), loaded
    return lambda: measure_on_gpu(loaded, *arrays, budget_s=REPLAY_S, warmup_s=0.0).median_ns


def _none() -> int:
    """What does not count where the clock of a thread does."""
    return 0


def _waited_ns() -> int:
    """Nanoseconds for which threads of this process could have run, and others did (Linux,
    Documentation/scheduler/sched-stats.rst: the second number of a task).
    """
    found = 0
    for file in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError, ValueError, IndexError):  # a thread that has ended, another system
            found += int(file.read_text(encoding="ascii").split()[1])
    return found


def _stolen() -> int:
    """Ticks that a hypervisor gave to others (Linux, proc(5), stat: the eighth number of the first line)."""
    try:
        with Path("/proc/stat").open(encoding="ascii") as file:
            return int(file.readline().split()[8])
    except (OSError, ValueError, IndexError):
        return 0
