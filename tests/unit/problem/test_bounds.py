"""Bounds of problems: the last that is taken and the first that is refused; defaults, hints, sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DTYPES, SCALED
from imbrex.limit import EPILOGUE_CHARACTERS, EPILOGUE_DEPTH, LINE_CHARACTERS
from imbrex.problem import Conv2d, Gemm, from_json, parse_problem, problem_text
from imbrex.problem.epilogue import parse
from imbrex.problem.operand import ADDRESSES, Operand, expect_addressable
from imbrex.problem.text import parse_problems

LINE = "gemm -m 1 -n 1 -k 1"
HIP = "hipblaslt-bench -m 4 -n 8 -k 32 -r f16_r"


def conv(**given: Any) -> Conv2d:
    return Conv2d(
        **({"direction": "forward", "n": 1, "c": 4, "h": 8, "w": 8, "k": 4, "y": 3, "x": 3} | given)
    )


def packed(**given: Any) -> Gemm:
    return Gemm(**({"m": 4, "n": 8, "k": 64, "dtype": "mxf4e2m1fn", "transpose_b": True} | given))


def array(bytes_: int) -> None:
    expect_addressable([Operand("a", ("m",), (bytes_ // 4,), DTYPES["f32"], False)])


def log(text: str) -> Callable[[], object]:
    return lambda: parse_problem(text)


def nested(depth: int) -> Callable[[], object]:
    return lambda: parse("abs(" * (depth - 1) + "x" + ")" * (depth - 1))


BOUNDS: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "n must be positive": (lambda: conv(n=1), lambda: conv(n=0)),
    "c must be positive": (lambda: conv(c=1), lambda: conv(c=0)),
    "groups must be positive": (lambda: conv(groups=1), lambda: conv(groups=0)),
    "pad_h must be zero or positive": (lambda: conv(pad_h=0), lambda: conv(pad_h=(0, -1))),
    "pad_w must be zero or positive": (lambda: conv(pad_w=(0, 0)), lambda: conv(pad_w=-1)),
    "stride must be positive": (lambda: conv(stride=1), lambda: conv(stride=0)),
    "dilation must be positive": (lambda: conv(dilation=(1, 1)), lambda: conv(dilation=(1, 0))),
    "dilation takes 2 entries": (lambda: conv(dilation=[1, 2]), lambda: conv(dilation=[1])),
    "window y = 3": (lambda: conv(h=3), lambda: conv(h=2)),
    "window x = 3 (dilated by 2 to 5)": (
        lambda: conv(w=3, pad_w=(2, 0), dilation=2),
        lambda: conv(w=3, pad_w=(0, 1), dilation=2),
    ),
    "the least n, 5, is above the greatest, 4": (
        lambda: conv(n=4, least_n=4),
        lambda: conv(n=4, least_n=5),
    ),
    "the least m, 5, is above the greatest, 4": (
        lambda: Gemm(4, 1, 1, least_m=4),
        lambda: Gemm(4, 1, 1, least_m=5),
    ),
    "m must be positive": (lambda: Gemm(1, 1, 1), lambda: Gemm(0, 1, 1)),
    "batch must be positive": (lambda: Gemm(1, 1, 1, batch=1), lambda: Gemm(1, 1, 1, batch=0)),
    "alpha must be a whole number of 32 bits": (
        lambda: Gemm(1, 1, 1, dtype="i8", alpha=2.0**31 - 1),
        lambda: Gemm(1, 1, 1, dtype="i8", alpha=-(2.0**31)),
    ),
    "lda must be at least 7": (lambda: Gemm(2, 3, 7, lda=7), lambda: Gemm(2, 3, 7, lda=6)),
    "stride_c = 5 lets": (
        lambda: Gemm(2, 3, 7, batch=2, stride_c=6),
        lambda: Gemm(2, 3, 7, batch=2, stride_c=5),
    ),
    "stride_c = 2 lets": (
        lambda: Gemm(4, 3, 7, batch=2, ldc=6, stride_c=3),
        lambda: Gemm(4, 3, 7, batch=2, ldc=6, stride_c=2),
    ),
    "stride_c = 3 lets": (
        lambda: Gemm(4, 3, 7, batch=2, ldc=6, stride_c=3),
        lambda: Gemm(4, 3, 7, batch=3, ldc=8, stride_c=3),
    ),
    "has a scale of each 32 neighbours along k": (lambda: packed(k=SCALED), lambda: packed(k=SCALED + 1)),
    "b of mxf4e2m1fn has packs along n, in blocks of 32, and n is 48": (
        lambda: packed(n=64, transpose_b=False),
        lambda: packed(n=48, transpose_b=False),
    ),
    "has packs along m, in blocks of 32, and m is 16": (
        lambda: packed(m=32, transpose_a=True),
        lambda: packed(m=16, transpose_a=True),
    ),
    "a of mxf8e5m2_mxf6e2m3fn, of 8 bits beside 6, lies along k": (
        lambda: packed(n=32, dtype="mxbf8_mxfp6", transpose_b=False),
        lambda: packed(m=32, dtype="mxbf8_mxfp6", transpose_a=True),
    ),
    "lda must be a multiple of 32 elements": (lambda: packed(lda=96), lambda: packed(lda=80)),
    "stride_b must be a multiple of 32 elements": (
        lambda: packed(batch=2, stride_b=544),
        lambda: packed(batch=2, stride_b=560),
    ),
    "a run-time m is not for mxf8e4m3fn": (
        lambda: packed(dtype="mxf8e4m3fn"),
        lambda: packed(dtype="mxf8e4m3fn", least_m=1),
    ),
    "reaches over more bytes than 2^63": (lambda: array(ADDRESSES - 4), lambda: array(ADDRESSES)),
    "is longer than": (
        log(f"{LINE}{' ' * 9}".ljust(LINE_CHARACTERS - 1) + "#"),
        log(f"{LINE} #".ljust(LINE_CHARACTERS, "x") + "x"),
    ),
    f"characters is longer than {EPILOGUE_CHARACTERS}": (
        lambda: parse("x".ljust(EPILOGUE_CHARACTERS)),
        lambda: parse("x".ljust(EPILOGUE_CHARACTERS + 1)),
    ),
    f"at most {EPILOGUE_DEPTH} operators": (nested(EPILOGUE_DEPTH), nested(EPILOGUE_DEPTH + 1)),
    "one 'pre_activation'": (
        lambda: parse("relu(pre_activation(x))"),
        lambda: parse("pre_activation(x) + pre_activation(x)"),
    ),
    "a type goes around one expression": (lambda: parse("f16(x)"), lambda: parse("f16(x, x)")),
    "no result is stored as e8m0": (lambda: parse("f8e5m2(x)"), lambda: parse("e8m0(x)")),
    "no result is stored as mxf8e4m3fn": (lambda: parse("f8e4m3fn(x)"), lambda: parse("mxf8e4m3fn(x)")),
    "is the type of the result": (lambda: parse("f16(abs(x))"), lambda: parse("abs(f16(x))")),
    "beyond every type of floats": (lambda: parse("x * 1e308"), lambda: parse("x * 1e309")),
    "is computed in f32": (
        lambda: Gemm(1, 1, 1, dtype="f64", epilogue="abs(x)"),
        lambda: Gemm(1, 1, 1, dtype="f64", epilogue="silu(x)"),
    ),
    "epilogue must be a text": (lambda: Gemm(1, 1, 1, epilogue="x"), lambda: Gemm(1, 1, 1, epilogue=3)),  # pyright: ignore
    "e8m0 is the type of scales": (
        lambda: Gemm(1, 1, 1, dtype="f8e5m2"),
        lambda: Gemm(1, 1, 1, dtype="e8m0"),
    ),
    "i32 is the result type of i8": (lambda: Gemm(1, 1, 1, dtype="i8"), lambda: Gemm(1, 1, 1, dtype="i32")),
    "products of f4e2m1fn have scales of blocks": (packed, lambda: packed(dtype="f4e2m1fn")),
    "mxf8e5m2 is a type of matrix products": (lambda: conv(dtype="f8e5m2"), lambda: conv(dtype="mxf8e5m2")),
    "the direction is 0 to 7, got 8": (log("conv -c 4 -k 4 -F 7"), log("conv -c 4 -k 4 -F 8")),
    "'--batch_count' must be positive, got 0": (log(f"{HIP} --batch_count 1"), log(f"{HIP} --batch_count 0")),
    "scales of blocks are of A and of B": (
        log(f"{HIP.replace('f16_r', 'f8_r')} --scaleA 3 --scaleB 3 --transA T"),
        log(f"{HIP.replace('f16_r', 'f8_r')} --scaleA 3 --scaleB 1 --transA T"),
    ),
    "scales apply to A B alone": (log(f"{HIP} --scaleA 1"), log(f"{HIP} --scaleA 1 --beta 1")),
    "both lie along the rows of D": (
        log(f"{HIP} --scaleAlpha_vector --scaleA 1"),
        log(f"{HIP} --scaleAlpha_vector --scaleA 2"),
    ),
    "c is read and written where it lies, so ldc must be ldd": (
        log(f"{HIP} --beta 1 --ldc 9 --ldd 9"),
        log(f"{HIP} --beta 1 --ldc 9 --ldd 8"),
    ),
    "c is read and written where it lies, so stride_c must be stride_d": (
        log(f"{HIP} --batch_count 2 --beta 1 --stride_c 40 --stride_d 40"),
        log(f"{HIP} --batch_count 2 --beta 1 --stride_c 40 --stride_d 41"),
    ),
    "call_count should be a whole number": (
        log("{ rocblas_function: rocblas_sgemm, M: 1, N: 1, K: 1, call_count: 1 }"),
        log("{ rocblas_function: rocblas_sgemm, M: 1, N: 1, K: 1, call_count: 0 }"),
    ),
    "unknown problem version 2": (
        lambda: from_json({"version": 1, "problem": "gemm", "m": 1, "n": 1, "k": 1}),
        lambda: from_json({"version": 2, "problem": "gemm", "m": 1, "n": 1, "k": 1}),
    ),
    "missing key 'problem'": (
        lambda: from_json({"problem": "gemm", "m": 1, "n": 1, "k": 1}),
        lambda: from_json({"m": 1, "n": 1, "k": 1}),
    ),
}


@pytest.mark.parametrize("message", BOUNDS)
def test_the_last_is_taken_and_the_next_refused(message: str) -> None:
    last, beyond = BOUNDS[message]
    last()
    with pytest.raises(Diagnostic) as caught:
        beyond()
    assert message in caught.value.message


HINTS = {
    "gemm -m 1 -n 1 -k 1 -T f16": "known flags are -t",
    "gemm -m 1 -n 1 -k 1 -kk 3": "did you mean '-k'?",
    "gemm -m 1 -n 1 -k 1 -q 2": "known flags are -t -out_datatype -m -n -k -g",
    "gemm -m 1 -n 1 -k 1 -epilog x": "did you mean '--epilogue'?",
    "gemm -m 1 -n 1 -k 1 --epilogue 'y'": "known: x,",
    "gemm -m 1 -n 1 -k 1 --epilogue 'bia'": "did you mean 'bias'?",
    "gemm -m 1 -n 1 -k 1 --epilogue 'zzzzzz(x)'": "known: pre_activation, relu, min",
    "gemm -m 1 -n 1 -k 1 --epilogue 'negate(x)'": "known: pre_activation, relu, min",
    "gemm -t mxf8e5m2 -m 1 -n 1 -k 33 -transB 1": "up to k 64 with zeros",
    "gemm -t mxf8e5m2 -m 1 -n 1 -k 1": "up to k 32 with zeros",
    "gemm -t f16 -m 1 -n 1 -k 1 -out_datatype i8": '--epilogue "i8(x)" stores i8',
    "gemm -m 2 -n 3 -k 7 -lda 6": "a is stored as 2 rows of 7; give 7 or more",
    "gemm -m 2 -n 3 -k 7 -g 2 -strideC 5": "give 6 or more, or leave it out for 6",
    "hipblaslt-bench -m 1 -n 1 -k 32 -r f16_r --scaleA 3 --scaleB 3": "those of f8_r, bf8_r",
    "blas -m 1": "a line begins with one of conv",
    "convfp17 -n 1": "did you mean 'convfp16'?",
}


@pytest.mark.parametrize("text", HINTS)
def test_a_refusal_says_what_would_do(text: str) -> None:
    with pytest.raises(Diagnostic) as caught:
        parse_problem(text)
    assert HINTS[text] in (caught.value.hint or ""), caught.value


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (LINE, "gemm -t f32 -m 1 -n 1 -k 1 -transA 0 -transB 0 -g 1"),
        (f"{LINE} -alpha 2", f"{LINE} -alpha 2.0 -beta 0.0"),
        (f"{LINE} -beta 0.5", f"{LINE} -alpha 1.0 -beta 0.5"),
        ("conv -c 4 -k 4 -F 1 -I NHWC", "conv -c 4 -k 4 -F 1 -f NCHW -I NHWC -O NCHW"),
    ],
)
def test_a_line_with_its_defaults_is_the_same_problem(short: str, long: str) -> None:
    assert parse_problem(short) == parse_problem(long)
    (found,) = parse_problem(short)
    assert parse_problem(problem_text(found)) == [found]


def test_arguments_that_are_left_out() -> None:
    all_of_a_convolution = {
        "pad_h": (0, 0),
        "pad_w": (0, 0),
        "stride": (1, 1),
        "dilation": (1, 1),
        "groups": 1,
    }
    assert conv() == conv(**all_of_a_convolution, dtype="f32", filter_layout="KCYX", input_layout="NCHW")
    assert Gemm(2, 3, 4) == Gemm(2, 3, 4, batch=1, alpha=1.0, beta=0.0, transpose_a=False, dtype="f32")
    assert problem_text(conv(input_layout="NHWC")).endswith("-f NCHW -I NHWC -O NCHW")


def test_numbers_of_an_epilogue_are_written_as_short_as_they_are_read() -> None:
    texts = ["x * 1", "x * -1", "x * 0", "x * 0.5", f"x * {2**53 - 1}", "x * 9007199254740992", "x * 1e+300"]
    assert [str(parse(text)) for text in texts] == texts


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["mxf8e4m3fn", "mxf4e2m1fn"])
def test_scales_of_blocks_are_arrays_of_a_thirty_second_of_k(dtype: str, batch: int) -> None:
    gemm = packed(dtype=dtype, batch=batch)
    leading = (batch,) if batch > 1 else ()
    found = {o.role: o.shape for o in gemm.operands}
    assert found["block_scale_a"] == (*leading, 4, 2) and found["block_scale_b"] == (*leading, 8, 2)
    assert [o.unpacked_shape for o in gemm.operands[:2]] == [(*leading, 4, 64), (*leading, 8, 64)]
    assert gemm.operands[0].shape[-1] * gemm.dtype.pack == 64


def test_what_arrays_reach_over() -> None:
    gaps = Gemm(3, 4, 5, batch=2, lda=7, stride_a=40, ldc=9)
    a, b, c = gaps.operands
    assert (a.strides, b.strides, c.strides) == ((40, 7, 1), None, (27, 9, 1))
    assert (a.reach, b.reach, c.reach) == (40 + 14 + 5, 40, 27 + 18 + 4)
    assert (a.allocated_elements, b.allocated_elements, c.allocated_elements) == (59 + 40, 40, 49 + 27)
    assert packed(lda=96, batch=2).strides("a") == (192, 48, 1), "in packs of two"


def test_counts_of_lines() -> None:
    profile = "- { rocblas_function: rocblas_sgemm, M: 2, N: 3, K: 4%s }"
    texts = [LINE, f"7 {LINE}", profile % "", profile % ", call_count: 1", profile % ", call_count: 136"]
    assert [parsed.count for text in texts for parsed in parse_problems(text)] == [1, 7, 1, 1, 136]
    assert [p for text in texts[2:] for p in parse_problem(text)] == parse_problem(profile % "") * 3
    for path in ("/opt/a/b/hipblaslt-bench", r"C:\a\b\hipblaslt-bench.exe"):
        assert parse_problems(f"{path} {HIP.partition(' ')[2]}")[0].tool == "hipblaslt-bench"


def test_a_key_of_a_profile_that_nobody_knows_is_pointed_at() -> None:
    text = "- { rocblas_function: rocblas_sgemm, M: 2, N: 3, K: 4, fou: 3 }"
    with pytest.raises(Diagnostic, match="unknown flag '--fou'") as caught:
        parse_problem(text)
    assert caught.value.col == text.index("fou") + 1


def test_both_zeros_are_one() -> None:
    assert [str(getattr(Gemm(1, 1, 1, **{name: -0.0}), name)) for name in ("alpha", "beta")] == ["0.0"] * 2


def test_shapes_that_broadcast_with_the_result() -> None:
    gemm = Gemm(3, 4, 5, batch=2, epilogue="x * row_scale * scale_a + bias + residual")
    found = {o.role: o.shape_along(gemm.operands[2]) for o in gemm.operands[3:]}
    assert found == {"row_scale": (1, 3, 1), "scale_a": (1, 1, 1), "bias": (1, 1, 4), "residual": (2, 3, 4)}


def test_a_type_that_computes_may_leave_out_that_it_is_real() -> None:
    f16 = parse_problem(HIP)
    assert all(parse_problem(f"{HIP} --compute_type {word}") == f16 for word in ("f32_r", "f32"))
    with pytest.raises(Diagnostic, match="got compute_type f64_r"):
        parse_problem(f"{HIP} --compute_type f64_r")
