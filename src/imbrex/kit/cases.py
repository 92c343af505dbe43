"""Cases: the kernels of a kit where nobody names problems: every family, type and direction, small, at sizes
that no tile divides; and some large ones, which are timed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

from imbrex.bench.resnet import LAYERS, conv
from imbrex.config.xdlops.mfma import served
from imbrex.dtype import DTYPES, PAIRS, SCALED, DType
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.problem.conv import DIRECTIONS, Direction
from imbrex.view.mma.instruction import FORMATS

__all__ = ["Case", "cases_of"]

TYPES: Final = ("f32", "f16", "bf16", "f64", "i8")
GENERAL: Final = {"f64": "v1:general:64,64,32,8,4,2"}
"""Vector instructions, by type; GENERAL_USUAL of others."""
GENERAL_USUAL: Final = "v1:general:64,64,64,8,4,4"
FINISHED, KEPT = "relu(x + bias) + residual", "gelu(pre_activation(x + bias))"
LAST: Final[dict[str, Any]] = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
SHAPE: Final[dict[str, Any]] = {
    "n": 3, "c": 32, "h": 14, "w": 18, "k": 48, "y": 3, "x": 3, "pad_h": 1, "pad_w": 1,
}  # fmt: skip
ODD: Final = Conv2d(
    "forward", 2, 6, 9, 7, 10, 3, 2, stride=(2, 1), dilation=(1, 2), pad_h=(1, 0), pad_w=(0, 2)
)
SHARED: Final = (
    "split_k:4", "stream_k:40", "two_tile:5", "two_tile_dp_first:5", "reduce_k:60", "scatter_k:60",
)  # fmt: skip
TIMED_LAYERS: Final = ("l1.3x3.64", "l2.3x3.128", "l3.3x3.256", "l4.3x3.512", "l3.1x1.256-1024")


@dataclass(frozen=True)
class Case:
    """A kernel: its problem and what is said of its configuration."""

    problem: Problem
    tuning: str | None = None
    algorithm: str | None = None
    schedule: str | None = None
    config: str | None = None
    is_timed: bool = False

    @property
    def is_open(self) -> bool:
        """Is nothing said?"""
        return self.tuning is self.algorithm is self.schedule is self.config is None


def cases_of(chip: str) -> tuple[Case, ...]:
    """All of them; the small ones first."""
    narrow = tuple(dict.fromkeys(FORMATS.get(chip, {}).values()))
    eight = tuple(name for name in narrow if name.startswith("f8"))
    scaled, mixed = (
        tuple(t for t in types.values() if t.is_microscaled and served(t, chip)) for types in (DTYPES, PAIRS)
    )
    return (
        *_products(eight),
        *_microscaled(scaled),
        *_of_two(mixed),
        *_families(),
        *_convolutions(),
        *_timed(eight),
    )


def _gemm(m: int = 200, n: int = 136, k: int = 96, **given: Any) -> Gemm:
    return Gemm(m, n, k, **given)


def _conv(direction: Direction, is_last: bool = True, dtype: str = "f16", **given: Any) -> Conv2d:
    return Conv2d(direction, **SHAPE | given, **(LAST if is_last else {}), dtype=dtype)


def _products(eight: tuple[str, ...]) -> Iterator[Case]:
    both = (False, True)
    for dtype, a, b in product((*TYPES, *eight), both, both):
        yield Case(_gemm(dtype=dtype, transpose_a=a, transpose_b=b))
    for dtype in (*TYPES, *eight):
        yield Case(_gemm(61, 77, 45, dtype=dtype))
    for dtype in TYPES:
        yield Case(_gemm(61, 77, 45, dtype=dtype), GENERAL.get(dtype, GENERAL_USUAL))
    yield Case(_gemm(1, 1, 1))
    yield Case(_gemm(1, 500, 333, dtype="f16"))


def _microscaled(types: tuple[DType, ...]) -> Iterator[Case]:
    """Scales of every layout of lanes: of both instructions, of steps that are read ahead, and in parts."""
    for dtype, a, b in product(types, (False, True), (False, True)):
        m, n = (200, 136) if dtype.pack == 1 or (not a and b) else (224, 160)  # packs lie along either
        yield Case(_gemm(m, n, dtype=dtype, transpose_a=a, transpose_b=b))
    for dtype in types:
        tall = f"v1:xdlops:64,64,4,32,16,{SCALED // dtype.pack}"
        yield Case(_gemm(dtype=dtype, transpose_b=True), tall)
        yield Case(_gemm(260, 200, 1056, dtype=dtype, transpose_b=True), _wide(dtype))
        yield Case(_gemm(260, 200, 1056, dtype=dtype, transpose_b=True), _wide(dtype), schedule="stream_k:7")
        if dtype.pack > 1:
            yield Case(_gemm(256, 224, 1056, dtype=dtype, transpose_a=True), _wide(dtype.lying("ab")))


def _of_two(types: tuple[DType, ...]) -> Iterator[Case]:
    """Elements of two types, those of different bits also in the other instruction, read ahead."""
    for dtype in types:
        yield Case(_gemm(dtype=dtype, transpose_b=True))
        if len({of.bits for of in dtype.operands}) > 1:
            yield Case(_gemm(260, 200, 1056, dtype=dtype, transpose_b=True), _wide(dtype))


def _wide(dtype: DType) -> str:
    """A tuning of a large tile."""
    return f"v1:xdlops:128,128,4,64,64,{SCALED // dtype.pack},auto,xor,ahead,swapped"


def _families() -> Iterator[Case]:
    for schedule in SHARED:
        yield Case(_gemm(260, 200, 1024, dtype="f16"), schedule=schedule)
    yield Case(_gemm(260, 200, 1024, dtype="f16", transpose_b=True), schedule="data_parallel/wgm=4/xcd=8")
    for dtype in ("f32", "f16", "i8"):
        yield Case(_gemm(dtype=dtype), algorithm="data_tiled")
    yield Case(_gemm(batch=3, dtype="bf16", transpose_b=True))
    yield Case(_gemm(batch=2, dtype="f16", lda=104, ldc=144, stride_b=0))
    yield Case(_gemm(dtype="f32", alpha=0.5, beta=-1.0))
    yield Case(_gemm(dtype="f16", alpha=0.1, beta=3.0))
    for dtype, epilogue in product(("f16", "bf16"), (FINISHED, KEPT, "silu(x + bias)")):
        yield Case(_gemm(dtype=dtype, epilogue=epilogue))
    yield Case(_gemm(dtype="i8", epilogue="i8(x * 0.01)"))
    yield Case(_gemm(512, 512, 1024, dtype="f16", transpose_b=True))
    yield Case(_gemm(512, 512, 1024, dtype="bf16"))


def _convolutions() -> Iterator[Case]:
    for dtype, direction, is_last in product(("f32", "f16", "bf16"), DIRECTIONS, (True, False)):
        yield Case(_conv(direction, is_last, dtype))
    yield Case(_conv("forward", dtype="i8"))
    for direction, dtype in product(DIRECTIONS, ("f32", "f16", "f64")):
        yield Case(replace(ODD, direction=direction, dtype=dtype))
    grouped: dict[str, Any] = {"c": 64, "k": 64, "groups": 8}
    deep: dict[str, Any] = {"c": 40, "k": 40, "groups": 40}
    for direction in DIRECTIONS:
        yield Case(_conv(direction, **grouped))
        yield Case(_conv(direction, **grouped), algorithm="merged_groups:4")
        yield Case(_conv(direction, **deep), algorithm="channel_vectors")
        yield Case(_conv(direction, False, **deep), algorithm="channel_vectors")
        yield Case(_conv(direction, False), algorithm="channels_last")
        yield Case(_conv(direction, False), algorithm="all_last")
        yield Case(_conv(direction, stride=2, h=28, w=28))
    few: dict[str, Any] = {"c": 3, "k": 64, "h": 30, "w": 30, "y": 7, "x": 7, "pad_h": 3, "pad_w": 3}
    yield Case(_conv("forward", stride=2, **few), algorithm="window_rows")
    yield Case(_conv("backward_weight", stride=2, **few), algorithm="window_rows")
    yield Case(_conv("backward_weight", False), algorithm="input_last")
    yield Case(_conv("backward_weight", False), algorithm="output_last")
    yield Case(_conv("backward_data", dtype="f32", dilation=2), algorithm="v1r1")
    yield Case(_conv("backward_weight"), schedule="stream_k:24")
    yield Case(_conv("forward", epilogue=FINISHED))


def _timed(eight: tuple[str, ...]) -> Iterator[Case]:
    for dtype, a, b in (
        ("f16", False, True), ("f16", False, False), ("bf16", False, True), ("bf16", True, False),
        ("f32", False, True), ("i8", False, True), *((name, False, True) for name in eight[:1]),
    ):  # fmt: skip
        yield Case(_gemm(4096, 4096, 4096, dtype=dtype, transpose_a=a, transpose_b=b), is_timed=True)
    for m, n, k in ((8192, 1024, 4096), (256, 8192, 8192), (1024, 1024, 16384), (64, 14336, 4096)):
        yield Case(_gemm(m, n, k, dtype="f16", transpose_b=True), is_timed=True)
    for layer in (layer for layer in LAYERS if layer.name in TIMED_LAYERS):
        for direction in DIRECTIONS:
            yield Case(conv(layer, direction, "nhwc", batch=64), is_timed=True)
