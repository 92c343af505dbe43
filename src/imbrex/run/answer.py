"""Answers of a GPU's driver: in Python, CUDA's and HIP's functions return an error and then results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from imbrex.diagnostic import Diagnostic

__all__ = ["done", "error_word"]

_OUT_OF_MEMORY = 2  # cuda.h, CUDA_ERROR_OUT_OF_MEMORY; hip_runtime_api.h, hipErrorOutOfMemory


def done(answer: Sequence[Any], what: str) -> Sequence[Any]:
    """The results of a call; MemoryError or a Diagnostic where it failed."""
    error, *results = answer
    if int(error) == _OUT_OF_MEMORY:
        raise MemoryError(f"{what}: the GPU has no memory left")
    if int(error):
        raise Diagnostic(f"{what} failed: {error_word(error)}")
    return results


def error_word(error: Any) -> str:
    """The error's name in the driver's headers."""
    return str(getattr(error, "name", error))
