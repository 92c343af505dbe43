"""Convolutions on a GPU as products: directions, layouts, strides, dilations, pads and groups; what is copied
on the way; arrays with gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from gpu_case import Case

from imbrex.bench.resnet import LAYOUTS
from imbrex.problem import Conv2d, Gemm

Shape = dict[str, object]
PLAIN: Shape = {"n": 3, "c": 32, "h": 14, "w": 18, "k": 48, "y": 3, "x": 3, "pad_h": 1, "pad_w": 1}
WINDOWS: tuple[Shape, ...] = (
    PLAIN,
    PLAIN | {"y": 1, "x": 1, "pad_h": 0, "pad_w": 0, "c": 64},
    PLAIN | {"y": 1, "x": 1, "pad_h": 0, "pad_w": 0, "stride": 2},
    PLAIN | {"stride": 2, "h": 15},
    PLAIN | {"dilation": 2, "pad_h": 2, "pad_w": 2},
    PLAIN | {"pad_h": (0, 2), "pad_w": (2, 1), "stride": (1, 2)},
    PLAIN | {"y": 1, "x": 7, "pad_h": 0, "pad_w": 3},
    PLAIN | {"y": 5, "x": 5, "pad_h": 2, "pad_w": 2, "stride": 3, "dilation": (1, 2)},
    PLAIN | {"c": 3, "k": 64, "h": 30, "w": 30, "y": 7, "x": 7, "pad_h": 3, "pad_w": 3, "stride": 2},
    PLAIN | {"c": 67, "k": 131, "h": 9, "w": 7},
    PLAIN | {"c": 1, "k": 1, "n": 1},
)
GROUPS: tuple[Shape, ...] = (
    PLAIN | {"c": 64, "k": 64, "groups": 4},
    PLAIN | {"c": 64, "k": 32, "groups": 32, "stride": 2},
    PLAIN | {"c": 40, "k": 40, "groups": 40},
    PLAIN | {"c": 48, "k": 48, "groups": 48, "y": 7, "x": 7, "pad_h": 3, "pad_w": 3},
)
DIRECTIONS = ("forward", "backward_data", "backward_weight")


def convolution(direction: str, layout: str, dtype: str, shape: Shape, epilogue: str | None = None) -> Conv2d:
    filters, inputs, outputs = LAYOUTS[layout]
    orders = {"filter_layout": filters, "input_layout": inputs, "output_layout": outputs}
    return Conv2d(direction, **shape, **orders, dtype=dtype, epilogue=epilogue)  # type: ignore[arg-type]


def convolutions() -> Iterator[Case]:
    for layout, direction, shape in product(LAYOUTS, DIRECTIONS, WINDOWS):
        yield Case("conv", convolution(direction, layout, "f16", shape))
    for layout, direction, shape in product(LAYOUTS, DIRECTIONS, GROUPS):
        yield Case("group", convolution(direction, layout, "f16", shape))
    for dtype, layout, direction in product(("bf16", "tf32", "f32"), LAYOUTS, DIRECTIONS):
        for shape in (WINDOWS[0], WINDOWS[5], GROUPS[0]):
            yield Case("conv", convolution(direction, layout, dtype, shape))
    for layout, shape in product(LAYOUTS, (WINDOWS[0], WINDOWS[3], GROUPS[2])):
        yield Case("conv", convolution("forward", layout, "i8", shape))


COPIED: tuple[tuple[str, Shape], ...] = (
    ("merged_groups:4", GROUPS[0] | {"groups": 8}),
    ("merged_groups:2", PLAIN | {"c": 64, "k": 32, "groups": 4, "stride": 2, "h": 15}),
    ("merged_groups:8", PLAIN | {"c": 64, "k": 64, "groups": 8, "y": 1, "x": 1, "pad_h": 0, "pad_w": 0}),
    ("merged_groups:16", GROUPS[3]),
    ("window_rows", WINDOWS[8]),
    ("window_rows", PLAIN | {"c": 3, "y": 4, "x": 4, "pad_h": 0, "pad_w": 0, "stride": 4, "h": 32, "w": 36}),
    ("window_rows", PLAIN | {"c": 1, "k": 24, "pad_h": (0, 2), "pad_w": (2, 1), "dilation": (2, 1)}),
    ("channel_vectors", GROUPS[2]),
    ("channel_vectors", GROUPS[3] | {"stride": 2}),
    ("channel_vectors", PLAIN | {"c": 72, "k": 72, "groups": 72, "stride": 2, "dilation": (2, 1)}),
    ("channel_vectors", GROUPS[3]),
    ("channel_vectors", PLAIN | {"c": 24, "k": 24, "groups": 24, "h": 56, "w": 56, "stride": 2}),
    ("channel_vectors", PLAIN | {"c": 9, "k": 9, "groups": 9, "h": 13, "w": 11, "pad_w": (2, 0)}),
    ("merged_groups:4", GROUPS[0] | {"groups": 8, "h": 16, "w": 16}),
    ("window_rows", PLAIN | {"c": 8, "y": 2, "x": 5, "pad_h": 1, "pad_w": (4, 0), "stride": 2, "k": 131}),
    ("window_rows", PLAIN | {"c": 20, "y": 7, "x": 3, "pad_h": 3, "k": 40}),
    ("window_rows", PLAIN | {"c": 32, "x": 9, "pad_w": 4, "dilation": (2, 1), "stride": (2, 1)}),
)
"""Algorithms that copy first, whatever the model would choose."""


def copies() -> Iterator[Case]:
    for layout, direction, (algorithm, shape) in product(LAYOUTS, DIRECTIONS, COPIED):
        if (algorithm, direction) != ("window_rows", "backward_data"):
            yield Case("copied", convolution(direction, layout, "f16", shape), algorithm=algorithm)
    for dtype, algorithm, number in product(("bf16", "tf32"), ("merged_groups:4", "window_rows"), (0, 4)):
        if (number == 4) == (algorithm == "window_rows"):
            shape = COPIED[number][1]
            yield Case("copied", convolution("forward", "nhwc", dtype, shape), algorithm=algorithm)
    for dtype, layout, direction in product(("bf16", "f32"), LAYOUTS, DIRECTIONS):
        yield Case("copied", convolution(direction, layout, dtype, GROUPS[2]), algorithm="channel_vectors")
    for layout, direction, taps in product(LAYOUTS, DIRECTIONS[:2], (9, 13)):
        tall = GROUPS[2] | {"y": taps, "x": 9, "pad_h": taps // 2, "pad_w": 4}
        yield Case("copied", convolution(direction, layout, "f16", tall), algorithm="channel_vectors")
    epilogues = (("merged_groups:4", 0), ("window_rows", 4), ("channel_vectors", 7))
    for layout, (algorithm, number) in product(LAYOUTS, epilogues):
        for epilogue in ("relu(x + bias) + residual", "relu(pre_activation(x + bias))"):
            problem = convolution("forward", layout, "f16", COPIED[number][1], epilogue)
            yield Case("copied", problem, algorithm=algorithm)


APART: tuple[Shape, ...] = (
    PLAIN | {"c": 3, "h": 17, "w": 17, "y": 14, "x": 14, "pad_h": 0, "pad_w": 0, "stride": 14, "k": 80},
    PLAIN | {"c": 3, "h": 20, "w": 20, "y": 4, "x": 4, "pad_h": 0, "pad_w": 0, "stride": 4, "k": 96},
    PLAIN | {"c": 5, "y": 3, "x": 3, "pad_h": 2, "pad_w": 1, "stride": 3, "k": 19},
    PLAIN | {"c": 64, "y": 2, "x": 2, "pad_h": 0, "pad_w": (1, 0), "stride": (2, 4), "h": 21},
    PLAIN | {"c": 6, "k": 32, "groups": 2, "y": 2, "x": 3, "stride": (5, 3), "pad_h": 0},
    PLAIN | {"c": 8, "y": 2, "x": 2, "stride": (3, 5), "dilation": (1, 2), "k": 131},
    PLAIN | {"c": 4, "y": 1, "x": 8, "stride": (1, 8), "pad_h": 0, "pad_w": 0, "h": 64, "w": 67, "k": 256},
)
"""Windows that share no pixel: of all of the image, or with pixels, rows and columns that are in none."""
ROUNDED: tuple[Shape, ...] = (
    PLAIN | {"c": 19, "k": 35, "y": 5, "x": 5, "pad_h": 2, "pad_w": 2},
    PLAIN | {"c": 131, "k": 67},
    PLAIN | {"c": 38, "k": 22, "groups": 2, "stride": 2},
)
"""Channels that copies count up to whole steps of K."""
SPREAD: tuple[Shape, ...] = (
    PLAIN | {"c": 48, "k": 80},
    PLAIN | {"c": 80, "k": 48, "y": 2, "x": 5, "stride": 2, "h": 28, "w": 28},
    PLAIN | {"c": 96, "k": 160, "groups": 2, "h": 7, "w": 7},
)
"""Channels of which copies have pixels as far apart as whole steps of K."""
FEW_BACK: tuple[Shape, ...] = (
    PLAIN | {"c": 64, "k": 3, "h": 30, "w": 30, "y": 7, "x": 7, "pad_h": 3, "pad_w": 3},
    PLAIN | {"k": 1, "y": 2, "x": 5, "pad_h": (0, 4), "pad_w": (4, 1)},
    PLAIN | {"k": 6, "dilation": (2, 1), "pad_h": (1, 2)},
    PLAIN | {"c": 19, "k": 8, "y": 4, "x": 4, "pad_h": 2, "pad_w": 2},
    PLAIN | {"k": 12, "x": 7, "pad_w": 3},
)
"""Gradients of few filters, whose windows have rows."""


def apart() -> Iterator[Case]:
    for layout, shape, algorithm in product(LAYOUTS, APART, ("v1r1", "v1r1_last", None)):
        yield Case("apart", convolution("backward_data", layout, "f16", shape), algorithm=algorithm)
    for dtype, layout, number in product(("bf16", "tf32", "f32"), LAYOUTS, (0, 2, 4)):
        yield Case("apart", convolution("backward_data", layout, dtype, APART[number]))
    for layout, shape, direction in product(LAYOUTS, ROUNDED, DIRECTIONS[:2]):
        yield Case("rounded", convolution(direction, layout, "f16", shape), algorithm="channels_last")
    for dtype, shape, direction in product(("f16", "bf16"), SPREAD, DIRECTIONS[:2]):
        yield Case("spread", convolution(direction, "nchw", dtype, shape), algorithm="channels_last")
    for dtype, layout, shape in product(("f16", "bf16", "tf32"), LAYOUTS, FEW_BACK):
        yield Case("few", convolution("backward_data", layout, dtype, shape), algorithm="window_rows")


GAPS: tuple[dict[str, int], ...] = (
    {"lda": 416, "ldb": 400, "ldc": 512},
    {"lda": 416, "stride_a": 416 * 416, "stride_b": 0, "ldc": 424, "stride_c": 424 * 400 + 64},
    {"lda": 1200, "stride_a": 400, "ldb": 1200, "stride_b": 400, "ldc": 1200, "stride_c": 400},
    {"lda": 401, "ldb": 403, "ldc": 405},
    {"lda": 402, "ldc": 513, "stride_c": 513 * 400 + 7},
    {"ldb": 1201, "stride_b": 400, "ldc": 1203, "stride_c": 401},
)
"""Of arrays of at most 400 columns: for tensor maps, of matrices one after another, the same one, and row by
row in turn; for ordinary loads and copies.
"""


def gaps() -> Iterator[Case]:
    sizes = ((264, 392, 328), (257, 129, 331), (400, 400, 400))
    for dtype, strides, (m, n, k) in product(("f16", "tf32", "f32"), GAPS, sizes):
        batch = 3 if any(name.startswith("stride") for name in strides) else 1
        for a, b in ((False, False), (False, True), (True, False))[: 3 if dtype == "f16" else 1]:
            words = {"batch": batch, "transpose_a": a, "transpose_b": b, "dtype": dtype, **strides}
            yield Case("gaps", Gemm(m, n, k, **words))  # type: ignore[arg-type]
    for dtype, strides, n in product(("bf16", "f8e4m3fn", "i8", "f64"), (GAPS[0], GAPS[3]), (133, 136)):
        problem = Gemm(257, n, 331, transpose_b=True, dtype=dtype, **strides)
        yield Case("gaps", problem)
    scaled = Gemm(264, 392, 328, transpose_b=True, dtype="f16", alpha=2.0, beta=3.0)
    finished = Gemm(264, 392, 328, dtype="bf16", epilogue="relu(x + bias) + residual")
    for problem, strides in product((scaled, finished), (GAPS[0], GAPS[3])):
        yield Case("gaps", replace(problem, **strides))
        yield Case("gaps", replace(problem, **strides), schedule="stream_k")
        yield Case("gaps", replace(problem, **strides), algorithm="direct")
    for problem in (scaled, replace(finished, lda=331, ldb=399)):
        yield Case("gaps", replace(problem, lda=331, ldc=399), algorithm="aligned")


IMAGES: tuple[Shape, ...] = (
    PLAIN | {"y": 1, "x": 1, "pad_h": 0, "pad_w": 0, "h": 28, "w": 28, "c": 64, "k": 128},
    PLAIN | {"y": 1, "x": 1, "pad_h": 0, "pad_w": 0, "h": 4, "w": 10, "c": 128, "k": 64, "n": 5},
    PLAIN | {"y": 1, "x": 1, "pad_h": 0, "pad_w": 0, "h": 12, "w": 14, "c": 72, "k": 40},
)
"""Pointwise, of planes that are no whole rows of shared memory."""
SAMPLED: tuple[Shape, ...] = (
    PLAIN | {"y": 1, "x": 1, "pad_h": 0, "pad_w": 0, "stride": 2, "h": 28, "w": 28},
    PLAIN | {"y": 1, "x": 1, "pad_h": 0, "pad_w": 0, "stride": (2, 3), "h": 13, "w": 15, "c": 40},
    PLAIN | {"y": 1, "x": 1, "pad_h": 1, "pad_w": (0, 2), "stride": 3, "h": 14, "w": 14},
    PLAIN | {"y": 1, "x": 3, "pad_h": 0, "pad_w": 1, "stride": 2, "h": 13, "w": 14},
)
"""Windows that leave out some of the image."""


PLANES: tuple[Shape, ...] = (
    PLAIN | {"h": 7, "w": 7, "c": 128, "k": 64, "n": 9},
    PLAIN | {"h": 14, "w": 14, "c": 64, "k": 96, "n": 3},
    PLAIN | {"h": 13, "w": 5, "c": 24, "k": 40, "n": 1},
    PLAIN | {"y": 1, "x": 1, "pad_h": 0, "pad_w": 0, "stride": 2, "h": 14, "w": 14, "c": 64, "k": 128},
    PLAIN | {"h": 7, "w": 7, "c": 96, "k": 64, "groups": 2},
)
"""Of no whole 16 bytes: copied through shared memory."""
GAPPED: tuple[Shape, ...] = (
    *SAMPLED[:2],
    PLAIN | {"stride": 2, "h": 28, "w": 28},
    PLAIN | {"stride": 2, "h": 15, "w": 17},
    PLAIN | {"stride": (1, 2), "y": 1, "pad_h": 0, "pad_w": (0, 1)},
    PLAIN | {"stride": (2, 4), "dilation": (2, 2), "x": 2, "h": 20, "w": 24},
)
"""Backward data has phases that leave gaps."""


def images() -> Iterator[Case]:
    """Of images in NCHW: what is copied of them, and what is read where it is."""
    for direction, shape, count in product(DIRECTIONS, IMAGES, (16, 32, 64)):
        problem = convolution(direction, "nchw", "bf16" if count == 32 else "f16", shape)
        yield Case("images", problem, algorithm=f"whole_images:{count}")
        yield Case("images", problem, schedule="stream_k:7", algorithm=f"whole_images:{count}")
    for shape in SAMPLED:
        yield Case("images", convolution("forward", "nchw", "f16", shape), algorithm="channels_last")
    for shape, algorithm in product((*SAMPLED, *WINDOWS[:6]), ("channels_last", "input_last")):
        yield Case("images", convolution("backward_weight", "nchw", "f16", shape), algorithm=algorithm)
    for shape, algorithm in product(GAPPED, ("interleaved", "channels_last", "v4r1")):
        yield Case("images", convolution("backward_data", "nchw", "f16", shape), algorithm=algorithm)
    for shape in (*WINDOWS[:2], WINDOWS[5], *IMAGES):
        yield Case("images", convolution("backward_weight", "nchw", "bf16", shape), algorithm="output_last")
    for direction, dtype, shape in product(DIRECTIONS, ("f16", "tf32"), PLANES):
        yield Case("images", convolution(direction, "nchw", dtype, shape), algorithm="channels_last")
        if dtype == "f16" and (direction != "backward_weight" or "stride" not in shape):
            yield Case("images", convolution(direction, "nchw", "bf16", shape), algorithm="all_last")
    for direction, shape in product(DIRECTIONS, (PLAIN | {"c": 64, "k": 32, "h": 8, "w": 12}, SAMPLED[0])):
        shape = shape | {"c": 64, "k": 96}
        yield Case("images", convolution(direction, "nchw", "f16", shape), algorithm="channels_last")


POINTS = PLAIN | {"y": 1, "x": 1, "pad_h": 0, "pad_w": 0, "stride": 2}
TURNS: tuple[Shape, ...] = (
    GAPPED[0],
    *GAPPED[2:],
    POINTS | {"h": 15, "w": 13, "c": 72},
    PLAIN | {"stride": 2, "h": 14, "w": 14, "n": 5, "c": 128, "k": 128},
    PLAIN | {"stride": 2, "h": 13, "w": 11, "c": 37, "k": 67, "n": 1},
    PLAIN | {"stride": 2, "h": 7, "w": 1, "x": 1, "pad_w": 0},
    PLAIN | {"stride": 2, "h": 9, "w": 13, "y": 2, "x": 2, "pad_h": (0, 1), "pad_w": (2, 0)},
    PLAIN | {"stride": 2, "h": 19, "w": 23, "y": 5, "x": 5, "pad_h": (3, 2), "pad_w": (0, 2)},
    PLAIN | {"stride": (1, 2), "h": 11, "w": 30, "y": 4, "x": 3, "pad_h": 2},
    PLAIN | {"stride": (3, 2), "h": 17, "w": 18, "y": 3, "x": 5, "pad_w": 2},
    PLAIN | {"stride": (4, 2), "h": 17, "w": 18, "y": 1, "pad_h": 1},
    PLAIN | {"stride": 2, "h": 20, "w": 24, "dilation": (2, 2), "pad_h": 2, "pad_w": 2},
    PLAIN | {"stride": 2, "h": 20, "w": 24, "dilation": (1, 3), "pad_w": 3},
    PLAIN | {"stride": 2, "h": 16, "w": 20, "c": 64, "k": 64, "groups": 4},
    PLAIN | {"stride": 2, "h": 16, "w": 20, "c": 24, "k": 48, "groups": 3, "pad_w": (1, 0)},
    PLAIN | {"stride": (1, 4), "h": 6, "w": 34, "y": 1, "x": 7, "pad_h": 0, "pad_w": 3},
    POINTS | {"h": 28, "w": 32, "c": 136},
)
"""Of backward data whose phases share tiles."""
PHASED = (
    "128,128,64,4,2,1,2,cooperative,straight,1",
    "128,64,32,4,2,2,1,pingpong,straight,2",
    "64,128,64,4,2,1,1,pingpong,straight,1",
    "64,24,16,4,1,1,1,cooperative,straight,1",
    "192,96,64,4,3,1,1,cooperative,straight,1",
    "256,64,64,3,2,2,2,cooperative,straight,4",
)


def phases() -> Iterator[Case]:
    for number, shape in enumerate(TURNS):
        wide = ("tf32",) if shape["stride"] == 2 else ()  # 8 phases of 4 bytes do not share a tile
        for dtype in ("f16", "bf16", *wide) if number % 2 == 0 else ("f16",):
            problem = convolution("backward_data", "nchw", dtype, shape)
            yield Case("phases", problem, algorithm="shared_phases_last")
    for shape in (TURNS[0], TURNS[4], TURNS[5], TURNS[-1]):
        problem = convolution("backward_data", "nchw", "f16", shape)
        yield Case("phases", problem, algorithm="shared_phases")
    for text, shape in product(PHASED, (TURNS[4], TURNS[5], TURNS[7])):
        problem = convolution("backward_data", "nchw", "f16", shape)
        yield Case("phases", problem, f"v1:warpgroup:{text}", algorithm="shared_phases_last")
    last = replace(convolution("backward_data", "nchw", "f16", TURNS[5]), output_layout="NHWK")
    for filters, algorithm in (("KCYX", "_last"), ("KYXC", "_last"), ("CYXK", "")):
        problem = replace(last, filter_layout=filters)
        yield Case("phases", problem, algorithm=f"shared_phases{algorithm}")
