"""Drawn sets: problems that nobody chose, as networks and their users have them.

Law: a set is drawn from the lists here and its own seed by `random.random` alone, which gives the same
numbers on every machine and version of Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from random import Random
from typing import Any

from imbrex.bench.lot import Found, one
from imbrex.bench.resnet import LAYOUTS
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.problem.conv import Direction

__all__ = ["batched", "convolutions", "finished", "layers", "products"]

LETTERS = ("tn", "nn", "nt", "tt")
"""BLAS's letters of column-major arrays: `tn` has both operands contiguous along k, `nn` is a @ b."""

MODELS = (
    ("7B qkv", 12288, 4096), ("7B down", 4096, 11008), ("8B qkv", 6144, 4096), ("8B gate, up", 28672, 4096),
    ("8B down", 4096, 14336), ("70B o", 8192, 8192), ("70B down / 8", 8192, 3584), ("GPT-2 up", 3072, 768),
    ("BERT o", 1024, 1024), ("vocabulary / 4", 32064, 4096),
)  # fmt: skip
"""Layers of language models: filters n and depth k."""
TOKENS = (1, 16, 128, 1024, 8192)

CHANNELS = (32, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 640)
IMAGES = (7, 14, 28, 56, 112, 13, 17, 35, 20, 40, 80, 32, 64)
WINDOWS = (1, 1, 3, 3, 3, 5)
BATCHES = (1, 8, 16, 32, 64)
MOST_FLOPS = 4e11


def products(
    seed: int, count: int, dtypes: Sequence[str], letters: Sequence[str], microseconds: tuple[float, float]
) -> Found:
    """Sizes log-uniform from 64 to 16384, multiples of 8, that take so long at 700 TFLOP/s of f16."""
    return islice(_products(Random(seed), dtypes, letters, microseconds), count)


def _products(
    random: Random, dtypes: Sequence[str], letters: Sequence[str], microseconds: tuple[float, float]
) -> Found:
    least, most = (us * 7e8 for us in microseconds)
    number = 0
    while True:
        m, n, k = (8 * round(8 * 2 ** (8 * random.random())) for _ in range(3))
        dtype, word = dtypes[number % len(dtypes)], letters[number // len(dtypes) % len(letters)]
        if least <= 2 * m * n * k * WORK.get(dtype, 1.0) <= most:
            number += 1
            yield f"{dtype} {word} {m}x{n}x{k}", _gemm(m, n, k, dtype, word), 1


WORK = {"f8e4m3fn": 0.5, "i8": 0.5, "tf32": 2.0, "f32": 14.0}
"""Time of a product over that of the same one in f16."""


def layers(dtype: str = "bf16") -> Found:
    """Each layer of `MODELS` on each number of tokens."""
    for tokens in TOKENS:
        for name, n, k in MODELS:
            yield f"{dtype} {name}, {tokens} tokens", Gemm(tokens, n, k, transpose_b=True, dtype=dtype), 1


def finished(epilogues: Sequence[str]) -> Found:
    """Layers of networks with what follows them."""
    sizes = (
        (512, 3072, 768),
        (8192, 3072, 768),
        (2048, 14336, 4096),
        (4096, 11008, 4096),
        (256, 28672, 4096),
    )
    for epilogue in epilogues:
        for m, n, k in sizes:
            made = Gemm(m, n, k, transpose_b=True, dtype="f16", epilogue=epilogue)
            yield f"f16 tn {m}x{n}x{k} {epilogue}", made, 1


def batched() -> Found:
    """Attention's products: scores and values of heads of 64 and 128."""
    for heads, tokens, width in (
        (16, 512, 64),
        (96, 1024, 64),
        (32, 2048, 128),
        (512, 128, 64),
        (64, 197, 64),
    ):
        scores = Gemm(tokens, tokens, width, batch=heads, transpose_b=True, dtype="f16")
        yield f"f16 tn {heads} of {tokens}x{tokens}x{width}", scores, 1
        yield (
            f"f16 nn {heads} of {tokens}x{width}x{tokens}",
            Gemm(tokens, width, tokens, batch=heads, dtype="f16"),
            1,
        )


def convolutions(seed: int, layout: str, direction: Direction, count: int) -> Found:
    """Windows, strides and sizes as networks of images have them, of at most 0.4 TFLOP."""
    return islice(_convolutions(Random(seed), layout, direction), count)


def _convolutions(random: Random, layout: str, direction: Direction) -> Found:
    filters, inputs, outputs = LAYOUTS[layout]
    while True:
        n, c, k, size, window = (one(random, of) for of in (BATCHES, CHANNELS, CHANNELS, IMAGES, WINDOWS))
        stride = 2 if size > 7 and random.random() < 0.25 else 1
        keywords: dict[str, Any] = {
            "filter_layout": filters,
            "input_layout": inputs,
            "output_layout": outputs,
        }
        conv = Conv2d(
            direction, n, c, size, size, k, window, window, pad_h=window // 2, pad_w=window // 2,
            stride=stride, dtype="f16", **keywords,
        )  # fmt: skip
        if conv.flops <= MOST_FLOPS:
            yield f"{n}x{c}@{size} to {k}, {window}x{window} / {stride} {direction}", conv, 1


def _gemm(m: int, n: int, k: int, dtype: str, letters: str) -> Problem:
    return Gemm(m, n, k, transpose_a=letters[1] == "t", transpose_b=letters[0] == "t", dtype=dtype)
