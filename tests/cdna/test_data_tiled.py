"""Products over packed arrays, executed: pack A, pack B, multiply, unpack; with arrays of the GPU between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.pairs import in_turn

from imbrex.kernel import compile
from imbrex.problem import Gemm

Gpu = Callable[[str], Any]


SHAPES = {
    "a tile and more": {"m": 130, "n": 70, "k": 50},
    "primes, transposed": {"m": 37, "n": 141, "k": 33, "transpose_a": True, "transpose_b": True},
}


CHIPS, TYPES = ("gfx90a", "gfx942", "gfx950"), ("f32", "f16", "bf16", "f64", "i8")


@pytest.mark.parametrize(("shape", "dtype", "chip"), in_turn(list(SHAPES), TYPES, CHIPS))
def test_packed(shape: str, dtype: str, chip: str, gpu: Gpu) -> None:
    hip = gpu(chip)
    kernel = compile(Gemm(**SHAPES[shape], dtype=dtype), chip, algorithm="data_tiled")
    outcome = kernel.check(1)
    assert outcome.is_right and outcome.is_exact, str(outcome)
    assert len(hip.launched) == 4 * len(outcome.passes) and not hip.memory


@pytest.mark.parametrize(
    ("dtype", "name", "chip"),
    [
        ("f32", "f32_16x16x4_8x8_Kx4", "gfx90a"),
        ("f16", "f16_16x16x16_8x8_Kx2", "gfx942"),
        ("i8", "i8_16x16x32_8x8_Kx2", "gfx950"),
        ("f16", "f16_16x16x16_2x2_Kx2", "gfx942"),
        ("f16", "f16_32x32x8_2x1_Kx2_w1x2", "gfx942"),
    ],
)
def test_named_tile_kernels(dtype: str, name: str, chip: str, gpu: Gpu) -> None:
    """The seeds' kernels, whose one wave has 128 x 128 of C, and others."""
    hip = gpu(chip)
    kernel = compile(Gemm(131, 67, 45, dtype=dtype), chip, algorithm=f"data_tiled:{name}")
    outcome = kernel.check(2)
    assert outcome.is_right and outcome.is_exact, str(outcome)
    launches = 4 + kernel.configuration.count("@reduce_k")
    assert len(hip.launched) == launches * len(outcome.passes) and not hip.memory
