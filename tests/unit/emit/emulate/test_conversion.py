"""Conversions of Hopper's narrow floats as a CPU stands for them, value by value, against NumPy's."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from imbrex.build.shared_library import build_shared
from imbrex.emit.bundle import device_headers
from imbrex.emit.emulate.hopper import FLAGS

SOURCE = """#include "device/cuda/ptx/conversion.h"
using namespace imbrex;
#define PAIRS(NAME, CALL)                                                      \\
  extern "C" void NAME(uint32_t *to, const float *from, int count) {           \\
    for (int i = 0; i < count; ++i) to[i] = CALL(from[2 * i], from[2 * i + 1]); \\
  }
PAIRS(f16, f16_pair_of<false>)
PAIRS(f16_relu, f16_pair_of<true>)
PAIRS(bf16, bf16_pair_of<false>)
PAIRS(bf16_relu, bf16_pair_of<true>)
#define BYTES(NAME)                                                            \\
  extern "C" void NAME(uint32_t *to, const uint16_t *from, int count) {        \\
    for (int i = 0; i < count; ++i) to[i] = f16_pair_of_##NAME(from[i]);       \\
  }
BYTES(e4m3)
BYTES(e5m2)
"""
NARROW: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
BYTES: dict[str, Any] = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def library(kernel_cache: object) -> ctypes.CDLL:
    sources = device_headers("emulate_sm_90a") | {"unit.cpp": SOURCE}
    return ctypes.CDLL(str(build_shared(sources, flags=(*FLAGS, "-O0")).path))


def values() -> Array:
    """Every exponent and sign, between numbers of the narrow types and on them, zeros, infinities, NaN."""
    bits = np.arange(0, 2**32, 2**32 // 2**16, dtype=np.uint64).astype(np.uint32)
    near = np.concatenate([bits, bits + 0x0FFF, bits + 0x1000, bits + 0x1001, bits + 0x8000, bits + 0x8001])
    return near[: near.size // 2 * 2].view(np.float32)


def converted(function: Callable[..., Any], from_: Array, count: int) -> Array:
    to = np.zeros(count, np.uint32)
    function(to.ctypes.data_as(ctypes.c_void_p), from_.ctypes.data_as(ctypes.c_void_p), count)
    return to.view(np.uint16)


def same(found: Array, want: Array) -> None:
    """Bit for bit, but for which NaN."""
    is_nan = np.isnan(want.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(found.view(want.dtype).astype(np.float32)), is_nan)
    np.testing.assert_array_equal(found[~is_nan], want.view(np.uint16)[~is_nan])


@pytest.mark.parametrize("is_relu", [False, True])
@pytest.mark.parametrize("name", NARROW)
def test_pairs(library: ctypes.CDLL, name: str, is_relu: bool) -> None:
    """With ReLU what is negative is 0, and nothing else, NaN neither."""
    given = values()
    with np.errstate(over="ignore", invalid="ignore"):
        clamped = np.where(given < 0, np.float32(0), given) if is_relu else given
        want = clamped.astype(NARROW[name])
    same(converted(library[name + "_relu" * is_relu], given, given.size // 2), want)


@pytest.mark.parametrize("name", BYTES)
def test_bytes(library: ctypes.CDLL, name: str) -> None:
    given = np.arange(2**16, dtype=np.uint16)
    want = given.view(np.uint8).view(BYTES[name]).astype(np.float16)
    same(converted(library[name], given, given.size), want)
