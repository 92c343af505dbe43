"""Products on a GPU: types, transpositions, awkward sizes, leading sizes; epilogues; tunings and schedules
that are given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle, islice, product

from conv_cases import PLAIN, convolution
from gpu_case import Case

from imbrex.bench.resnet import LAYOUTS
from imbrex.problem import Gemm

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


def products() -> Iterator[Case]:
    for number, dtype in enumerate(TYPES):
        turns = islice(cycle(TRANSPOSITIONS), number, None)
        for (m, n, k), (a, b) in zip(SIZES, turns, strict=False):
            yield Case("gemm", Gemm(m, n, k, transpose_a=a, transpose_b=b, dtype=dtype))
        for (m, n, k), (a, b) in product(TURNED, TRANSPOSITIONS):
            problem = Gemm(m, n, k, transpose_a=a, transpose_b=b, dtype=dtype)
            yield Case("gemm", problem)
    for dtype, (m, n, k) in product(("f16", "bf16"), SMALL):
        yield Case("gemm", Gemm(m, n, k, transpose_a=True, dtype=dtype))


def stored_columns() -> Iterator[Case]:
    """Columns that lie together, of tiles that are stored with some of the next one's."""
    for n, (a, b), clusters in product(
        (48, 80, 144, 240), ((False, False), (True, False), (True, True)), ("2,1", "1,4")
    ):
        tuning = f"v1:warpgroup:64,{n},64,4,1,{clusters},cooperative,{'swapped' if b else 'straight'},1"
        yield Case("gemm", Gemm(392, 616, 200, transpose_a=a, transpose_b=b, dtype="bf16"), tuning=tuning)


def batches() -> Iterator[Case]:
    for dtype, (m, n, k) in product(("f16", "tf32", "f32", "i8"), ((72, 136, 96), (65, 33, 17))):
        for batch in (2, 5):
            problem = Gemm(m, n, k, batch=batch, transpose_b=True, dtype=dtype)
            yield Case("batch", problem)


def scales() -> Iterator[Case]:
    for dtype, sizes in product(("f16", "bf16", "f32", "i8"), ((200, 136, 72), (65, 129, 31))):
        for alpha, beta in ((2.0, 0.0), (1.0, 1.0), (-1.0, 3.0)):
            problem = Gemm(*sizes, transpose_b=True, alpha=alpha, beta=beta, dtype=dtype)
            yield Case("scale", problem)


ODD = (137, 131, 139)
"""Every operand is copied, whatever its transposition."""


def alignments() -> Iterator[Case]:
    """Copies of operands whose rows are no multiple of 16 bytes, and the same products without copies."""
    for dtype, (a, b), algorithm in product(TYPES[:6], TRANSPOSITIONS, ("aligned", "direct")):
        problem = Gemm(*ODD, transpose_a=a, transpose_b=b, dtype=dtype)
        yield Case("aligned", problem, algorithm=algorithm)
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


def parts_of_k() -> Iterator[Case]:
    """K in parts that a second launch adds up, the last one short, in all types and transpositions."""
    for (dtype, (a, b)), parts in zip(product(TYPES[:6], TRANSPOSITIONS), cycle((2, 3, 5)), strict=False):
        problem = Gemm(136, 200, 2064, transpose_a=a, transpose_b=b, dtype=dtype)
        yield Case("parts of k", problem, algorithm=f"k_parts:{parts}")
    others = (
        Gemm(137, 131, 1390, dtype="f16"),
        Gemm(65, 129, 3000, batch=3, transpose_a=True, dtype="bf16"),
        Gemm(1, 4096, 4096, transpose_b=True, dtype="f16"),
        Gemm(137, 131, 1390, alpha=2.0, beta=3.0, dtype="f16"),
        Gemm(136, 200, 2064, epilogue="gelu(x + bias) + residual", dtype="f16"),
        Gemm(136, 200, 2064, ldc=211, dtype="bf16"),
    )
    for problem in others:
        yield Case("parts of k", problem, algorithm="k_parts:6")


EPILOGUES = ("relu(x + bias)", "x + residual", "f32(x)", "relu(x + bias) + residual", "x * 2 - bias")
FUNCTIONS = (
    "gelu(x + bias) + residual",
    "gelu_tanh(x + bias)",
    "silu(x + bias) * residual",
    "f32(silu(x) - softplus(bias))",
    "f32(sigmoid(x) - tanh(residual))",
    "softplus(x)",
    "hardswish(x + bias)",
    "leaky_relu(x, 0.1)",
)
KEPT = ("gelu(pre_activation(x + bias))", "relu(pre_activation(x + bias)) + residual")
"""The first is that of a layer in training; of the second both results are exact."""
KEPT_TUNINGS = (
    "128,256,64,3,2,1,1,cooperative,straight,8",
    "128,128,64,6,2,1,1,pingpong,swapped,8",
    "64,144,64,4,2,1,1,pingpong,straight,1",
    "128,128,64,4,2,2,1,cooperative,straight,1",
)


