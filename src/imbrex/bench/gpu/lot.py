"""The lot of the GPU's speed table: 330 problems, of the kinds that the table has and some that it lacks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from random import Random

from imbrex.bench.gpu import drawn_sets as drawn
from imbrex.bench.gpu.sets import Entry
from imbrex.bench.lot import Found, Kind, Windows, drawn_lot, one
from imbrex.problem import Gemm
from imbrex.problem.conv import DIRECTIONS, Direction

__all__ = ["KINDS", "OTHER_KINDS", "lot"]

HALVES = ("f16", "bf16")

WIDTHS = (
    512, 768, 896, 1024, 1152, 1280, 1536, 2048, 2304, 2560, 2880, 3072, 3200, 3584, 4096, 4544, 5120,
    5376, 6144, 7168, 8192, 9216, 11008, 12288, 13824, 14336, 16384, 18944, 22016, 24576, 28672, 32064, 51200,
)  # fmt: skip
"""Depths and numbers of filters that layers of language models and of vision transformers have."""
HEADS = (32, 40, 64, 72, 80, 96, 128, 160, 192, 256)
FUNCTIONS = ("gelu(x + bias)", "gelu_tanh(x + bias)", "silu(x)", "relu(x + bias)", "silu(x + bias)")

FEW = (1, 2, 3, 4, 6, 8, 12, 16, 19, 24, 67, 100, 131)
"""Numbers of channels that fill no vector, or few."""
ODD_WINDOWS = ((1, 7), (7, 1), (3, 5), (2, 2), (4, 4), (5, 5), (7, 7), (3, 3), (1, 3), (9, 9), (11, 11))
PATCHES = (4, 8, 14, 16)
WINDOWS = Windows(drawn.BATCHES, drawn.IMAGES, drawn.MOST_FLOPS)


def lot(seed: int, names: Iterable[str] | None = None) -> list[Entry]:
    """The entries of one lot, of the kinds of these names or of all of KINDS."""
    drawn_ones = drawn_lot(KINDS | OTHER_KINDS, seed, KINDS if names is None else names)
    return [Entry(*drawn_one) for drawn_one in drawn_ones]


def _products(dtypes: tuple[str, ...], microseconds: tuple[float, float], random: Random) -> Found:
    return drawn.products(int(1e9 * random.random()), 1000, dtypes, drawn.LETTERS, microseconds)


def _convolutions(layout: str, direction: Direction, random: Random) -> Found:
    return drawn.convolutions(int(1e9 * random.random()), layout, direction, 1000)


def _layers(random: Random) -> Found:
    """Layers on 1 to 6000 tokens, as many of few as of many."""
    while True:
        tokens = round(6000 ** random.random())
        n, k = one(random, WIDTHS), one(random, WIDTHS)
        if n * k <= 3e8:
            problem = Gemm(tokens, n, k, transpose_b=random.random() < 0.75, dtype=one(random, HALVES))
            yield f"{problem.dtype} {tokens} tokens, {n}x{k}", problem, 1


def _odd(random: Random) -> Found:
    """Sizes that are no multiples of anything."""
    while True:
        m, n, k = (round(16 * 2 ** (8 * random.random())) for _ in range(3))
        if 1e9 <= 2 * m * n * k <= 2e11:
            a, b = random.random() < 0.25, random.random() < 0.5
            problem = Gemm(m, n, k, transpose_a=a, transpose_b=b, dtype="f16")
            yield f"odd {m}x{n}x{k} {'nt'[a]}{'nt'[b]}", problem, 1


def _attention(random: Random) -> Found:
    """Scores and values of heads."""
    while True:
        heads, tokens = round(8 * 2 ** (6 * random.random())), round(32 * 2 ** (6 * random.random()))
        width = one(random, HEADS)
        if heads * tokens * tokens <= 2e8:
            scores = Gemm(tokens, tokens, width, batch=heads, transpose_b=True, dtype="f16")
            yield f"scores, {heads} of {tokens}x{tokens}x{width}", scores, 1
            values = Gemm(tokens, width, tokens, batch=heads, dtype="f16")
            yield f"values, {heads} of {tokens}x{width}x{tokens}", values, 1


def _finished(random: Random) -> Found:
    for _, problem, _ in _layers(random):
        assert isinstance(problem, Gemm)
        if problem.m >= 64:
            text = one(random, FUNCTIONS)
            sizes = problem.m, problem.n, problem.k
            yield (
                f"{'x'.join(map(str, sizes))} {text}",
                Gemm(*sizes, transpose_b=True, dtype="f16", epilogue=text),
                1,
            )


def _depthwise(layout: str, random: Random) -> Found:
    while True:
        c = 8 * round(4 * 2 ** (5 * random.random()))
        window = one(random, ((3, 3), (3, 3), (5, 5), (7, 7)))
        yield from WINDOWS.one(random, layout, c, c, window, groups=c)


def _grouped(layout: str, random: Random) -> Found:
    while True:
        groups, width = one(random, (2, 4, 8, 16, 32)), one(random, (4, 8, 16, 32, 48, 64))
        yield from WINDOWS.one(random, layout, groups * width, groups * width, (3, 3), groups=groups)


def _unusual(layout: str, random: Random) -> Found:
    """Few channels, rectangular windows, dilation, patches."""
    while True:
        c, k = one(random, FEW), one(random, (*FEW, *drawn.CHANNELS))
        yield from WINDOWS.one(random, layout, c, k, one(random, ODD_WINDOWS))
        many, few = one(random, drawn.CHANNELS), one(random, (*FEW, *drawn.CHANNELS))
        yield from WINDOWS.one(
            random, layout, many, few, one(random, ODD_WINDOWS), dilation=1 + (random.random() < 0.4)
        )
        patch = one(random, PATCHES)
        yield from WINDOWS.one(
            random,
            layout,
            one(random, (3, 4)),
            one(random, drawn.CHANNELS),
            (patch, patch),
            stride=patch,
            pads=0,
        )


def _few_rows(dtypes: tuple[str, ...], random: Random) -> Found:
    """Two of three with 96 to 320 rows, the others with 17 to 64, by wide and deep."""
    while True:
        m = round(_between(random, *one(random, ((96, 320), (96, 320), (17, 64)))))
        n, k = 8 * round(_between(random, 256, 2048)), 8 * round(_between(random, 512, 4096))
        yield from _product(random, m, n, k, one(random, dtypes))


def _tall(dtypes: tuple[str, ...], random: Random) -> Found:
    """One side of 1000 to 4000, the other of 256 to 1500, and deep."""
    while True:
        long, short = 8 * round(_between(random, 125, 500)), 8 * round(_between(random, 32, 188))
        m, n = (long, short) if random.random() < 0.5 else (short, long)
        yield from _product(random, m, n, 8 * round(_between(random, 250, 1500)), one(random, dtypes))


def _between(random: Random, least: float, most: float) -> float:
    """Log-uniform."""
    return least * (most / least) ** random.random()


def _product(random: Random, m: int, n: int, k: int, dtype: str) -> Found:
    """A product that needs no copies of its operands, by all letters of 16 bits, or none where it would be
    too large.
    """
    is_wide = dtype in HALVES
    letters = one(random, drawn.LETTERS if is_wide else ("tn",))
    m = 8 * round(m / 8) if letters[1] == "t" else m
    k = k if is_wide else 16 * round(k / 16)
    if n * k <= 3e8:
        a, b = letters[1] == "t", letters[0] == "t"
        yield f"{dtype} {letters} {m}x{n}x{k}", Gemm(m, n, k, transpose_a=a, transpose_b=b, dtype=dtype), 1


def _bytes(dtype: str, random: Random) -> Found:
    """Products of 8 bits that need no copies of their operands."""
    found = drawn.products(int(1e9 * random.random()), 1000, (dtype,), ("tn",), (5, 200))
    for title, problem, count in found:
        assert isinstance(problem, Gemm), problem
        if problem.k % 16 == 0:
            yield title, problem, count


LIBRARIES = ("torch", "lt")
BYTES = ("f8e4m3fn", "i8")


def _windows(layout: str) -> dict[str, Kind]:
    """Convolutions in one layout."""
    return {
        **{
            f"{layout} {direction.replace('_', ' ')}": Kind(11, partial(_convolutions, layout, direction))
            for direction in DIRECTIONS
        },
        f"{layout} depthwise": Kind(10, partial(_depthwise, layout)),
        f"{layout} grouped": Kind(5, partial(_grouped, layout)),
        f"{layout} unusual": Kind(24, partial(_unusual, layout)),
    }


KINDS: dict[str, Kind] = {
    "products to 8 us": Kind(16, partial(_products, HALVES, (1, 8)), LIBRARIES),
    "products to 100 us": Kind(32, partial(_products, HALVES, (8, 100)), LIBRARIES),
    "products to 1 ms": Kind(16, partial(_products, HALVES, (100, 1000)), LIBRARIES),
    "layers": Kind(56, _layers, LIBRARIES),
    "odd sizes": Kind(14, _odd, LIBRARIES),
    "attention": Kind(14, _attention, LIBRARIES),
    "epilogues": Kind(10, _finished, LIBRARIES),
    **{
        dtype: Kind(8, partial(_products, (dtype,), (8, 300)), LIBRARIES)
        for dtype in ("i8", "f8e4m3fn", "tf32", "f32")
    },
    **_windows("nchw"),
    **_windows("nhwc"),
}
"""What a lot has, in the order in which it is drawn."""

OTHER_KINDS: dict[str, Kind] = {
    "few rows": Kind(30, partial(_few_rows, HALVES), LIBRARIES),
    "tall": Kind(30, partial(_tall, HALVES), LIBRARIES),
    **{f"{dtype} tn": Kind(30, partial(_bytes, dtype), LIBRARIES) for dtype in BYTES},
    "few rows of bytes": Kind(15, partial(_few_rows, BYTES), LIBRARIES),
    "tall of bytes": Kind(15, partial(_tall, BYTES), LIBRARIES),
}
"""What is drawn only where it is named: kinds that picks lost on."""
