"""An AMD GPU that is played here: the part of hip-python that Imbrex uses, over the emulator of `cdna`.

So a kernel is called as on a GPU: the code object is loaded, arrays are copied, launches are made in order.
Law: a launch fails where two waves race in LDS, and where memory is touched that none of its arrays owns;
what is used before the wait that brings it is not there yet.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from types import SimpleNamespace
from typing import Any

from imbrex.cdna.code_object import Bytes, CodeObject, aligned, load_code_object
from imbrex.cdna.execute import Launch, Memory, Strictness, execute
from imbrex.diagnostic import Diagnostic
from imbrex.run import arrays as of_host
from imbrex.run.array_check import AnyArray
from imbrex.run.arrays import as_array, same_kind
from imbrex.run.cpu import Parameter
from imbrex.run.hip.kernel import HipKernel

__all__ = ["EmulatedGpu", "EmulatedKernel", "emulated_gpu"]

SUCCESS = 0
_GUARD_BYTES = 4096
_NOTHING = 0xA5
"""What stands in memory that nobody has written, and around every array."""


class MemcpyKind(Enum):
    hipMemcpyHostToDevice = 1
    hipMemcpyDeviceToHost = 2


@dataclass(eq=False)
class EmulatedGpu:
    """One GPU.  memory: what was allocated, by address.  launched: names, in order.

    Workgroups run one after another, in the order in which hardware begins them, and their waves in a random
    one.
    """

    chip: str
    memory: dict[int, tuple[Bytes, int]] = field(default_factory=lambda: dict[int, tuple[Bytes, int]]())
    launched: list[str] = field(default_factory=lambda: list[str]())
    hipMemcpyKind = MemcpyKind

    def hipGetDeviceCount(self) -> tuple[int, int]:
        return SUCCESS, 1

    def hipGetDevice(self) -> tuple[int, int]:
        return SUCCESS, 0

    def hipGetDeviceProperties(self, device: int) -> tuple[int, SimpleNamespace]:
        return SUCCESS, SimpleNamespace(gcnArchName=f"{self.chip}:sramecc+:xnack-".encode())

    def hipModuleLoadData(self, image: bytes) -> tuple[int, CodeObject]:
        return SUCCESS, load_code_object(image)

    def hipModuleGetFunction(self, module: CodeObject, name: bytes) -> tuple[int, tuple[CodeObject, str]]:
        return SUCCESS, (module, name.decode())

    def hipMalloc(self, count: int) -> tuple[int, int]:
        memory = aligned(count + 2 * _GUARD_BYTES)
        memory[:] = _NOTHING
        address = memory.ctypes.data + _GUARD_BYTES
        self.memory[address] = memory, count
        return SUCCESS, address

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
        self, function: tuple[CodeObject, str], gx: int, gy: int, gz: int, bx: int, by: int, bz: int,
        shared: int, stream: Any, params: None, extra: Sequence[ctypes.c_void_p],
    ) -> tuple[int]:  # fmt: skip
        module, name = function
        addresses = [pointer.value or 0 for pointer in extra]
        owned = [self._array(address) for address in dict.fromkeys(addresses)]
        self.launched.append(name)
        strict = Strictness(seed=len(self.launched))
        pointers = [address.to_bytes(8, "little") for address in addresses]
        execute(module, name, Launch((gx, gy, gz), (bx, by, bz), shared), pointers, owned, strict)
        return (SUCCESS,)

    def _array(self, address: int) -> Memory:
        """What a pointer may reach: it ends as far before the end of what was allocated as it begins behind
        its start, so that margins on both sides belong to nobody.
        """
        for start, (_, count) in self.memory.items():
            if start <= address < start + max(count, 1):
                return Memory(address, count - 2 * (address - start))
        raise Diagnostic(f"a launch is given 0x{address:x}, which is no memory of the GPU")


@cache
def emulated_gpu(chip: str) -> EmulatedGpu:
    """The one of this process."""
    return EmulatedGpu(chip)


@dataclass(frozen=True, slots=True)
class EmulatedKernel(HipKernel):
    """Runs on the emulator whatever GPU is here; arrays are the host's."""

    def prepare(self) -> None:
        """Nothing: it can always run."""

    def accepted(self, value: object, name: str) -> AnyArray:
        return as_array(value, name)

    def new_result(self, parameter: Parameter, like: Any) -> Any:
        return same_kind(of_host.new_array(parameter.shape, parameter.dtype, parameter.strides), like)

    def gpu(self) -> EmulatedGpu:
        return emulated_gpu(self.chip)
