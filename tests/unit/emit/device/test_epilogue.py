"""Functions of epilogues, at every f16 and bf16 and at f32: off by no more than verify/epilogue.py allows.

On a CPU, with PTX's functions rounded to nearest, and with some that are off by all that the PTX ISA allows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from imbrex.build.shared_library import build_shared
from imbrex.dtype import F32
from imbrex.emit import epilogue
from imbrex.emit.bundle import device_headers
from imbrex.problem.epilogue_function import FUNCTIONS
from imbrex.verify.epilogue import ROUNDINGS

FORMS = {"cpu": ("cpu", ""), "hopper": ("emulate_sm_90a", "-DHOPPER"), "worst": ("cpu", "-DWORST")}
UNIT = F32.unit_roundoff
SMALLEST = F32.smallest_normal
GRADED = sorted(epilogue.GRADED)
TAILED = sorted(epilogue.GRADED - {"gelu"})
NAMES = (*GRADED, "gelu_tanh", "hardswish", "tanh")


@pytest.fixture(scope="module", params=FORMS)
def library(request: pytest.FixtureRequest) -> Iterator[tuple[ctypes.CDLL, str]]:
    target, form = FORMS[request.param]
    source = Path(__file__).with_name("epilogue.cpp").read_text(encoding="utf-8")
    headers = {f: t for f, t in device_headers(target).items() if f.endswith(".h")}
    flags = ("-Wall", "-Wextra", "-Wno-unused-function", "-Wno-unknown-pragmas", *filter(None, [form]))
    yield ctypes.CDLL(str(build_shared({"epilogue.cpp": source, **headers}, flags=flags).path)), request.param


def run(library: tuple[ctypes.CDLL, str], name: str, x: Any) -> Iterator[Any]:
    """What it gives: of the worst form thrice, too small, exact and too large."""
    device, form = library
    for off in (-1, 0, 1) if form == "worst" else (0,):
        if form == "worst":
            device.be_off(off)
        found = np.full_like(x, 7)
        device[f"run_{name}"](*(ctypes.c_void_p(a.ctypes.data) for a in (x, found)), len(x))
        yield found.astype(np.float64)


def points() -> Any:
    """Every f16 and bf16 that is finite, and floats between."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    halves = [bits.view(kind).astype(np.float32) for kind in (np.float16, ml_dtypes.bfloat16)]
    random = np.random.default_rng(5)
    more = [random.uniform(-end, end, 30_000).astype(np.float32) for end in (0.7, 4, 20, 100)]
    found = np.concatenate([*halves, *more])
    return found[np.isfinite(found)]


def exact(name: str, x: Any) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):
        return FUNCTIONS[name].value(x.astype(np.float64))


@pytest.mark.parametrize("name", [*NAMES, *(f"{name}_short" for name in GRADED)])
def test_is_within_what_a_check_allows(library: tuple[ctypes.CDLL, str], name: str) -> None:
    x, plain = points(), name.removesuffix("_short")
    want = exact(plain, x)
    short = FUNCTIONS[plain].short if name != plain else 0.0
    size = np.abs(want)
    allowed = ROUNDINGS * UNIT * (size + np.abs(x.astype(np.float64))) + short * size + SMALLEST
    for found in run(library, name, x):
        worst = np.argmax(np.abs(found - want) / allowed)
        assert abs(found[worst] - want[worst]) <= allowed[worst], (x[worst], found[worst], want[worst])


@pytest.mark.parametrize("name", TAILED)
def test_the_tail_is_right_to_a_few_units(library: tuple[ctypes.CDLL, str], name: str) -> None:
    """Of f32; what is stored in fewer bits does not show what the short form is off by: the control."""
    x = np.linspace(-86, 20, 50_000, dtype=np.float32)
    want = exact(name, x)
    for found in run(library, name, x):
        assert np.max(np.abs(found / want - 1)) <= 12 * UNIT
    for found in run(library, f"{name}_short", x):
        assert 12 * UNIT < np.max(np.abs(found / want - 1)) <= 2.0**-16


def test_short_gelu_is_right_to_its_bits_and_to_no_more(library: tuple[ctypes.CDLL, str]) -> None:
    """Also of itself, to x = -3; what is stored as f32 would show it."""
    x = np.linspace(-3, 20, 50_000, dtype=np.float32)
    want = exact("gelu", x)
    for found in run(library, "gelu_short", x):
        assert 64 * UNIT < np.max(np.abs(found - want) / np.maximum(np.abs(want), SMALLEST)) <= 2.0**-14


@pytest.mark.parametrize("name", [*NAMES, *(f"{name}_short" for name in GRADED)])
def test_ends(library: tuple[ctypes.CDLL, str], name: str) -> None:
    """Infinities give the limits, NaN is NaN."""
    plain = name.removesuffix("_short")
    low, high = {"tanh": (-1, 1), "sigmoid": (0, 1)}.get(plain, (0, np.inf))
    x = np.float32([-np.inf, -3e38, np.inf, np.nan])
    for found in run(library, name, x):
        assert np.allclose(found, [low, low, high, np.nan], rtol=2 * UNIT, atol=0, equal_nan=True)
