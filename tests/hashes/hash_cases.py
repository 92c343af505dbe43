"""The kernels whose machine code is kept: every target, type, direction, algorithm and kind of tuning.

Sizes are small, no multiples of a tile where guards are to be seen, and rows of 16 bytes where copy engines
and wide loads are.  A case without a tuning has the model's choice, which the record names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from imbrex.problem import Conv2d, Gemm, Problem

__all__ = ["HOPPER", "TYPES", "HashCase", "hash_cases"]

HOPPER = "sm_90a"
CHIPS = ("gfx908", "gfx90a", "gfx942", "gfx950")
ISAS = ("generic", "avx2", "avx512", "neon")
DIRECTIONS = ("forward", "backward_data", "backward_weight")
NARROW = {
    "gfx942": ("f8e4m3fnuz", "f8e5m2fnuz"),
    "gfx950": ("f8e4m3fn", "f8e5m2"),
    HOPPER: ("tf32", "f8e4m3fn", "f8e5m2"),
    "cpu": ("f8e4m3fn",),
}
TYPES = {
    target: ("f32", "f16", "bf16", "f64", "i8", *NARROW.get(target, ())) for target in (HOPPER, *CHIPS, "cpu")
}
"""What each target multiplies."""
FINISHED = "relu(x + bias) + residual"
KEPT = "gelu(pre_activation(x + bias))"
LAST: dict[str, Any] = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
SHAPE: dict[str, Any] = {"n": 3, "c": 32, "h": 14, "w": 18, "k": 48, "y": 3, "x": 3, "pad_h": 1, "pad_w": 1}
LAYOUTS: dict[str, dict[str, Any]] = {"nhwc": LAST, "nchw": {}}
GENERAL, NARROWER = "v1:general:64,64,64,8,4,4", "v1:general:64,64,32,8,4,2"


@dataclass(frozen=True)
class HashCase:
    """isa, threads: of a CPU, by name and number, so that no machine's own decide anything."""

    problem: Problem
    target: str
    tuning: str | None = None
    schedule: str | None = None
    algorithm: str | None = None
    isa: str = ""
    threads: int = 1

    def __str__(self) -> str:
        where = f"{self.target}-{self.isa}-{self.threads}" if self.isa else self.target
        words = (where, self.problem.key(), self.algorithm, self.tuning, self.schedule)
        return " ".join(word for word in words if word)


def hash_cases() -> tuple[HashCase, ...]:
    """All of them, in the order of the record."""
    return (*_hopper(), *_amd(), *_cpu(), *_lanes(), *_since())


def gemm(m: int | str = 200, n: int = 136, k: int = 96, **given: Any) -> Gemm:
    return Gemm(m, n, k, **given)


def conv(direction: str, layout: str = "nhwc", dtype: str = "f16", **given: Any) -> Conv2d:
    return Conv2d(direction, **SHAPE | given, **LAYOUTS[layout], dtype=dtype)  # type: ignore[arg-type]


def _hopper() -> Iterator[HashCase]:
    for dtype, (a, b) in product(TYPES[HOPPER], ((False, True), (True, False))):
        yield HashCase(gemm(dtype=dtype, transpose_a=a, transpose_b=b), HOPPER)
    for dtype in ("f32", "f16", "i8"):
        yield HashCase(gemm(100, 75, 77, dtype=dtype), HOPPER, GENERAL)
    yield HashCase(gemm(100, 75, 77, dtype="f64"), HOPPER, NARROWER)
    for dtype, algorithm in product(("f16", "i8"), ("aligned", "direct")):
        yield HashCase(gemm(137, 131, 139, dtype=dtype, transpose_a=True), HOPPER, algorithm=algorithm)
    yield HashCase(gemm(k=1000, dtype="f16", transpose_a=True), HOPPER, algorithm="k_parts:3")
    yield HashCase(gemm(batch=3, dtype="f16", transpose_b=True), HOPPER)
    yield HashCase(gemm(dtype="f16", alpha=2.0, beta=3.0), HOPPER)
    yield HashCase(gemm(dtype="f16", epilogue=FINISHED), HOPPER)
    yield HashCase(gemm(dtype="tf32", epilogue="gelu(x + bias)"), HOPPER)
    for turned, text in ((False, HELD[0]), (True, HELD[1])):  # A in registers
        yield HashCase(
            gemm(dtype="tf32", transpose_a=turned, transpose_b=turned), HOPPER, f"v1:warpgroup:{text}"
        )
    yield HashCase(gemm(dtype="f16", epilogue="gelu(x + bias) + residual"), HOPPER)
    yield HashCase(gemm(dtype="bf16", epilogue="silu(x + bias)"), HOPPER)
    yield HashCase(gemm(dtype="f16", epilogue="gelu_tanh(x + bias)"), HOPPER, f"v1:warpgroup:{WARPGROUP[1]}")
    yield HashCase(gemm("?1..300", dtype="f16", transpose_b=True, epilogue=FINISHED), HOPPER)
    yield HashCase(conv("forward", "nhwc", "f16", n="?1..4"), HOPPER)
    yield HashCase(gemm(dtype="f16", epilogue=KEPT), HOPPER)
    yield HashCase(gemm(dtype="f16", epilogue=KEPT), HOPPER, f"v1:warpgroup:{WARPGROUP[1]}")
    yield HashCase(gemm(dtype="f16", lda=416, stride_a=416 * 208, ldc=424, batch=2), HOPPER)
    for text in WARPGROUP:
        yield HashCase(gemm(520, 776, 328, transpose_b=True, dtype="f16"), HOPPER, f"v1:warpgroup:{text}")
    for schedule in ("split_k", "stream_k:40", "two_tile:5", "cluster_k:2", "cluster_k:8"):
        yield HashCase(gemm(512, 384, 4096, dtype="f16", transpose_b=True), HOPPER, schedule=schedule)
    yield HashCase(gemm(128, 128, 256), HOPPER, GENERAL, "stream_k:7")
    yield from _hopper_convolutions()
    yield from _hopper_windows()