def epilogues() -> Iterator[Case]:
    for dtype, epilogue in product(("f16", "tf32"), EPILOGUES):
        yield Case("epilogue", Gemm(200, 264, 136, transpose_b=True, dtype=dtype, epilogue=epilogue))
        yield Case("epilogue", Gemm(65, 131, 67, dtype=dtype, epilogue=epilogue))
    for dtype, epilogue in product(("f16", "bf16", "tf32"), FUNCTIONS):
        yield Case("epilogue", Gemm(200, 264, 136, transpose_b=True, dtype=dtype, epilogue=epilogue))
    given = Gemm(1000, 776, 328, transpose_b=True, dtype="f16", epilogue=FUNCTIONS[0])
    for text in ("128,256,64,3,2,1,1,cooperative,straight,8", "128,128,64,6,2,1,1,pingpong,swapped,8"):
        yield Case("epilogue", given, f"v1:warpgroup:{text}")
    yield from pre_activations()
    for layout in LAYOUTS:
        for epilogue in (*EPILOGUES[:2], *KEPT):
            yield Case("epilogue", convolution("forward", layout, "f16", PLAIN, epilogue))


def pre_activations() -> Iterator[Case]:
    """Epilogues that store a second array, by the copy engine and by lanes, and of tiles that are shared."""
    for dtype, epilogue in product(("f16", "bf16", "tf32", "f8e4m3fn", "f32"), KEPT):
        yield Case("epilogue", Gemm(200, 264, 144, transpose_b=True, dtype=dtype, epilogue=epilogue))
        yield Case("epilogue", Gemm(65, 131, 67, dtype=dtype, epilogue=epilogue))
    yield Case("epilogue", Gemm(200, 264, 144, dtype="i8", epilogue="i8(relu(pre_activation(x)) * 0.25)"))
    yield Case("epilogue", Gemm(65, 131, 67, batch=2, alpha=2.0, beta=-1.0, dtype="f16", epilogue=KEPT[1]))
    given = Gemm(1000, 776, 328, transpose_b=True, dtype="f16", epilogue=KEPT[0])
    for text in KEPT_TUNINGS:
        yield Case("epilogue", given, f"v1:warpgroup:{text}")
    for schedule in ("stream_k", "split_k", "cluster_k:4"):
        problem = Gemm(200, 264, 2312, transpose_b=True, dtype="f16", epilogue=KEPT[1])
        yield Case("epilogue", problem, schedule=schedule)


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
SPLIT = (("64,16,64,9,1", 63), ("64,64,64,8,1", 24), ("128,192,64,4,2", 20), ("192,96,64,4,3", 130))
"""Tiles, and workgroups that share them: few and many of each."""
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
    yield Case("cluster_k", Gemm(136, 264, 8208, dtype="i8"), schedule="cluster_k:4")
    for layout, parts in product(LAYOUTS, (2, 4)):
        shape = convolution("backward_weight", layout, "f16", PLAIN | {"c": 64, "k": 64})
        yield Case("cluster_k", shape, schedule=f"cluster_k:{parts}")
    for text, pieces in (("128,128,64,6,2", 96), ("64,96,64,8,1", 96), ("64,192,64,6,1", 48)):
        abreast = f"v1:warpgroup:{text},1,1,cooperative,straight,2"
        yield Case("schedule", CLUSTERED[0], abreast, f"split_k:{pieces}")
    shared = Gemm(200, 328, 9000, transpose_a=True, alpha=2.0, beta=-1.0, dtype="bf16")
    finished = replace(shared, alpha=1.0, beta=0.0, epilogue=KEPT[1])
    for (text, pieces), (problem, side) in product(SPLIT, ((shared, "swapped"), (finished, "straight"))):
        yield Case("schedule", problem, f"v1:warpgroup:{text},1,1,cooperative,{side},2", f"split_k:{pieces}")
    for dtype, k in (("i8", 72), ("f16", 100), ("tf32", 38)):  # no rows that the copy engine can walk
        uneven = Gemm(1160, 1022, k, transpose_b=True, dtype=dtype)
        for schedule, tile in product(("data_parallel", "split_k:3", "stream_k:5"), ("128,64", "64,224")):
            text = f"v1:warpgroup:{tile},{128 // uneven.dtype.bytes},4,{2 - (tile == '64,224')},2,2"
            yield Case("schedule", uneven, f"{text},cooperative,straight,2", schedule, "direct")
    for schedule in SCHEDULES:
        yield Case("schedule", Gemm(512, 384, 4096, transpose_b=True, dtype="f16"), schedule=schedule)
        yield Case("schedule", Gemm(136, 264, 8200, transpose_b=True, dtype="bf16"), schedule=schedule)
