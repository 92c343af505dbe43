"""Windows on a GPU whose pixels come into shared memory once: rasters, lines, and weight gradients."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from conv_cases import DIRECTIONS, PLAIN, Shape, convolution
from gpu_case import Case

HALOS: tuple[tuple[int, Shape], ...] = (
    (4, {"c": 64, "k": 64, "groups": 8, "h": 56, "w": 56}),
    (2, {"c": 64, "k": 32, "groups": 4, "h": 28, "w": 28}),
    (1, {"c": 128, "k": 64, "groups": 4, "h": 14, "w": 14, "n": 1}),
    (8, {"c": 256, "k": 256, "groups": 32, "h": 7, "w": 7, "n": 5}),
    (1, {"c": 64, "k": 64, "h": 56, "w": 56, "n": 1}),
    (1, {"c": 64, "k": 48, "h": 13, "w": 7}),
    (1, {"c": 32, "k": 40, "h": 30, "w": 1, "x": 1, "pad_w": 0}),
    (1, {"c": 16, "k": 32, "h": 13, "w": 13, "dilation": 2, "pad_h": (2, 1), "pad_w": (0, 3)}),
    (1, {"c": 32, "k": 32, "h": 12, "w": 12, "pad_h": 3, "pad_w": 3}),
    (1, {"c": 32, "k": 32, "h": 5, "w": 100, "y": 2, "x": 5, "pad_h": (1, 0), "pad_w": 2}),
)
"""Groups that are one, and windows whose pixels come into shared memory once."""
RASTERS = (
    "1,2,4,32,9,32,32,1,5,2,pingpong",
    "1,4,6,32,9,32,32,1,4,2,cooperative",
    "1,14,16,32,9,32,32,1,3,1,cooperative",
    "1,6,8,32,9,32,16,1,3,3,cooperative",
    "1,28,30,32,9,32,32,1,2,2,cooperative",
)


FIVE: Shape = {"y": 5, "x": 5, "pad_h": 2, "pad_w": 2}
LINES: tuple[tuple[str, Shape], ...] = (
    ("1,28,64,3,3,32,32,2,4,2,cooperative", {"c": 64, "k": 64, "groups": 8, "h": 56, "w": 56}),
    ("1,19,64,3,3,64,64,4,4,2,pingpong", {"c": 64, "k": 64, "groups": 8, "h": 57, "w": 57, "n": 3}),
    ("2,14,32,3,3,64,64,4,5,3,pingpong", {"c": 128, "k": 128, "groups": 8, "h": 28, "w": 28, "n": 5}),
    ("4,7,16,3,3,64,64,2,4,3,cooperative", {"c": 128, "k": 128, "groups": 4, "h": 14, "w": 14, "n": 6}),
    ("4,7,16,3,3,32,32,1,4,2,pingpong", {"c": 64, "k": 64, "groups": 2, "h": 13, "w": 13, "n": 7}),
    ("8,7,8,3,3,64,64,1,3,2,cooperative", {"c": 64, "k": 64, "h": 7, "w": 7, "n": 9}),
    ("8,4,8,3,3,64,32,1,3,3,pingpong", {"c": 64, "k": 64, "h": 7, "w": 7, "n": 20}),
    ("1,14,128,3,3,32,32,1,4,2,cooperative", {"c": 32, "k": 32, "h": 20, "w": 112, "n": 1}),
    ("1,28,64,3,3,64,64,1,3,2,pingpong", {"c": 64, "k": 64, "h": 56, "w": 56}),
    ("2,14,32,1,3,64,64,1,4,2,pingpong", {"c": 64, "k": 64, "h": 28, "w": 28, "y": 1, "pad_h": 0, "n": 3}),
    ("2,28,32,3,1,64,64,1,4,2,cooperative", {"c": 64, "k": 64, "h": 28, "w": 28, "x": 1, "pad_w": 0, "n": 3}),
    ("4,7,16,5,5,32,32,1,4,2,cooperative", {"c": 32, "k": 32, "h": 14, "w": 14} | FIVE),
    (
        "2,30,32,3,3,32,32,1,4,1,cooperative",
        {"c": 32, "k": 32, "h": 28, "w": 28, "pad_h": (0, 4), "pad_w": (2, 0)},
    ),
)
"""Windows line by line: the tuning of each."""


def lines() -> Iterator[Case]:
    """Widths of every raster, images with a remainder, windows of one row and of one column."""
    for direction, (text, shape), dtype in product(DIRECTIONS[:2], LINES, ("f16", "bf16")):
        yield Case("lines", convolution(direction, "nhwc", dtype, PLAIN | shape), f"v1:lines:{text}")
    for epilogue in (
        "relu(x + bias)",
        "f32(x)",
        "relu(x + bias) + residual",
        "relu(pre_activation(x + bias))",
    ):
        problem = convolution("forward", "nhwc", "f16", PLAIN | LINES[5][1], epilogue)
        yield Case("lines", problem, "v1:lines:8,7,8,3,3,64,64,1,2,2,cooperative")
    for count, (text, shape) in ((4, LINES[2]), (2, LINES[3])):
        problem = convolution("forward", "nchw", "f16", PLAIN | shape)
        yield Case("lines", problem, f"v1:lines:{text}", algorithm=f"halo:{count}")
    problem = convolution("forward", "nhwc", "i8", PLAIN | LINES[5][1])
    yield Case("lines", problem, "v1:lines:8,7,8,3,3,64,64,1,4,2,cooperative")


def halos() -> Iterator[Case]:
    for direction, (count, shape) in product(DIRECTIONS[:2], HALOS):
        for dtype in ("f16", "bf16"):
            problem = convolution(direction, "nhwc", dtype, PLAIN | shape)
            yield Case("halo", problem, algorithm=f"halo:{count}")
    for text in RASTERS:
        problem = convolution(
            "forward", "nhwc", "f16", PLAIN | {"c": 64, "k": 64, "groups": 2, "h": 28, "w": 28}
        )
        yield Case("halo", problem, f"v1:halo:{text}", algorithm="halo:1")
    for epilogue in (
        "relu(x + bias)",
        "f32(x)",
        "relu(x + bias) + residual",
        "relu(pre_activation(x + bias))",
    ):
        problem = convolution("forward", "nhwc", "f16", PLAIN | HALOS[1][1], epilogue)
        yield Case("halo", problem, algorithm="halo:2")
    for count, shape in HALOS[:3]:
        yield Case(
            "halo", convolution("forward", "nchw", "f16", PLAIN | shape), algorithm=f"halo:{max(2, count)}"
        )
    yield Case("halo", convolution("forward", "nhwc", "i8", PLAIN | HALOS[4][1]), algorithm="halo:1")


WEIGHTS: tuple[tuple[int, Shape], ...] = (
    (1, {}),
    (1, {"h": 7, "w": 7, "n": 1}),
    (1, {"h": 13, "w": 13, "n": 4}),
    (1, {"h": 28, "w": 28, "n": 5}),
    (1, {"h": 57, "w": 57}),
    (1, {"y": 1, "pad_h": 0}),
    (1, {"y": 2, "x": 2, "pad_h": (0, 1), "pad_w": (1, 0)}),
    (1, {"dilation": 2, "pad_h": 2, "pad_w": 2}),
    (1, {"pad_h": 0, "pad_w": (3, 0)}),
    (1, {"c": 192, "k": 128, "n": 2}),
    (1, {"c": 32, "k": 128}),
    (1, {"c": 16}),
    (1, {"c": 256, "k": 256, "groups": 4}),
    (2, {"c": 128, "k": 128, "groups": 4}),
    (4, {"c": 128, "k": 128, "groups": 8, "h": 13, "w": 7}),
    (8, {"c": 128, "k": 128, "groups": 16, "h": 56, "w": 56, "n": 2}),
    (8, {"c": 64, "k": 64, "groups": 8, "h": 9, "w": 30, "y": 2, "x": 2, "pad_h": (0, 1), "pad_w": (1, 0)}),
    (16, {"groups": 16, "h": 28, "w": 28}),
)
"""Groups that are one, and what differs from PLAIN with 64 channels and filters."""
WEIGHT_PLANES: tuple[tuple[int, Shape], ...] = (
    (8, {"groups": 8, "h": 56, "w": 56}),
    (8, {"groups": 8, "h": 28, "w": 28, "n": 5}),
    (8, {"groups": 8, "h": 5, "w": 64}),
    (8, {"c": 128, "k": 128, "groups": 16, "h": 6, "w": 16}),
    (4, {"c": 128, "k": 128, "groups": 8, "h": 4, "w": 12}),
    (4, {"groups": 4, "h": 8, "w": 8, "n": 5}),
    (4, {"groups": 4, "h": 7, "w": 40, "pad_h": 0}),
    (16, {"groups": 16, "h": 8, "w": 20, "pad_h": (2, 0)}),
    (8, {"groups": 8, "h": 6, "w": 24, "y": 2, "pad_h": (1, 0)}),
    (8, {"groups": 8, "h": 13, "w": 48, "y": 2, "pad_h": (0, 1)}),
)
"""The same, whose planes have lines of whole pieces, or two of them have; some of them are copied."""
PLANE_SHARES: tuple[tuple[str, Shape], ...] = (
    ("1,2,2,64,9,64,4,2,6,2", {"h": 22, "w": 56}),
    ("1,4,4,64,9,64,4,3,3,1", {"h": 10, "w": 40}),
    ("1,1,1,64,9,64,4,2,8,2", {"h": 9, "w": 64}),
    ("1,4,4,32,9,64,4,2,4,2", {"h": 28, "w": 28}),
    ("1,2,2,32,9,64,4,2,8,2", {"h": 14, "w": 28}),
    ("1,4,4,32,9,64,4,2,4,2", {"h": 4, "w": 16}),
)
"""Tunings that read planes, and keep lines for the next ones."""
SHARES = (
    "1,4,6,56,9,64,1,7,2,3",
    "1,2,4,56,9,64,1,3,2,3",
    "1,2,4,64,9,64,1,1,3,3",
    "1,1,3,64,9,64,4,7,6,3",
    "1,2,4,64,9,64,4,3,4,2",
    "1,2,4,64,9,64,4,2,2,1",
)


def halo_weights() -> Iterator[Case]:
    own = PLAIN | {"c": 64, "k": 64}
    for count, shape in WEIGHTS:
        for dtype in ("f16", "bf16"):
            problem = convolution("backward_weight", "nhwc", dtype, own | shape)
            yield Case("weights", problem, algorithm=f"halo:{count}")
    for text in SHARES:
        problem = convolution("backward_weight", "nhwc", "f16", own | {"groups": 8, "h": 21, "w": 53, "n": 4})
        yield Case("weights", problem, f"v1:halo_weight:{text}", algorithm="halo:8")
    for count, shape in WEIGHTS[-3:]:
        yield Case(
            "weights", convolution("backward_weight", "nchw", "f16", own | shape), algorithm=f"halo:{count}"
        )
    yield from _weight_planes(own)


def _weight_planes(own: Shape) -> Iterator[Case]:
    for count, shape in WEIGHT_PLANES:
        for dtype in ("f16", "bf16"):
            problem = convolution("backward_weight", "nchw", dtype, own | shape)
            yield Case("planes", problem, algorithm=f"halo:{count}")
    for text, shape in PLANE_SHARES:
        problem = convolution("backward_weight", "nchw", "f16", own | {"groups": 8, "n": 5} | shape)
        yield Case("planes", problem, f"v1:halo_weight:{text}", algorithm="halo:8")