HELD = ("64,104,32,6,1,1,1,cooperative,swapped,1", "128,128,32,6,2,1,1,pingpong,straight,8")
WARPGROUP = (
    "64,64,64,4,1,1,1,cooperative,straight,1",
    "128,256,64,3,2,1,1,cooperative,straight,8",
    "192,192,64,3,3,1,1,cooperative,straight,1",
    "64,256,64,3,2,1,1,pingpong,straight,1",
    "128,128,64,4,2,2,1,cooperative,straight,1",
    "128,128,64,4,2,1,2,cooperative,straight,1",
    "64,160,64,6,1,4,1,cooperative,swapped,2",
    "128,8,64,6,2,1,1,cooperative,swapped,1",
    "128,64,32,4,2,1,1,cooperative,straight,1",
    "128,64,128,2,2,1,1,cooperative,straight,1",
)
"""Every form of a product by warpgroups."""
GROUPED: dict[str, Any] = {"c": 64, "k": 64, "groups": 8}
DEPTHWISE: dict[str, Any] = {"c": 40, "k": 40, "groups": 40}
POINT: dict[str, Any] = {"y": 1, "x": 1, "pad_h": 0, "pad_w": 0}
FEW: dict[str, Any] = {"c": 3, "k": 64, "h": 30, "w": 30, "y": 7, "x": 7, "pad_h": 3, "pad_w": 3, "stride": 2}
PATCHES: dict[str, Any] = {"c": 3, "h": 17, "w": 17, "y": 4, "x": 4, "pad_h": 0, "pad_w": 0, "stride": 4}
WIDE: dict[str, Any] = POINT | {"h": 28, "w": 28, "c": 64, "k": 128}
HALVED: dict[str, Any] = {"stride": 2, "h": 28, "w": 28}
COPIED: tuple[tuple[str, tuple[str, ...], tuple[str, ...], dict[str, Any]], ...] = (
    ("merged_groups:4", ("nhwc",), DIRECTIONS, GROUPED),
    ("window_rows", ("nhwc",), ("forward", "backward_weight"), FEW),
    ("window_rows", ("nhwc",), ("backward_data",), FEW | {"c": 64, "k": 3, "stride": 1}),
    ("v1r1", ("nchw",), ("backward_data",), PATCHES),
    ("v1r1_last", ("nchw",), ("backward_data",), PATCHES),
    ("channels_last", ("nhwc",), ("forward",), {"c": 19}),
    ("channel_vectors", ("nhwc", "nchw"), DIRECTIONS, DEPTHWISE),
    ("whole_images:32", ("nchw",), DIRECTIONS, WIDE),
    ("channels_last", ("nchw",), DIRECTIONS, HALVED),
    ("all_last", ("nchw",), ("forward", "backward_data"), {"h": 7, "w": 7, "c": 128, "k": 64}),
    ("input_last", ("nchw",), ("backward_weight",), {}),
    ("output_last", ("nchw",), ("backward_weight",), {}),
    ("interleaved", ("nchw",), ("backward_data",), HALVED),
    ("shared_phases", ("nchw",), ("backward_data",), HALVED),
    ("shared_phases_last", ("nchw",), ("backward_data",), HALVED),
    ("halo:4", ("nhwc",), ("forward", "backward_data"), GROUPED),
    ("halo:1", ("nhwc",), ("forward", "backward_weight"), {"c": 64, "k": 64}),
    ("halo:8", ("nhwc", "nchw"), ("backward_weight",), GROUPED | {"h": 56, "w": 56}),
)
"""Algorithm, layouts, directions, what differs from the usual shape."""


