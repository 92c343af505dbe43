"""A code object on an AMD GPU: its launches, in order, through hip-python.

Arrays on the GPU are used where they lie, in the caller's stream; arrays of the host are copied there, and
the written ones back.  Law: code runs only on the chip that it was compiled for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

from imbrex.diagnostic import Diagnostic
from imbrex.run.answer import done
from imbrex.run.arrays import Array
from imbrex.run.cpu import Parameter
from imbrex.run.device import DeviceArray
from imbrex.run.hip.driver import functions, require_gpu, using_device
from imbrex.run.launch import Launch, Step, Zero
from imbrex.run.placed import Placed, accepted, check_placed, new_result
from imbrex.run.stream import stream_handle

__all__ = ["HipKernel"]

_MOST_WORK_ITEMS = 1 << 32


@dataclass(frozen=True, slots=True)
class HipKernel:
    """`kernel(a, b, c)` runs all steps on arrays of the host or of one GPU.

    workspace: memory of the GPU that the steps take besides; it comes and goes with a call, which then waits.
    """

    path: Path
    symbol: str
    chip: str
    parameters: tuple[Parameter, ...]
    steps: tuple[Step, ...]
    workspace: tuple[Parameter, ...] = ()

    @property
    def grid_sizes(self) -> tuple[int, ...]:
        """Workgroups of each launch, in order."""
        return tuple(step.grid_size for step in self.steps if isinstance(step, Launch))

    @property
    def workspace_bytes(self) -> int:
        """Memory beside the arrays."""
        return sum(p.bytes for p in self.workspace)

    def prepare(self) -> None:
        """A Diagnostic where this machine cannot run it."""
        require_gpu(self.chip)

    def accepted(self, value: object, name: str) -> Placed:
        """`value` as a call takes it: where it lies, on a GPU or in memory of the host."""
        return accepted(value, name)

    def new_result(self, parameter: Parameter, like: Any) -> Any:
        """An array for the output, where `like` lies and of its kind."""
        return new_result(parameter, like)

    def __call__(self, *arrays: Placed, threads: int | None = None, stream: Any = None) -> None:
        """In `stream`, as `stream_handle` takes it.

        A call on arrays of a GPU does not wait for its end; one on arrays of the host does.
        """
        with self.resident(*arrays, threads=threads, stream=stream, waits=False) as call:
            call()

    @contextmanager
    def resident(
        self, *arrays: Placed, threads: int | None = None, stream: Any = None, waits: bool = True
    ) -> Generator[Callable[[], None]]:
        """A call without what is done once: arrays of the host are on the GPU while the block runs, and what
        was written comes back at its end.  waits: each call returns when the GPU is done.
        """
        del threads  # of the host; a GPU has its own
        hip = require_gpu(self.chip)
        check_placed(self.symbol, self.parameters, arrays)
        _expect_one(arrays)
        on_gpu = [a for a in arrays if isinstance(a, DeviceArray)]
        handle = stream_handle(stream, [a.source for a in on_gpu])
        names = tuple(dict.fromkeys(step.kernel for step in self.steps if isinstance(step, Launch)))
        with using_device(hip, next((a.device for a in on_gpu if a.device is not None), None)) as device:
            loaded = functions(hip, self.path, names, device)
            with (
                _uploaded(hip, arrays, self.parameters, handle) as given,
                _allocated(hip, self.workspace, handle) as scratch,
            ):
                addresses = [*given, *scratch]

                def call() -> None:
                    for step in self.steps:
                        self._run(hip, step, loaded, addresses, handle)
                    if waits:
                        done(hip.hipStreamSynchronize(handle), "waiting for the GPU")

                yield call

    def _run(
        self, hip: Any, step: Step, loaded: dict[str, Any], addresses: Sequence[int], stream: Any
    ) -> None:
        match step:
            case Zero():
                p = self.parameters[step.argument]
                cleared = hip.hipMemsetAsync(addresses[step.argument], 0, p.bytes, stream)
                done(cleared, f"clearing '{p.name}'")
            case Launch():
                items = step.grid_size * step.block_size
                if items >= _MOST_WORK_ITEMS:
                    raise Diagnostic(f"'{step.kernel}' has {items} work items; HIP launches less than 2^32")
                pointers = tuple(ctypes.c_void_p(addresses[place]) for place in step.arguments)
                grid, block = (step.grid_size, 1, 1), (step.block_size, 1, 1)
                launched = hip.hipModuleLaunchKernel(
                    loaded[step.kernel], *grid, *block, 0, stream, None, pointers
                )
                done(launched, f"launching '{step.kernel}'")
            case _:
                assert_never(step)


def _expect_one(arrays: Sequence[Placed]) -> None:
    devices = {a.device for a in arrays if isinstance(a, DeviceArray) and a.device is not None}
    if len(devices) > 1:
        raise ValueError(f"the arrays lie on GPUs {sorted(devices)}, and a call runs on one")


@contextmanager
def _allocated(hip: Any, workspace: Sequence[Parameter], stream: Any) -> Generator[list[int]]:
    """Where each array of the workspace lies on the GPU."""
    memories: list[Any] = []
    try:
        for p in workspace:
            (memory,) = done(hip.hipMalloc(p.bytes), f"memory for '{p.name}'")
            memories.append(memory)
            if p.is_zeroed:
                done(hip.hipMemsetAsync(int(memory), 0, p.bytes, stream), f"clearing '{p.name}'")
        yield [int(memory) for memory in memories]
    finally:
        for memory in memories:
            hip.hipFree(memory)  # waits for what still runs


@contextmanager
def _uploaded(
    hip: Any, arrays: Sequence[Placed], parameters: Sequence[Parameter], stream: Any
) -> Generator[list[int]]:
    """Where each array lies on the GPU; those of the host in copies, of which the written ones come back."""
    copies: list[tuple[Any, Array, Parameter]] = []
    addresses: list[int] = []
    try:
        for array, p in zip(arrays, parameters, strict=True):
            if isinstance(array, DeviceArray):
                addresses.append(array.address)
                continue
            (memory,) = done(hip.hipMalloc(array.nbytes), f"memory for '{p.name}'")
            copies.append((memory, array, p))
            addresses.append(int(memory))
            there = hip.hipMemcpyKind.hipMemcpyHostToDevice
            copied = hip.hipMemcpy(addresses[-1], array.ctypes.data, array.nbytes, there)
            done(copied, f"copying '{p.name}'")
        yield addresses
        if copies:
            done(hip.hipStreamSynchronize(stream), "waiting for the GPU")
        for memory, array, p in copies:
            if p.is_written:
                back = hip.hipMemcpyKind.hipMemcpyDeviceToHost
                copied = hip.hipMemcpy(array.ctypes.data, int(memory), array.nbytes, back)
                done(copied, f"copying '{p.name}'")
    finally:
        for memory, _, _ in copies:
            hip.hipFree(memory)
