"""Floats of 8 bits and fewer, at every bit pattern and at floats that fall on, between and beyond them."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from imbrex.build.shared_library import build_shared
from imbrex.emit.bundle import device_headers

TYPES = {
    "f8e5m2": (ml_dtypes.float8_e5m2, 8),
    "f8e4m3fn": (ml_dtypes.float8_e4m3fn, 8),
    "f8e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, 8),
    "f8e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, 8),
    "f6e2m3fn": (ml_dtypes.float6_e2m3fn, 6),
    "f6e3m2fn": (ml_dtypes.float6_e3m2fn, 6),
    "f4e2m1fn": (ml_dtypes.float4_e2m1fn, 4),
}


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    source = Path(__file__).with_name("narrow.cpp").read_text(encoding="utf-8")
    files = {"narrow.cpp": source, **device_headers("emulate")}
    return ctypes.CDLL(str(build_shared(files, flags=("-Wall", "-Wextra", "-Werror")).path))


def both(library: ctypes.CDLL, name: str, x: Any) -> tuple[Any, Any]:
    """All bit patterns widened, and `x` narrowed, as bits."""
    bits = np.arange(1 << TYPES[name][1], dtype=np.uint8)
    wide, narrow = np.empty(len(bits), np.float32), np.empty(len(x), np.uint8)
    arrays = [a.ctypes.data_as(ctypes.c_void_p) for a in (bits, wide, x, narrow)]
    library[f"{name}_both"](*arrays[:2], len(bits), *arrays[2:], len(x))
    return wide, narrow


def awkward(values: Any) -> Any:
    """The type's values, those half way between two of them, both sides of each, and what is beyond all."""
    exact = np.unique(values[np.isfinite(values)].astype(np.float32))
    exact = np.concatenate([exact, 2 * exact])
    points = np.concatenate([exact, (exact[1:] + exact[:-1]) / 2]).astype(np.float32)
    sides = [np.nextafter(points, np.float32(way)) for way in (-np.inf, np.inf)]
    return np.concatenate([points, *sides, np.float32([1e30, -1e30, 1e-30, -1e-30, 0.0, -0.0])])


@pytest.mark.parametrize("name", TYPES)
def test_every_value(name: str, library: ctypes.CDLL) -> None:
    kind, bits = TYPES[name]
    want = np.arange(1 << bits, dtype=np.uint8).view(kind).astype(np.float32)
    wide, narrow = both(library, name, awkward(want))
    np.testing.assert_array_equal(wide, want)
    np.testing.assert_array_equal(narrow, awkward(want).astype(kind).view(np.uint8))


@pytest.mark.parametrize("name", [n for n in TYPES if n.startswith("f8")])
def test_what_is_no_number(name: str, library: ctypes.CDLL) -> None:
    odd = np.float32([np.inf, -np.inf, np.nan, -np.nan])
    _, narrow = both(library, name, odd)
    np.testing.assert_array_equal(narrow, odd.astype(TYPES[name][0]).view(np.uint8))


def test_a_wrong_bias_shows(library: ctypes.CDLL) -> None:
    """The control: FNUZ and OCP differ."""
    x = np.float32([1.0, 2.5, 448.0])
    _, ocp = both(library, "f8e4m3fn", x)
    _, fnuz = both(library, "f8e4m3fnuz", x)
    assert (ocp != fnuz).all()
