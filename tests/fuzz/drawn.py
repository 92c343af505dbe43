"""Drawn: texts as users write them, and what becomes of texts in editors, shells and networks."""

from __future__ import annotations

import json
import re

from hypothesis import strategies as st

from imbrex.problem.miopen import MIOPEN_KINDS

SIZES = st.integers(1, 9)
NUMBERS = st.sampled_from(
    ["0", "-1", "1", "7", "+3", "007", "1e9", "1.5", "nan", "inf", "1_0", "\u0663"]
) | st.sampled_from(
    [str(2**31), str(2**32), str(2**63 - 1), str(2**63), "9" * 400, "9" * 5000, "1" + "0" * 30]
)
TYPES = ("f32", "f16", "bf16", "f64", "i8", "f8e4m3fn", "f8e5m2", "tf32")
EPILOGUES = (
    "relu(x)",
    "relu(x + bias)",
    "gelu(x) + residual",
    "clamp(x * 0.5, 0, 6)",
    "f16(x)",
    "-x",
    "x / 3 - bias",
    "f16(x * row_scale * channel_scale * scale_a) + bias",
    "(x * channel_scale + residual) * scale_c",
    "gelu(pre_activation(x + bias))",
    "relu(pre_activation(x)) * 2 - residual",
)
PIECE = re.compile(r"\s+|[\w.]+|.", re.DOTALL)
SIGNS = [*" \t\n#'\"-=,{}[]():\\/%\0", "", "\r\n", "--"]
STRANGE = ["\x1b[31m", "\u202e", "\u6f22", "e\u0301", "\ufeff", "*" * 300, "(" * 250, "[" * 40]
NOISE = st.sampled_from([*SIGNS, *STRANGE, "-m", "x", "bias", "None"])


@st.composite
def damaged(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """A text with none to three pieces dropped, doubled, exchanged, cut off, or noise in their place."""
    pieces = PIECE.findall(draw(texts))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 1, 2, 3]))):
        if not pieces:
            break
        at = draw(st.integers(0, len(pieces) - 1))
        match draw(st.sampled_from(["number", "noise", "drop", "double", "exchange", "cut"])):
            case "number":
                pieces[at] = draw(NUMBERS)
            case "noise":
                pieces.insert(at, draw(NOISE))
            case "drop":
                del pieces[at]
            case "double":
                pieces.insert(at, pieces[at])
            case "exchange":
                other = draw(st.integers(0, len(pieces) - 1))
                pieces[at], pieces[other] = pieces[other], pieces[at]
            case _:
                del pieces[at:]
    return "".join(pieces)


@st.composite
def gemm_lines(draw: st.DrawFn, most: int = 9) -> str:
    """`gemm -t f16 -m 3 ...`, right but for what types and epilogues do not go together."""
    sizes = st.integers(1, most)
    m, n, k, batch = draw(sizes), draw(sizes), draw(sizes), draw(st.sampled_from([1, 1, 2]))
    line = f"gemm -t {draw(st.sampled_from(TYPES))} -m {m} -n {n} -k {k} -g {batch}"
    line += f" -transA {draw(st.integers(0, 1))} -transB {draw(st.integers(0, 1))}"
    if draw(st.booleans()):
        line += f" -alpha {draw(st.sampled_from(['0', '2', '-1', '0.5', '16777217', '1e20']))}"
    if draw(st.booleans()):
        line += f" -beta {draw(st.sampled_from(['1', '-2', '0.25', '123456789']))}"
    if draw(st.integers(0, 3)) == 0:
        line += f' --epilogue "{draw(st.sampled_from(EPILOGUES))}"'
    return line


@st.composite
def conv_lines(draw: st.DrawFn) -> str:
    """A MIOpenDriver line of a small convolution that is possible."""
    y, x, groups = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.sampled_from([1, 1, 2]))
    stride, dilation = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    c, k = groups * draw(st.integers(1, 3)), groups * draw(st.integers(1, 4))
    h, w = ((size - 1) * dilation + draw(st.integers(1, 4)) for size in (y, x))
    kind, n = draw(st.sampled_from(sorted(MIOPEN_KINDS))), draw(st.integers(1, 2))
    line = f"{kind} -n {n} -c {c} -H {h} -W {w} -k {k}"
    line += f" -y {y} -x {x} -p {draw(st.integers(0, 2))} -q {draw(st.sampled_from(['0', '1', '1,2']))}"
    line += f" -u {stride} -v {stride} -l {dilation} -j {dilation} -g {groups}"
    line += f" -F {draw(st.sampled_from([1, 2, 4]))}"
    if draw(st.booleans()):
        line += " -f NHWC -I NHWC -O NHWC"
    return line


@st.composite
def hipblaslt_lines(draw: st.DrawFn) -> str:
    """A hipblaslt-bench line."""
    m, n, k = draw(SIZES), draw(SIZES), draw(SIZES)
    line = (
        f"hipblaslt-bench -m {m} -n {n} -k {k} --lda {m} --transA {draw(st.sampled_from('NTC'))} --transB N"
    )
    return (
        f"{line} --a_type {draw(st.sampled_from(['f16_r', 'bf16_r', 'f8_r', 'i8_r']))} --beta {draw(NUMBERS)}"
    )


@st.composite
def json_problems(draw: st.DrawFn) -> str:
    """JSON of one problem, or of a list."""
    numbers: st.SearchStrategy[object] = SIZES | st.sampled_from(
        [0, -1, 1.5, None, True, "3", [1, 2], {}, 2**70]
    )
    names = st.sampled_from(
        ["m", "n", "k", "batch", "alpha", "beta", "transpose_a", "dtype", "lda", "epilogue", "zzz"]
    )
    problem: dict[str, object] = {"problem": "gemm", "m": 3, "n": 4, "k": 5}
    problem |= draw(st.dictionaries(names, numbers, max_size=3))
    return json.dumps([problem, problem] if draw(st.booleans()) else problem)


def lines() -> st.SearchStrategy[str]:
    """A right line of any form that is small enough to compute."""
    return gemm_lines() | conv_lines()
