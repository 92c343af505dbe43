"""CUDA's driver played by Python: memory of its GPUs is memory of the host, and every call is written down.

What makes arguments (configurations, tensor maps, numbers, kinds) is cuda-bindings' own.  Its kernels add
their first array to their last.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from imbrex.problem import Problem
from imbrex.problem.operand import dense_strides
from imbrex.run.arrays import strided_view
from imbrex.verify.reference import reference

driver: Any = pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
OWN = ("CU", "cuuint")
QUIET = (
    "cuInit", "cuDeviceGetCount", "cuDeviceGetAttribute", "cuDeviceGetName", "cuCtxGetCurrent",
    "cuCtxGetDevice", "cuDevicePrimaryCtxRetain", "cuDriverGetVersion", "cuThreadExchangeStreamCaptureMode",
    "cuStreamGetCaptureInfo", "cuPointerGetAttribute", "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuOccupancyMaxActiveClusters",
)  # fmt: skip
KINDS = SimpleNamespace(
    **{k.name.removeprefix("CU_LAUNCH_ATTRIBUTE_"): k for k in driver.CUlaunchAttributeID}
)
SUCCESS = driver.CUresult.CUDA_SUCCESS


@dataclass(eq=False)
class FakeCuda:
    """failing: a call's name -> the error that it gives.  maps: how many tensor maps a kernel takes."""

    capability: tuple[int, int] = (9, 0)
    devices: int = 1
    version: int = 13000
    contexts: list[int] = field(default_factory=lambda: [100])
    capture: int = 0
    maps: int = 0
    processors: int = 132
    failing: dict[str, int] = field(default_factory=dict)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    memory: dict[int, Any] = field(default_factory=dict)
    followed: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    launched: list[SimpleNamespace] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(OWN):
            return getattr(driver, name)
        if not name.startswith("cu"):
            raise AttributeError(name)
        action: Callable[..., Any] = getattr(type(self), f"_{name}")

        def call(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name, *arguments))
            if name in self.failing:
                return (driver.CUresult(self.failing[name]),)
            return (SUCCESS, *action(self, *arguments))

        return call

    @property
    def names(self) -> list[str]:
        """The calls that do something."""
        return [name for name, *_ in self.calls if name not in QUIET]

    def _cuInit(self, flags: int) -> tuple[()]:
        return ()

    def _cuDriverGetVersion(self) -> tuple[int]:
        return (self.version,)

    def _cuDeviceGetCount(self) -> tuple[int]:
        return (self.devices,)

    def _cuDeviceGetName(self, length: int, device: int) -> tuple[bytes]:
        return (b"NVIDIA H200\0\0",)

    def _cuDeviceGetAttribute(self, kind: Any, device: int) -> tuple[int]:
        if kind.name.endswith("MULTIPROCESSOR_COUNT"):
            return (self.processors,)
        return (self.capability["MINOR" in kind.name],)

    def _cuOccupancyMaxActiveBlocksPerMultiprocessor(
        self, function: str, block: int, shared: int
    ) -> tuple[int]:
        return (228 * 1024 // (shared + 1024),)

    def _cuOccupancyMaxActiveClusters(self, function: str, config: Any) -> tuple[int]:
        return (self.processors // config.attrs[0].value.clusterDim.x,)

    def _cuCtxGetCurrent(self) -> tuple[int]:
        return (self.contexts[-1],)

    def _cuCtxGetDevice(self) -> tuple[int]:
        return (self.contexts[-1] - 100,)

    def _cuCtxPushCurrent(self, context: int) -> tuple[()]:
        self.contexts.append(context)
        return ()

    def _cuCtxPopCurrent(self) -> tuple[int]:
        return (self.contexts.pop(),)

    def _cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int]:
        return (100 + device,)

    def _cuPointerGetAttribute(self, kind: Any, address: int) -> tuple[int]:
        return (0,)

    def _cuModuleLoadData(self, image: bytes) -> tuple[bytes]:
        return (image,)

    def _cuModuleGetFunction(self, module: bytes, name: bytes) -> tuple[str]:
        return (name.decode(),)

    def _cuFuncSetAttribute(self, function: str, kind: Any, value: int) -> tuple[()]:
        return ()

    def _cuThreadExchangeStreamCaptureMode(self, mode: Any) -> tuple[Any]:
        return (mode,)

    def _cuStreamGetCaptureInfo(self, stream: int) -> tuple[int, int, str]:
        return (int(self.capture > 0), self.capture, f"graph {self.capture}")

    def _cuUserObjectCreate(self, at: int, end: int, count: int, flags: int) -> tuple[tuple[int, int]]:
        return ((at, end),)

    def _cuGraphRetainUserObject(
        self, graph: str, made: tuple[int, int], count: int, flags: int
    ) -> tuple[()]:
        self.followed.setdefault(graph, []).append(made)
        return ()

    def end(self, capture: int) -> None:
        """A graph, and all that was made of it, is gone: its user objects end."""
        for at, end in self.followed.pop(f"graph {capture}"):
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(end)(at)

    def _cuStreamCreate(self, flags: Any) -> tuple[int]:
        return (9000,)

    def _cuStreamDestroy(self, stream: int) -> tuple[()]:
        return ()

    def _cuStreamSynchronize(self, stream: int) -> tuple[()]:
        return ()

    def _cuStreamBeginCapture(self, stream: int, mode: Any) -> tuple[()]:
        self.capture += 1
        return ()

    def _cuStreamEndCapture(self, stream: int) -> tuple[str]:
        self.capture = 0
        return ("graph",)

    def _cuGraphInstantiate(self, graph: str, flags: int) -> tuple[str]:
        return ("made",)

    def _cuGraphLaunch(self, made: str, stream: int) -> tuple[()]:
        return ()

    def _cuGraphDestroy(self, graph: str) -> tuple[()]:
        return ()

    def _cuGraphExecDestroy(self, made: str) -> tuple[()]:
        return ()

    def _cuEventCreate(self, flags: int) -> tuple[object]:
        return (object(),)

    def _cuEventRecord(self, event: object, stream: int) -> tuple[()]:
        return ()

    def _cuEventSynchronize(self, event: object) -> tuple[()]:
        return ()

    def _cuEventElapsedTime(self, start: object, end: object) -> tuple[float]:
        return (0.05,)

    def _cuEventDestroy(self, event: object) -> tuple[()]:
        return ()

    def _cuMemAlloc(self, count: int) -> tuple[int]:
        memory = ctypes.create_string_buffer(b"\xff" * (count + 16), count + 16)
        address = ctypes.addressof(memory)
        address += -address % 16
        self.memory[address] = memory
        return (address,)

    def _cuMemFree(self, address: int) -> tuple[()]:
        del self.memory[address]
        return ()

    def _cuMemcpyHtoD(self, dest: int, source: int, count: int) -> tuple[()]:
        ctypes.memmove(dest, source, count)
        return ()

    def _cuMemcpyDtoH(self, dest: int, source: int, count: int) -> tuple[()]:
        ctypes.memmove(dest, source, count)
        return ()

    def _cuMemsetD8Async(self, address: int, value: int, count: int, stream: int) -> tuple[()]:
        ctypes.memset(address, value, count)
        return ()

    def _cuTensorMapEncodeTiled(self, *arguments: Any) -> tuple[Any]:
        return (_Map(arguments[2]),)

    def _cuTensorMapEncodeIm2col(self, *arguments: Any) -> tuple[Any]:
        return (_Map(arguments[2]),)

    def _cuLaunchKernelEx(self, config: Any, function: str, parameters: int, extra: int) -> tuple[()]:
        places = (ctypes.c_void_p * (self.maps + 2)).from_address(parameters)
        maps = [ctypes.string_at(int(at or 0), 128) for at in places[: self.maps]]
        source, dest = (ctypes.c_uint64.from_address(int(at or 0)).value for at in places[self.maps :])
        attributes = list(config.attrs) if config.numAttrs else []
        cluster = [a.value.clusterDim.x for a in attributes if a.id == KINDS.CLUSTER_DIMENSION]
        early = [a.value for a in attributes if a.id == KINDS.PROGRAMMATIC_STREAM_SERIALIZATION]
        self.launched.append(
            SimpleNamespace(
                kernel=function,
                grid=(config.gridDimX, config.gridDimY, config.gridDimZ),
                block=(config.blockDimX, config.blockDimY, config.blockDimZ),
                shared_bytes=config.sharedMemBytes,
                stream=int(config.hStream),
                cluster=cluster,
                is_early=[value.programmaticStreamSerializationAllowed for value in early] == [1],
                maps=maps,
                aligned=[int(at or 0) % 64 == 0 for at in places[: self.maps]],
                addresses=(source, dest),
            )
        )
        added, result = (
            np.frombuffer((ctypes.c_char * 128).from_address(a), np.float32) for a in (source, dest)
        )
        result += added
        return ()


@dataclass(eq=False)
class ComputingCuda(FakeCuda):
    """Its launches compute the problem of their kernel, which is found by the kernel's name."""

    problems: dict[str, Problem] = field(default_factory=dict)

    def _cuLaunchKernelEx(self, config: Any, function: str, parameters: int, extra: int) -> tuple[()]:
        problem = self.problems[function]
        places = (ctypes.c_void_p * len(problem.operands)).from_address(parameters)
        arrays: dict[str, Any] = {}
        for at, operand in zip(places, problem.operands, strict=True):
            address = ctypes.c_uint64.from_address(int(at or 0)).value
            kind, strides = operand.dtype.numpy, operand.strides or dense_strides(operand.shape)
            raw = (ctypes.c_char * (operand.reach * kind.itemsize)).from_address(address)
            arrays[operand.role] = strided_view(np.frombuffer(raw, kind), operand.shape, strides)
        written = next(o for o in problem.operands if o.is_written)
        want = reference(problem, arrays).want
        arrays[written.role][...] = want.astype(written.dtype.numpy)
        self.launched.append(SimpleNamespace(kernel=function, stream=int(config.hStream)))
        return ()


class _Map:
    """Its words are 1s, but the first, which is the address."""

    def __init__(self, address: int) -> None:
        self.words = (ctypes.c_uint64 * 16)(address, *([0xFFFF_FFFF_FFFF_FFFF] * 15))

    def getPtr(self) -> int:
        return ctypes.addressof(self.words)
