"""Ceiling: what this machine does when nothing but arithmetic is asked of it, by the unit of a type, and how
fast it copies; both measured.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from imbrex.build.cache import Cache
from imbrex.build.shared_library import LIBRARY, build_shared, find_shared, recipe_key
from imbrex.chip import CPU_ISAS
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.run.host_machine import host_machine
from imbrex.view.mma.vector import CpuUnit, fastest_unit

__all__ = ["Ceiling", "Copy", "Peak", "ceiling", "copy"]

Bytes: TypeAlias = npt.NDArray[np.uint8]

_ROUNDS = 100_000
"""A millisecond or two, in which a thread that is started is started long since."""


class Peak(NamedTuple):
    """The most that was measured of a unit."""

    unit: str
    gigaflops: float


@dataclass(frozen=True)
class Ceiling:
    """`run` does `flops` operations by the unit, two of each multiply-add."""

    unit: str
    threads: int
    flops: int
    run: Callable[[], int] = field(repr=False, compare=False)

    def peak(self, budget_s: float = 0.05) -> Peak:
        """The best of the samples: a ceiling is what the machine can do, not what it mostly does."""
        self.run()
        least_ns, end = float("inf"), time.perf_counter() + budget_s
        while True:
            started = time.perf_counter_ns()
            self.run()
            least_ns = min(least_ns, time.perf_counter_ns() - started)
            if time.perf_counter() >= end:
                return Peak(self.unit, self.flops / least_ns)


def ceiling(element: DType, threads: int, cache: Cache | None = None) -> Ceiling:
    """Ceiling of the unit that multiplies most of this type at a time on this machine."""
    unit = fastest_unit(CPU_ISAS[host_machine().isa.level], element)
    entry = ctypes.CDLL(_probe(unit, element, cache or Cache()))["ceiling"]
    entry.argtypes, entry.restype = [ctypes.c_int64, ctypes.c_int], ctypes.c_int64
    flops = int(entry(1, threads)) * _ROUNDS
    if flops == 0:
        raise Diagnostic(f"the system refuses what {unit} needs")
    return Ceiling(unit.name, threads, flops, lambda: int(entry(_ROUNDS, threads)))


@dataclass(frozen=True)
class Copy:
    """A call copies the bytes of `source` into `result`."""

    source: Bytes
    result: Bytes
    threads: int
    entry: Callable[..., int] = field(repr=False)

    def __call__(self) -> int:
        return self.entry(self.source.ctypes.data, self.result.ctypes.data, self.source.size, self.threads)


def copy(moved_bytes: int, threads: int, cache: Cache | None = None) -> Copy:
    """What reads half of these bytes and writes as many."""
    entry = ctypes.CDLL(_library("copy", (), cache or Cache()))["copy"]
    entry.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int]
    half = max(1, moved_bytes // 2)
    return Copy(np.ones(half, np.uint8), np.zeros(half, np.uint8), threads, entry)


def _probe(unit: CpuUnit, element: DType, cache: Cache) -> str:
    from imbrex.emit.cpu.product import name_of

    return _library("ceiling", (f"-DIMBREX_UNIT={name_of(unit, element.accumulator)}",), cache)


def _library(name: str, flags: Sequence[str], cache: Cache) -> str:
    """The library of one source of this folder."""
    key = recipe_key(" ".join((name, *flags)))
    recipe = cache.recall(key)
    found = find_shared(str(recipe.get("object")), cache) if recipe is not None else None
    if found is None:
        from imbrex.emit.bundle import device_headers

        source = f"{name}.cpp"
        text = (files("imbrex.bench") / source).read_text(encoding="utf-8")
        found = build_shared({source: text, **device_headers("cpu")}, flags=flags, cache=cache)
        cache.remember(key, {"object": found.key})
    assert found.path.name == LIBRARY
    return str(found.path)