def _hopper_convolutions() -> Iterator[HashCase]:
    for layout, direction in product(LAYOUTS, DIRECTIONS):
        yield HashCase(conv(direction, layout), HOPPER)
    for dtype, direction in product(("bf16", "tf32", "f32"), DIRECTIONS):
        yield HashCase(conv(direction, dtype=dtype), HOPPER)
    yield HashCase(conv("forward", dtype="i8"), HOPPER)
    yield HashCase(conv("forward", **HALVED), HOPPER)
    yield HashCase(conv("forward", **FEW), HOPPER)
    yield HashCase(conv("forward", epilogue=FINISHED), HOPPER)
    yield HashCase(conv("backward_data", **HALVED), HOPPER)
    yield HashCase(conv("backward_data", dtype="f32", dilation=2), HOPPER, GENERAL, algorithm="v1r1")
    yield HashCase(conv("backward_weight", c=64, k=64), HOPPER, schedule="cluster_k:4")
    for direction in DIRECTIONS:
        plain = "v4r1" if direction == "backward_data" else "v4r4"
        yield HashCase(conv(direction, "nchw"), HOPPER, algorithm=plain)
    for algorithm, layouts, directions, shape in COPIED:
        for layout, direction in product(layouts, directions):
            yield HashCase(conv(direction, layout, **shape), HOPPER, algorithm=algorithm)
    for direction in DIRECTIONS:
        yield HashCase(conv(direction, dtype="f32", **DEPTHWISE), HOPPER, algorithm="channel_vectors")


def _hopper_windows() -> Iterator[HashCase]:
    """Rasters, lines and weight gradients with tunings that are given."""
    for text in ("1,2,4,32,9,32,32,1,5,2,pingpong", "1,14,16,32,9,32,32,1,3,1,cooperative"):
        groups = conv("forward", c=64, k=64, groups=2, h=28, w=28)
        yield HashCase(groups, HOPPER, f"v1:halo:{text}", algorithm="halo:1")
    lines: tuple[tuple[str, dict[str, Any]], ...] = (
        ("1,28,64,3,3,32,32,2,4,2,cooperative", {"c": 64, "k": 64, "groups": 8, "h": 56, "w": 56}),
        ("8,4,8,3,3,64,32,1,3,3,pingpong", {"c": 64, "k": 64, "h": 7, "w": 7, "n": 20}),
        ("2,14,32,1,3,64,64,1,4,2,pingpong", {"c": 64, "k": 64, "h": 28, "w": 28, "y": 1, "pad_h": 0}),
    )
    for (text, shape), direction in product(lines, DIRECTIONS[:2]):
        yield HashCase(conv(direction, **shape), HOPPER, f"v1:lines:{text}")
    weights: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("nhwc", "1,4,6,56,9,64,1,7,2,3", {"h": 21, "w": 53, "n": 4}),
        ("nhwc", "1,2,4,64,9,64,4,2,2,1", {"h": 21, "w": 53, "n": 4}),
        ("nchw", "1,3,3,64,9,64,4,3,4,2", {"h": 21, "w": 56, "n": 5}),
        ("nchw", "1,4,4,32,9,64,4,2,3,1", {"h": 4, "w": 16, "n": 5}),
    )
    for layout, text, shape in weights:
        problem = conv("backward_weight", layout, **GROUPED | shape)
        yield HashCase(problem, HOPPER, f"v1:halo_weight:{text}", algorithm="halo:8")


WAVES = (
    "64,64,4,32,32,8,auto,padded,staged,swapped,1,2",
    "64,64,4,32,32,8,auto,tiled,staged,straight,2,1",
    "64,64,4,32,32,8,auto,plain,direct",
    "128,128,4,64,64,8,auto,xor,staged,straight,1,1",
)
"""Every form of a product by waves."""


