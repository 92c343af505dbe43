"""Products over packed arrays on the lane-level build: the seeds' kernels, forms with several waves, types
and chips, sizes that overhang the tiles, alpha and beta, transposes, batches.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.e2e.many import Case, wrong

import imbrex
from imbrex import Diagnostic, Gemm
from imbrex.config.tuning import text
from imbrex.config.xdlops.data_tiled import data_tiled_tuning
from imbrex.view.swizzle import tile_kernel

SEEDS = {"f32": "f32_16x16x4_8x8_Kx4", "f16": "f16_16x16x16_8x8_Kx2", "i8": "i8_16x16x32_8x8_Kx2"}
SMALL = {"f32": "f32_16x16x4_2x2_Kx4", "f16": "f16_16x16x16_2x2_Kx2", "i8": "i8_16x16x32_2x2_Kx2"}


def case(problem: Gemm, name: str | None = None, chip: str = "gfx942", **change: Any) -> Case:
    """A product with a tile kernel; with changes, of the tuning that goes with it."""
    tuning = text(replace(data_tiled_tuning(tile_kernel(name or "")), **change)) if change else None
    return Case(problem, tuning, chip, f"data_tiled:{name}" if name else "data_tiled")


@pytest.mark.parametrize("dtype", SEEDS)
def test_seed_kernels_of_128_by_128(dtype: str) -> None:
    """A wave has 128 x 128 of C; one more and one less than a tile, and the smallest."""
    sizes = [(1, 1, 1), (129, 127, 65)]
    assert wrong([case(Gemm(*s, dtype=dtype), SEEDS[dtype]) for s in sizes]) == []


def test_several_waves() -> None:
    forms = product(SMALL, ("w1x4", "w2x2"))
    cases = [case(Gemm(130, 67, 70, dtype=dtype), f"{SMALL[dtype]}_{waves}") for dtype, waves in forms]
    assert wrong(cases) == []


@pytest.mark.parametrize("transposes", [(False, False), (True, True), (False, True)])
def test_awkward_sizes(transposes: tuple[bool, bool]) -> None:
    """Around one tile of 32 x 32 x 32 and two, with alpha and beta."""
    a, b = transposes
    scale: dict[str, Any] = {"transpose_a": a, "transpose_b": b, "alpha": 2.0, "beta": -1.0, "dtype": "f16"}
    sizes = [(31, 32, 33), (33, 1, 2), (1, 67, 61), (32, 33, 31)]
    assert wrong([case(Gemm(*s, **scale), SMALL["f16"]) for s in sizes]) == []


def test_the_usual_kernels_of_the_chips() -> None:
    pairs = [
        ("f64", "gfx90a"), ("bf16", "gfx908"), ("i8", "gfx90a"), ("f16", "gfx950"), ("f8e4m3fnuz", "gfx942"),
        ("f8e5m2", "gfx950"), ("i8", "gfx950"),
    ]  # fmt: skip
    assert wrong([case(Gemm(130, 67, 70, dtype=dtype), chip=chip) for dtype, chip in pairs]) == []


def test_other_kernels_and_a_batch() -> None:
    names = ["f16_32x32x8_2x1_Kx2_w1x2", "f16_16x16x16_1x3_Kx2", "f16_32x32x8"]
    assert wrong([case(Gemm(65, 50, 33, batch=3, dtype="f16"), name) for name in names]) == []


def test_other_tunings_of_the_product() -> None:
    """The packed arrays stay; the product between them may go about it otherwise."""
    name, problem = "f16_16x16x16_4x4_Kx2_w2x2", Gemm(129, 255, 100, dtype="f16")
    changes: list[dict[str, Any]] = [
        {"copy": "direct", "buffers": 2}, {"buffers": 2}, {"lds": "xor"}, {"swapped": True},
        {"k_per_block": 8},
    ]  # fmt: skip
    cases = [case(problem, name, **change) for change in changes]
    assert wrong([*cases, case(problem, name, "gfx950", copy="direct", buffers=2)]) == []


def test_control_a_box_of_b_that_is_not_turned_is_seen() -> None:
    small = [case(Gemm(33, 47, 40, dtype="f32"), SMALL["f32"])]
    assert len(wrong(small, damage=("4 * slot_4 + other_4", "4 * other_4 + slot_4"))) == 1


def test_a_kernel_is_four_launches() -> None:
    kernel = imbrex.compile(Gemm(33, 33, 33), "emulate", algorithm=f"data_tiled:{SMALL['f32']}")
    assert kernel.launches == 4 and kernel.check(values="float").is_right
    assert kernel.tunings == (data_tiled_tuning(tile_kernel(SMALL["f32"])),)
    on_gpu = imbrex.compile(Gemm(33, 33, 33), "gfx942", algorithm=f"data_tiled:{SMALL['f32']}")
    assert on_gpu.workspace_bytes == 4 * (2 * 64 * 48 + 64 * 64)


def test_nothing_of_one_call_reaches_the_next() -> None:
    """Not through the zeros at the edges of the tiles, either."""
    kernel = imbrex.compile(Gemm(33, 33, 33), "emulate", algorithm=f"data_tiled:{SMALL['f32']}")
    huge = np.full((33, 33), 1e30, np.float32)
    kernel(huge, huge)
    a, b = np.eye(33, dtype=np.float32), np.arange(33 * 33, dtype=np.float32).reshape(33, 33)
    assert np.array_equal(kernel(a, b), b)


REFUSED = [
    ("f32", "cpu", "data_tiled", "packs for matrix instructions, and a CPU has none"),
    ("f32", "gfx942", "data_tild", "unknown algorithm 'data_tild'"),
    ("f32", "gfx942", "v4r1", "'v4r1' is one of backward data"),
    ("f32", "gfx942", "data_tiled:f16_16x16x16", "multiplies f16, the product is of f32"),
    ("f16", "gfx942", "data_tiled:f16_16x16x32", "gfx942 has no mfma_f32_16x16x32_f16"),
    ("f16", "gfx942", "data_tiled:f16_16x16x17", "there is no tile kernel 'f16_16x16x17'"),
    ("f16", "gfx942", "data_tiled:f16_16x16x16_16x16_Kx2", "accumulators 1024 > 256"),
    ("f16", "gfx942", "data_tiled:mfma_f32_32x32x4_2b_f16", "takes instructions of one block"),
    ("f64", "gfx908", "data_tiled", "no matrix instruction of gfx908 multiplies f64"),
]


@pytest.mark.parametrize(("dtype", "target", "algorithm", "message"), REFUSED)
def test_what_is_refused(dtype: str, target: str, algorithm: str, message: str) -> None:
    with pytest.raises(Diagnostic) as refused:
        imbrex.compile(Gemm(5, 5, 5, dtype=dtype), target, algorithm=algorithm)
    assert message in refused.value.message


def test_convolutions_are_refused() -> None:
    with pytest.raises(Diagnostic, match="this is a convolution"):
        imbrex.compile("conv -n 1 -c 4 -H 5 -W 5 -k 4 -y 3 -x 3 -F 1", "gfx942", algorithm="data_tiled")
