"""Windows line by line: the statement, run step by step over models of TMA and wgmma, is the convolution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.unit.view.memory import Array, filled, loaded, read, written

from imbrex.config import tuning as tunings
from imbrex.config.halo.plan import LinesTuning
from imbrex.diagnostic import Diagnostic
from imbrex.ir.source import InvalidOp
from imbrex.lower.warpgroup.parts import LineWork, WindowRows
from imbrex.lower.warpgroup.pipeline import Pipeline
from imbrex.problem import Conv2d
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.tensor import Box

from .stored import store
from .test_halo import is_convolution, lowered, windows


def parts(gemm: Pipeline) -> tuple[LineWork, WindowRows]:
    """Whose lines, and by what."""
    assert isinstance(gemm.work, LineWork) and isinstance(gemm.multiply, WindowRows)
    return gemm.work, gemm.multiply


def line_of(gemm: Pipeline, array: Array, env: dict[str, int]) -> Array:
    """A stage (k, d) as instructions read it; behind the line there are zeros."""
    tile = gemm.a.tile
    work, multiply = parts(gemm)
    assert isinstance(tile, HaloTile) and isinstance(gemm.a.access, Box)
    memory = np.zeros(tile.bytes, np.uint8)
    for piece in gemm.a.access.pieces:
        written(memory, piece.byte_offset, loaded(gemm.a.access, piece, array, env), gemm.a.access.swizzle)
    whole = np.zeros((multiply.depth, work.line), array.dtype)
    step = gemm.sums.layout.k
    for k0, d0 in product(range(0, multiply.depth, step), range(0, work.line, 64)):
        part = read(memory, tile.start(k0, d0), tile.descriptor, "k", (step, 64), array.dtype)
        whole[k0 : k0 + step, d0 : d0 + 64] = part
    return whole


def stepped(gemm: Pipeline, line: Array, filters: Array, step: int) -> Array:
    """(block of columns, slot, row, filter): what a step adds to each slot."""
    work, multiply = parts(gemm)
    own, rows, channels = multiply.filter, multiply.filter.rows, multiply.line.channels
    added = np.zeros((own.diagonal, rows, work.line, own.each))
    phase = step % rows
    for k0 in range(0, gemm.multiply.depth, gemm.sums.layout.k):
        block = k0 % channels // own.depth
        row = k0 // channels * own.depth + k0 % channels % own.depth
        d0 = (block * own.row_positions + phase) * own.each
        shape = gemm.sums.layout.k, rows * own.each
        tile = gemm.b.tile
        b = read(filters, tile.start(row, d0), tile.descriptor, tile.major, shape, line.dtype)  # type: ignore[union-attr]
        a = line[k0 : k0 + gemm.sums.layout.k].astype(np.float64)
        sums = a.T @ b.astype(np.float64)
        added[block] += sums.reshape(-1, rows, own.each).transpose(1, 0, 2)
    return added


def part_of(
    gemm: Pipeline, array: Array, filters: Array, at: tuple[int, int], first: int, count: int
) -> Iterator[tuple[int, Array]]:
    """Lines of the tile `at` with their sums, as a consumer's slots give them step by step."""
    work, multiply = parts(gemm)
    rows, each = multiply.filter.rows, multiply.filter.each
    slots = np.zeros((multiply.filter.diagonal, rows, work.line, each))
    for step in range(first, first + count + rows - 1):
        env = {"batch": at[0], "tile": at[1], "step": step}
        if 0 <= work.exists[0].index.eval(env) < work.exists[0].size:
            slots += stepped(gemm, line_of(gemm, array, env), filters, step)
        slot, line = rows - 1 - step % rows, step - (rows - 1)
        if line >= first:
            yield line, slots[:, slot].transpose(1, 0, 2).reshape(work.line, -1).copy()
        slots[:, slot] = 0


