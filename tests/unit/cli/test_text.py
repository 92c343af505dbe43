"""Sizes for people: three digits and the unit that they reach, at every unit's border and just below it."""

from __future__ import annotations

import pytest

from imbrex.cli.text import bytes_text, flops_text, seconds_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2.0, "2 s"), (1.0, "1 s"), (0.999, "999 ms"), (1e-3, "1 ms"), (9.99e-4, "999 us"), (1e-6, "1 us"),
        (9.99e-7, "999 ns"), (1.618e-9, "1.62 ns"),
    ],
)  # fmt: skip
def test_seconds(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(("power", "unit"), [*enumerate(["B", "KiB", "MiB", "GiB"])])
def test_bytes(power: int, unit: str) -> None:
    assert bytes_text(1024**power) == f"1 {unit}"
    assert power == 3 or bytes_text(1000 * 1024**power) == f"1{'000' if power == 0 else 'e+03'} {unit}"


@pytest.mark.parametrize(("power", "unit"), [*enumerate(["FLOP", "KFLOP", "MFLOP", "GFLOP", "TFLOP"])])
def test_operations(power: int, unit: str) -> None:
    assert flops_text(1000**power) == f"1 {unit}"
    assert flops_text(999 * 1000**power) == f"999 {unit}"
