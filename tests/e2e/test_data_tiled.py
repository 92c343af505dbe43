"""Products over packed arrays on the lane-level build: the seeds' kernels, forms with several waves, every type
and chip, sizes that overhang the tiles by all but one, alpha and beta, transposes, batches.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import imbrex
from imbrex import Diagnostic, Gemm
from imbrex.kernel import Kernel
from imbrex.schedule.data_tiled import data_tiled_tuning, usual_kernel
from imbrex.view.swizzle import tile_kernel

SEEDS = {"f32": "f32_16x16x4_8x8_Kx4", "f16": "f16_16x16x16_8x8_Kx2", "i8": "i8_16x16x32_8x8_Kx2"}
SMALL = {"f32": "f32_16x16x4_2x2_Kx4", "f16": "f16_16x16x16_2x2_Kx2", "i8": "i8_16x16x32_2x2_Kx2"}


def compiled(problem: Gemm, name: str | None = None, chip: str = "gfx942", tuning: object = None) -> Kernel:
    algorithm = f"data_tiled:{name}" if name else "data_tiled"
    return imbrex.compile(problem, chip, tuning, emulate=True, algorithm=algorithm)  # type: ignore[arg-type]


def check(kernel: Kernel) -> None:
    """Exact on integers, within the bound on floats; pack, pack, multiply, unpack."""
    assert kernel.launches == 4
    for seed, kind in ((0, "integer"), (1, "float")):
        outcome = kernel.check(seed, values=kind, threads=2)  # type: ignore[arg-type]
        assert outcome.is_right, str(outcome)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (129, 127, 65), (257, 67, 31)])
@pytest.mark.parametrize("dtype", SEEDS)
def test_seed_kernels_of_128_by_128(dtype: str, sizes: tuple[int, int, int]) -> None:
    kernel = compiled(Gemm(*sizes, dtype=dtype), SEEDS[dtype])
    check(kernel)
    assert kernel.tunings[0] == data_tiled_tuning(tile_kernel(SEEDS[dtype]))


@pytest.mark.parametrize("waves", ["w1x4", "w4x1", "w2x2"])
@pytest.mark.parametrize("dtype", SMALL)
def test_several_waves(dtype: str, waves: str) -> None:
    check(compiled(Gemm(130, 67, 70, dtype=dtype), f"{SMALL[dtype]}_{waves}"))


@pytest.mark.parametrize("sizes", [(m, n, k) for m in (31, 33) for n in (32, 1) for k in (33, 2)])
@pytest.mark.parametrize("transposes", [(False, False), (True, True), (False, True)])
def test_awkward_sizes(sizes: tuple[int, int, int], transposes: tuple[bool, bool]) -> None:
    a, b = transposes
    problem = Gemm(*sizes, transpose_a=a, transpose_b=b, alpha=2.0, beta=-1.0, dtype="f16")
    check(compiled(problem, SMALL["f16"]))


@pytest.mark.parametrize(
    ("dtype", "chip"),
    [
        ("f64", "gfx90a"), ("bf16", "gfx908"), ("i8", "gfx90a"), ("f16", "gfx950"), ("f8e4m3fnuz", "gfx942"),
        ("f8e5m2", "gfx950"), ("i8", "gfx950"),
    ],
)  # fmt: skip
def test_the_usual_kernel_of_a_chip(dtype: str, chip: str) -> None:
    problem = Gemm(130, 67, 150, dtype=dtype)
    kernel = compiled(problem, chip=chip)
    assert kernel.tunings[0] == data_tiled_tuning(usual_kernel(problem.dtype, chip))
    check(kernel)


@pytest.mark.parametrize("name", ["f16_32x32x8_2x1_Kx2_w1x2", "f16_16x16x16_1x3_Kx2", "f16_32x32x8"])
def test_other_kernels_and_a_batch(name: str) -> None:
    check(compiled(Gemm(65, 50, 33, batch=3, dtype="f16"), name))


@pytest.mark.parametrize(
    ("chip", "change"),
    [
        ("gfx950", {"copy": "direct"}),
        ("gfx942", {"copy": "direct"}),
        ("gfx942", {"buffers": 1}),
        ("gfx942", {"lds": "xor"}),
        ("gfx942", {"swapped": True}),
        ("gfx942", {"k_per_block": 8}),
    ],
)
def test_other_tunings_of_the_product(chip: str, change: dict[str, object]) -> None:
    """The packed arrays stay; the product between them may go about it otherwise."""
    tuning = replace(data_tiled_tuning(tile_kernel("f16_16x16x16_4x4_Kx2_w2x2")), **change)  # type: ignore[arg-type]
    check(compiled(Gemm(129, 255, 100, dtype="f16"), "f16_16x16x16_4x4_Kx2_w2x2", chip, tuning))


def test_the_result_does_not_depend_on_what_lies_in_the_workspace() -> None:
    """Twice with other values at the edge of the tiles: nothing of one call reaches the next."""
    kernel = compiled(Gemm(33, 33, 33, dtype="f32"), SMALL["f32"])
    huge = np.full((33, 33), 1e30, np.float32)
    kernel(huge, huge)
    a, b = np.eye(33, dtype=np.float32), np.arange(33 * 33, dtype=np.float32).reshape(33, 33)
    assert np.array_equal(kernel(a, b), b)


@pytest.mark.parametrize(
    ("problem", "target", "algorithm", "message"),
    [
        ("gemm -m 5 -n 5 -k 5", "cpu", "data_tiled", "packs for matrix instructions, and target 'cpu' has none"),
        ("gemm -m 5 -n 5 -k 5", "gfx942", "data_tild", "unknown algorithm 'data_tild'"),
        ("gemm -m 5 -n 5 -k 5", "gfx942", "v4r1", "'v4r1' is one of backward data"),
        ("gemm -m 5 -n 5 -k 5", "gfx942", "data_tiled:f16_16x16x16", "multiplies f16, the product is of f32"),
        ("gemm -t f16 -m 5 -n 5 -k 5", "gfx942", "data_tiled:f16_16x16x32", "gfx942 has no mfma_f32_16x16x32_f16"),
        ("gemm -t f16 -m 5 -n 5 -k 5", "gfx942", "data_tiled:f16_16x16x17", "there is no tile kernel"),
        ("gemm -t f16 -m 5 -n 5 -k 5", "gfx942", "data_tiled:f16_16x16x16_16x16_Kx2", "accumulators 1024 > 256"),
        ("gemm -t f16 -m 5 -n 5 -k 5", "gfx942", "data_tiled:mfma_f32_32x32x4_2b_f16", "instructions of one block"),
        ("gemm -t f64 -m 5 -n 5 -k 5", "gfx908", "data_tiled", "no matrix instruction of gfx908 multiplies f64"),
        ("conv -n 1 -c 4 -H 5 -W 5 -k 4 -y 3 -x 3 -F 1", "gfx942", "data_tiled", "this is a convolution"),
    ],
)  # fmt: skip
def test_what_is_refused(problem: str, target: str, algorithm: str, message: str) -> None:
    with pytest.raises(Diagnostic) as refused:
        imbrex.compile(problem, target, algorithm=algorithm)
    assert message in refused.value.message
