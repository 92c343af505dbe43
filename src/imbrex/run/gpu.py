"""A compiled kernel on a GPU, whoever made it: what it is made of, and what a call is.

Law: an array is used where it lies; one of the host is copied to the GPU for the call, and back where the
call wrote it.  Workspaces are on the GPU beside the arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from imbrex.problem.run_time import RunTime
from imbrex.run.array_check import AnyArray, accepted, new_result, put_back
from imbrex.run.arrays import Array, in_memory
from imbrex.run.cpu import Parameter, Shaped, parameters_at, run_time_size
from imbrex.run.device import DeviceArray
from imbrex.run.launch import Launch, Step
from imbrex.run.watched import GpuMemory, watched

__all__ = ["GpuKernel", "GpuMemory", "uploaded"]


@dataclass(frozen=True, slots=True)
class GpuKernel(ABC):
    """`kernel(a, b, c)` runs all steps on arrays of the host or of one GPU.

    workspace: memory of the GPU that the steps take besides.  run_time: the size that the kernels are told;
    count: the one that they are called with, None where arrays of a call tell.
    """

    path: Path
    symbol: str
    chip: str
    parameters: tuple[Parameter, ...]
    steps: tuple[Step, ...]
    workspace: tuple[Parameter, ...] = ()
    run_time: RunTime | None = None
    count: int | None = None

    def of_size(self, count: int) -> Self:
        """The kernel of this run-time size, which knows of the same calls; ValueError where there is none."""
        if self.run_time is None or self.count == count:
            return self
        return replace(self, parameters=parameters_at(self.parameters, self.run_time, count), count=count)

    def sized(self, arrays: Sequence[Shaped]) -> Self:
        """The kernel of the run-time size that these arrays have."""
        if self.run_time is None or self.count is not None:
            return self
        return self.of_size(run_time_size(self.parameters, arrays))

    @property
    def steps_now(self) -> tuple[Step, ...]:
        """Steps of a call: where its run-time size is known, those for it."""
        if self.count is None:
            return self.steps
        found = (step.at(self.count) if isinstance(step, Launch) else step for step in self.steps)
        return tuple(step for step in found if step is not None)

    @property
    def launches(self) -> Iterator[Launch]:
        """Steps that are launches, in order."""
        return (step for step in self.steps_now if isinstance(step, Launch))

    @property
    def grid_sizes(self) -> tuple[int, ...]:
        """Workgroups of each launch, in order."""
        return tuple(step.grid_size for step in self.launches)

    @property
    def workspace_bytes(self) -> int:
        """Memory beside the arrays."""
        return sum(p.bytes for p in self.workspace)

    def accepted(self, value: object, name: str) -> AnyArray:
        """`value` as a call takes it: where it lies, on a GPU or in memory of the host."""
        return accepted(value, name)

    def new_result(self, parameter: Parameter, like: Any) -> Any:
        """An array for the output, where `like` lies and of its kind."""
        return new_result(parameter, like)

    def __call__(self, *arrays: AnyArray, threads: int | None = None, stream: Any = None) -> None:
        """Run in `stream`, as `stream_handle` takes it.

        A call on arrays of a GPU does not wait for its end; one on arrays of the host does.
        """
        with self.resident(*arrays, threads=threads, stream=stream, waits=False) as call:
            call()

    @abstractmethod
    def prepare(self) -> None:
        """A Diagnostic where this machine cannot run it."""

    @abstractmethod
    def resident(
        self,
        *arrays: AnyArray,
        threads: int | None = None,
        stream: Any = None,
        waits: bool = True,
        faults: list[str] | None = None,
    ) -> AbstractContextManager[Callable[[], None]]:
        """A call without what is done once: arrays of the host are on the GPU while the block runs, and what
        was written comes back at its end.  threads: of the host, a GPU has its own.  waits: each call returns
        when the GPU is done.  faults: where it is given, arrays of the host lie between margins on the GPU,
        and what a call writes that is not its result is added to it.
        """


@contextmanager
def uploaded(
    gpu: GpuMemory,
    arrays: Sequence[AnyArray],
    parameters: Sequence[Parameter],
    faults: list[str] | None = None,
) -> Generator[tuple[int, ...]]:
    """Where each array lies on the GPU; those of the host in copies, of which the written ones come back.

    Waits for the GPU at the end where there are copies.  faults: as of `GpuKernel.resident`.
    """
    if faults is not None and not any(isinstance(array, DeviceArray) for array in arrays):
        with watched(gpu, cast("Sequence[Array]", arrays), parameters, faults) as addresses_between:
            yield addresses_between
        return
    copies: list[tuple[Any, Array, Parameter]] = []
    addresses: list[int] = []
    try:
        for array, p in zip(arrays, parameters, strict=True):
            if isinstance(array, DeviceArray):
                addresses.append(array.address)
                continue
            row = in_memory(array)
            memory = gpu.allocate(row.nbytes, p.name)
            copies.append((memory, array, p))
            addresses.append(int(memory))
            gpu.put(memory, row, p.name)
        yield tuple(addresses)
        if copies:
            gpu.wait()
        for memory, array, p in copies:
            if p.is_written and p.strides is None:
                gpu.get(array, memory, p.name)
            elif p.is_written:
                row = np.empty_like(in_memory(array))
                gpu.get(row, memory, p.name)
                put_back(row, array, p)
    finally:
        for memory, _, _ in copies:
            gpu.free(memory)
