"""The device headers, compiled for every instruction set that this machine runs, behind C functions."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock
from tests.effort.inlining import CALLS

from imbrex.build.isa import host_isa, isa
from imbrex.build.shared_library import build_shared
from imbrex.build.toolchain import WARNINGS
from imbrex.chip import CPU_ISAS
from imbrex.emit.bundle import device_headers

HERE = Path(__file__).parent
UNITS = ("vec.cpp", "pack.cpp", "product.cpp", "store.cpp")
LEVELS = {64: ("avx512", "avx2", "generic"), 32: ("avx2", "generic")}.get(
    CPU_ISAS[host_isa().level].vector_bytes, ("native",)
)


@dataclass(frozen=True)
class Device:
    """The functions of the C files beside this one."""

    library: ctypes.CDLL
    level: str

    def call(self, name: str, *args: Any) -> int:
        """Arrays go as pointers, Python integers as 64 bits, floats as doubles."""
        return int(self.library[name](*map(_argument, args)))

    def function(self, name: str, result: Any = ctypes.c_int32) -> Callable[..., Any]:
        found = self.library[name]
        found.restype = result
        return found

    @cached_property
    def width(self) -> dict[str, int]:
        found = np.zeros(3, np.int32)
        self.call("widths", found)
        return dict(zip(("f32", "f64", "i32"), map(int, found), strict=True))


class CTable(ctypes.Structure):
    """`table` of tables.h."""

    _fields_ = (("offset", ctypes.c_void_p), ("guard", ctypes.c_void_p), ("count", ctypes.c_int32))


@dataclass(frozen=True)
class Axis:
    """The rows or the lanes of a view: an offset and two guards each."""

    offset: np.ndarray[Any, Any]
    guard: np.ndarray[Any, Any]

    @classmethod
    def of(cls, offset: Any, *guards: Any) -> Axis:
        offsets = np.ascontiguousarray(offset, np.int64)
        columns = [np.broadcast_to(np.asarray(g, np.int32), offsets.shape) for g in guards]
        columns += [np.zeros(offsets.shape, np.int32)] * (2 - len(guards))
        return cls(offsets, np.ascontiguousarray(np.stack(columns, axis=1)))

    @property
    def table(self) -> CTable:
        return CTable(self.offset.ctypes.data, self.guard.ctypes.data, len(self.offset))


def elements(array: Any, rows: Axis, lanes: Axis, size: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """What the view means, element by element: 0 where a guard fails."""
    place = rows.offset[:, None] + lanes.offset[None, :]
    exists = there(rows, lanes, size)
    return np.where(exists, array[np.where(exists, place, 0)], array.dtype.type(0))


def there(rows: Axis, lanes: Axis, size: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Which elements exist."""
    found = np.ones((len(rows.offset), len(lanes.offset)), bool)
    for g, limit in enumerate(size):
        at = rows.guard[:, None, g] + lanes.guard[None, :, g]
        found &= (at >= 0) & (at < limit)
    return found


def _argument(value: Any) -> Any:
    match value:
        case np.ndarray():
            return ctypes.c_void_p(value.ctypes.data)
        case bool():
            return ctypes.c_bool(value)
        case int():
            return ctypes.c_int64(value)
        case float():
            return ctypes.c_double(value)
        case ctypes.Structure():
            return ctypes.byref(value)
        case _:
            return value


@pytest.fixture(scope="session", params=LEVELS)
def device(request: pytest.FixtureRequest, kernel_cache: Path) -> Device:
    sources = device_headers("cpu") | {f: (HERE / f).read_text() for f in ("tables.h", *UNITS)}
    optimised = ("-O1",) if os.environ.get("IMBREX_TESTS") == "all" else ("-O0", CALLS)
    flags = (*optimised, "-Werror", *WARNINGS)
    with FileLock(f"{kernel_cache}-device-{request.param}.lock"):  # what one worker builds the others find
        library = build_shared(sources, flags=flags, isa=isa(request.param))
    return Device(ctypes.CDLL(str(library.path)), request.param)
