"""Windows whose pixels come once: the statement, run tile by tile over models of TMA and wgmma, is the
convolution; and what is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.unit.view.memory import Array, filled, read

from imbrex.chip import GPU_MACHINES
from imbrex.config import tuning as tunings
from imbrex.config.algorithm.task import task_of
from imbrex.config.algorithm.windows import windows_of
from imbrex.config.halo.cost import HaloCost
from imbrex.config.halo.plan import HaloPlan, HaloTuning
from imbrex.diagnostic import Diagnostic
from imbrex.index.map import Dim
from imbrex.lower.build import program
from imbrex.lower.warpgroup.parts import Blocks
from imbrex.lower.warpgroup.pipeline import Pipeline, Stage
from imbrex.pipeline import Request, levels
from imbrex.problem import Conv2d
from imbrex.verify.data import random_operands
from imbrex.verify.reference import reference
from imbrex.view.conv.group_merge import GroupMerge
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.tensor import Box

from .stored import store

MACHINE = GPU_MACHINES["sm_90a"]
NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
WINDOW: dict[str, Any] = {"y": 3, "x": 3, "pad_h": (1, 1), "pad_w": (1, 1), "dtype": "f16", **NHWC}


def windows(direction: Any, n: int, c: int, h: int, w: int, k: int, **given: Any) -> Conv2d:
    return Conv2d(direction, n=n, c=c, h=h, w=w, k=k, **(WINDOW | given))


def lowered(problem: Conv2d, tuning: str | None = None, algorithm: str | None = "halo:1") -> Pipeline:
    """By the tuning that is given, or the fastest of those whose windows read all taps out of one raster."""
    given = _fastest(problem, algorithm) if tuning is None else tunings.parse(tuning)
    *_, last = levels(Request(problem, MACHINE, "sm_90a", given, algorithm))
    (found,) = [k.pipeline for k in program(last.module, frozenset(), MACHINE).kernels if k.pipeline]
    return found


def _fastest(problem: Conv2d, algorithm: str | None) -> HaloTuning | None:
    found = windows_of(task_of(problem), int((algorithm or "halo:1").partition(":")[2]))
    if isinstance(found, str) or isinstance(found.best(), str):
        return None
    legal = {plan.tuning: HaloCost(plan).cycles for plan in found.legal() if isinstance(plan, HaloPlan)}
    return min(legal, key=lambda tuning: legal[tuning])


def matrix(feed: Stage, array: Array, number: int, batch: int, sizes: tuple[int, int], step: int) -> Array:
    """A tile (k, d) as instructions read it, `step` of k and 64 rows or all columns at a time."""
    assert isinstance(feed.access, Box)
    memory = filled(feed.access, feed.tile, array, 1, {"batch": batch, "tile": number, "step": 0})  # type: ignore[arg-type]
    k, d = sizes
    whole = np.zeros(sizes, array.dtype)
    rows = 64 if isinstance(feed.tile, HaloTile) else d
    for k0, d0 in product(range(0, k, step), range(0, d, rows)):
        start = feed.tile.start(k0, d0)
        part = read(memory, start, feed.tile.descriptor, feed.tile.major, (step, rows), array.dtype)
        whole[k0 : k0 + step, d0 : d0 + rows] = part
    return whole


def multiplied(gemm: Pipeline, left: Array, right: Array) -> Array:
    """The blocks of the diagonal, and no others."""
    sums = np.zeros((gemm.tiles.rows, gemm.tiles.columns))
    channels = gemm.multiply.channels if isinstance(gemm.multiply, Blocks) else gemm.multiply.depth
    depth, each = channels // gemm.multiply.blocks, gemm.tiles.columns // gemm.multiply.blocks
    for block in range(gemm.multiply.blocks):
        own = np.arange(gemm.multiply.depth) % channels // depth == block
        columns = slice(block * each, (block + 1) * each)
        sums[:, columns] = left[own].T @ right[own, columns]
    return sums


def computed(gemm: Pipeline, arrays: dict[str, Array], roles: tuple[str, str], result: Array) -> Array:
    """The result's elements, as all tiles store them; each once."""
    flat = np.full(result.size, np.nan)
    names = {0: roles[0], 1: roles[1]}
    a, b = (arrays[names[i]].reshape(-1) for i in range(2))
    step = gemm.sums.layout.k
    tiles = product(range(gemm.tiles.batches), range(gemm.tiles.row_tiles), range(gemm.tiles.column_tiles))
    row, column = np.indices((gemm.tiles.rows, gemm.tiles.columns))
    for batch, m, n in tiles:
        left = matrix(gemm.a, a, m, batch, (gemm.multiply.depth, gemm.tiles.rows), step).astype(np.float64)
        right = matrix(gemm.b, b, n, batch, (gemm.multiply.depth, gemm.tiles.columns), step).astype(
            np.float64
        )
        # Garbage in rows that are not stored may be NaN, and is of its own row only.
        with np.errstate(invalid="ignore"):
            sums = multiplied(gemm, left, right)
        env: dict[str, Any] = {
            "batch": batch,
            "row": m * gemm.tiles.rows + row,
            "column": n * gemm.tiles.columns + column,
        }
        store(gemm, flat, env, sums)
    return flat.reshape(result.shape)


