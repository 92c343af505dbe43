"""Sets: the problems that kernels for a GPU are compared on, by name, with the peers that each set is held
to.

Law: a set's geometric mean is one line of the speed table (docs/hopper.md); what a set holds changes only
with its name.  Within a set the telling problems come first, because `quick` and a spent budget take a
prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from imbrex.bench.corpus import sample
from imbrex.bench.gpu import drawn_sets as drawn
from imbrex.bench.resnet import LAYERS, LAYOUTS, conv
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.problem.conv import DIRECTIONS, Direction

__all__ = ["SETS", "Entry", "ProblemSet", "chosen"]

BIAS_RELU = "relu(x + bias)"


@dataclass(frozen=True)
class Entry:
    """One problem of a set.  times: how often its network has it, for a total."""

    set: str
    name: str
    problem: Problem
    peers: tuple[str, ...]
    is_host: bool = False
    times: int = 1


@dataclass(frozen=True)
class ProblemSet:
    """goal: the ratio that the project wants at least, and aims at.  quick: how many stand for all.

    is_host: what counts is the time that a call takes of the host, not of the GPU.
    """

    about: str
    goal: tuple[float, float]
    problems: Callable[[], Iterable[tuple[str, Problem, int]]]
    peers: tuple[str, ...] = ("torch",)
    quick: int = 3
    is_host: bool = False


def chosen(names: Iterable[str] | None = None, *, quick: bool = False) -> list[Entry]:
    """The entries of these sets, or of all: the first of each set, then the second of each, and so on.

    A name may end in `*`.  A Diagnostic for one that is no set's.
    """
    known = list(SETS) if names is None else list(dict.fromkeys(n for word in names for n in _known(word)))
    left = [_entries(name, SETS[name], quick) for name in known]
    found: list[Entry] = []
    while any(left):
        found += [entries.pop(0) for entries in left if entries]
    return found


def _entries(name: str, of: ProblemSet, quick: bool) -> list[Entry]:
    found = [
        Entry(name, title, problem, of.peers, of.is_host, times) for title, problem, times in of.problems()
    ]
    return found[: of.quick] if quick else found


def _known(word: str) -> list[str]:
    found = [name for name in SETS if name == word or (word[-1:] == "*" and name.startswith(word[:-1]))]
    if not found:
        hint = did_you_mean(word, SETS) or f"known: {', '.join(SETS)}"
        raise Diagnostic(f"there is no set '{word}'", hint=hint)
    return found


Found = Iterator[tuple[str, Problem, int]]


def _gemm(m: int, n: int, k: int, dtype: str, letters: str = "tn", epilogue: str | None = None) -> Problem:
    """letters: as BLAS says it of column-major arrays; `tn` has both operands contiguous along k."""
    return Gemm(m, n, k, transpose_b=letters == "tn", dtype=dtype, epilogue=epilogue)


def _products(
    sizes: Iterable[tuple[int, int, int]], *kinds: tuple[str, str], epilogue: str | None = None
) -> Found:
    """Each size in each kind, (type, letters)."""
    for m, n, k in sizes:
        for dtype, letters in kinds:
            yield f"{dtype} {letters} {m}x{n}x{k}", _gemm(m, n, k, dtype, letters, epilogue), 1


def _squares(*sizes: int) -> list[tuple[int, int, int]]:
    return [(size, size, size) for size in sizes]


def _resnet(layout: str, direction: Direction) -> Found:
    """All layers, those that most of the time goes to first; a gradient of the images is nowhere used."""
    heavy = sorted(LAYERS, key=lambda layer: -layer.count)
    for layer in heavy:
        if layer.name != "conv1" or direction != "backward_data":
            yield layer.name, conv(layer, direction, layout), layer.count


def _windows(
    layout: str,
    table: Iterable[tuple[str, int, int, int, int, int, int]],
    directions: Iterable[Direction] = DIRECTIONS,
) -> Found:
    """Convolutions of 128 images from (name, channels, filters, size, window, stride, groups)."""
    filters, inputs, outputs = LAYOUTS[layout]
    for name, c, k, size, window, stride, groups in table:
        for direction in directions:
            problem = Conv2d(
                direction, 128, c, size, size, k, window, window, pad_h=window // 2, pad_w=window // 2,
                stride=stride, groups=groups, dtype="f16",
                filter_layout=filters, input_layout=inputs, output_layout=outputs,
            )  # fmt: skip
            yield f"{name} {direction}", problem, 1


def _fused_convs() -> Found:
    for layer in LAYERS:
        if layer.name in ("l1.3x3.64", "l1.1x1.64-256", "l2.3x3.128", "l3.3x3.256", "l3.1x1.256-1024"):
            yield layer.name, conv(layer, "forward", "nhwc", epilogue=BIAS_RELU), layer.count


GROUPED = (("g32.256@56", 256, 256, 56, 3, 1, 32), ("g32.512@28", 512, 512, 28, 3, 1, 32))
DEPTHWISE = (
    ("dw3.512@14", 512, 512, 14, 3, 1, 512),
    ("dw3s2.256@56", 256, 256, 56, 3, 2, 256),
    ("dw7.384@28", 384, 384, 28, 7, 1, 384),
)
SKINNY = (
    (16, 4096, 4096), (64, 14336, 4096), (256, 256, 65536), (128, 8192, 8192), (1, 4096, 4096),
    (64, 4096, 14336), (512, 512, 32768), (256, 28672, 8192), (2048, 7168, 2048), (4096, 2112, 7168),
    (8192, 8192, 256), (4096, 4096, 512), (16896, 256, 4096), (17024, 256, 4096),
)  # fmt: skip
ODD = (
    (4095, 4097, 4093), (1111, 2222, 3333), (4096, 4096, 4095), (4096, 4100, 4096), (1000, 1000, 1000),
    (2047, 2049, 1023), (333, 4001, 777), (8191, 1021, 509),
)  # fmt: skip
NARROW = (*_squares(4096, 8192, 2048), (128, 8192, 8192), (512, 512, 32768), (8192, 8192, 256))

SETS: dict[str, ProblemSet] = {
    "square": ProblemSet(
        "f16 and bf16, squares",
        (0.95, 1.03),
        partial(
            _products,
            _squares(4096, 8192, 2048, 16384, 3072, 6144),
            ("f16", "tn"),
            ("bf16", "tn"),
            ("f16", "nn"),
        ),
        quick=6,
    ),
    "corpus": ProblemSet(
        "f16, sample of the Stream-K corpus",
        (1.0, 1.25),
        lambda: _products(_mixed(sample(48)), ("f16", "tn")),
        ("torch", "triton"),
        quick=12,
    ),
    "skinny": ProblemSet(
        "f16, skinny and large K", (1.0, 1.3), partial(_products, SKINNY, ("f16", "tn")), quick=4
    ),
    "odd": ProblemSet(
        "f16, odd sizes", (2.5, 4.0), partial(_products, ODD, ("f16", "tn"), ("f16", "nn")), quick=4
    ),
    "i8": ProblemSet("i8, squares", (1.0, 1.3), partial(_products, NARROW[:3], ("i8", "tn")), quick=2),
    "fp8": ProblemSet(
        "fp8, squares", (1.0, 1.03), partial(_products, NARROW[:3], ("f8e4m3fn", "tn")), quick=2
    ),
    "f32": ProblemSet(
        "f32 strict", (1.0, 1.15), partial(_products, NARROW, ("f32", "tn"), ("f32", "nn")), quick=2
    ),
    "tf32": ProblemSet("tf32", (1.0, 1.1), partial(_products, NARROW, ("tf32", "tn")), quick=2),
    **{
        f"resnet-{layout}-{direction.replace('_', '-')}": ProblemSet(
            f"ResNet-50, f16, {layout.upper()}, {direction.replace('_', ' ')}",
            {"nhwc": (1.0, 1.15), "nchw": (1.5, 2.5)}[layout],
            partial(_resnet, layout, direction),
            quick=4,
        )
        for layout in ("nhwc", "nchw")
        for direction in DIRECTIONS
    },
    "grouped": ProblemSet("32 groups, f16, NHWC", (2.0, 5.0), partial(_windows, "nhwc", GROUPED)),
    "depthwise": ProblemSet("depthwise, f16, NHWC", (2.0, 5.0), partial(_windows, "nhwc", DEPTHWISE)),
    "grouped-nchw": ProblemSet("32 groups, f16, NCHW", (2.0, 5.0), partial(_windows, "nchw", GROUPED)),
    "depthwise-nchw": ProblemSet("depthwise, f16, NCHW", (2.0, 5.0), partial(_windows, "nchw", DEPTHWISE)),
    "gemm-bias-relu": ProblemSet(
        "f16 with bias and ReLU", (1.0, 1.15), partial(_products, (*_squares(4096, 8192, 2048), (64, 14336,
        4096)), ("f16", "tn"), epilogue=BIAS_RELU), quick=2,
    ),
    "conv-bias-relu": ProblemSet("convolutions with bias and ReLU", (1.0, 1.15), _fused_convs, quick=2),
    "drawn-products": ProblemSet(
        "f16 and bf16, drawn, all transposes, 8 to 100 us",
        (1.03, 1.1),
        partial(drawn.products, 17, 48, ("f16", "bf16"), drawn.LETTERS, (8, 100)),
        ("torch", "lt"),
        quick=8,
    ),
    "drawn-large": ProblemSet(
        "the same, 100 to 1000 us",
        (1.0, 1.03),
        partial(drawn.products, 18, 16, ("f16", "bf16"), drawn.LETTERS, (100, 1000)),
        ("torch", "lt"),
        quick=4,
    ),
    "drawn-types": ProblemSet(
        "i8, fp8, tf32 and f32, drawn, 8 to 300 us",
        (1.0, 1.1),
        partial(drawn.products, 19, 24, ("i8", "f8e4m3fn", "tf32", "f32"), ("tn",), (8, 300)),
        ("torch", "lt"),
        quick=4,
    ),
    "layers": ProblemSet(
        "bf16, layers of language models, 1 to 8192 tokens",
        (1.03, 1.15),
        drawn.layers,
        ("torch", "lt"),
        quick=10,
    ),
    "finished": ProblemSet(
        "f16 with GELU and SiLU",
        (1.03, 1.15),
        partial(drawn.finished, ("gelu_tanh(x + bias)", "gelu(x + bias)", "silu(x)")),
        ("torch", "lt"),
        quick=5,
    ),
    "batched": ProblemSet("f16, products of attention", (1.0, 1.1), drawn.batched, ("torch", "lt"), quick=4),
    **{
        f"drawn-{layout}-{direction.replace('_', '-')}": ProblemSet(
            f"f16, drawn convolutions, {layout.upper()}, {direction.replace('_', ' ')}",
            {"forward": (1.4, 1.6), "backward_data": (1.3, 1.5), "backward_weight": (1.3, 1.5)}[direction],
            partial(drawn.convolutions, seed, layout, direction, {"nhwc": 16, "nchw": 8}[layout]),
            quick=4,
        )
        for layout, first in (("nhwc", 20), ("nchw", 30))
        for seed, direction in enumerate(DIRECTIONS, first)
    },
    "host": ProblemSet(
        "a call from Python, 256 x 256 x 256",
        (1.5, 3.0),
        partial(_products, _squares(256), ("f16", "tn"), ("f16", "nn")),
        quick=1,
        is_host=True,
    ),
}  # fmt: skip


def _mixed(sizes: tuple[tuple[int, int, int], ...]) -> list[tuple[int, int, int]]:
    """Small and large in turn, so that any prefix is a sample, too: the order of a bit-reversed counter."""
    bits = max(1, (len(sizes) - 1).bit_length())
    order = sorted(range(len(sizes)), key=lambda i: int(f"{i:0{bits}b}"[::-1], 2))
    return [sizes[i] for i in order]