def streamed(gemm: Pipeline, arrays: tuple[Array, Array]) -> Iterator[tuple[int, int, int, int, Array]]:
    """(batch, row tile, column tile, line, sums) of all consumers of all workgroups."""
    assert isinstance(gemm.b.access, Box)
    streams = parts(gemm)[0].streams
    for slot, group in product(range(gemm.tiles.workgroups), range(gemm.team.consumers)):
        first_line = streams.first_line(streams.slot, streams.consumer)
        line, end = (int(first_line.eval({"slot": slot, "group": g})) for g in (group, group + 1))
        while line < end:
            tile, first = divmod(line, streams.lines)
            unit = int(streams.unit(streams.slot, streams.tile).eval({"slot": slot, "tile": tile}))
            batch, block = unit % gemm.tiles.batches, unit // gemm.tiles.batches
            m, n = (x.const for x in gemm.tiles.order.at([block]).coords)
            env = {"batch": batch, "tile": n, "step": 0}
            filters = filled(gemm.b.access, gemm.b.tile, arrays[1], 1, env)  # type: ignore[arg-type]
            count = min(streams.lines - first, end - line)
            for number, sums in part_of(gemm, arrays[0], filters, (batch, m), first, count):
                yield batch, m, n, number, sums
            line += count


def computed(gemm: Pipeline, arrays: dict[str, Array], roles: tuple[str, str], result: Array) -> Array:
    """The result's elements, as all streams store them; each once."""
    pixels = parts(gemm)[0].line
    flat = np.full(result.size, np.nan)
    a, b = (arrays[name].reshape(-1) for name in roles)
    row, column = np.indices((pixels, gemm.tiles.columns))
    for batch, m, n, line, sums in streamed(gemm, (a, b)):
        env: dict[str, Any] = {
            "batch": batch,
            "row": m * gemm.tiles.rows + line * pixels + row,
            "column": n * gemm.tiles.columns + column,
        }
        store(gemm, flat, env, sums)
    return flat.reshape(result.shape)


CASES = [
    (windows("forward", 3, 32, 14, 14, 40), "4,7,16,3,3,32,40,1,2,2,cooperative"),
    (windows("backward_data", 3, 32, 14, 14, 32), "4,5,16,3,3,32,32,1,2,3,cooperative"),
    (windows("forward", 2, 64, 28, 28, 24), "2,28,32,3,3,64,24,1,2,2,cooperative"),
    (windows("forward", 9, 64, 7, 7, 24), "8,7,8,3,3,64,24,1,2,2,cooperative"),
    (windows("backward_data", 9, 16, 7, 7, 64), "8,4,8,3,3,64,16,1,2,2,cooperative"),
    (windows("forward", 1, 64, 9, 56, 64, groups=2), "1,3,64,3,3,32,32,1,2,2,cooperative"),
    (windows("backward_data", 1, 64, 5, 57, 64, groups=2), "1,5,64,3,3,32,32,1,2,2,cooperative"),
    (windows("forward", 1, 32, 5, 100, 32), "1,5,128,3,3,32,32,1,2,1,cooperative"),
    (windows("forward", 2, 32, 13, 13, 16, y=1, pad_h=(0, 0)), "4,13,16,1,3,32,16,1,2,2,cooperative"),
    (windows("forward", 2, 32, 13, 13, 16, x=1, pad_w=(0, 0)), "4,7,16,3,1,32,16,1,2,2,cooperative"),
    (
        windows("backward_data", 1, 16, 12, 12, 32, y=5, x=5, pad_h=(2, 2), pad_w=(2, 2)),
        "4,6,16,5,5,32,16,1,2,2,cooperative",
    ),
    (windows("forward", 2, 32, 12, 12, 32, pad_h=(3, 3), pad_w=(3, 3)), "4,4,16,3,3,32,32,1,2,2,cooperative"),
    (windows("forward", 1, 64, 8, 8, 32, dtype="bf16"), "4,8,16,3,3,64,32,1,2,2,cooperative"),
    (windows("forward", 2, 32, 8, 20, 64, dtype="i8"), "2,4,32,3,3,32,32,1,2,2,cooperative"),
    (windows("forward", 1, 32, 9, 7, 16, dtype="tf32"), "8,3,8,3,3,32,16,1,2,2,cooperative"),
]


