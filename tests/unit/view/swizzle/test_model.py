"""Packed tiles are what the instruction wants: its model, fed with each lane's loads from them, makes the
product; and a lane's loads are 16 bytes side by side, of any instruction that is unrolled enough.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from imbrex.view.mma import Instruction, Operand, in_registers, instruction
from imbrex.view.swizzle import (
    INSTANCES,
    K_CONVENTIONS,
    LANES_TOGETHER,
    NOT_INTERLEAVED,
    SEEDS,
    KConvention,
    TileKernel,
    tile_kernel,
)

from .matrix_unit import Ints, pack, places, product_is_right, tiles, unpack, workgroup

ORDERED = [
    "mfma_f64_16x16x4_f64", "mfma_f32_32x32x8_f16", "mfma_f32_16x16x4_4b_f16", "mfma_f32_16x16x128_fp8_fp8",
]  # fmt: skip
WIDE = 16  # bytes of the widest load


def unrolled(found: Instruction) -> TileKernel:
    """The instruction with as many along k as a lane needs to load 16 bytes at once."""
    kernel = TileKernel(found)
    while min(kernel.load_bytes("a"), kernel.load_bytes("b")) < WIDE:
        kernel = replace(kernel, unroll=(1, 1, kernel.unroll[2] * 2))
    return replace(kernel, unroll=(2, 1, kernel.unroll[2]))


def chunks(kernel: TileKernel, operand: Operand) -> list[Ints]:
    """For each lane of each wave, the offsets that it loads, in pieces of `lane_run`."""
    at, valid = places(kernel, operand)
    lanes = np.moveaxis(at, 3, 1).reshape(at.shape[0] * at.shape[3], -1)
    exist = np.moveaxis(valid, 3, 1).reshape(lanes.shape)
    run = kernel.swizzle(operand).lane_run
    return [np.sort(o[e]).reshape(-1, run) for o, e in zip(lanes, exist, strict=True) if e.any()]


@pytest.mark.parametrize("found", in_registers(), ids=str)
def test_any_instruction_multiplies_packed_tiles(found: Instruction) -> None:
    kernel = unrolled(found)
    assert product_is_right(kernel)
    for operand in ("a", "b"):
        assert kernel.load_bytes(operand) >= WIDE
        run = kernel.swizzle(operand).lane_run
        for loads in chunks(kernel, operand):
            assert (loads[:, 0] % run == 0).all()
            assert np.array_equal(loads, loads[:, :1] + np.arange(run))


@pytest.mark.parametrize("order", [NOT_INTERLEAVED, LANES_TOGETHER])
@pytest.mark.parametrize("name", ORDERED)
def test_any_order_multiplies(name: str, order: tuple[str, ...]) -> None:
    assert product_is_right(TileKernel(instruction(name), (2, 3, 2), order=order))


def test_lanes_together_store_all_of_their_registers_at_once() -> None:
    for found in in_registers():
        kernel = TileKernel(found, (1, 1, 1), order=LANES_TOGETHER)
        assert kernel.swizzle("c").lane_run == found.c_elements


@pytest.mark.parametrize("name", [*(n for n in SEEDS if "8x8" not in n), *INSTANCES])
def test_named_kernels_multiply(name: str) -> None:
    assert product_is_right(tile_kernel(name))


@pytest.mark.parametrize("waves", [(2, 1, 1), (1, 4, 1), (2, 2, 1), (1, 1, 2), (2, 1, 2)])
@pytest.mark.parametrize("inside", [False, True])
def test_waves_share_a_tile(waves: tuple[int, int, int], inside: bool) -> None:
    kernel = TileKernel(instruction("mfma_f32_16x16x16_f16"), (2, 1, 2), waves, waves_inside=inside)
    assert product_is_right(kernel)
    assert kernel.workitems == 64 * int(np.prod(waves))


@pytest.mark.parametrize("convention", K_CONVENTIONS)
@pytest.mark.parametrize(
    "name", ["i8_16x16x32_2x1_Kx4", "fp8_32x32x16_Kx4", "mfma_f32_16x16x128_fp8_fp4_Kx2"]
)
def test_conventions_of_k_multiply(name: str, convention: KConvention) -> None:
    assert product_is_right(tile_kernel(name, convention))


@pytest.mark.parametrize(
    "runs", [(8, None, None), (16, None, None), (None, 2, None), (None, 4, 16), (4, 1, 8)]
)
def test_runs_multiply(runs: tuple[int | None, int | None, int | None]) -> None:
    assert product_is_right(TileKernel(instruction("mfma_f32_16x16x16_f16"), (4, 4, 4), runs=runs))


def test_a_run_along_n_gives_a_lane_neighbours() -> None:
    """Four instructions dealt out along n: a lane owns columns 4 l .. 4 l + 3."""
    kernel = TileKernel(instruction("mfma_f32_16x16x16_f16"), (1, 4, 1), runs=(None, 4, None))
    swizzle = kernel.swizzle("c")
    at, _ = places(kernel, "c")
    columns = unpack(swizzle, np.arange(swizzle.elements))
    n_of = {int(columns[m, n]): n for m, n in np.ndindex(*swizzle.source_shape)}
    assert [n_of[int(at[0, 0, j, 5, 0])] for j in range(4)] == [20, 21, 22, 23]


def test_control_tiles_packed_in_two_conventions_do_not_multiply() -> None:
    one, other = (tile_kernel("i8_16x16x32_Kx2", c) for c in ("interleaved", "contiguous"))
    a, b = tiles(one)
    got = workgroup(one, pack(one.swizzle("a"), a), pack(other.swizzle("b"), b))
    assert not np.array_equal(unpack(one.swizzle("c"), got), a @ b.T)


def test_control_a_tile_that_is_not_packed_does_not_multiply() -> None:
    kernel = tile_kernel("f16_16x16x16_Kx2")
    a, b = tiles(kernel)
    got = workgroup(kernel, a.reshape(-1), pack(kernel.swizzle("b"), b))
    assert not np.array_equal(unpack(kernel.swizzle("c"), got), a @ b.T)


def test_a_wave_reads_a_row_of_1024_bytes() -> None:
    """The lanes' first loads of the seeds' kernels lie one after the other."""
    for name in SEEDS[1:]:
        kernel = tile_kernel(name)
        first = np.array([loads[0, 0] for loads in chunks(kernel, "a")])
        assert np.array_equal(np.sort(first) * kernel.bits("a") // 8, np.arange(64) * WIDE), name
