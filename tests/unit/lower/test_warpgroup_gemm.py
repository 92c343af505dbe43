"""A workgroup's product as a statement: where its loads and stores go, against the operands' maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from imbrex.chip import GPU_MACHINES
from imbrex.config import tuning as tunings
from imbrex.config.tiles import parse
from imbrex.index.map import Map
from imbrex.index.rule import Guard
from imbrex.ir.chain import named_map
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.lower.build import program
from imbrex.lower.stmt import Program, has_flags, is_collective, meets
from imbrex.lower.warpgroup.parts import Planned
from imbrex.lower.warpgroup.pipeline import Lanes, Pipeline
from imbrex.lower.warpgroup.text import described
from imbrex.pipeline import Request, levels
from imbrex.problem import Conv2d, Direction, Gemm, Problem
from imbrex.view.stage.piece import piece_columns
from imbrex.view.tensor import Box, Walk

MACHINE = GPU_MACHINES["sm_90a"]
SMALL = "v1:warpgroup:64,32,32,2,1,1,1,cooperative,straight,1"
PAIRS = "v1:warpgroup:128,64,64,3,2,2,1,cooperative,straight,4"
SWAPPED = "v1:warpgroup:64,64,64,3,1,1,1,cooperative,swapped,4"
BYTES = "v1:warpgroup:64,32,64,2,1,1,1,cooperative,straight,1"
LAYOUTS = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
SIZES: dict[str, Any] = {
    "n": 2,
    "h": 8,
    "w": 9,
    "y": 3,
    "x": 3,
    "pad_h": (1, 1),
    "pad_w": (1, 1),
    "dtype": "f16",
}


def lowered(
    problem: Problem, tuning: str, schedule: str = "data_parallel", algorithm: str | None = None
) -> tuple[ModuleOp, Program, list[Pipeline]]:
    request = Request(problem, MACHINE, "sm_90a", tunings.parse(tuning), algorithm, schedule=parse(schedule))
    *_, last = levels(request)
    made = program(last.module, frozenset({2}), MACHINE)
    found = [gemm for kernel in made.kernels if (gemm := kernel.pipeline) is not None]
    return last.module, made, found


def one(problem: Problem, tuning: str, schedule: str = "data_parallel") -> Pipeline:
    return lowered(problem, tuning, schedule)[2][0]


ODD = [
    (Gemm(70, 45, 37, dtype="f16"), SMALL),
    (Gemm(70, 45, 37, dtype="f16", transpose_a=True, transpose_b=True, batch=2), SMALL),
    (Gemm(70, 45, 100, dtype="i8"), BYTES),
    (Gemm(72, 48, 37, dtype="tf32", transpose_a=True), SMALL),
    (Conv2d("forward", c=3, k=8, **SIZES), SMALL),
    (Conv2d("forward", c=3, k=8, **SIZES, **LAYOUTS), SMALL),
    (Conv2d("backward_weight", c=5, k=8, **SIZES), SMALL),
    (Conv2d("backward_data", c=5, k=7, **SIZES, stride=(2, 2)), SMALL),
]


@pytest.mark.parametrize(("problem", "tuning"), ODD, ids=str)
def test_ordinary_loads_and_stores_follow_the_maps(problem: Problem, tuning: str) -> None:
    module, _, found = lowered(problem, tuning)
    ops = [op for op in module.walk() if isinstance(op, WarpgroupGemmOp)]
    assert len(ops) == len(found) > 0
    seen = 0
    for op, gemm in zip(ops, found, strict=True):
        for feed, value, own in ((gemm.a, op.a, "gemmM"), (gemm.b, op.b, "gemmN")):
            if isinstance(feed.access, Lanes):
                seen += 1
                map = named_map(value, ("gemmG", "gemmK", own))
                _expect_loads(feed.access, map, gemm, feed.tile.d, own)
        _expect_stores(gemm, named_map(op.c, ("gemmG", "gemmM", "gemmN")))
    assert seen


@pytest.mark.parametrize("dtype", ["i8", "f8e5m2", "tf32"])
@pytest.mark.parametrize("columns", [8, 16, 32])
def test_a_vector_of_ordinary_loads_lies_in_one_tile(dtype: str, columns: int) -> None:
    """Columns that lie together in memory, in tiles of fewer than a load could take."""
    depth = 32 if dtype == "tf32" else 128
    tuning = f"v1:warpgroup:64,{columns},{depth},2,1,1,1,cooperative,straight,1"
    feed = one(Gemm(64, 256, 2 * depth, dtype=dtype), tuning).b
    assert isinstance(feed.access, Lanes)
    extent = feed.tile.k if feed.access.along == "k" else feed.tile.d
    assert extent % feed.access.width == 0


def _expect_loads(access: Lanes, map: Map, gemm: Pipeline, width: int, own: str) -> None:
    """All of the operand and what overhangs."""
    sizes = dict(map.upper)
    tiles = gemm.tiles.row_tiles if own == "gemmM" else gemm.tiles.column_tiles
    batch, k, d = np.meshgrid(
        np.arange(gemm.tiles.batches),
        np.arange(gemm.tiles.steps * gemm.multiply.depth),
        np.arange(tiles * width),
        indexing="ij",
    )
    values = {
        "batch": batch,
        "step": k // gemm.multiply.depth,
        "k": k % gemm.multiply.depth,
        "tile": d // width,
        "d": d % width,
    }
    exists = (k < sizes["gemmK"]) & (d < sizes[own])
    _expect_same(access.offset, access.guards, values, map, _upper(map, batch, k, d), exists)
    assert access.width == 1 or _are_vectors(access, values)


def _expect_stores(gemm: Pipeline, map: Map) -> None:
    sizes = dict(map.upper)
    rows, columns = gemm.tiles.row_tiles * gemm.tiles.rows, gemm.tiles.column_tiles * gemm.tiles.columns
    batch, row, column = np.indices((gemm.tiles.batches, rows, columns))
    exists = (row < sizes["gemmM"]) & (column < sizes["gemmN"])
    values = {"batch": batch, "row": row, "column": column}
    _expect_same(gemm.c.offset, gemm.c.guards, values, map, _upper(map, batch, row, column), exists)


def _upper(map: Map, batch: Any, first: Any, second: Any) -> list[Any]:
    return [batch, first, second] if len(map.upper) == 3 else [first, second]


def _expect_same(
    offset: Any, guards: tuple[Guard, ...], values: Any, map: Map, upper: list[Any], exists: Any
) -> None:
    held = np.broadcast_to(np.True_, exists.shape)
    for guard in guards:
        place = guard.index.eval(values)
        held = held & (place >= 0) & (place < guard.size)
    inside = [np.where(exists, x, 0) for x in upper]
    coords, valid = map.evaluate(inside)
    assert np.array_equal(held, exists & valid)
    want = np.zeros(exists.shape, np.int64)
    for coord, dim in zip(coords, map.lower, strict=True):
        want = want * dim.size + coord
    assert np.array_equal(np.where(held, offset.eval(values), 0), np.where(held, want, 0))


def _are_vectors(access: Lanes, values: Any) -> bool:
    """Neighbours from a multiple of the width on lie together, aligned."""
    first = {**values, access.along: values[access.along] // access.width * access.width}
    start = access.offset.eval(first)
    apart = access.offset.eval(values) - start
    return bool(np.all(apart == values[access.along] % access.width) and np.all(start % access.width == 0))


def test_tensor_maps_where_they_serve() -> None:
    gemm = one(Gemm(300, 520, 200, dtype="f16"), PAIRS)
    assert isinstance(gemm.a.access, Box) and isinstance(gemm.b.access, Box)
    assert (gemm.a.parts, gemm.b.parts) == (1, 2)
    assert (gemm.a.tile.major, gemm.b.tile.major) == ("k", "d")
    assert gemm.c.access is not None and gemm.c.access.box == (64, 64)
    assert gemm.sums.layout.name == "wgmma_m64n64k16_f32_f16"
    assert (gemm.tiles.row_tiles, gemm.tiles.column_tiles, gemm.tiles.steps, gemm.tiles.units) == (
        4,
        9,
        4,
        18,
    )


def test_pixels_of_a_convolution_are_walked() -> None:
    problem = Conv2d("forward", c=64, k=64, **SIZES, **LAYOUTS)
    gemm = one(problem, SWAPPED)
    assert isinstance(gemm.a.access, Walk) and gemm.a.access.pixels == 64
    assert isinstance(gemm.b.access, Box) and gemm.c.access is not None


def test_channels_are_counted_up_to_whole_steps() -> None:
    gemm = one(Conv2d("forward", c=40, k=64, **SIZES, **LAYOUTS), SWAPPED)
    assert isinstance(gemm.a.access, Walk) and gemm.tiles.steps == 9


LAYERS = {"nhwc": LAYOUTS, "nchw": {}}
GROUPED: dict[str, Any] = {"c": 64, "k": 64, "groups": 8, **SIZES, "n": 8}
STEM: dict[str, Any] = {"c": 3, "k": 64, "stride": (2, 2), **SIZES, "y": 7, "x": 7, "pad_h": 3, "pad_w": 3}


@pytest.mark.parametrize("layout", LAYERS)
@pytest.mark.parametrize(
    ("algorithm", "direction", "sizes"),
    [
        *(("merged_groups:4", d, GROUPED) for d in ("forward", "backward_data", "backward_weight")),
        *(("window_rows", d, STEM) for d in ("forward", "backward_weight")),
        *(("channels_last", d, {"c": 24, "k": 32, **SIZES}) for d in ("forward", "backward_data")),
    ],
)
def test_copies_are_read_by_tensor_maps(
    algorithm: str, direction: Direction, sizes: dict[str, Any], layout: str
) -> None:
    """And what is as it was in memory, too: of the model's choice of tuning.  The output of backward weight
    is read where it lies; its planes of 144 bytes are no boxes of 64 positions, and come 16 bytes at a time.
    """
    if (algorithm, layout) == ("channels_last", "nhwc"):
        return
    if (algorithm, direction, layout) == ("window_rows", "backward_weight", "nchw"):
        return  # the output is read where it is
    request = Request(Conv2d(direction, **sizes, **LAYERS[layout]), MACHINE, "sm_90a", None, algorithm)
    *_, last = levels(request)
    found = [
        g for k in program(last.module, frozenset({2}), MACHINE).kernels if (g := k.pipeline) is not None
    ]
    assert found
    is_read_in_place = (direction, layout) == ("backward_weight", "nchw")
    for gemm in found:
        for feed in (gemm.a, gemm.b):
            if is_read_in_place and feed.buffer.name == "output":
                assert isinstance(feed.access, Lanes) and feed.access.width == 8
            else:
                assert isinstance(feed.access, Box | Walk)
    if layout == "nhwc" and direction != "backward_weight":
        assert all(gemm.c.access is not None for gemm in found)


def window(y: int) -> Conv2d:
    sides = {"h": 7, "w": 7, "y": y, "x": y, "pad_h": y // 2, "pad_w": y // 2}
    return Conv2d("backward_weight", n=8, c=512, k=512, dtype="f16", **sides, **LAYOUTS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("problem", "how", "stored"),
    [
        (Gemm(392, 616, 200, dtype="f16"), "straight", 160),
        (Gemm(392, 616, 200, dtype="f16", transpose_a=True, transpose_b=True), "swapped", 160),
        (Gemm(392, 616, 200, dtype="f16", transpose_b=True), "straight", 144),
        (window(1), "straight", 160),
        (window(3), "straight", 144),
    ],
    ids=str,
)
def test_stored_columns_leave_a_tile_to_the_copy_engine(problem: Problem, how: str, stored: int) -> None:
    """No box has columns of two taps, so that windows' tiles are stored as they are, not loaded by lanes."""
    gemm = one(problem, f"v1:warpgroup:128,144,64,4,2,1,1,cooperative,{how},2")
    assert gemm.b.tile.d == stored
    assert all(isinstance(feed.access, Box | Walk) for feed in (gemm.a, gemm.b))


