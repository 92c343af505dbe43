"""The HIP runtime through ctypes: what a kit needs of it, with every error raised.

Source: the HIP runtime API's reference, "Module management", "Event management", "Memory management".
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_void_p
from typing import Any

__all__ = ["Hip", "Refused"]

LIBRARIES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5")
_TO_DEVICE, _TO_HOST = 1, 2
_PROPERTIES = ("hipGetDevicePropertiesR0600", "hipGetDeviceProperties")
"""Two versions of a structure, which begins with the GPU's name; its chip is looked for as text."""
_MOST_BYTES = 1 << 16

_SIGNATURES = {
    "hipGetDeviceCount": (POINTER(c_int),),
    "hipSetDevice": (c_int,),
    "hipRuntimeGetVersion": (POINTER(c_int),),
    "hipDriverGetVersion": (POINTER(c_int),),
    "hipMalloc": (POINTER(c_void_p), c_size_t),
    "hipFree": (c_void_p,),
    "hipMemcpy": (c_void_p, c_void_p, c_size_t, c_int),
    "hipMemset": (c_void_p, c_int, c_size_t),
    "hipMemsetAsync": (c_void_p, c_int, c_size_t, c_void_p),
    "hipDeviceSynchronize": (),
    "hipModuleLoadData": (POINTER(c_void_p), c_void_p),
    "hipModuleUnload": (c_void_p,),
    "hipModuleGetFunction": (POINTER(c_void_p), c_void_p, c_char_p),
    "hipModuleLaunchKernel": (
        c_void_p, *(c_uint,) * 6, c_uint, c_void_p, POINTER(c_void_p), POINTER(c_void_p),
    ),
    "hipEventCreate": (POINTER(c_void_p),),
    "hipEventRecord": (c_void_p, c_void_p),
    "hipEventSynchronize": (c_void_p,),
    "hipEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
}  # fmt: skip


class Refused(Exception):
    """What cannot be done here, in a sentence."""


class Hip:
    """One GPU.  All calls are in the default stream."""

    def __init__(self, path: str | None = None, device: int = 0) -> None:
        self.library = _opened(path)
        for name, arguments in _SIGNATURES.items():
            function = self._function(name)
            function.argtypes, function.restype = list(arguments), c_int
        count = c_int()
        if self.library.hipGetDeviceCount(byref(count)) or count.value == 0:
            raise Refused("there is no AMD GPU: the runtime finds none (rocminfo lists what the driver sees)")
        if device >= count.value:
            raise Refused(f"there is no GPU {device}: the runtime finds {count.value}, from 0 on")
        self.call("hipSetDevice", device)
        self.start, self.end = self._event(), self._event()
        self.device = device

    def facts(self) -> Mapping[str, Any]:
        """What the GPU is."""
        function = next((f for f in map(self._known, _PROPERTIES) if f is not None), None)
        if function is None:
            raise Refused("the runtime does not say what the GPU is: it has no hipGetDeviceProperties")
        function.argtypes, function.restype = [c_void_p, c_int], c_int
        properties = ctypes.create_string_buffer(_MOST_BYTES)
        self._expect(function(properties, self.device), "hipGetDeviceProperties")
        chip = re.search(rb"gfx[0-9a-f]+", properties.raw[256:])
        runtime, driver = c_int(), c_int()
        self.call("hipRuntimeGetVersion", byref(runtime))
        self.call("hipDriverGetVersion", byref(driver))
        return {
            "name": properties.raw[:256].partition(b"\0")[0].decode(errors="replace"),
            "chip": "" if chip is None else chip.group().decode(),
            "runtime": runtime.value,
            "driver": driver.value,
        }

    def call(self, name: str, *arguments: Any) -> None:
        self._expect(getattr(self.library, name)(*arguments), name)

    def allocate(self, size: int) -> int:
        made = c_void_p()
        self.call("hipMalloc", byref(made), size)
        return made.value or 0

    def free(self, address: int) -> None:
        self.call("hipFree", address)

    def put(self, address: int, array: Any) -> None:
        self.call("hipMemcpy", address, array.ctypes.data, array.nbytes, _TO_DEVICE)

    def get(self, array: Any, address: int) -> None:
        self.call("hipMemcpy", array.ctypes.data, address, array.nbytes, _TO_HOST)

    def fill(self, address: int, byte: int, size: int) -> None:
        self.call("hipMemset", address, byte, size)

    def clear(self, address: int, size: int) -> None:
        """Zeros, queued in the stream behind what is there."""
        self.call("hipMemsetAsync", address, 0, size, None)

    def wait(self) -> None:
        self.call("hipDeviceSynchronize")

    def module(self, image: bytes) -> int:
        made = c_void_p()
        self.call("hipModuleLoadData", byref(made), ctypes.cast(c_char_p(image), c_void_p))
        return made.value or 0

    def function(self, module: int, name: str) -> int:
        found = c_void_p()
        self.call("hipModuleGetFunction", byref(found), module, name.encode())
        return found.value or 0

    def launch(self, function: int, grid: int, block: int, shared: int, pointers: Sequence[int]) -> None:
        """A kernel on pointers."""
        held = [c_void_p(pointer) for pointer in pointers]
        values = (c_void_p * len(held))(*(ctypes.addressof(one) for one in held))
        self.call("hipModuleLaunchKernel", function, grid, 1, 1, block, 1, 1, shared, None, values, None)

    def timed(self, work: Callable[[], None]) -> float:
        """Seconds from the first to the last command that `work()` queues."""
        self.call("hipEventRecord", self.start, None)
        work()
        self.call("hipEventRecord", self.end, None)
        self.call("hipEventSynchronize", self.end)
        milliseconds = c_float()
        self.call("hipEventElapsedTime", byref(milliseconds), self.start, self.end)
        return milliseconds.value / 1e3

    def _event(self) -> int:
        made = c_void_p()
        self.call("hipEventCreate", byref(made))
        return made.value or 0

    def _function(self, name: str) -> Any:
        found = self._known(name)
        if found is None:
            raise Refused(f"the HIP runtime has no {name}: it is too old, or no runtime of ROCm's")
        return found

    def _known(self, name: str) -> Any:
        return getattr(self.library, name, None)

    def _expect(self, error: int, name: str) -> None:
        if not error:
            return
        message = f"{name} failed: {error}"
        text = self._known("hipGetErrorString")
        if text is not None:
            text.argtypes, text.restype = [c_int], c_char_p
            message += f" ({(text(error) or b'').decode(errors='replace')})"
        raise Refused(message)


def _opened(path: str | None) -> Any:
    reasons: list[str] = []
    for name in LIBRARIES if path is None else (path,):
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
    hint = "install ROCm, or name the library: --hip /opt/rocm/lib/libamdhip64.so"
    raise Refused(f"there is no HIP runtime: {reasons[0]}\nhint: {hint}")
