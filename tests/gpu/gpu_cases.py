"""Cases: what kernels for a GPU are checked on, by family: each type, transposition and awkward size, each
direction of a convolution in each layout with strides, dilations, pads and groups, and schedules given by
hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import cycle, islice, product

from imbrex.bench.prepare import Wanted
from imbrex.bench.resnet import LAYOUTS
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.verify.data import Values

TARGET = "sm_90a"


@dataclass(frozen=True)
class Case:
    """One kernel; `family` selects with -k."""

    family: str
    problem: Problem
    tuning: str | None = None
    schedule: str | None = None
    values: tuple[Values, ...] = ("integer", "float")
    algorithm: str | None = None

    @property
    def wanted(self) -> Wanted:
        return Wanted(self.problem, TARGET, self.tuning, self.schedule, self.algorithm)

    def __str__(self) -> str:
        chosen = "-".join(word for word in (self.algorithm, self.tuning, self.schedule) if word)
        return f"{self.family}-{self.problem.key()}{f'-{chosen}' if chosen else ''}"


TYPES = ("f16", "bf16", "tf32", "f8e4m3fn", "f8e5m2", "i8", "f32", "f64")
TRANSPOSITIONS = tuple(product((False, True), repeat=2))

SIZES = (
    (1, 1, 1), (1, 1, 7), (7, 13, 5), (64, 8, 16), (127, 129, 63), (128, 256, 64), (131, 137, 139),
    (256, 384, 192), (300, 200, 1), (1, 512, 256), (512, 1, 256), (3, 1000, 513), (1000, 1000, 1000),
    (16, 4096, 512), (264, 224, 1904), (192, 320, 4096),
)  # fmt: skip
"""1, primes, less and more than a tile, leading sizes that are odd, K below a stage and of many."""
TURNED = ((129, 257, 65), (136, 264, 80), (256, 256, 128))
"""In every transposition: nothing a multiple of anything, 8 of everything, whole tiles."""
SMALL = ((8, 5, 9), (5, 8, 1), (8, 8, 136))
"""Fewer rows and columns than lie together in shared memory, whose K is not together on either side."""


def _values(dtype: str) -> tuple[Values, ...]:
    return ("integer",) if dtype == "i8" else ("integer", "float")


def products() -> Iterator[Case]:
    for number, dtype in enumerate(TYPES):
        turns = islice(cycle(TRANSPOSITIONS), number, None)
        for (m, n, k), (a, b) in zip(SIZES, turns, strict=False):
            yield Case(
                "gemm", Gemm(m, n, k, transpose_a=a, transpose_b=b, dtype=dtype), values=_values(dtype)
            )
        for (m, n, k), (a, b) in product(TURNED, TRANSPOSITIONS):
            problem = Gemm(m, n, k, transpose_a=a, transpose_b=b, dtype=dtype)
            yield Case("gemm", problem, values=_values(dtype))
    for dtype, (m, n, k) in product(("f16", "bf16"), SMALL):
        yield Case("gemm", Gemm(m, n, k, transpose_a=True, dtype=dtype))


def batches() -> Iterator[Case]:
    for dtype, (m, n, k) in product(("f16", "tf32", "f32", "i8"), ((72, 136, 96), (65, 33, 17))):
        for batch in (2, 5):
            problem = Gemm(m, n, k, batch=batch, transpose_b=True, dtype=dtype)
            yield Case("batch", problem, values=_values(dtype))


def scales() -> Iterator[Case]:
    for dtype, sizes in product(("f16", "bf16", "f32", "i8"), ((200, 136, 72), (65, 129, 31))):
        for alpha, beta in ((2.0, 0.0), (1.0, 1.0), (-1.0, 3.0)):
            problem = Gemm(*sizes, transpose_b=True, alpha=alpha, beta=beta, dtype=dtype)
            yield Case("scale", problem, values=_values(dtype))


ODD = (137, 131, 139)
"""Every operand is copied, whatever its transposition."""


def alignments() -> Iterator[Case]:
    """Copies of operands whose rows are no multiple of 16 bytes, and the same products without copies."""
    for dtype, (a, b), algorithm in product(TYPES[:6], TRANSPOSITIONS, ("aligned", "direct")):
        problem = Gemm(*ODD, transpose_a=a, transpose_b=b, dtype=dtype)
        yield Case("aligned", problem, values=_values(dtype), algorithm=algorithm)
    others = (
        Gemm(136, 264, 77, dtype="f16"),
        Gemm(136, 77, 264, dtype="f16"),
        Gemm(77, 264, 136, transpose_a=True, dtype="bf16"),
        Gemm(1, 77, 333, dtype="f16"),
        Gemm(77, 1, 333, dtype="f16"),
        Gemm(65, 130, 260, dtype="f16"),
        Gemm(1111, 2222, 3333, dtype="f16"),
        Gemm(1000, 1001, 1003, transpose_a=True, dtype="bf16"),
        Gemm(*ODD, batch=3, transpose_a=True, dtype="f16"),
        Gemm(*ODD, batch=2, transpose_b=True, dtype="tf32"),
        Gemm(*ODD, transpose_a=True, alpha=2.0, beta=3.0, dtype="f16"),
        Gemm(*ODD, transpose_a=True, epilogue="relu(x + bias) + residual", dtype="f16"),
        Gemm(513, 1031, 4095, dtype="f8e4m3fn"),
    )
    for problem in others:
        yield Case("aligned", problem, algorithm="aligned")
    yield Case("aligned", Gemm(129, 131, 8201, dtype="f16"), schedule="split_k", algorithm="aligned")


EPILOGUES = ("relu(x + bias)", "x + residual", "f32(x)", "relu(x + bias) + residual", "x * 2 - bias")


def epilogues() -> Iterator[Case]:
    for dtype, epilogue in product(("f16", "tf32"), EPILOGUES):
        yield Case("epilogue", Gemm(200, 264, 136, transpose_b=True, dtype=dtype, epilogue=epilogue))
        yield Case("epilogue", Gemm(65, 131, 67, dtype=dtype, epilogue=epilogue))
    for layout in LAYOUTS:
        for epilogue in EPILOGUES[:2]:
            yield Case("epilogue", convolution("forward", layout, "f16", PLAIN, epilogue))


TUNINGS = (
    "64,64,64,4,1,1,1,cooperative,straight,1",
    "128,128,64,4,2,1,1,cooperative,straight,1",
    "128,256,64,3,2,1,1,cooperative,straight,8",
    "256,128,64,3,2,1,1,cooperative,straight,4",
    "192,192,64,3,3,1,1,cooperative,straight,1",
    "64,256,64,3,2,1,1,pingpong,straight,1",
    "64,128,64,4,2,1,1,pingpong,straight,4",
    "128,128,64,4,2,2,1,cooperative,straight,1",
    "128,128,64,4,2,1,2,cooperative,straight,1",
    "128,256,64,3,2,2,1,cooperative,straight,4",
    "64,160,64,6,1,4,1,cooperative,swapped,2",
    "64,192,64,5,2,1,4,pingpong,straight,4",
    "64,144,64,4,2,1,1,pingpong,straight,1",
    "64,16,64,8,1,1,1,cooperative,swapped,1",
    "128,8,64,6,2,1,1,cooperative,swapped,1",
    "128,64,32,4,2,1,1,cooperative,straight,1",
    "128,64,128,2,2,1,1,cooperative,straight,1",
)
"""Of kind warpgroup: every form of a kernel, whatever the model would choose."""
TUNED = (Gemm(520, 776, 328, transpose_b=True, dtype="f16"), Gemm(392, 520, 264, dtype="bf16"))
CLUSTERS = {
    "64,128,64,6,1,1,1,cooperative,straight,1": 8,
    "128,128,64,4,2,1,1,cooperative,swapped,4": 4,
    "128,256,64,3,2,1,1,cooperative,straight,1": 4,
    "192,192,64,3,3,1,1,cooperative,straight,1": 2,
}
"""Tunings, and parts of K for them."""
CLUSTERED = (
    Gemm(512, 384, 4096, transpose_b=True, dtype="f16"),
    Gemm(176, 184, 2552, dtype="bf16"),
    Gemm(137, 131, 3001, transpose_a=True, dtype="f16"),
    Gemm(200, 264, 2312, transpose_b=True, alpha=2.0, beta=3.0, dtype="f16"),
    Gemm(200, 264, 2312, batch=3, transpose_b=True, epilogue="relu(x + bias) + residual", dtype="f16"),
    Gemm(136, 264, 4104, transpose_b=True, dtype="tf32"),
    Gemm(136, 264, 8208, transpose_b=True, dtype="f8e4m3fn"),
)
SCHEDULES = ("split_k", "stream_k", "stream_k:40", "two_tile", "two_tile_dp_first", "data_parallel", "auto")


def tunings() -> Iterator[Case]:
    for problem, text in product(TUNED, TUNINGS):
        yield Case("tuning", problem, f"v1:warpgroup:{text}")


def schedules() -> Iterator[Case]:
    for problem, parts in product(CLUSTERED, (2, 4, 8)):
        yield Case("cluster_k", problem, schedule=f"cluster_k:{parts}")
    for problem, (text, parts) in product(CLUSTERED[:3], CLUSTERS.items()):
        yield Case("cluster_k", problem, f"v1:warpgroup:{text}", f"cluster_k:{parts}")
    tiles = "128,128,64,4,2,{},cooperative,straight,1"
    for cluster, parts in (("2,1", 2), ("2,1", 4), ("1,2", 4), ("2,2", 2)):
        yield Case("cluster_k", CLUSTERED[0], f"v1:warpgroup:{tiles.format(cluster)}", f"cluster_k:{parts}")
    yield Case("cluster_k", Gemm(136, 264, 8208, dtype="i8"), schedule="cluster_k:4", values=("integer",))
    for layout, parts in product(LAYOUTS, (2, 4)):
        shape = convolution("backward_weight", layout, "f16", PLAIN | {"c": 64, "k": 64})
        yield Case("cluster_k", shape, schedule=f"cluster_k:{parts}")
    for text, pieces in (("128,128,64,6,2", 96), ("64,96,64,8,1", 96), ("64,192,64,6,1", 48)):
        abreast = f"v1:warpgroup:{text},1,1,cooperative,straight,2"
        yield Case("schedule", CLUSTERED[0], abreast, f"split_k:{pieces}")
    for schedule in SCHEDULES:
        yield Case("schedule", Gemm(512, 384, 4096, transpose_b=True, dtype="f16"), schedule=schedule)
        yield Case("schedule", Gemm(136, 264, 8200, transpose_b=True, dtype="bf16"), schedule=schedule)


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
        yield Case("conv", convolution("forward", layout, "i8", shape), values=("integer",))


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
        problem = convolution("forward", layout, "f16", COPIED[number][1], "relu(x + bias) + residual")
        yield Case("copied", problem, algorithm=algorithm)


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
        yield Case("gaps", problem, values=_values(dtype))
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
    for direction, size in product(("backward_data", "backward_weight"), (8, 56)):
        shape = SAMPLED[0] | {"h": size, "w": size, "c": 128, "k": 64}
        yield Case("images", convolution(direction, "nchw", "f16", shape), algorithm="whole_images:32")
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
    for epilogue in ("relu(x + bias)", "f32(x)", "relu(x + bias) + residual"):
        problem = convolution("forward", "nhwc", "f16", PLAIN | LINES[5][1], epilogue)
        yield Case("lines", problem, "v1:lines:8,7,8,3,3,64,64,1,2,2,cooperative")
    for count, (text, shape) in ((4, LINES[2]), (2, LINES[3])):
        problem = convolution("forward", "nchw", "f16", PLAIN | shape)
        yield Case("lines", problem, f"v1:lines:{text}", algorithm=f"halo:{count}")
    problem = convolution("forward", "nhwc", "i8", PLAIN | LINES[5][1])
    yield Case("lines", problem, "v1:lines:8,7,8,3,3,64,64,1,4,2,cooperative", None, ("integer",))


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
    for epilogue in ("relu(x + bias)", "f32(x)", "relu(x + bias) + residual"):
        problem = convolution("forward", "nhwc", "f16", PLAIN | HALOS[1][1], epilogue)
        yield Case("halo", problem, algorithm="halo:2")
    for count, shape in HALOS[:3]:
        yield Case(
            "halo", convolution("forward", "nchw", "f16", PLAIN | shape), algorithm=f"halo:{max(2, count)}"
        )
    yield Case(
        "halo", convolution("forward", "nhwc", "i8", PLAIN | HALOS[4][1]), None, None, ("integer",), "halo:1"
    )


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
    PLAIN | {"stride": (3, 2), "h": 17, "w": 18, "y": 2, "pad_h": 0},
    PLAIN | {"stride": 2, "h": 20, "w": 24, "dilation": (3, 2), "pad_h": 3, "pad_w": 2},
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
"""The same, whose planes have lines of whole pieces, or two of them have."""
PLANE_SHARES: tuple[tuple[str, Shape], ...] = (
    ("1,1,3,64,9,64,4,7,6,2", {"h": 21, "w": 56}),
    ("1,4,6,64,9,64,4,5,2,1", {"h": 21, "w": 56}),
    ("1,2,6,64,9,64,4,5,2,1", {"h": 22, "w": 56}),
    ("1,2,2,64,9,64,4,2,6,2", {"h": 22, "w": 56}),
    ("1,4,4,64,9,64,4,3,3,1", {"h": 10, "w": 40}),
    ("1,1,1,64,9,64,4,2,8,2", {"h": 9, "w": 64}),
    ("1,4,4,32,9,64,4,2,4,2", {"h": 28, "w": 28}),
    ("1,4,12,32,9,64,4,2,2,1", {"h": 28, "w": 28}),
    ("1,2,2,32,9,64,4,2,8,2", {"h": 14, "w": 28}),
    ("2,4,8,32,9,64,4,2,2,1", {"h": 4, "w": 16}),
)
"""Tunings that read planes, with a halo and with lines that are kept."""
SHARES = (
    "1,4,6,56,9,64,1,7,2,3",
    "2,2,4,56,9,64,1,3,2,3",
    "1,2,4,64,9,64,1,1,3,3",
    "1,1,3,64,9,64,4,7,6,3",
    "1,2,4,64,9,64,4,3,4,2",
    "2,1,3,64,9,64,4,2,2,1",
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


def all_cases() -> list[Case]:
    found = [*products(), *batches(), *scales(), *epilogues(), *tunings(), *schedules(), *convolutions()]
    found += [*alignments(), *copies(), *images(), *gaps(), *halos(), *lines(), *phases(), *halo_weights()]
    return list(dict.fromkeys(found))


MOST_FLOPS = 2 * 10**9


def sample(count: int) -> list[Case]:
    """A few small ones of every family, for tools under which a kernel is a thousand times slower."""
    families: dict[str, list[Case]] = {}
    for case in all_cases():
        if case.problem.flops <= MOST_FLOPS:
            families.setdefault(case.family, []).append(case)
    step = {family: max(1, len(cases) // count) for family, cases in families.items()}
    return [case for family, cases in families.items() for case in cases[:: step[family]][:count]]