def _amd() -> Iterator[HashCase]:
    for chip in CHIPS:
        for dtype in TYPES[chip]:
            yield HashCase(gemm(dtype=dtype, transpose_b=True), chip)
        for dtype in ("f32", "f16", "i8"):
            yield HashCase(gemm(100, 75, 77, dtype=dtype), chip, GENERAL)
        for direction in DIRECTIONS:
            yield HashCase(conv(direction), chip)
    for chip, text in product(("gfx942", "gfx950"), WAVES):
        yield HashCase(gemm(256, 128, 256, dtype="f16", transpose_b=True), chip, f"v1:xdlops:{text}")
    for buffers, schedule in ((2, ""), (3, "stream_k:5")):
        text = f"v1:xdlops:128,128,8,64,64,8,mfma_f32_32x32x16_f16,xor,ahead,swapped,1,{buffers}"
        yield HashCase(
            gemm(256, 384, 448, dtype="f16", transpose_b=True), "gfx950", text, schedule=schedule or None
        )
    for dtype, used in (
        ("f16", "8,64,64,8,mfma_f32_32x32x16_f16"),
        ("i8", "8,64,64,16,mfma_i32_32x32x32_i8"),
    ):
        text = f"v1:xdlops:128,128,{used},xor,ahead,swapped"
        yield HashCase(gemm(256, 384, 512, dtype=dtype, transpose_a=dtype == "i8"), "gfx950", text)
    for dtype, how in (("mxf8e4m3fn", "ahead,swapped"), ("mxf8e5m2", "staged")):
        text = f"v1:xdlops:128,128,4,64,64,32,auto,xor,{how}"
        yield HashCase(gemm(256, 384, 480, dtype=dtype, transpose_b=how != "staged"), "gfx950", text)
    for dtype, how in (("mxf4e2m1fn", "16,auto,xor,ahead,swapped"), ("mxf6e3m2fn", "2,auto,xor,direct")):
        text = f"v1:xdlops:128,128,4,64,64,{how}"
        yield HashCase(gemm(256, 384, 480, dtype=dtype, transpose_b=True), "gfx950", text)
    for dtype, how in (("mxf4e2m1fn", "ahead,swapped"), ("mxf6e2m3fn", "direct")):
        text = f"v1:xdlops:128,128,4,64,64,2,auto,xor,{how}"
        yield HashCase(gemm(256, 384, 480, dtype=dtype, transpose_a=how == "direct"), "gfx950", text)
    for direction, buffers in (("forward", 3), ("backward_data", 2)):
        problem = conv(direction, n=8, c=128, k=128, h=5, w=6)
        text = f"v1:xdlops:64,64,8,32,32,8,auto,xor,ahead,straight,1,{buffers},3"
        yield HashCase(problem, "gfx950", text, algorithm="row_halo:8")
    for kind in ("f8e4m3fn_f8e5m2", "mxf6e3m2fn_mxf6e2m3fn"):
        yield HashCase(gemm(256, 384, 480, dtype=kind, transpose_b=True), "gfx950")
    for kind, how in (
        ("mxf8e4m3fn_mxf4e2m1fn", "16,auto,xor,ahead,swapped"),
        ("mxf6e3m2fn_mxf8e5m2", "2,auto,xor,direct"),
    ):
        text = f"v1:xdlops:128,128,4,64,64,{how}"
        yield HashCase(gemm(256, 384, 480, dtype=kind, transpose_b=True), "gfx950", text)
    for schedule in ("split_k:4", "reduce_k:40", "stream_k:40", "two_tile:5", "data_parallel/wgm=4/xcd=8"):
        yield HashCase(gemm(512, 384, 1024, dtype="f16"), "gfx942", schedule=schedule)
    for direction in DIRECTIONS:
        yield HashCase(conv(direction, "nchw"), "gfx942", algorithm="channels_last")
        yield HashCase(conv(direction, "nchw", "f32", groups=2), "gfx90a")
    yield HashCase(gemm(dtype="f16", epilogue=FINISHED), "gfx942")
    yield HashCase(gemm(batch=3, alpha=2.0, beta=3.0), "gfx90a")
    yield HashCase(gemm(dtype="f16"), "gfx942", algorithm="data_tiled")
    yield HashCase(conv("backward_data", dtype="f32", dilation=2), "gfx90a", algorithm="v1r1")
    yield HashCase(conv("forward", **GROUPED), "gfx942", algorithm="merged_groups:4")