def test_what_wgmma_wants_along_k_is_turned_by_the_producer() -> None:
    gemm = one(Gemm(64, 64, 64, dtype="i8"), BYTES)
    assert isinstance(gemm.a.access, Box) and isinstance(gemm.b.access, Lanes)
    assert gemm.b.access.along == "d" and gemm.b.tile.major == "k"
    assert "wgmma takes i8 along k only" in gemm.b.access.reason


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_lanes_of_a_warp_load_pixels_two_apart_and_not_planes(dtype: str) -> None:
    problem = Conv2d("forward", n=2, c=64, h=32, w=32, k=64, y=1, x=1, stride=2, dtype=dtype)
    (gemm,) = lowered(problem, PAIRS, algorithm="v4r4")[2]
    assert isinstance(gemm.b.access, Lanes)
    assert (gemm.b.access.along, gemm.b.access.width, gemm.b.tile.major) == ("d", 1, "d")


def test_a_reason_says_that_pixels_lie_two_apart() -> None:
    problem = Conv2d("forward", n=2, c=64, h=32, w=32, k=64, y=1, x=1, stride=2, dtype="i8")
    (gemm,) = lowered(problem, BYTES, algorithm="v4r4")[2]
    assert isinstance(gemm.b.access, Lanes)
    assert gemm.b.access.reason == "gemmN lies two apart in memory, and wgmma takes i8 along k only"