@pytest.mark.parametrize(("problem", "text"), CASES, ids=str)
def test_steps_are_the_convolution(problem: Conv2d, text: str) -> None:
    gemm = lowered(problem, f"v1:lines:{text}")
    assert gemm.b.residency == "kernel" and gemm.multiply.blocks == 1
    assert is_convolution(problem, gemm, computed)


MERGED = [
    (windows("forward", 3, 64, 9, 14, 64, groups=8), "4,5,16,3,3,32,32,2,2,2,cooperative"),
    (windows("backward_data", 3, 64, 9, 14, 128, groups=8), "4,9,16,3,3,64,32,2,2,2,cooperative"),
    (windows("forward", 2, 128, 7, 7, 128, groups=8), "8,7,8,3,3,64,64,4,2,2,cooperative"),
    (windows("backward_data", 1, 64, 7, 56, 64, groups=2), "1,4,64,3,3,64,64,2,2,2,cooperative"),
]


@pytest.mark.parametrize(("problem", "text"), MERGED, ids=str)
def test_groups_as_one_multiply_the_diagonal_alone(problem: Conv2d, text: str) -> None:
    given = tunings.parse(f"v1:lines:{text}")
    assert isinstance(given, LinesTuning)
    channels = problem.c if problem.direction == "forward" else problem.k
    count = given.channels // (channels // problem.groups)
    gemm = lowered(problem, f"v1:lines:{text}", f"halo:{count}")
    assert gemm.multiply.blocks == given.diagonal
    assert is_convolution(problem, gemm, computed, count)


def test_control_other_columns_are_wrong() -> None:
    problem = windows("forward", 1, 32, 14, 14, 32)
    gemm = lowered(problem, "v1:lines:4,7,16,3,3,32,32,1,2,2,cooperative")
    assert isinstance(gemm.a.tile, HaloTile)
    other = replace(gemm, a=replace(gemm.a, tile=replace(gemm.a.tile, taps=((3, 2),))))
    assert not is_convolution(problem, other, computed)


def test_lines_that_do_not_exist_are_left_out() -> None:
    gemm = lowered(windows("forward", 1, 32, 14, 14, 32), "v1:lines:4,7,16,3,3,32,32,1,2,2,cooperative")
    work, _ = parts(gemm)
    assert (work.line, work.streams.lines) == (64, 7)
    first = {"batch": 0, "tile": 0, "step": 0}
    assert work.exists[0].index.eval(first) == -1 and work.exists[0].size == 14


REFUSED = [
    ("4,14,16,3,3,16,32,1,2,2,cooperative", "9 taps of 16 channels are not the 288 of gemmK"),
    (
        "2,14,16,3,3,32,32,1,2,2,cooperative",
        "a line of each image has 32 pixels in all, not a multiple of 64",
    ),
    ("8,14,8,3,3,32,32,1,2,2,cooperative", "a raster 8 wide does not hold lines of 14 pixels"),
    ("4,14,16,3,3,32,32,2,2,2,cooperative", "2 blocks of its diagonal"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_is_not_served_is_told(text: str, reason: str) -> None:
    with pytest.raises((Diagnostic, InvalidOp), match=reason):
        lowered(windows("forward", 1, 32, 14, 14, 32), f"v1:lines:{text}")


def test_dilated_windows_have_other_tunings() -> None:
    problem = windows("forward", 1, 32, 14, 14, 32, dilation=2, pad_h=(2, 2), pad_w=(2, 2))
    with pytest.raises((Diagnostic, InvalidOp), match="line by line"):
        lowered(problem, "v1:lines:4,14,16,3,3,32,32,1,2,2,cooperative")
