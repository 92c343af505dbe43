"""Text forms: round trips over random problems, real lines of the tools, and every error at its word."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.problem.hipblaslt_line import hipblaslt_line

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DTYPES, PAIRS, SCALED
from imbrex.numeral import MOST
from imbrex.problem import Conv2d, Gemm, from_json, parse_problem, problem_text
from imbrex.problem.epilogue import parse as parse_epilogue
from imbrex.problem.layout import DIMENSIONS, Role
from imbrex.problem.miopen import MIOPEN_FLAGS
from imbrex.problem.text import parse_problems

pytestmark = pytest.mark.filterwarnings("error")

OPERAND_TYPES = [name for name, t in DTYPES.items() if t.is_operand]
PRODUCT_TYPES = {name: t for name, t in (*DTYPES.items(), *PAIRS.items()) if t.is_operand}
SIZES = st.integers(1, 9) | st.integers(1, 2**40)
TWO = st.tuples(st.integers(0, 3), st.integers(0, 3))
ONE_UP = st.tuples(st.integers(1, 4), st.integers(1, 4))


def layouts(role: Role) -> st.SearchStrategy[tuple[str, ...]]:
    return st.sampled_from(list(permutations(DIMENSIONS[role])))


EPILOGUES = ["relu(x + bias)", "abs(x) * 0.5", "f32(max(x, residual) - bias)", "x"]


def epilogues() -> st.SearchStrategy[str | None]:
    return st.none() | st.sampled_from(EPILOGUES)


@st.composite
def convolutions(draw: st.DrawFn) -> Conv2d:
    dtype = draw(st.sampled_from([name for name in OPERAND_TYPES if not DTYPES[name].is_microscaled]))
    directions = ["forward"] if dtype == "i8" else ["forward", "backward_data", "backward_weight"]
    direction = draw(st.sampled_from(directions))
    groups, dilation, y, x = (
        draw(st.integers(1, 4)),
        draw(ONE_UP),
        draw(st.integers(1, 7)),
        draw(st.integers(1, 7)),
    )
    return Conv2d(
        direction,  # pyright: ignore[reportArgumentType]
        n=draw(SIZES),
        c=groups * draw(SIZES),
        h=dilation[0] * y + draw(SIZES),
        w=dilation[1] * x + draw(SIZES),
        k=groups * draw(SIZES),
        y=y,
        x=x,
        pad_h=draw(TWO),
        pad_w=draw(TWO),
        stride=draw(ONE_UP),
        dilation=dilation,
        groups=groups,
        filter_layout=draw(layouts("filter")),
        input_layout=draw(layouts("input")),
        output_layout=draw(layouts("output")),
        dtype=dtype,
        epilogue=draw(epilogues()) if direction == "forward" else None,
    )


@st.composite
def gaps(draw: st.DrawFn, role: str, batch: int, rows: int, columns: int) -> dict[str, int]:
    """None, some, or, of what is read, matrices that overlap, or the rows of all matrices in turn."""
    found: dict[str, int] = {}
    leading = columns
    if draw(st.booleans()):
        leading = found[f"ld{role}"] = columns * draw(st.integers(1, batch + 1)) + draw(st.integers(0, 9))
    reach = (rows - 1) * leading + columns
    if leading >= batch * columns and draw(st.booleans()):
        found[f"stride_{role}"] = columns
    elif draw(st.booleans()):
        found[f"stride_{role}"] = draw(st.integers(reach if role == "c" else 0, 2 * reach))
    return found if max(found.values(), default=0) <= MOST else {}


@st.composite
def gemms(draw: st.DrawFn) -> Gemm:
    dtype = draw(st.sampled_from(list(PRODUCT_TYPES)))
    width, is_single = 64 if dtype == "f64" else 32, PRODUCT_TYPES[dtype].pack == 1
    whole = st.integers(-99, 99).map(float)
    real = st.floats(allow_nan=False, allow_infinity=False, width=width)
    scales = whole if dtype == "i8" else whole | real
    dense = Gemm(
        draw(SIZES),
        draw(SIZES),
        draw(SIZES) * (SCALED if PRODUCT_TYPES[dtype].is_microscaled else 1),
        batch=draw(SIZES),
        transpose_a=is_single and draw(st.booleans()),
        transpose_b=not is_single or draw(st.booleans()),
        alpha=draw(scales),
        beta=draw(scales),
        dtype=dtype,
        epilogue=draw(epilogues()),
    )
    roles = dense.roles if is_single else ("c",)
    return replace(dense, **{k: v for r in roles for k, v in draw(gaps(r, *dense.matrices(r))).items()})


@settings(deadline=None)
@given(convolutions() | gemms())
def test_text_round_trips(problem: Conv2d | Gemm) -> None:
    text = problem_text(problem)
    assert parse_problem(text) == [problem]
    assert problem_text(parse_problem(text)[0]) == text


@settings(deadline=None)
@given(convolutions() | gemms(), st.sampled_from([None, 2]))
def test_json_round_trips(problem: Conv2d | Gemm, indent: int | None) -> None:
    assert from_json(problem.to_json()) == problem
    assert parse_problem(json.dumps(problem.to_json(), indent=indent)) == [problem]


def has_strides(gemm: Gemm) -> bool:
    """Whether the strides of its matrices, which hipblaslt-bench names, are numbers that a flag takes: also
    that between batches, which a line of one batch has, too.
    """
    sizes = (gemm.m * gemm.k, gemm.k * gemm.n, gemm.m * gemm.n)
    return max(sizes) <= MOST and all(max(gemm.strides(role)) <= MOST for role in gemm.roles)


@settings(deadline=None)
@given(gemms().filter(lambda g: g.epilogue is None and has_strides(g)))
def test_hipblaslt_round_trips(gemm: Gemm) -> None:
    line = hipblaslt_line(gemm)
    assert parse_problem(line) == [gemm]
    assert hipblaslt_line(gemm) == line


@settings(deadline=None, max_examples=30)
@given(st.lists(convolutions() | gemms(), min_size=1, max_size=5), st.data())
def test_files_mix_forms(problems: list[Conv2d | Gemm], data: st.DataObject) -> None:
    pieces: list[str] = []
    for problem in problems:
        fill = data.draw(st.sampled_from(["", "\n", "# note\n", "  # conv\n\n"]))
        as_json = json.dumps(problem.to_json(), indent=data.draw(st.sampled_from([None, 1])))
        pieces.append(fill + data.draw(st.sampled_from([problem_text(problem), as_json])))
    assert parse_problem("\n".join(pieces)) == problems


def test_a_miopen_log_line_is_read_whole() -> None:
    line = (
        "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver convfp16 -n 128 -c 64 -H 56 -W 56 -k 64 "
        "-y 3 -x 3 -p 1 -q 1 -u 2 -v 1 -l 1 -j 1 -m conv -g 4 -F 1 -t 1 -V 0"
    )
    (parsed,) = parse_problems(line)
    expected = Conv2d(
        "forward", 128, 64, 56, 56, 64, 3, 3, pad_h=1, pad_w=1, stride=(2, 1), groups=4, dtype="f16"
    )
    assert parsed.problems == (expected,)
    assert parsed.ignored == ("-m", "-t", "-V")


def test_long_spellings_mean_the_short_ones() -> None:
    short = (
        "convbfp16 -n 2 -c 4 -H 9 -W 8 -k 6 -y 3 -x 2 -p 1 -q 0 -u 2 -v 1 -l 1 -j 2 -g 2 -F 2 "
        "-f NHWC -I NHWC -O NHWC"
    )
    names = {flag.spellings[0]: flag.spellings[-1] for flag in MIOPEN_FLAGS}
    long = " ".join(names.get(word, word) for word in short.split())
    assert "--conv_stride_h" in long
    assert parse_problem(long) == parse_problem(short)
    equals = long.replace("--conv_stride_h 2", "--conv_stride_h=2")
    assert equals != long
    assert parse_problem(equals) == parse_problem(short)


@pytest.mark.parametrize(
    ("forw", "directions"),
    [(0, "fbw"), (1, "f"), (2, "b"), (3, "fb"), (4, "w"), (5, "fw"), (6, "bw"), (7, "fbw")],
)
def test_forw_is_a_sum_of_directions(forw: int, directions: str) -> None:
    letters = {"forward": "f", "backward_data": "b", "backward_weight": "w"}
    found = [problem for problem in parse_problem(f"conv -n 1 -F {forw}") if isinstance(problem, Conv2d)]
    assert "".join(letters[problem.direction] for problem in found) == directions


def test_what_is_left_out_has_miopens_default() -> None:
    assert parse_problem("conv -F 1") == [Conv2d("forward", 100, 3, 32, 32, 32, 3, 3)]


def test_group_letters_of_rocmlir() -> None:
    (problem,) = parse_problem("conv -F 1 -f GNC01 -I NGC01 -O NGC01 -n 1 -c 8 -k 8 -g 2")
    assert problem == Conv2d("forward", 1, 8, 32, 32, 8, 3, 3, groups=2)


def test_hipblaslt_is_column_major() -> None:
    """C[i, j] of theirs, at j * ldc + i, is our c[j, i]: checked on the bytes, with loops in their order."""
    import numpy as np

    m, n, k = 2, 3, 4
    for trans_a, trans_b in [("N", "N"), ("T", "N"), ("N", "T"), ("T", "T")]:
        line = f"hipblaslt-bench -m {m} -n {n} -k {k} --transA {trans_a} --transB {trans_b} -r f64_r"
        (gemm,) = parse_problem(line)
        assert isinstance(gemm, Gemm)
        a, b = np.arange(m * k, dtype=float) + 1, np.arange(k * n, dtype=float) * 3 - 5
        lda, ldb = (m if trans_a == "N" else k), (k if trans_b == "N" else n)
        theirs = np.zeros(m * n)
        for i in range(m):
            for j in range(n):
                for p in range(k):
                    left = a[p * lda + i] if trans_a == "N" else a[i * lda + p]
                    right = b[j * ldb + p] if trans_b == "N" else b[p * ldb + j]
                    theirs[j * m + i] += left * right
        ours_a, ours_b = b.reshape(gemm.shapes("a")), a.reshape(gemm.shapes("b"))
        ours = (ours_a.T if gemm.transpose_a else ours_a) @ (ours_b.T if gemm.transpose_b else ours_b)
        assert ours.ravel().tolist() == theirs.tolist()


def test_strides_of_hipblaslt_are_those_of_the_buffers() -> None:
    line = "hipblaslt-bench -m 3 -n 5 -k 7 --lda 4 --ldb 9 --ldd 6 --batch_count 2 --stride_a 40"
    (gemm,) = parse_problem(line)
    assert gemm == Gemm(5, 3, 7, batch=2, ldb=4, stride_b=40, lda=9, ldc=6, dtype="f16")
    assert "--lda 4 --ldb 9 --ldc 6 --ldd 6 --stride_a 40 " in hipblaslt_line(gemm)


def test_small_strides_mean_compact_ones_unless_any_is_allowed() -> None:
    line = "hipblaslt-bench -m 3 -n 5 -k 7 --lda 1 --batch_count 2 --stride_a 20"
    assert parse_problem(line) == [Gemm(5, 3, 7, batch=2, dtype="f16")]
    (gemm,) = parse_problem(f"{line} --any_stride 1")
    assert gemm == Gemm(5, 3, 7, batch=2, stride_b=20, dtype="f16")
    assert "--stride_a 20 --any_stride 1" in hipblaslt_line(gemm)


def test_a_hipblaslt_log_line_is_read_whole() -> None:
    line = (
        "hipblaslt-bench --api_method c -m 48 -n 176 -k 1024 --lda 48 --ldb 176 --ldc 48 --ldd 48 "
        "--stride_a 0 --stride_b 0 --stride_c 0 --stride_d 0 --alpha 1.000000 --beta 0.000000 --transA N "
        "--transB T --batch_count 1 --scaleA 0 --scaleB 0 --a_type bf16_r --b_type bf16_r --c_type bf16_r "
        "--d_type bf16_r --compute_type f32_r --algo_method index --solution_index 7 --activation_type none"
    )
    assert parse_problem(line) == [Gemm(176, 48, 1024, transpose_a=True, dtype="bf16")]


def test_hipblaslt_i8() -> None:
    line = "hipblaslt-bench --a_type i8_r --b_type i8_r --c_type i32_r --d_type i32_r --compute_type i32_r"
    assert parse_problem(line) == [Gemm(128, 128, 128, dtype="i8")]


@pytest.mark.parametrize(
    ("word", "name"),
    [("f8_r", "f8e4m3fn"), ("bf8_r", "f8e5m2"), ("f8_fnuz_r", "f8e4m3fnuz"), ("bf8_fnuz_r", "f8e5m2fnuz")],
)
def test_hipblaslt_8_bit_floats(word: str, name: str) -> None:
    line = (
        f"hipblaslt-bench --a_type {word} --b_type {word} --c_type f32_r --d_type f32_r --compute_type f32_r"
    )
    assert parse_problem(line) == [Gemm(128, 128, 128, dtype=name)]


@pytest.mark.parametrize(
    ("kind", "name"), [("convfp8", "fp8"), ("convbfp8", "bf8"), ("convfp8_fnuz", "fp8_fnuz")]
)
def test_convolutions_of_8_bit_floats(kind: str, name: str) -> None:
    assert parse_problem(f"{kind} -F 1") == [Conv2d("forward", 100, 3, 32, 32, 32, 3, 3, dtype=name)]


def test_gemm_lines_take_rocmlirs_words() -> None:
    line = "gemm -t i8 -out_datatype i32 -transA false -transB true -g 3 -m 4 -n 5 -k 6"
    assert parse_problem(line) == [Gemm(4, 5, 6, batch=3, transpose_b=True, dtype="i8")]


def test_quoted_words_and_trailing_comments() -> None:
    assert parse_problem("conv -F '1' -n \"1\" -S 'ConvAsm 1x1' # and -n 7") == parse_problem(
        "conv -F 1 -n 1"
    )


def test_windows_line_ends() -> None:
    assert parse_problem("gemm -m 1 -n 1 -k 1\r\ngemm -m 2 -n 1 -k 1\r\n") == [Gemm(1, 1, 1), Gemm(2, 1, 1)]


BAD = [
    ("conv -n 1 -Q 3", "f:1:11", "unknown flag '-Q'", "^^"),
    ("conv --batch 3", "f:1:6", "unknown flag '--batch'", "^^^^^^^"),
    ("conv -n 0", "f:1:9", "'-n' must be positive, got 0", "^"),
    ("conv -n -12", "f:1:9", "'-n' must be positive, got -12", "^^^"),
    ("conv -p -1", "f:1:9", "'-p' must be zero or positive, got -1", "^^"),
    ("conv -p 1,", "f:1:9", "'-p' takes an integer, got ''", "^^"),
    ("conv -n ten", "f:1:9", "'-n' takes an integer, got 'ten'", "^^^"),
    ("conv -n 1.5", "f:1:9", "'-n' takes an integer, got '1.5'", "^^^"),
    ("conv -n ''", "f:1:10", "'-n' takes an integer, got ''", "^"),
    ("conv -n", "f:1:6", "'-n' needs a value", "^^"),
    ("conv -n -c 3", "f:1:6", "'-n' needs a value", "^^"),
    ("conv -n 1 --batchsize 2", "f:1:11", "'--batchsize' sets 'n' a second time", "^^^^^^^^^^^"),
    ("conv 3", "f:1:6", "expected a flag, got '3'", "^"),
    ("conv -c 64 -k 64 -g 3", "f:1:21", "c = 64 channels do not divide into 3 groups", "^"),
    ("# a\n\n  conv -y 40", "f:3:11", "window y = 40 is larger than the padded input: h = 32", "^^"),
    ("conv -f KCYZ", "f:1:9", "filter layout 'KCYZ' has no dimension 'Z'", "^^^^"),
    ("conv -I=NCHW", "f:1:6", "unknown flag '-I=NCHW'", "^^^^^^^"),
    ("conv --in_layout=NCHQ", "f:1:18", "input layout 'NCHQ' has no dimension 'Q'", "^^^^"),
    ("convfp17 -n 1", "f:1:1", "unknown convolution 'convfp17'", "^^^^^^^^"),
    ("cnov -n 1", "f:1:1", "unknown problem form 'cnov'", "^^^^"),
    ("./bin/MIOpenDriver pool -n 1", "f:1:20", "unknown problem form 'pool'", "^^^^"),
    ("MIOpenDriver", "f:1:1", "unknown problem form 'MIOpenDriver'", "^" * 12),
    ("convint8 -F 2", "f:1:13", "i8 convolutions exist in the forward direction only", "^"),
    ("convint8", "f:1:1", "i8 convolutions exist in the forward direction only", "^" * 8),
    ("conv -F 8", "f:1:9", "the direction is 0 to 7, got 8", "^"),
    ("conv -m trans", "f:1:9", "'-m trans' is not supported; it can be conv", "^^^^^"),
    ("conv -_ 3", "f:1:9", "'-_ 3' is not supported; it can be 2", "^"),
    ("conv -b 1", "f:1:9", "'-b 1' is not supported; it can be 0", "^"),
    ("conv -t f16", "f:1:9", "'-t f16' is not supported; it can be 0 or 1 or 2", "^^^"),
    ("gemm -m 3 -k 3", "f:1:1", "missing '-n'", "^^^^"),
    ("gemm -m 3 -n 3 -k 3 -t f3", "f:1:24", "unknown element type 'f3'", "^^"),
    (
        "gemm -m 3 -n 3 -k 3 -t i8 -alpha 2.5",
        "f:1:34",
        "alpha must be a whole number of 32 bits for i8, got 2.5",
        "^^^",
    ),
    ("gemm -m 3 -n 3 -k 3 -beta inf", "f:1:27", "'-beta' must be finite, got inf", "^^^"),
    ("gemm -m 3 -n 3 -k 3 -transA x", "f:1:29", "'-transA' takes 0 or 1", "^"),
    (
        "gemm -m 3 -n 3 -k 3 -t i8 -out_datatype f32",
        "f:1:41",
        "a product of i8 has i32 results, got f32",
        "^^^",
    ),
    (
        "hipblaslt-bench -m 3 --batch_count 2 --stride_d 99 --any_stride 1",
        "f:1:49",
        "stride_c = 99 lets the 2 matrices of c overlap, each reaches over 384 elements",
        "^^",
    ),
    (
        "hipblaslt-bench -m 3 --ldd 8 --beta 1",
        "f:1:28",
        "c is read and written where it lies, so ldc must be ldd",
        "^",
    ),
    ("gemm -m 4 -n 5 -k 6 -lda 5", "f:1:26", "lda must be at least 6, the elements of a row of a", "^"),
    ("gemm -m 4 -n 5 -k 6 -transB 1 -ldb 5", "f:1:36", "ldb must be at least 6", "^"),
    ("gemm -m 4 -n 5 -k 6 -ldc 0", "f:1:26", "'-ldc' must be positive, got 0", "^"),
    ("gemm -m 4 -n 5 -k 6 -strideC -1", "f:1:30", "'-strideC' must be zero or positive, got -1", "^^"),
    (
        "gemm -m 4 -n 5 -k 6 -g 3 --stride_c 19",
        "f:1:37",
        "stride_c = 19 lets the 3 matrices of c overlap, each reaches over 20 elements",
        "^^",
    ),
    (
        '{"problem": "gemm", "m": 4, "n": 5, "k": 6, "ldc": 3}',
        "f:1:45",
        "ldc must be at least 5, the elements of a row of c, got 3",
        "^" * 5,
    ),
    ("hipblaslt-bench --use_e", "f:1:17", "'--use_e' is not supported", "^" * 7),
    ("gemm -m 1 -n 1 -k 1 --epilogue 'relu(y)'", "f:1:33", "an epilogue has no 'y'", "^" * 7),
    ('gemm -m 1 -n 1 -k 1 --epilogue="x + y"', "f:1:33", "an epilogue has no 'y'", "^" * 5),
    ("rocblas-bench -f gemm_batched", "f:1:18", "'-f gemm_batched' is not supported", "^" * 12),
    ("rocblas-bench -f gemv -r s -m 4 -n 5", "f:1:18", "'gemv' multiplies a matrix by a vector", "^" * 4),
    ("rocblas-bench -f gemm -r q", "f:1:26", "'-r q' is not supported; it can be h or s or d", "^"),
    ("rocblas_gemm_ex,N,T,128,64,32,1", "f:1:1", "a trace of rocBLAS's calls is not read", "^" * 31),
    (
        '- { rocblas_function: "rocblas_dtrsm", M: 4 }',
        "f:1:24",
        "'-f rocblas_dtrsm' is not supported",
        "^" * 13,
    ),
    ('- { rocblas_function: "rocblas_sgemm", M: x }', "f:1:43", "'-m' takes an integer, got 'x'", "^"),
    (
        "hipblaslt-bench --scaleB 4",
        "f:1:26",
        "'--scaleB 4' is not supported; it can be 0 or 1 or 2 or 3",
        "^",
    ),
    ("hipblaslt-bench --scaleB 3", "f:1:26", "scales of blocks are of A and of B, or of neither", "^"),
    (
        "gemm -t mxfp8 -m 8 -n 8 -k 40",
        "f:1:28",
        "mxf8e4m3fn has a scale of each 32 neighbours along k, and k is 40",
        "^^",
    ),
    ("hipblaslt-bench --scaleA 1 --beta 1", "f:1:26", "scales apply to A B alone, and beta is not 0", "^"),
    (
        "hipblaslt-bench --scaleA 2 --scaleAlpha_vector",
        "f:1:28",
        "--scaleAlpha_vector and --scaleA 2 both lie along the rows of D",
        "^" * 19,
    ),
    (
        "hipblaslt-bench --a_type f32_r",
        "f:1:1",
        "mixed types are not supported: a_type is f32, so b_type",
        "^" * 15,
    ),
    (
        "hipblaslt-bench --bias_vector --bias_type f32_r",
        "f:1:43",
        "a bias is of the result's type, f16, got bias_type f32_r",
        "^" * 5,
    ),
    ("hipblaslt-bench --compute_type xf32_r", "f:1:32", "products of f16 are summed in f32", "^" * 6),
    (
        "hipblaslt-bench --a_type f8_r --b_type f8_r --c_type f16_r --beta 1",
        "f:1:54",
        "c is read and written where it lies, so c_type must be d_type, f32, got f16",
        "^" * 5,
    ),
    ("hipblaslt-bench --d_type f4_r", "f:1:26", "no result is stored as f4e2m1fn", "^" * 4),
    (
        "hipblaslt-bench --a_type f8_r --b_type f4_r",
        "f:1:40",
        "products of f4e2m1fn_f8e4m3fn have scales of blocks",
        "^" * 4,
    ),
    (
        "hipblaslt-bench --a_type f8_r --b_type f16_r",
        "f:1:40",
        "mixed types are not supported: a_type is f8e4m3fn, so b_type must be f8e4m3fn or f8e5m2 or f4e2m1fn",
        "^" * 5,
    ),
    ("hipblaslt-bench --a_typ f16_r", "f:1:17", "unknown flag '--a_typ'", "^" * 7),
    ('{"problem": "gemm",\n "m": 1, "nn": 2}', "f:2:10", "unknown key 'nn'", "^^^^"),
    (
        '[{"problem": "gemm", "m": 1, "n": 2, "k": 3},\n{"problem": "gemm", "m": 0}]',
        "f:2:1",
        "missing key 'n'",
        "^",
    ),
    (
        '[\n{"problem":"gemm","m":1,"n":2,"k":3},\n{"problem":"gemm","m":1,"n":0,"k":3}]',
        "f:3:25",
        "n must be",
        "^^^",
    ),
    ('# x\n{"problem": "gemm",\n "m": 1,,}', "f:3:9", "malformed JSON", "^"),
    ('{"problem": "gemm"', "f:1:19", "malformed JSON", "^"),
    (
        '{"problem": "gemm", "m": 1, "n": 1, "k": 1} conv',
        "f:1:45",
        "unexpected text after a JSON value",
        "^^^^",
    ),
    ("[3]", "f:1:2", "a problem is a JSON object, got int", "^"),
]


@pytest.mark.parametrize(("text", "place", "message", "carets"), BAD, ids=[text for text, *_ in BAD])
def test_errors_point_at_the_word(text: str, place: str, message: str, carets: str) -> None:
    with pytest.raises(Diagnostic) as caught:
        parse_problem(text, "f")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"{place}: error: {message}")
    assert lines[1] == text.splitlines()[int(place.split(":")[1]) - 1]
    assert lines[2].strip() == carets
    assert lines[2].index("^") == int(place.split(":")[2]) - 1


@pytest.mark.parametrize("text", ["", "  \n", "# only a comment\n", "[]"])
def test_a_text_without_problems_is_an_error(text: str) -> None:
    with pytest.raises(Diagnostic, match="no problem in the text"):
        parse_problem(text)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet=st.sampled_from("convgemm -nkF01,.\"'{}[]:#=\n\t"), max_size=40))
def test_any_text_is_read_or_refused_with_a_diagnostic(text: str) -> None:
    try:
        assert parse_problem(text)
    except Diagnostic as error:
        assert str(error)


@pytest.mark.parametrize(
    ("flags", "epilogue"),
    [
        ("--activation_type relu --bias_vector", "relu(x + bias)"),
        ("--activation_type gelu", "gelu_tanh(x)"),
        ("--activation_type swish", "silu(x)"),
        ("--bias_vector", "x + bias"),
        ("--bias_vector --bias_type f16_r", "x + bias"),
        ("--bias_type f32_r", None),
        ("--activation_type none", None),
    ],
)
def test_hipblaslt_epilogues(flags: str, epilogue: str | None) -> None:
    (gemm,) = parse_problem(f"hipblaslt-bench -m 8 -n 4 -k 2 {flags}")
    assert gemm.epilogue == (parse_epilogue(epilogue) if epilogue else None)
    assert parse_problem(hipblaslt_line(gemm)) == [gemm]


@pytest.mark.parametrize(
    ("flags", "epilogue"),
    [
        ("--d_type f32_r", "f32(x)"),
        ("--c_type f32_r", None),
        ("--scaleA 1 --scaleB 2", "x * row_scale * scale_b"),
        ("--scaleA 2 --scaleB 1 --bias_vector", "x * channel_scale * scale_a + bias"),
        ("--scaleAlpha_vector --activation_type sigmoid", "sigmoid(x * channel_scale)"),
        ("--activation_type relu --scaleD 1 --d_type bf16_r", "bf16(relu(x) * scale_c)"),
        ("--activation_type clamp", "max(x, 0)"),
        ("--activation_type clamp --activation_arg1 -1 --activation_arg2 6", "clamp(x, -1, 6)"),
    ],
)
def test_hipblaslt_scales_and_types_of_the_result(flags: str, epilogue: str | None) -> None:
    """Their A is our B: its factors lie along our columns."""
    (gemm,) = parse_problem(f"hipblaslt-bench -m 8 -n 4 -k 2 {flags}")
    assert gemm.epilogue == (parse_epilogue(epilogue) if epilogue else None)


def test_a_rocblas_log_line_is_read_whole() -> None:
    line = (
        "50 ./rocblas-bench -f gemm_strided_batched_ex --transposeA N --transposeB T -m 32 -n 33 -k 34 "
        "--alpha 1 --a_type h --lda 32 --stride_a 1088 --b_type f16_r --ldb 33 --stride_b 1122 --beta 0 "
        "--c_type s --ldc 40 --stride_c 1320 --d_type s --ldd 40 --stride_d 1320 --batch_count 4 "
        "--compute_type f32 --algo 0 --solution_index 0 --flags 0"
    )
    want = Gemm(33, 32, 34, batch=4, transpose_a=True, dtype="f16", ldc=40, epilogue="f32(x)")
    assert parse_problem(line) == parse_problem(line.replace("transposeB T", "transposeB C")) == [want]
    assert parse_problem("rocblas-bench -f gemm -r s -m 4 -n 5 -k 6") == [Gemm(5, 4, 6)]


@pytest.mark.parametrize(
    ("line", "sizes"),
    [
        ("rocblas-bench -f gemv -r f32_r -m 128 -n 64 --incx 1", "-f gemm -m 128 -n 1 -k 64"),
        (
            "rocblas-bench -f gemv_strided_batched --transposeA T -m 128 -n 64",
            "-f gemm_strided_batched --transposeA T -m 64 -n 1 -k 128",
        ),
        (
            "- { rocblas_function: rocblas_sgemv, transA: 'C', M: 4, N: 6 }",
            "-f gemm --transposeA T -m 6 -n 1 -k 4",
        ),
        ("rocblas-bench --function gemv --transposeA maybe", "-f gemm -m m -n 1 -k n"),
    ],
)
def test_a_product_by_a_vector_is_told_of_as_one_of_one_column(line: str, sizes: str) -> None:
    with pytest.raises(Diagnostic) as error:
        parse_problem(line)
    assert error.value.hint == f"with vectors without gaps it is {sizes}"


def test_a_line_of_a_rocblas_profile_is_what_the_benchmark_would_be() -> None:
    line = (
        """- { rocblas_function: "rocblas_gemm_ex", atomics_mode: atomics_allowed, a_type: "bf16_r", """
        """b_type: "bf16_r", c_type: "bf16_r", d_type: "bf16_r", compute_type: "f32_r", transA: 'T', """
        """transB: 'N', M: 96, N: 47, K: 64, alpha: 1.0, lda: 64, beta: 0.0, ldb: 80, ldc: 96, ldd: 96, """
        """batch_count: 1, algo: 0, solution_index: 0, flags: none, call_count: 136 }"""
    )
    (parsed,) = parse_problems(line)
    assert parsed.problems == (Gemm(47, 96, 64, transpose_b=True, dtype="bf16", lda=80),)
    assert (parsed.count, parsed.tool) == (136, "rocblas-bench")
    plain = (
        """{ rocblas_function: "rocblas_dgemm", transA: 'N', transB: 'N', M: 4, N: 5, K: 6, call_count: 2 }"""
    )
    assert parse_problems(f"{plain}\n{line}")[0].problems == (Gemm(5, 4, 6, dtype="f64"),)


@pytest.mark.parametrize("value", ["x + 1", "-x", "relu(x + bias)"])
@pytest.mark.parametrize("form", ["--epilogue '{}'", '--epilogue "{}"', "--epilogue='{}'", '--epilogue="{}"'])
def test_a_quoted_value_stands_behind_a_flag_or_its_equals_sign(form: str, value: str) -> None:
    (gemm,) = parse_problem("gemm -m 2 -n 2 -k 2 " + form.format(value))
    assert gemm.epilogue == parse_epilogue(value)


def test_arrays_of_an_epilogue_follow_the_problem() -> None:
    gemm = Gemm(3, 5, 2, batch=2, dtype="f16", epilogue="f32(x + bias + residual)")
    assert [(o.role, o.shape, o.dtype.name) for o in gemm.operands[2:]] == [
        ("c", (2, 3, 5), "f32"),
        ("bias", (5,), "f32"),
        ("residual", (2, 3, 5), "f32"),
    ]
    conv = Conv2d("forward", 1, 2, 4, 4, 6, 1, 1, output_layout="NHWC", epilogue="relu(x + bias)")
    assert [(o.role, o.layout, o.shape) for o in conv.operands[3:]] == [("bias", ("k",), (6,))]


def test_gradients_take_no_epilogue() -> None:
    with pytest.raises(Diagnostic, match="forward direction only"):
        Conv2d("backward_data", 1, 2, 4, 4, 6, 1, 1, epilogue="relu(x)")
