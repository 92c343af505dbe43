"""Verdicts of a kit's program: what is wrong, what was never written, and what is close enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from imbrex.dtype import DTYPES
from imbrex.kit.expected import element_of
from imbrex.kit.runner.compare import checksums, packed, verdict
from imbrex.kit.runner.draw import codes_of, places, values_of

SHAPE, NAMES = (40, 50), ("m", "n")
LOOKED_AT = 16
TYPES = ("f32", "f64", "f16", "bf16", "f8e4m3fn", "f8e5m2", "i32", "i8")


def result_of(name: str) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Bits of a result of small whole numbers, what is wanted of it, bound 0, and its element."""
    element = element_of(DTYPES[name])
    values = np.random.default_rng(3).integers(-4, 5, SHAPE)
    codes = codes_of(values.reshape(-1), element).reshape(SHAPE)
    at = places(7, codes.size, LOOKED_AT)
    want = {
        "seed": 7,
        "count": LOOKED_AT,
        "want": packed(values.reshape(-1)[at].astype("<f8")),
        "bound": packed(np.zeros(at.size, "<f4")),
    }
    return codes, want, element


def unseen() -> int:
    """An element that is not looked at."""
    return int(np.setdiff1d(np.arange(np.prod(SHAPE)), places(7, int(np.prod(SHAPE)), LOOKED_AT))[5])


@pytest.mark.parametrize("name", TYPES)
def test_a_right_result(name: str) -> None:
    codes, want, element = result_of(name)
    assert verdict(codes, want, element, NAMES)["is_right"]
    exact = {**want, "run": 256, "checksums": packed(checksums(codes, 256, element))}
    assert verdict(codes, exact, element, NAMES)["told"] == "2000 elements, all equal"


@pytest.mark.parametrize("name", TYPES)
def test_an_element_that_is_not_written_is_seen_wherever_it_is(name: str) -> None:
    """But of whole numbers of a byte, each of which may be a result: these have checksums."""
    codes, want, element = result_of(name)
    exact = {**want, "run": 256, "checksums": packed(checksums(codes, 256, element))}
    codes.reshape(-1)[unseen()] = element["poison"]
    found = verdict(codes, want, element, NAMES)
    assert found["is_right"] == (name == "i8")
    assert ("1 of 2000 never written" in found["told"]) == (name != "i8")
    assert not verdict(codes, exact, element, NAMES)["is_right"]


@pytest.mark.parametrize("name", TYPES)
def test_a_wrong_element_has_its_place(name: str) -> None:
    codes, want, element = result_of(name)
    value = int(values_of(codes, element)[-1, -1])
    codes[-1, -1] = codes_of(np.array([value + 1]), element)[0]
    told = verdict(codes, want, element, NAMES)["told"]
    assert told.startswith("1 of ") and f"at m=39 n=49 got {value + 1}, want {value}, bound 0" in told
    codes[-1, -1] = element["poison"]
    assert "nothing written" in verdict(codes, want, element, NAMES)["told"]


def test_bounds_are_those_of_each_element() -> None:
    codes, want, element = result_of("f32")
    codes[-1, -1] = codes_of(np.array([values_of(codes, element)[-1, -1] + 0.5]), element)[0]
    bound = np.zeros(len(places(7, codes.size, LOOKED_AT)), "<f4")
    bound[-1] = 0.5
    assert verdict(codes, {**want, "bound": packed(bound)}, element, NAMES)["is_right"]
    bound[-1] = 0.49
    assert not verdict(codes, {**want, "bound": packed(bound)}, element, NAMES)["is_right"]