BATCHED = Gemm(64, 64, 64, dtype="f16", batch=3)


@pytest.mark.parametrize(
    ("problem", "tuning", "box", "coordinates"),
    [
        (Gemm(64, 64, 64, dtype="f16"), PAIRS, (64, 64), ("column", "row")),
        (Gemm(64, 64, 64, dtype="f16"), SMALL, (32, 64), ("column", "row")),
        (Gemm(64, 64, 64, dtype="f16"), SWAPPED, (64, 64), ("row", "column")),
        (Gemm(64, 64, 64, dtype="tf32"), SWAPPED, (32, 32), ("row", "column")),
        (BATCHED, PAIRS, (64, 64, 1), ("column", "row", "batch")),
        (BATCHED, SWAPPED, (64, 64, 1), ("row", "column", "batch")),
    ],
)
def test_pieces_of_c_are_stored_as_boxes(
    problem: Problem, tuning: str, box: tuple[int, ...], coordinates: tuple[str, ...]
) -> None:
    drain = one(problem, tuning.replace("64,64,64,3", "64,64,32,3")).c
    assert drain.access is not None
    (piece,) = drain.access.pieces
    assert (drain.access.box, tuple(map(str, piece.coords))) == (box, coordinates)


@pytest.mark.parametrize(
    ("columns", "size", "piece"), [(256, 2, 64), (96, 2, 64), (48, 2, 32), (8, 2, 8), (24, 4, 16), (8, 4, 8)]
)
def test_pieces_have_as_many_columns_as_there_is_room_for(columns: int, size: int, piece: int) -> None:
    assert piece_columns(columns, size) == piece


