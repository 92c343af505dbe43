"""Caches: their sizes as one core meets them, measured, for a virtual machine reports its host's.

A chain of pointers through a footprint, in an order of chance, takes a cache's latency a link as long as the
cache holds it, and the next one's beyond.  A size is the largest footprint whose latency is nearer, by its
logarithm, to the level's own than to the next one's.

Law: nothing is more than the system reports.
"""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Callable, Mapping
from importlib.resources import files
from math import sqrt
from statistics import median
from typing import Final, TypeAlias

from imbrex.build.cache import Cache
from imbrex.build.shared_library import build_shared
from imbrex.run.host_machine import HostMachine

__all__ = ["cache_sizes", "latencies", "sizes_by"]

Probe: TypeAlias = Callable[[int, int], object]

LEAST: Final = 8 << 10
MOST: Final = 128 << 20
PER_DOUBLING: Final = 4
"""Footprints between one and its double."""
FINENESS: Final = 2 ** (-1.5 / PER_DOUBLING)
"""What is nearer than this to what is reported is that."""
STEPS: Final = 20_000
SAMPLES: Final = 15
"""Samples of so many loads each; the fastest counts, which nobody disturbed."""
WIDE: Final = 4
"""A level's own latency is met from twice the size of the one before to so many times that."""
CONTRAST: Final = 1.3
"""How much slower the next level must be for an edge to be one."""


def cache_sizes(here: HostMachine) -> dict[str, int]:
    """Bytes by the names of a CPU's row: of each level that the system reports, what is met of it."""
    reported = {"l1_bytes": here.l1d_bytes, "l2_bytes": here.l2_bytes, "l3_bytes": here.l3_bytes}
    return sizes_by(latencies(), {name: size for name, size in reported.items() if size})


def sizes_by(found: Mapping[int, float], reported: Mapping[str, int]) -> dict[str, int]:
    """Sizes from latencies by footprint; reported: of the levels, the nearest first."""
    sizes = list(reported.values())
    inner = [LEAST, *(2 * size for size in sizes)]
    own = [_middle(found, start, min(WIDE * start, size)) for start, size in zip(inner, sizes, strict=False)]
    own.append(_middle(found, MOST // 2, MOST))
    found_sizes: dict[str, int] = {}
    for (name, size), start, ns, next_ns in zip(reported.items(), inner, own, own[1:], strict=False):
        found_sizes[name] = size
        if ns and next_ns and next_ns >= CONTRAST * ns:
            beyond = [f for f, of in found.items() if f >= start and of > sqrt(ns * next_ns)]
            held = max((f for f in found if start <= f < min(beyond, default=MOST)), default=size)
            found_sizes[name] = size if held >= size * FINENESS else held
    return found_sizes


def _middle(found: Mapping[int, float], least: int, most: int) -> float | None:
    """The median latency of footprints; None where there are none between these."""
    return median(of) if (of := [ns for f, ns in found.items() if least <= f <= most]) else None


def latencies() -> dict[int, float]:
    """Nanoseconds of a load that waits for the last one, by footprint."""
    ring, chase = _probe()
    with mmap.mmap(-1, MOST) as memory:
        if hasattr(mmap, "MADV_HUGEPAGE"):  # so that translations of addresses take no part of the time
            memory.madvise(mmap.MADV_HUGEPAGE)
        start = ctypes.addressof(held := ctypes.c_char.from_buffer(memory))
        found = {footprint: _latency(ring, chase, start, footprint) for footprint in _footprints()}
        del held
    return found


def _footprints() -> list[int]:
    """Ascending, whole lines of 64 bytes."""
    count = PER_DOUBLING * (MOST // LEAST).bit_length() - PER_DOUBLING
    return [round(LEAST * 2 ** (i / PER_DOUBLING)) // 64 * 64 for i in range(count + 1)]


def _latency(ring: Probe, chase: Probe, start: int, footprint: int) -> float:
    ring(start, footprint)
    chase(start, footprint // 64)
    samples: list[float] = []
    for _ in range(SAMPLES):
        began = time.perf_counter_ns()
        chase(start, STEPS)
        samples.append((time.perf_counter_ns() - began) / STEPS)
    return min(samples)


def _probe() -> tuple[Probe, Probe]:
    """The functions of `caches.cpp`."""
    text = (files("imbrex.bench") / "caches.cpp").read_text(encoding="utf-8")
    library = ctypes.CDLL(str(build_shared({"caches.cpp": text}, cache=Cache()).path))
    ring, chase = library["caches_ring"], library["caches_chase"]
    for function in (ring, chase):
        function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_int64], ctypes.c_void_p
    return ring, chase