def merged(problem: Conv2d, array: Array, count: int) -> Array:
    """The filter of so many groups as one."""
    filters = tuple(Dim(*d) for d in problem.dims("filter"))
    dims, placed = GroupMerge(filters, count).ordered("c" if problem.direction == "forward" else "k")
    coords, exists = placed.evaluate(list(np.indices([d.size for d in dims])))
    flat = np.ravel_multi_index([np.where(exists, x, 0) for x in coords], [d.size for d in filters])
    return np.where(exists, array.reshape(-1)[flat], 0).astype(np.float16)


Computed = Callable[[Pipeline, dict[str, Array], tuple[str, str], Array], Array]


def is_convolution(problem: Conv2d, gemm: Pipeline, by: Computed = computed, count: int = 1) -> bool:
    """Is what the statement stores the convolution?  by: what runs it.  count: groups that are one."""
    operands = random_operands(problem, 0, "integer")
    truth = reference(problem, {n: a.copy() for n, a in operands.arrays.items()}).want
    filters = operands.arrays["filter"]
    arrays = {
        "pixels": operands.arrays["input" if problem.direction == "forward" else "output"],
        "filter": filters if count == 1 else merged(problem, filters, count),
    }
    found = by(gemm, arrays, ("pixels", "filter"), truth)
    return bool(np.array_equal(found, truth.astype(np.float64)))


CASES = [
    windows("forward", 2, 32, 14, 14, 40),
    windows("backward_data", 2, 32, 14, 14, 32),
    windows("forward", 3, 64, 7, 7, 24),
    windows("backward_data", 5, 16, 7, 7, 64),
    windows("forward", 1, 64, 9, 28, 64, groups=2),
    windows("backward_data", 1, 64, 9, 28, 64, groups=2),
    windows("forward", 2, 32, 13, 13, 16, dilation=2, pad_h=(2, 1), pad_w=(0, 3)),
    windows("backward_data", 2, 16, 13, 12, 32, dilation=(1, 2), pad_h=(0, 1), pad_w=(2, 0)),
    windows("forward", 1, 8, 6, 56, 8),
    windows("forward", 1, 48, 6, 10, 8),
    windows("forward", 3, 32, 11, 1, 32, x=1, pad_w=(0, 0)),
    windows("forward", 1, 128, 9, 6, 16, y=2, pad_h=(1, 0)),
    windows("forward", 2, 32, 12, 12, 32, pad_h=(3, 3), pad_w=(3, 3)),
    windows("backward_data", 2, 32, 12, 12, 32, pad_h=(3, 3), pad_w=(3, 3)),
    windows("forward", 1, 64, 8, 8, 32, dtype="bf16"),
    windows("forward", 2, 32, 8, 20, 32, dtype="i8"),
    windows("forward", 1, 32, 9, 7, 16, dtype="tf32"),
    windows("backward_data", 1, 24, 9, 7, 16),
]


@pytest.mark.parametrize("problem", CASES, ids=str)
def test_tiles_are_the_convolution(problem: Conv2d) -> None:
    gemm = lowered(problem)
    assert isinstance(gemm.a.tile, HaloTile) and gemm.b.residency == "tile"
    assert is_convolution(problem, gemm)