def _cpu() -> Iterator[HashCase]:
    def cpu(problem: Problem, isa: str, threads: int = 1, **given: str) -> HashCase:
        return HashCase(problem, "cpu", isa=isa, threads=threads, **given)

    for dtype, isa in product(TYPES["cpu"], ISAS[1:]):
        yield cpu(gemm(dtype=dtype, transpose_b=isa == "avx2"), isa)
    yield cpu(gemm(), "generic")
    for direction, layout in product(DIRECTIONS, LAYOUTS):
        yield cpu(conv(direction, layout, "f32"), "avx512", 4)
    for direction in DIRECTIONS:
        yield cpu(conv(direction, dtype="f16", stride=2), "avx2", 8)
    yield cpu(gemm(512, 384, 1024, transpose_a=True), "avx512", 16)
    yield cpu(gemm(512, 384, 1024), "avx512", 16, schedule="split_k:4")
    yield cpu(gemm(batch=3, alpha=2.0, beta=3.0), "avx2", 4)
    yield cpu(gemm(epilogue=FINISHED), "avx512")
    yield cpu(conv("forward", "nchw", "f32", **DEPTHWISE), "avx512")
    yield cpu(conv("forward", "nhwc", "f32", **DEPTHWISE), "avx512", algorithm="window_vectors")
    yield cpu(conv("backward_data", "nchw", "f16", **DEPTHWISE), "avx2", algorithm="window_vectors")
    for isa, layout in (("avx512", "nhwc"), ("avx2", "nchw")):
        halved = conv("backward_data", layout, "f32", **DEPTHWISE, stride=2)
        yield cpu(halved, isa, algorithm="window_vectors")
    for isa in ("avx512", "avx2"):
        yield cpu(conv("forward", "nhwc", "f32", **GROUPED), isa, algorithm="window_vectors")
    for isa, layout in (("avx512", "nchw"), ("avx2", "nhwc")):
        yield cpu(conv("backward_weight", layout, "f32", **GROUPED), isa, algorithm="window_vectors")
    for isa in ("sve128", "sve256", "sve512"):
        yield cpu(gemm(transpose_b=True), isa)
    for dtype in ("f16", "bf16", "i8"):
        yield cpu(conv("forward", "nchw", dtype), "sve256")
    yield cpu(gemm(dtype="i8"), "neon_dot")
    for dtype, isa in product(("bf16", "i8"), ("neon_mmla", "sve256_mmla")):
        yield cpu(gemm(dtype=dtype, transpose_b=True), isa)
    yield cpu(conv("backward_data", "nchw", "f32", dilation=2), "avx512", algorithm="v1r1")
    for isa, dtype in (("avx512_bf16", "bf16"), ("avx512_vnni", "i8"), ("avx_vnni", "i8")):
        yield cpu(gemm(dtype=dtype, transpose_a=isa != "avx_vnni"), isa)
        yield cpu(conv("forward", dtype=dtype, layout="nchw" if isa == "avx_vnni" else "nhwc"), isa)
    for isa, dtype in (("avx512", "f32"), ("avx512_bf16", "bf16"), ("avx512_vnni", "i8")):
        yield cpu(conv("forward", dtype=dtype, c=3, w=96), isa)
    for dtype in ("bf16", "i8"):
        yield cpu(gemm(dtype=dtype, transpose_a=dtype == "bf16"), "amx")
        yield cpu(conv("forward", dtype=dtype), "amx")
    yield cpu(conv("backward_weight", "nchw", "bf16"), "amx")
    yield cpu(gemm(dtype="bf16", epilogue=FINISHED), "amx")
    yield cpu(gemm("?1..40", epilogue=KEPT), "avx512")
    for layout, channels in (("nhwc", {}), ("nchw", {"groups": 4}), ("nhwc", DEPTHWISE)):
        yield cpu(conv("forward", layout, "f32", **{"n": "?1..4"} | channels), "avx512")


def _lanes() -> Iterator[HashCase]:
    """The lane-level build."""
    for problem in (gemm(), gemm(dtype="f16", transpose_b=True), conv("forward")):
        yield HashCase(problem, "emulate", isa="avx2")


def _since() -> Iterator[HashCase]:
    """What came later stands last, so that one in so many of all cases stays the same."""
    yield HashCase(gemm(512, 384, 1024, dtype="f16"), "gfx942", schedule="scatter_k:40")
    for turned, tile in ((False, "256,224,8,64,112"), (True, "256,192,8,64,96")):
        text = f"v1:xdlops:{tile},4,auto,xor,staged_ahead,swapped,2"
        yield HashCase(
            gemm(512, 512, 320, dtype="bf16", transpose_a=turned, transpose_b=not turned), "gfx942", text
        )
