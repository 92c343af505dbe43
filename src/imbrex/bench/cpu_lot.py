"""The lot of the CPU's speed table: 162 problems of few images, of the kinds that its pages speak of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Final

from imbrex.bench.lot import Found, Kind, Windows, one
from imbrex.problem import Gemm
from imbrex.problem.conv import DIRECTIONS, Direction

__all__ = ["KINDS"]

CHANNELS = (16, 24, 32, 40, 48, 64, 80, 96, 112, 128, 160, 192, 256, 320, 384, 512)
IMAGES = (7, 9, 13, 14, 17, 20, 28, 32, 33, 40, 56, 64, 80, 112)
WINDOWS = ((3, 3), (5, 5), (7, 7), (1, 7), (7, 1), (3, 5), (2, 2), (4, 4))
WIDTHS = (256, 320, 384, 512, 640, 768, 1024, 1280, 1536, 2048, 2304, 3072, 4096)
FEW = (1, 2, 3, 4, 6, 8)
MOST_FLOPS: Final = 1.5e9
"""Some 50 ms of one thread of a core without AVX-512."""


def _sizes(least: float, most: float, random: Random) -> int:
    """A size by lot, all its logarithms alike."""
    return round(least * (most / least) ** random.random())


def _product(dtype: str, random: Random, m: int, n: int, k: int, batch: int = 1) -> Found:
    """One product whose operands each lie plain or transposed, or none where it is too large."""
    a, b = random.random() < 0.5, random.random() < 0.5
    made = Gemm(m, n, k, batch=batch, transpose_a=a, transpose_b=b, dtype=dtype)
    if made.flops <= MOST_FLOPS:
        many = f"{batch} of " if batch > 1 else ""
        yield f"{many}{m}x{n}x{k} {'nt'[a]}{'nt'[b]}", made, 1


def _squares(dtype: str, random: Random) -> Found:
    while True:
        size = _sizes(128, 900, random)
        yield from _product(dtype, random, size, size, size)


def _products(dtype: str, random: Random) -> Found:
    """Each of the three sizes by lot."""
    while True:
        m, n, k = (_sizes(24, 3000, random) for _ in range(3))
        if m * n * k > 1e6:
            yield from _product(dtype, random, m, n, k)


def _skinny(random: Random) -> Found:
    """One size, of the three, is few."""
    while True:
        few, *others = _sizes(1, 16, random), _sizes(200, 8000, random), _sizes(200, 4000, random)
        turn = int(3 * random.random())
        m, n, k = (*others[:turn], few, *others[turn:])
        yield from _product("f32", random, m, n, k)


def _batches(random: Random) -> Found:
    while True:
        m, n, k = (_sizes(4, 96, random) for _ in range(3))
        yield from _product("f32", random, m, n, k, _sizes(8, 512, random))


def _layers(random: Random) -> Found:
    """Linear layers on 1 to 512 tokens, whose filters lie as PyTorch has them."""
    while True:
        made = Gemm(_sizes(1, 512, random), one(random, WIDTHS), one(random, WIDTHS), transpose_b=True)
        if made.flops <= MOST_FLOPS:
            yield f"{made.m} tokens, {made.n}x{made.k}", made, 1


Draws = Callable[[Windows, str, Random], Found]


def _dense(windows: Windows, layout: str, random: Random) -> Found:
    while True:
        window = one(random, ((1, 1), (3, 3)))
        yield from windows.one(random, layout, one(random, CHANNELS), one(random, CHANNELS), window)


def _unusual(windows: Windows, layout: str, random: Random) -> Found:
    """Few channels, rectangular windows, dilation, patches."""
    while True:
        k, window = one(random, CHANNELS), one(random, WINDOWS)
        yield from windows.one(random, layout, one(random, FEW), k, window)
        dilation = 1 + int(3 * random.random() ** 2)
        yield from windows.one(random, layout, one(random, CHANNELS), k, window, dilation=dilation)
        patch = one(random, (4, 8, 16))
        yield from windows.one(random, layout, 3, k, (patch, patch), stride=patch, pads=0)


def _depthwise(windows: Windows, layout: str, random: Random) -> Found:
    while True:
        c, window = 8 * _sizes(2, 96, random), one(random, ((3, 3), (3, 3), (5, 5), (7, 7)))
        yield from windows.one(random, layout, c, c, window, groups=c)


def _grouped(windows: Windows, layout: str, random: Random) -> Found:
    while True:
        groups, width = one(random, (2, 4, 8, 16, 32)), one(random, (4, 8, 16, 24, 32, 64))
        yield from windows.one(random, layout, groups * width, groups * width, (3, 3), groups=groups)


def _convolutions(
    draw: Draws, layout: str, dtype: str, directions: Sequence[Direction], random: Random
) -> Found:
    return draw(Windows((1, 1, 2, 4), IMAGES, MOST_FLOPS, dtype, directions), layout, random)


BOTH = ("numpy", "torch")


def _windows(layout: str) -> dict[str, Kind]:
    """Convolutions in one layout."""

    def kind(count: int, draw: Draws, *directions: Direction, dtype: str = "f32") -> Kind:
        return Kind(count, partial(_convolutions, draw, layout, dtype, directions))

    return {
        f"{layout} forward": kind(10, _dense, "forward"),
        f"{layout} backward data": kind(6, _dense, "backward_data"),
        f"{layout} backward weight": kind(6, _dense, "backward_weight"),
        f"{layout} unusual": kind(10, _unusual, *DIRECTIONS),
        f"{layout} depthwise": kind(6, _depthwise, *DIRECTIONS),
        f"{layout} grouped": kind(4, _grouped, *DIRECTIONS),
        f"{layout} bf16": kind(3, _dense, *DIRECTIONS, dtype="bf16"),
    }


KINDS: dict[str, Kind] = {
    "squares": Kind(10, partial(_squares, "f32"), BOTH),
    "products": Kind(12, partial(_products, "f32"), BOTH),
    "skinny": Kind(14, _skinny, BOTH),
    "batches": Kind(12, _batches, BOTH),
    "layers": Kind(12, _layers, BOTH),
    "f64": Kind(4, partial(_products, "f64"), BOTH),
    "bf16": Kind(4, partial(_products, "bf16")),
    "i8": Kind(4, partial(_products, "i8")),
    **_windows("nchw"),
    **_windows("nhwc"),
}
"""What a lot has, in the order in which it is drawn."""