@pytest.mark.parametrize(
    ("problem", "tuning", "reason"),
    [
        (Gemm(64, 64, 64, dtype="f16", beta=1.0), PAIRS, "C is read, or added to"),
        (Gemm(64, 69, 64, dtype="f16"), PAIRS, "a stride of 138 bytes is not a multiple of 16"),
        (
            Conv2d("backward_data", c=64, k=64, **{**SIZES, "w": 21}, **LAYOUTS, stride=(2, 2)),
            SWAPPED,
            "64 rows of the tile are not a box of the array",
        ),
    ],
)
def test_stores_without_a_tensor_map_have_a_reason(problem: Problem, tuning: str, reason: str) -> None:
    drain = one(problem, tuning).c
    assert drain.access is None and drain.reason.startswith(reason)


def test_shared_units_have_a_workspace() -> None:
    _, made, (gemm,) = lowered(Gemm(300, 300, 1000, dtype="f16"), PAIRS, "stream_k:7")
    assert isinstance(gemm.work, Planned) and gemm.tiles.workgroups == 14
    places = gemm.workspace
    assert places is not None
    assert places.partials.buffer.elements == 14 * 128 * 64 and places.flags.buffer.elements == 14
    assert any(map(has_flags, made.kernels)) and made.zeroed == {places.flags.buffer.name}
    assert one(Gemm(300, 300, 1000, dtype="f16"), PAIRS).workspace is None


def test_it_is_the_whole_of_its_kernel() -> None:
    _, made, (gemm,) = lowered(Gemm(64, 64, 64, dtype="f16"), PAIRS)
    (kernel,) = made.kernels
    assert kernel.pipeline is gemm and kernel.wave == 32 and kernel.block_size == 384
    assert is_collective(gemm) and meets(gemm)
    assert not has_flags(kernel)


def test_words() -> None:
    found = described(one(Conv2d("forward", c=64, k=64, **SIZES, **LAYOUTS), SWAPPED))
    assert found["A"].startswith("TMA im2col of 64 pixels, 64 channels")
    assert found["C"] == "TMA box of 64x64"
    turned = described(one(Gemm(64, 64, 64, dtype="i8"), BYTES))
    assert turned["B"].startswith("loads of 16 along d, turned on the way, since gemmN lies together")
