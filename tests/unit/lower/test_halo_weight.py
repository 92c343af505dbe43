"""Backward weight whose pixels come once: the statement, run tile by tile over models of TMA and wgmma, gives
sums whose total is the gradient; nothing is read that was not written; and what is refused.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.unit.view.memory import Array, loaded, read, written

from imbrex.chip import GPU_MACHINES
from imbrex.config import tuning as tunings
from imbrex.diagnostic import Diagnostic
from imbrex.ir.source import InvalidOp
from imbrex.lower.build import program
from imbrex.lower.warpgroup.parts import SplitSteps, WarpRaster
from imbrex.lower.warpgroup.pipeline import Pipeline, Stage
from imbrex.pipeline import Request, levels
from imbrex.problem import Conv2d
from imbrex.verify.data import random_operands
from imbrex.verify.reference import reference
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.tensor import Box, Walk

from .stored import store

MACHINE = GPU_MACHINES["sm_90a"]
WINDOW: dict[str, Any] = {
    "y": 3, "x": 3, "pad_h": (1, 1), "pad_w": (1, 1), "dtype": "f16",
    "filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK",
}  # fmt: skip
NOT_A_NUMBER = 0xFF


def weights(n: int, c: int, h: int, w: int, k: int, **given: Any) -> Conv2d:
    return Conv2d("backward_weight", n=n, c=c, h=h, w=w, k=k, **(WINDOW | given))


def lowered(problem: Conv2d, tuning: str | None = None, algorithm: str | None = "halo:1") -> Pipeline:
    given = None if tuning is None else tunings.parse(f"v1:halo_weight:{tuning}")
    *_, last = levels(Request(problem, MACHINE, "sm_90a", given, algorithm))
    (found,) = [k.pipeline for k in program(last.module, frozenset(), MACHINE).kernels if k.pipeline]
    return found


def stage(feed: Stage, array: Array, env: dict[str, int]) -> Array:
    """What lies in shared memory: what copies bring, and the zeros behind it."""
    assert isinstance(feed.access, Box | Walk)
    memory = np.full(feed.tile.bytes, NOT_A_NUMBER, np.uint8)
    for piece in feed.access.pieces:
        written(memory, piece.byte_offset, loaded(feed.access, piece, array, env), feed.access.swizzle)
    tail = feed.tile.tail_bytes if isinstance(feed.tile, HaloTile) else 0
    memory[memory.size - tail :] = 0
    return memory


def matrix(feed: Stage, memory: Array, columns: int, kind: Any) -> Array:
    """The stage (k, d) as instructions read it: 16 pixels of some columns at a time."""
    share = feed.tile
    whole = np.zeros((share.k, share.d), kind)
    for k0, d0 in product(range(0, share.k, 16), range(0, share.d, columns)):
        part = read(memory, share.start(k0, d0), share.descriptor, share.major, (16, columns), kind)
        whole[k0 : k0 + 16, d0 : d0 + columns] = part
    return whole


def summed(gemm: Pipeline, output: Array, image: Array, shares: Array) -> None:
    """Every tile's sums, stored once."""
    row, column = np.indices((gemm.tiles.rows, gemm.tiles.columns))
    for batch, m in product(range(gemm.tiles.batches), range(gemm.tiles.row_tiles)):
        sums = np.zeros((gemm.tiles.rows, gemm.tiles.columns))
        for step in range(gemm.tiles.steps):
            env = {"batch": batch, "tile": m, "step": step}
            left = matrix(gemm.a, stage(gemm.a, output, env), gemm.tiles.rows, output.dtype)
            right = matrix(gemm.b, stage(gemm.b, image, env), gemm.own_columns, image.dtype)
            sums += left.astype(np.float64).T @ right.astype(np.float64)
        if isinstance(gemm.team, SplitSteps):
            sums[row // 16 != column % gemm.own_columns // 16] = np.nan
        at: dict[str, Any] = {"batch": batch, "row": m * gemm.tiles.rows + row, "column": column}
        store(gemm, shares, at, sums)


def gradient(problem: Conv2d, gemm: Pipeline) -> tuple[Array, Array]:
    """The total of all shares, and what it should be."""
    operands = random_operands(problem, 0, "integer")
    truth = reference(problem, {n: a.copy() for n, a in operands.arrays.items()}).want
    shares = np.full(gemm.c.buffer.elements, np.nan)
    arrays = [operands.arrays[role].reshape(-1) for role in ("output", "input")]
    summed(gemm, arrays[0], arrays[1], shares)
    return shares.reshape(-1, *truth.shape).sum(axis=0), truth.astype(np.float64)


CASES = [
    (weights(2, 64, 14, 14, 64), None),
    (weights(1, 64, 13, 7, 64), None),
    (weights(3, 64, 7, 7, 64), "1,8,10,8,9,64,1,2,2,3"),
    (weights(5, 64, 7, 7, 64), "1,8,10,8,9,64,1,2,2,3"),
    (weights(2, 64, 9, 28, 64), "1,4,6,32,9,64,1,3,2,3"),
    (weights(1, 128, 5, 9, 128), None),
    (weights(2, 32, 5, 9, 64), None),
    (weights(2, 16, 5, 9, 64, dtype="bf16"), None),
    (weights(1, 64, 6, 9, 64, y=1, pad_h=(0, 0)), None),
    (weights(1, 64, 6, 9, 64, x=1, pad_w=(0, 0)), None),
    (weights(1, 64, 6, 9, 64, y=2, x=2, pad_h=(0, 1), pad_w=(1, 0)), None),
    (weights(1, 64, 9, 9, 64, dilation=(1, 2), pad_h=(0, 1), pad_w=(2, 0)), None),
    (weights(1, 64, 9, 9, 64, pad_h=(3, 0), pad_w=(0, 3)), None),
    (weights(1, 128, 9, 6, 128, groups=2), None),
]


@pytest.mark.parametrize(("problem", "tuning"), CASES, ids=str)
def test_shares_add_up_to_the_gradient(problem: Conv2d, tuning: str | None) -> None:
    gemm = lowered(problem, tuning)
    assert isinstance(gemm.b.tile, HaloTile)
    found, want = gradient(problem, gemm)
    assert np.array_equal(found, want)


WARPS = [
    (weights(2, 128, 6, 9, 128, groups=16), "1,3,5,16,9,64,4,3,4,2", 8),
    (weights(1, 64, 5, 20, 64, groups=4), "1,2,4,32,9,64,4,2,6,3", 4),
    (weights(3, 64, 4, 4, 64, groups=16, y=2, x=2, pad_h=(0, 1), pad_w=(1, 0)), "1,4,5,16,4,64,4,2,4,2", 16),
    (weights(2, 128, 6, 9, 128, groups=16, y=2, pad_h=(0, 1)), "1,3,4,16,6,64,4,3,4,2", 8),
    (weights(1, 64, 5, 20, 64, groups=4, x=2, pad_w=(1, 0)), "1,2,4,32,6,64,4,2,6,3", 4),
]


@pytest.mark.parametrize(("problem", "tuning", "count"), WARPS, ids=str)
def test_warps_have_blocks_of_the_diagonal(problem: Conv2d, tuning: str, count: int) -> None:
    gemm = lowered(problem, tuning, f"halo:{count}")
    assert isinstance(gemm.multiply, WarpRaster) and gemm.multiply.blocks == 4
    found, want = gradient(problem, gemm)
    assert np.array_equal(found, want)


@pytest.mark.parametrize("count", [4, 8, 16])
def test_blocks_on_the_diagonal_alone_are_stored(count: int) -> None:
    problem = weights(1, 64 * 2, 6, 9, 64 * 2, groups=2 * count)
    found, want = gradient(problem, lowered(problem, None, f"halo:{count}"))
    assert np.array_equal(found, want)


def test_all_that_is_read_behind_a_raster_is_zero() -> None:
    gemm = lowered(weights(2, 64, 9, 28, 64), "1,8,10,30,9,64,1,2,2,3")
    assert isinstance(gemm.b.tile, HaloTile) and gemm.b.tile.tail_bytes == 4 * 128
    env = {"batch": 0, "tile": 0, "step": 0}
    image = np.ones(2 * 9 * 28 * 64, np.float16)
    whole = stage(gemm.b, image, env)
    assert not np.isnan(matrix(gemm.b, whole, 192, np.float16)).any()
    whole[-gemm.b.tile.tail_bytes :] = NOT_A_NUMBER
    assert np.isnan(matrix(gemm.b, whole, 192, np.float16)).any()


REFUSED = [
    (weights(1, 64, 9, 9, 64, stride=2), "strides 2 x 2"),
    (weights(1, 64, 9, 9, 64, y=1, x=1, pad_h=(0, 0), pad_w=(0, 0)), "one tap is read once anyway"),
    (weights(1, 64, 9, 9, 96), "96 filters of a group are not a multiple of 64"),
    (weights(1, 48, 9, 9, 64), "48 channels of a group are not whole rows"),
    (weights(1, 64, 9, 30, 64, dilation=(1, 9), pad_w=(9, 9)), "reaches over 18 columns, more than 16"),
    (weights(1, 64, 9, 9, 64, input_layout="NCHW"), "channels do not lie together"),
    (weights(1, 64, 9, 9, 64, dtype="tf32"), "rows of pixels of f16 and bf16, not tf32"),
    (weights(1, 64, 9, 9, 64, y=5, x=5, pad_h=(2, 2), pad_w=(2, 2)), "no step of it fits"),
]


@pytest.mark.parametrize(("problem", "reason"), REFUSED, ids=[r for _, r in REFUSED])
def test_what_is_refused(problem: Conv2d, reason: str) -> None:
    with pytest.raises((Diagnostic, InvalidOp), match=reason):
        lowered(problem)


WRONG = [
    ("1,4,6,28,9,64,1,3,2,3", "a raster 28 wide does not hold lines of 29 pixels"),
    ("1,4,6,8,9,64,1,3,2,3", "a raster 8 wide does not hold lines of 29 pixels"),
    ("1,4,5,32,9,64,1,3,2,3", "a raster of 192 pixels does not fit in stages of 160"),
    ("1,2,4,32,9,64,4,3,6,3", "4 blocks of a diagonal are not all there is of the filter"),
]


@pytest.mark.parametrize(("tuning", "reason"), WRONG, ids=[t for t, _ in WRONG])
def test_rasters_that_do_not_serve(tuning: str, reason: str) -> None:
    with pytest.raises((Diagnostic, InvalidOp), match=reason):
        lowered(weights(2, 64, 9, 28, 64), tuning)
