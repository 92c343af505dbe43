"""Memory of an AMD GPU that is ours for a call: copies of host arrays, and workspaces."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from imbrex.run.answer import done
from imbrex.run.arrays import Array
from imbrex.run.cpu import Parameter

__all__ = ["HipMemory", "workspace"]


@dataclass(frozen=True)
class HipMemory:
    """hip: hip-python's module `hip`; stream: of the call."""

    hip: Any
    stream: Any

    def allocate(self, size: int, name: str) -> Any:
        return done(self.hip.hipMalloc(size), f"memory for '{name}'")[0]

    def free(self, memory: Any) -> None:
        self.hip.hipFree(memory)

    def put(self, memory: Any, array: Array, name: str) -> None:
        there = self.hip.hipMemcpyKind.hipMemcpyHostToDevice
        copied = self.hip.hipMemcpy(int(memory), array.ctypes.data, array.nbytes, there)
        done(copied, f"copying '{name}'")

    def get(self, array: Array, memory: Any, name: str) -> None:
        back = self.hip.hipMemcpyKind.hipMemcpyDeviceToHost
        copied = self.hip.hipMemcpy(array.ctypes.data, int(memory), array.nbytes, back)
        done(copied, f"copying '{name}'")

    def wait(self) -> None:
        done(self.hip.hipStreamSynchronize(self.stream), "waiting for the GPU")


@contextmanager
def workspace(memory: HipMemory, parameters: Sequence[Parameter]) -> Generator[list[int]]:
    """Where each array lies on the GPU while the block runs, cleared in the call's stream where it has to."""
    made: list[Any] = []
    try:
        for p in parameters:
            made.append(memory.allocate(p.bytes, p.name))
            if p.is_zeroed:
                cleared = memory.hip.hipMemsetAsync(int(made[-1]), 0, p.bytes, memory.stream)
                done(cleared, f"clearing '{p.name}'")
        yield [int(one) for one in made]
    finally:
        for one in made:
            memory.free(one)
