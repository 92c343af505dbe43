"""Ceiling: the multiply-adds that this machine does when nothing but arithmetic is asked of it, measured."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files

from imbrex.build.cache import Cache
from imbrex.build.shared import LIBRARY, build_shared, find_shared, recipe_key
from imbrex.dtype import DType

__all__ = ["Ceiling", "ceiling"]

_STEPS = 100_000
"""A millisecond or less, in which a thread that is started is started long since."""


@dataclass(frozen=True)
class Ceiling:
    """`run` does some work and returns how many floating-point operations that was."""

    threads: int
    run: Callable[[], int] = field(repr=False, compare=False)

    def gigaflops(self, budget_s: float = 0.05) -> float:
        """The best of the samples: a ceiling is what the machine can do, not what it mostly does."""
        self.run()
        best, end = 0.0, time.perf_counter() + budget_s
        while True:
            started = time.perf_counter_ns()
            count = self.run()
            best = max(best, count / (time.perf_counter_ns() - started))
            if time.perf_counter() >= end:
                return best


def ceiling(element: DType, threads: int, cache: Cache | None = None) -> Ceiling | None:
    """For kernels of operands of this type; None where they do no floating-point arithmetic."""
    if not element.is_float:
        return None
    path = _library(cache or Cache())
    entry = ctypes.CDLL(path)[f"ceiling_{element.accumulator}"]
    entry.argtypes, entry.restype = [ctypes.c_int64, ctypes.c_int], ctypes.c_int64
    return Ceiling(threads, lambda: int(entry(_STEPS, threads)))


def _library(cache: Cache) -> str:
    key = recipe_key("ceiling")
    recipe = cache.recall(key)
    found = find_shared(str(recipe.get("object")), cache) if recipe is not None else None
    if found is None:
        from imbrex.emit.bundle import device_headers

        text = (files("imbrex.bench") / "ceiling.cpp").read_text(encoding="utf-8")
        found = build_shared({"ceiling.cpp": text, **device_headers("cpu")}, cache=cache)
        cache.remember(key, {"object": found.key})
    assert found.path.name == LIBRARY
    return str(found.path)