MERGED = [
    (windows("forward", 2, 64, 9, 14, 64, groups=8), 4, 2),
    (windows("backward_data", 2, 64, 9, 14, 128, groups=8), 4, 4),
    (windows("forward", 1, 128, 7, 7, 64, groups=8), 4, 4),
    (windows("forward", 1, 64, 7, 7, 64, groups=2), 2, 2),
]


@pytest.mark.parametrize(("problem", "count", "diagonal"), MERGED, ids=str)
def test_groups_as_one_multiply_the_diagonal_alone(problem: Conv2d, count: int, diagonal: int) -> None:
    gemm = lowered(problem, algorithm=f"halo:{count}")
    assert gemm.multiply.blocks == diagonal
    assert is_convolution(problem, gemm, count=count)


TUNED = (
    "1,4,6,16,9,32,32,1,3,2,pingpong", "1,16,18,16,9,32,32,1,2,2,cooperative",
    "1,4,6,16,9,32,16,1,4,1,cooperative",
    "1,12,14,16,9,32,8,1,2,3,cooperative",
)  # fmt: skip


@pytest.mark.parametrize("text", TUNED)
def test_every_tile_is_the_same_convolution(text: str) -> None:
    problem = windows("forward", 2, 32, 14, 14, 32)
    assert is_convolution(problem, lowered(problem, f"v1:halo:{text}"))


def test_control_another_start_is_wrong() -> None:
    problem = windows("forward", 1, 32, 14, 14, 32)
    gemm = lowered(problem)
    share = gemm.a.tile
    assert isinstance(share, HaloTile)
    shifted = HaloTile(share.pixels, share.loaded, ((3, 16), (3, 2)), 0, share.channels, 2, share.swizzle)
    object.__setattr__(gemm.a, "tile", shifted)
    assert not is_convolution(problem, gemm)


def test_groups_as_one_keep_their_filter_in_shared_memory() -> None:
    problem = windows("forward", 4, 256, 56, 56, 256, groups=32)
    gemm = lowered(problem, algorithm="halo:4")
    assert (gemm.tiles.batches, gemm.tiles.workgroups % gemm.tiles.batches, gemm.tiles.steps) == (8, 0, 1)
    units = [gemm.tiles.workgroups * i for i in range(3)]
    assert {unit % gemm.tiles.batches for unit in units} == {0}


REFUSED = [
    (windows("forward", 1, 32, 14, 14, 32, stride=2), "strides 2 x 2"),
    (windows("forward", 1, 32, 14, 14, 32, y=1, x=1, pad_h=0, pad_w=0), "one tap"),
    (windows("forward", 1, 32, 14, 14, 32, input_layout="NCHW"), "do not lie together"),
    (windows("forward", 1, 256, 14, 14, 256), "no tile of it fits"),
    (windows("forward", 1, 3, 14, 14, 32), "not a multiple of 16 bytes"),
    (windows("forward", 1, 64, 14, 14, 64, groups=8), "not whole rows"),
    (windows("backward_data", 1, 20, 14, 14, 32), "8 bytes of the filter lie together"),
    (windows("backward_data", 1, 32, 14, 14, 32, dtype="tf32"), "wgmma takes tf32 along channels only"),
    (windows("forward", 1, 32, 14, 14, 32, filter_layout="KCYX"), "2 bytes of the filter lie together"),
    (windows("forward", 1, 32, 14, 14, 32, dtype="f32"), "multiplies f32"),
]


@pytest.mark.parametrize(("problem", "reason"), REFUSED, ids=str)
def test_what_is_not_served_is_told(problem: Conv2d, reason: str) -> None:
    with pytest.raises(Diagnostic, match=reason):
        lowered(problem)


def test_a_tuning_of_another_raster_is_refused() -> None:
    problem = windows("forward", 1, 32, 14, 14, 32)
    chosen = tunings.parse("v1:halo:1,4,5,16,9,32,32,1,2,2,pingpong")
    assert isinstance(chosen, HaloTuning)
    with pytest.raises(Diagnostic, match="does not fit in stages"):
        lowered(problem, tunings.text(chosen))
    with pytest.raises(Diagnostic, match="2 blocks of its diagonal"):
        lowered(problem, "v1:halo:1,4,6,16,9,32,32,2,2,2,pingpong")
    with pytest.raises(Diagnostic, match="9 taps of 16 channels"):
        lowered(problem, "v1:halo:1,4,6,16,9,16,32,1,2,2,pingpong")
