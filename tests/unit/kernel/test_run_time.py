"""A kernel that is told a size when it runs: right for all of its range, and the fixed kernel's very bits."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.host_tuning import for_host
from tests.pairs import one_in, one_of

from imbrex.build.isa import has_level
from imbrex.chip import CPU_ISAS
from imbrex.config import configuration
from imbrex.config.tuning import text
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel, compile
from imbrex.problem import Conv2d, Gemm, Problem, parse_problem
from imbrex.verify.data import random_operands


def in_steps(problem: Problem) -> str:
    """The tuning for the greatest size, with blocks of fewer rows and steps of fewer k."""
    (chosen,) = compile(problem.at(problem.run_time.most), untuned=True).tunings  # type: ignore[union-attr]
    rows = 2 * chosen.m_per_thread  # type: ignore[union-attr]
    return text(replace(chosen, m_per_block=rows, k_per_block=chosen.k_per_block // 2))  # type: ignore[call-arg]


CASES: dict[str, tuple[Problem, tuple[int, ...]]] = {
    "f32": (Gemm("?1..40", 37, 24), (1, 2, 7, 16, 17, 40)),
    "added to c": (Gemm("?2..20", 24, 33, beta=0.5, alpha=2.0), (2, 3, 20)),
    "epilogue": (
        Gemm("?1..9", 20, 16, dtype="bf16", epilogue="relu(x * row_scale + bias) + residual"),
        (1, 2, 9),
    ),
    "sums over k, added to c": (Gemm(37, 24, "?1..90", transpose_a=True, beta=0.5, alpha=2.0), (1, 33, 90)),
    "sums over k, epilogue": (
        Gemm(9, 20, "?3..2100", transpose_a=True, dtype="bf16", epilogue="relu(x + bias) + residual"),
        (3, 40, 2049),
    ),
    "b transposed": (Gemm("?5..30", 21, 32, dtype="i8", transpose_b=True), (5, 13, 30)),
}


@pytest.mark.parametrize("case", CASES)
def test_every_size_is_right(case: str) -> None:
    problem, sizes = CASES[case]
    kernel = compile(problem)
    for size in sizes:
        verdict = kernel.at(size).check()
        assert verdict.is_right, (size, verdict)


def arrays_of(problem: Problem) -> list[Any]:
    operands = random_operands(problem, 3, "float").arrays
    return [operands[o.role].copy() for o in problem.operands]


def same_bits(open_: Kernel, size: int, tuning: str) -> None:
    fixed = compile(open_.problem.at(size), tuning=tuning)
    arrays = arrays_of(fixed.problem)
    others = [array.copy() for array in arrays]
    got, want = open_(*arrays), fixed(*others)
    assert got.tobytes() == want.tobytes(), size


def test_the_bits_are_those_of_the_fixed_kernel_of_its_bucket() -> None:
    kernel = compile(CASES["f32"][0])
    chosen = configuration.parse(kernel.configuration)
    assert [product.upto for product in chosen.products][-1] is None
    assert len(chosen.products) > 1, "its tuning is picked by bucket"
    for size in (1, 7, 39):
        same_bits(kernel, size, *kernel.at(size).tuning_texts)


@pytest.mark.parametrize("stays", ["a", "b"])
def test_few_rows_do_not_repay_columns_that_are_summed_along_k(stays: str) -> None:
    """The last of 33 columns, which takes B's elements one by one: three rows leave it in a vector.

    Each way is compiled for the heights of panels that its rows can have, all of which some size has.
    """
    tuning = for_host(f"v1:cpu:4,48,32,48,64,16,k_blocked,{stays},straight")
    kernel = compile(Gemm("?1..40", 33, 64), tuning=tuning)
    a = (np.arange(40 * 64, dtype=np.float32) % 7).reshape(40, 64)
    b = (np.arange(64 * 33, dtype=np.float32) % 5).reshape(64, 33)
    for size in range(1, 41):
        assert np.array_equal(kernel(a[:size], b), a[:size] @ b), size
    for size in one_in(2, (1, 2, 3, 4, 33, 40), turn=stays == "b"):
        same_bits(kernel, size, tuning)


LAST = "-I NHWC -O NHWC -f NHWC"
IMAGES = {
    "columns that fill no vector, by buckets": (
        f"conv -n ?1..9 -c 16 -H 7 -W 9 -k 20 -y 3 -x 3 -p 1 -q 1 -F 1 {LAST}", None, (1, 9)
    ),
    "pixels as columns, blocks of channels": (
        "conv -n ?1..7 -c 4 -H 5 -W 7 -k 27 -y 3 -x 3 -p 1 -q 1 -F 1"
        " --epilogue 'relu(pre_activation(x + bias)) + residual'",
        for_host("v1:cpu:5,48,15,96,32,16,k_blocked,b,straight"), (1, 7)
    ),
    "groups, panels of all pixels": (
        "conv -n ?2..6 -c 12 -H 5 -W 6 -k 120 -y 3 -x 3 -p 1 -q 1 -g 3 -F 1",
        for_host("v1:cpu:6,32,42,96,16,16,k_blocked,a,straight"), (2, 5)
    ),
    "pixels that lie as images": (
        "convbfp16 -n ?1..5 -c 32 -H 6 -W 5 -k 21 -y 1 -x 1 -F 1 -O NHWC",
        for_host("v1:cpu:14,16,84,32,32,16,k_blocked,b,swapped"), (1, 4)
    ),
    "depthwise": (
        f"conv -n ?1..5 -c 24 -H 7 -W 9 -k 24 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -g 24 -F 1 {LAST}", None, (1, 4)
    ),
    "gradient, columns that fill no vector": (
        "conv -n ?1..7 -c 10 -H 7 -W 5 -k 12 -y 3 -x 3 -p 1 -q 2 -F 2", None, (1, 7)
    ),
    "gradient, rows of pixels": (
        f"convbfp16 -n ?1..6 -c 9 -H 5 -W 6 -k 16 -y 3 -x 3 -p 2 -q 0 -l 2 -g 1 -F 2 {LAST}", None, (1, 4)
    ),
    "gradient, groups": ("conv -n ?2..6 -c 12 -H 6 -W 5 -k 18 -y 1 -x 3 -g 3 -F 2", None, (2, 5)),
    "gradient, depthwise": (
        f"conv -n ?1..5 -c 24 -H 7 -W 9 -k 24 -y 3 -x 3 -p 1 -q 1 -g 24 -F 2 {LAST}", None, (1, 4)
    ),
    "gradient of a stride, by buckets of two products": (
        "conv -n ?1..9 -c 10 -H 9 -W 7 -k 12 -y 3 -x 1 -p 1 -q 0 -u 2 -v 1 -F 2", None, (1, 9)
    ),
    "gradient of a stride and of a dilation, groups, channels last": (
        f"convbfp16 -n ?2..6 -c 8 -H 11 -W 8 -k 18 -y 3 -x 2 -p 2 -u 3 -v 2 -l 2 -g 2 -F 2 {LAST}",
        None, (2, 5)
    ),
    "gradient with gaps, which are zeros": (
        "conv -n ?1..7 -c 10 -H 8 -W 7 -k 12 -y 1 -x 2 -u 2 -v 3 -F 2", None, (1, 6)
    ),
    "sums over images, pixels between vectors": (
        "conv -n ?1..9 -c 16 -H 7 -W 7 -k 20 -y 1 -x 1 -F 4", None, (2, 9)
    ),
    "sums over images, taps beside each other": (
        "conv -n ?1..5 -c 3 -H 30 -W 30 -k 64 -y 7 -x 7 -p 3 -q 3 -u 2 -v 2 -F 4", None, (1, 5)
    ),
    "sums over images, in steps": (
        "convbfp16 -n ?2..17 -c 16 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -F 4",
        for_host("v1:cpu:6,32,144,32,512,16,k_blocked,b,swapped"), (3, 17)
    ),
    "sums over images, few last columns: of one image in a vector, of two along k": (
        "conv -n ?1..9 -c 20 -H 7 -W 7 -k 20 -y 1 -x 1 -F 4",
        for_host("v1:cpu:5,16,20,32,784,16,k_blocked,a,straight"), (1, 2, 5)
    ),
    "sums over images, few last columns of steps": (
        "conv -n ?1..9 -c 20 -H 7 -W 7 -k 20 -y 1 -x 1 -F 4",
        for_host("v1:cpu:5,32,20,32,112,16,k_blocked,b,straight"), (1, 3, 9)
    ),
    "sums over images, channels last, groups": (
        f"conv -n ?1..17 -c 8 -H 9 -W 7 -k 24 -y 3 -x 3 -p 1 -q 1 -g 2 -F 4 {LAST}", None, (4, 17)
    ),
    "sums over images, depthwise": (
        "conv -n ?1..9 -c 8 -H 9 -W 9 -k 8 -y 3 -x 3 -g 8 -F 4", None, (2, 9)
    ),
    "gradient of a stride, depthwise": (
        f"conv -n ?1..5 -c 24 -H 7 -W 9 -k 24 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -g 24 -F 2 {LAST}", None, (1, 4)
    ),
}  # fmt: skip
"""A convolution, its tuning, numbers of images."""
BEYOND = 256
"""Bytes around an array that nothing may write to."""


@pytest.mark.parametrize(("turn", "case"), one_in(2, list(enumerate(IMAGES))))
def test_images_have_the_bits_of_the_fixed_kernel_and_nothing_else_is_written(turn: int, case: str) -> None:
    text, tuning, sizes = IMAGES[case]
    (problem,) = parse_problem(text)
    open_ = compile(problem, tuning=tuning)
    compared = one_of(sizes, turn)
    for size in sizes:
        assert open_.at(size).check(values="integer").is_right, size
        wanted = arrays_of(problem.at(size))
        framed = [np.pad(array.ravel().view(np.uint8), BEYOND, constant_values=0xA5) for array in wanted]
        inner = [
            frame[BEYOND:-BEYOND].view(a.dtype).reshape(a.shape)
            for frame, a in zip(framed, wanted, strict=True)
        ]
        open_(*inner)
        for frame in framed:
            assert (frame[:BEYOND] == 0xA5).all() and (frame[-BEYOND:] == 0xA5).all(), size
        if size in compared:
            compile(problem.at(size), config=open_.at(size).configuration)(*wanted)
            for frame, array in zip(framed, wanted, strict=True):
                assert frame[BEYOND:-BEYOND].tobytes() == array.tobytes(), size


def test_gradients_that_have_no_open_kernel() -> None:
    (problem,) = parse_problem("conv -n ?1..7 -c 10 -H 7 -W 5 -k 12 -y 3 -x 3 -F 2")
    with pytest.raises(Diagnostic, match="'v1r1' adds in memory, which is not made for a run-time n"):
        compile(problem, algorithm="v1r1")
    (sums,) = parse_problem("conv -n ?1..7 -c 3 -H 7 -W 5 -k 64 -y 7 -x 7 -p 3 -q 3 -F 4")
    with pytest.raises(Diagnostic, match="a run-time n is for tiles of warpgroups, and the tuning is"):
        compile(sums, target="sm_90a")
    with pytest.raises(Diagnostic, match="a run-time n is for CPUs and for warpgroups, and gfx942 is"):
        compile(sums, target="gfx942")


SUMS = {
    "-m 70 -n 40": (1, 33, 257, 2048),
    "-m 2 -n 320": (2, 256, 1000, 3001),
    "-t bf16 -m 24 -n 35": (31, 250, 2049, 3001),
    "-t i8 -m 24 -n 20": (1, 32, 257, 2049),
}


@pytest.mark.parametrize(("turn", "text"), list(enumerate(SUMS)))
def test_sums_over_k_have_the_bits_of_the_fixed_kernel(turn: int, text: str) -> None:
    """All sizes are right; those of one kernel that are compared are between those of the next."""
    (problem,) = parse_problem(f"gemm {text} -k ?1..3001 -transA 1")
    open_ = compile(problem)
    assert len(configuration.parse(open_.configuration).products) > 1, "its tuning is picked by bucket"
    assert all(open_.at(size).check(values="integer").is_right for size in SUMS[text])
    for size in one_in(2, SUMS[text], turn):
        same_bits(open_, size, *open_.at(size).tuning_texts)


def test_blocks_and_steps_of_a_tuning_that_is_given() -> None:
    problem = Gemm("?1..50", 40, 64)
    tuning = in_steps(problem)
    kernel = compile(problem, tuning=tuning)
    rows = kernel.tunings[0].m_per_block  # type: ignore[union-attr]
    for size in (1, rows - 1, rows, rows + 1, 50):
        assert kernel.at(size).check(values="integer").is_right
    same_bits(kernel, rows + 1, tuning)


def test_arrays_tell_the_size_in_every_call() -> None:
    kernel = compile(CASES["f32"][0])
    rng = np.random.default_rng(1)
    b = rng.integers(-4, 5, (24, 37)).astype(np.float32)
    for size in (1, 40, 7, 1, 40):  # the short way is taken from the second call of a size on
        a = rng.integers(-4, 5, (size, 24)).astype(np.float32)
        out = np.full((size, 37), np.nan, np.float32)
        assert kernel(a, b, out) is out
        assert np.array_equal(out, a @ b) and np.array_equal(kernel(a, b), a @ b)


def test_arrays_of_other_sizes() -> None:
    kernel = compile(CASES["f32"][0])
    a, b = np.zeros((41, 24), np.float32), np.zeros((24, 37), np.float32)
    for wrong in (a, a[:0]):
        with pytest.raises(ValueError, match="'a' should have an outermost size from 1 to 40, got"):
            kernel(wrong, b)
    with pytest.raises(ValueError, match=r"'c' should have shape \(4, 37\), got \(5, 37\)"):
        kernel(a[:4], b, np.zeros((5, 37), np.float32))
    with pytest.raises(Diagnostic, match="m is from 1 to 40, got 41"):
        kernel.at(41)


def test_the_entry_point_refuses_another_size() -> None:
    kernel = compile(CASES["f32"][0])
    entry = ctypes.CDLL(str(kernel.library.path))["imbrex_gemm"]
    entry.argtypes = [*[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_int]
    for size in (0, 41, -1, 1 << 32):
        assert entry(None, None, None, size, 1) == 4


@pytest.mark.parametrize(("m", "applies"), [(1, 1), (40, 1), (0, 0), (41, 0)])
def test_the_solver_knows_the_range(m: int, applies: int) -> None:
    kernel = compile(CASES["f32"][0])
    solver = ctypes.CDLL(str(kernel.library.path))["imbrex_gemm_is_applicable"]
    for c_rows, wanted in ((m, applies), (m + 1, 0)):
        sizes = (ctypes.c_int64 * 6)(m, 24, 24, 37, c_rows, 37)
        assert solver(sizes, 6) == wanted


def test_the_sizes_that_are_checked() -> None:
    kernel = compile(CASES["f32"][0])
    ends = [p.upto for p in configuration.parse(kernel.configuration).products if p.upto]
    assert {1, 7, 40, *ends} <= set(kernel.sizes)
    assert kernel.check(values="integer").is_right
    assert compile(Gemm(4, 5, 6)).sizes == ()


def test_a_configuration_is_one_text_and_makes_the_same_code() -> None:
    problem = CASES["added to c"][0]
    kernel = compile(problem)
    again = compile(problem, config=kernel.configuration)
    assert again.library == kernel.library


TILES = "v1:cpu:32,32,64,64,64,16,k_blocked,b,straight,tdpbf16ps"


@pytest.mark.skipif(
    not has_level(CPU_ISAS["amx"].lent), reason="this machine cannot stand for one with tiles"
)
@pytest.mark.parametrize(("dtype", "unit"), [("bf16", "vdpbf16ps"), ("i8", "vpdpbusd")])
def test_on_a_machine_with_tiles_vectors_multiply(dtype: str, unit: str) -> None:
    kernel = compile(Gemm("?1..100", 40, 64, dtype=dtype), target="amx", emulate=True)
    assert {tuning.unit for tuning in kernel.tunings} == {unit}
    assert kernel.at(37).check().is_right


REFUSED = [
    (
        Conv2d("forward", "?", 3, 8, 8, 4, 3, 3),
        {"target": "sm_90a"},
        "a run-time n is for tiles of warpgroups, and the tuning is .v1:general",
    ),
    (Gemm("?", 8, 8), {"target": "gfx942"}, "a run-time m is for CPUs and for warpgroups, and gfx942"),
    (Gemm("?", 8, 8), {"schedule": "stream_k:4"}, "the schedule 'stream_k:4' counts tiles"),
    (
        Gemm("?", 64, 64, dtype="bf16"),
        {"target": "amx", "emulate": True, "tuning": TILES},
        "unit tdpbf16ps multiplies tiles of known sizes",
    ),
]


@pytest.mark.parametrize(("problem", "words", "message"), REFUSED)
def test_what_it_is_not_made_for(problem: Problem, words: dict[str, Any], message: str) -> None:
    with pytest.raises(Diagnostic, match=message) as error:
        compile(problem, **words)
    assert error.value.hint is not None


@pytest.mark.parametrize("upto", [(20, 10, None), (10, None, None), (10, 50, None), (10, 20)])
def test_buckets_ascend_to_the_end_of_the_range(upto: tuple[int | None, ...]) -> None:
    problem = CASES["f32"][0]
    (part,) = configuration.parse(compile(problem.at(40)).configuration).products
    products = tuple(replace(part, upto=end) for end in upto)
    with pytest.raises(Diagnostic, match="tunings of a run-time m ascend within"):
        compile(problem, config=configuration.Configuration("direct", products=products))
