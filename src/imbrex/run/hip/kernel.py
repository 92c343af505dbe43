"""A code object on an AMD GPU: its launches, in order, through hip-python.

Arrays on the GPU are used where they lie, in the caller's stream; arrays of the host are copied there, and
the written ones back.  Law: code runs only on the chip that it was compiled for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, assert_never

from imbrex.diagnostic import Diagnostic
from imbrex.numeral import counted
from imbrex.run.answer import done
from imbrex.run.array_check import AnyArray, check_arrays
from imbrex.run.device import DeviceArray
from imbrex.run.gpu import GpuKernel, uploaded
from imbrex.run.hip.driver import functions, require_gpu, using_device
from imbrex.run.hip.memory import HipMemory, workspace
from imbrex.run.launch import Launch, Step, Zero
from imbrex.run.stream import stream_handle

__all__ = ["HipKernel"]

_MOST_WORK_ITEMS = 1 << 32


@dataclass(frozen=True, slots=True)
class HipKernel(GpuKernel):
    """The workspace comes and goes with a call, which then waits."""

    def prepare(self) -> None:
        self.gpu()

    def gpu(self) -> Any:
        """hip-python's module `hip`, or what stands for it; a Diagnostic where there is no such GPU."""
        return require_gpu(self.chip)

    @contextmanager
    def resident(
        self,
        *arrays: AnyArray,
        threads: int | None = None,
        stream: Any = None,
        waits: bool = True,
        faults: list[str] | None = None,
    ) -> Generator[Callable[[], None]]:
        del threads
        hip = self.gpu()
        check_arrays(self.symbol, self.parameters, arrays)
        _expect_one(arrays)
        on_gpu = [a for a in arrays if isinstance(a, DeviceArray)]
        handle = stream_handle(stream, [a.source for a in on_gpu])
        names = tuple(dict.fromkeys(step.kernel for step in self.launches))
        with using_device(hip, next((a.device for a in on_gpu if a.device is not None), None)) as device:
            loaded = functions(hip, self.path, names, device)
            memory = HipMemory(hip, handle)
            with (
                uploaded(memory, arrays, self.parameters, faults) as given,
                workspace(memory, self.workspace) as scratch,
            ):
                addresses = [*given, *scratch]

                def call() -> None:
                    for step in self.steps:
                        self._run(hip, step, loaded, addresses, handle)
                    if waits:
                        memory.wait()

                yield call

    def _run(
        self, hip: Any, step: Step, loaded: dict[str, Any], addresses: Sequence[int], stream: Any
    ) -> None:
        match step:
            case Zero():
                p = (*self.parameters, *self.workspace)[step.argument]
                cleared = hip.hipMemsetAsync(addresses[step.argument], 0, p.bytes, stream)
                done(cleared, f"clearing '{p.name}'")
            case Launch():
                items = step.grid_size * step.block_size
                if items >= _MOST_WORK_ITEMS:
                    raise Diagnostic(
                        f"'{step.kernel}' has {counted(items, 'work item')}; HIP launches less than 2^32"
                    )
                pointers = tuple(ctypes.c_void_p(addresses[position]) for position in step.arguments)
                grid, block = (step.grid_size, 1, 1), (step.block_size, 1, 1)
                launched = hip.hipModuleLaunchKernel(
                    loaded[step.kernel], *grid, *block, 0, stream, None, pointers
                )
                done(launched, f"launching '{step.kernel}'")
            case _:
                assert_never(step)


def _expect_one(arrays: Sequence[AnyArray]) -> None:
    devices = {a.device for a in arrays if isinstance(a, DeviceArray) and a.device is not None}
    if len(devices) > 1:
        raise ValueError(f"the arrays lie on GPUs {sorted(devices)}, and a call runs on one")
