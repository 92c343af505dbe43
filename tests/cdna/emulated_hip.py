"""The part of hip-python that Imbrex uses, played by an emulator of CDNA code objects.

So a kernel is called as on a GPU: the code object is loaded, arrays are copied, launches are made in order.
Law: a launch fails where two waves race in LDS and where memory is touched that no array owns; what is used
before the wait that brings it is not there yet.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

SUCCESS = 0


class MemcpyKind(Enum):
    hipMemcpyHostToDevice = 1
    hipMemcpyDeviceToHost = 2


@dataclass(eq=False)
class EmulatedHip:
    """One GPU.  memory: what was allocated, by address.  launched: names, in order."""

    emulator: ModuleType
    chip: str
    memory: dict[int, Any] = field(default_factory=dict)
    launched: list[str] = field(default_factory=list)
    hipMemcpyKind = MemcpyKind

    def hipGetDeviceCount(self) -> tuple[int, int]:
        return SUCCESS, 1

    def hipGetDevice(self) -> tuple[int, int]:
        return SUCCESS, 0

    def hipGetDeviceProperties(self, device: int) -> tuple[int, SimpleNamespace]:
        return SUCCESS, SimpleNamespace(gcnArchName=f"{self.chip}:sramecc+:xnack-".encode())

    def hipModuleLoadData(self, image: bytes) -> tuple[int, Any]:
        module = self.emulator.CodeObject(image)
        assert not module.unsupported(), f"the emulator does not know {module.unsupported()}"
        return SUCCESS, module

    def hipModuleGetFunction(self, module: Any, name: bytes) -> tuple[int, Any]:
        return SUCCESS, (module, name.decode())

    def hipMalloc(self, count: int) -> tuple[int, int]:
        """Poisoned, so that what is read and was never written shows."""
        array = self.emulator.DeviceArray(np.full(count, 0xA5, np.uint8))
        self.memory[array.ptr] = array
        return SUCCESS, array.ptr

    def hipFree(self, address: int) -> tuple[int]:
        del self.memory[address]
        return (SUCCESS,)

    def hipMemcpy(self, dest: int, source: int, count: int, kind: MemcpyKind) -> tuple[int]:
        ctypes.memmove(dest, source, count)
        return (SUCCESS,)

    def hipMemsetAsync(self, address: int, value: int, count: int, stream: Any) -> tuple[int]:
        ctypes.memset(address, value, count)
        return (SUCCESS,)

    def hipStreamSynchronize(self, stream: Any) -> tuple[int]:
        return (SUCCESS,)

    def hipModuleLaunchKernel(
        self, function: Any, gx: int, gy: int, gz: int, bx: int, by: int, bz: int,
        shared: int, stream: Any, params: None, extra: Sequence[ctypes.c_void_p],
    ) -> tuple[int]:  # fmt: skip
        """Workgroups run one after another, their waves in a random order, memory as late as waits allow."""
        module, name = function
        arrays = [self.memory.get(p.value or 0, np.uint64(p.value or 0)) for p in extra]
        self.launched.append(name)
        strict = {"race": True, "deferred": True, "shuffle": len(self.launched)}
        strict["buffers"] = list(self.memory.values())
        self.emulator.run(module, name, (gx, gy, gz), (bx, by, bz), arrays, dyn_lds=shared, **strict)
        return (SUCCESS,)
