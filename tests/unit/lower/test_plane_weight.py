"""Weights whose pixels come once, out of planes: the statement, run over models of TMA and of a line as four
lanes have it, gives sums whose total is the gradient; and what is copied instead.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.unit.lower.test_halo_weight import lowered, stage
from tests.unit.view.memory import Array

from imbrex.lower.warpgroup.parts import WarpPlanes
from imbrex.lower.warpgroup.pipeline import Pipeline
from imbrex.problem import Conv2d
from imbrex.verify.data import random_operands
from imbrex.verify.reference import reference
from imbrex.view.stage.plane_stage import PlaneStage
from imbrex.view.tensor import Box

PIXELS, LANES, BLOCK = 8, 4, 16


def weights(n: int, c: int, h: int, w: int, groups: int, **given: Any) -> Conv2d:
    shape = {"y": 3, "x": 3, "pad_h": (1, 1), "pad_w": (1, 1), "dtype": "f16"} | given
    return Conv2d("backward_weight", n=n, c=c, h=h, w=w, k=c, groups=groups, **shape)


def line_of(tile: PlaneStage, memory: Array, line: int, channels: Array, kind: Any) -> Array:
    """[channel, part, lane, pixel], as loads of 16 bytes, or twice 8, that each lie together bring it."""
    part, lane = np.indices((tile.line // (LANES * PIXELS), LANES))
    first = line * tile.line + (part * LANES + lane) * PIXELS
    (element,), _ = tile.map.evaluate(
        [first[None, ..., None] + np.arange(0, PIXELS, 4), channels[:, None, None, None]]
    )
    byte = np.asarray(element * tile.element_bytes)
    assert not (byte % 8).any(), "halves of a lane's pixels are aligned"
    held = memory.view(kind)[byte[..., None] // 2 + np.arange(4)].reshape(*byte.shape[:-1], PIXELS)
    place = (part * LANES + lane)[..., None] * PIXELS + np.arange(PIXELS)
    return np.where(place < tile.width, held, 0)


def columns_of(held: Array) -> list[Array]:
    """The same one pixel to the left, as they are, and one to the right, with zeros beyond the ends."""
    flat = held.reshape(held.shape[0], -1)
    padded = np.pad(flat, ((0, 0), (1, 1)))
    return [padded[:, i : i + flat.shape[1]].reshape(held.shape) for i in range(3)]


def streamed(gemm: Pipeline, planes: PlaneStage, output: Array, image: Array, batch: int) -> Array:
    """What warps add up of all steps, which keep a line of the input and of the output for the next ones."""
    sums = np.zeros((9, planes.channels, planes.channels))
    for block, turn in product(range(0, planes.channels, BLOCK), range(gemm.team.consumers)):
        own, kept = block + np.arange(BLOCK), list[Array]()
        here = sums[:, block : block + BLOCK, block : block + BLOCK]
        for step in range(turn, gemm.tiles.steps, gemm.team.consumers):
            env = {"batch": batch, "tile": 0, "step": step}
            stages = stage(gemm.a, output, env), stage(gemm.b, image, env)
            if step // gemm.team.consumers % planes.strips == 0:
                kept.clear()
            for row in range(planes.rows):
                y, x = (line_of(planes, s, row, own, output.dtype).astype(float) for s in stages)
                kept = [*(kept or [np.zeros_like(y), np.zeros_like(x)]), y, x]
                for tap, left, right in ((0, 2, 1), (1, 2, 3), (2, 0, 3)):
                    for i, seen in enumerate(columns_of(kept[right])):
                        here[tap * 3 + i] += np.einsum("fhlp,chlp->fc", kept[left], seen)
                del kept[:2]
    masked = np.arange(planes.channels)[:, None] // BLOCK == np.arange(planes.channels) // BLOCK
    return np.where(masked, sums, np.nan)


def stage_of(gemm: Pipeline) -> PlaneStage:
    """The lines that warps multiply."""
    assert isinstance(gemm.multiply, WarpPlanes)
    return gemm.multiply.stage


def gradient(problem: Conv2d, gemm: Pipeline) -> tuple[Array, Array]:
    planes = stage_of(gemm)
    operands = random_operands(problem, 0, "integer")
    truth = reference(problem, {n: a.copy() for n, a in operands.arrays.items()}).want
    output, image = (operands.arrays[role].reshape(-1) for role in ("output", "input"))
    shares = np.full(gemm.c.buffer.elements, np.nan)
    row, column = np.indices((gemm.tiles.rows, gemm.tiles.columns))
    for batch, m in product(range(gemm.tiles.batches), range(gemm.tiles.row_tiles)):
        sums = streamed(gemm, planes, output, image, batch)
        flat = sums.transpose(1, 0, 2).reshape(gemm.tiles.rows, gemm.tiles.columns)
        at: dict[str, Any] = {"batch": batch, "row": m * gemm.tiles.rows + row, "column": column}
        exists = np.ones_like(row, bool)
        for guard in gemm.c.guards:
            x = guard.index.eval(at)
            exists &= (x >= 0) & (x < guard.size)
        shares[np.broadcast_to(gemm.c.offset.eval(at), row.shape)[exists]] = flat[exists]
    filters, channels, *taps = truth.shape
    total = shares.reshape(-1, filters, *taps, channels).sum(axis=0)
    return np.moveaxis(total, -1, 1), truth.astype(np.float64)


@pytest.mark.parametrize("size", [28, 56])
def test_the_model_reads_planes(size: int) -> None:
    gemm = lowered(weights(128, 256, size, size, 32), None, "halo:8")
    assert stage_of(gemm).streams == 2
    rows = {int(p.coords[0].const) for p in gemm.b.access.pieces if isinstance(gemm.b.access, Box)}
    assert rows == {0, 64}, "boxes begin at sectors, lines inside of them"


STREAMS = {
    "two lines in a group": (weights(5, 64, 6, 28, 8), "1,2,2,32,9,64,4,2,4,2", 8),
    "four lines in a group": (weights(3, 64, 8, 28, 8), "1,4,4,32,9,64,4,2,4,2", 8),
    "rows that two lines share": (weights(3, 64, 4, 56, 4), "1,2,2,64,9,64,4,2,4,2", 4),
    "a line each, an odd number": (weights(3, 64, 5, 40, 8), "1,2,2,64,9,64,4,1,4,2", 8),
    "one consumer": (weights(2, 128, 6, 16, 16), "1,4,4,32,9,64,4,2,2,1", 8),
}


@pytest.mark.parametrize("case", STREAMS)
def test_lines_are_kept_for_the_next_ones(case: str) -> None:
    problem, text, count = STREAMS[case]
    gemm = lowered(problem, text, f"halo:{count}")
    assert stage_of(gemm).streams == gemm.team.consumers
    found, want = gradient(problem, gemm)
    assert np.array_equal(found, want)


COPIED = {
    "two rows are no whole pieces": weights(1, 128, 6, 14, 16),
    "an odd number of lines, two in a row": weights(1, 128, 7, 28, 16),
    "a row is longer than a line": weights(1, 128, 6, 72, 16),
    "pixels are not the middle column's": weights(1, 128, 6, 16, 16, pad_w=(2, 0)),
    "two rows": weights(1, 64, 4, 24, 8, y=2, pad_h=(1, 0)),
    "no rows of padding": weights(2, 64, 6, 8, 8, pad_h=(0, 0)),
    "channels last": weights(
        1, 128, 6, 16, 16, filter_layout="KYXC", input_layout="NHWC", output_layout="NHWK"
    ),
}


@pytest.mark.parametrize("case", COPIED)
def test_what_is_not_read_from_planes(case: str) -> None:
    assert not isinstance(lowered(COPIED[case], None, "halo:8").multiply, WarpPlanes)


@pytest.mark.parametrize(
    "text",
    ["1,2,4,32,9,64,4,3,4,2", "1,2,4,32,9,64,1,3,2,3", "1,2,6,32,9,64,4,3,4,2", "1,1,3,32,9,64,4,3,4,2"],
)
def test_a_given_tuning_may_want_copies(text: str) -> None:
    problem = weights(1, 128, 6, 16, 16)
    assert isinstance(lowered(problem, "1,2,2,32,9,64,4,1,4,2", "halo:8").multiply, WarpPlanes)
    assert not isinstance(lowered(problem, text, "halo:8").multiply, WarpPlanes)
