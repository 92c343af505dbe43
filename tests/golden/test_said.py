"""What is said of texts that users write, whole and damaged: every word left out, doubled, cut, or another.

    pytest tests/golden --update-golden     writes what is said now

A text that is read is written again as Imbrex writes it; of another one stands the message, with its hint.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.golden.kept import expect_kept, expect_only

from imbrex.config import configuration, tiles, tuning
from imbrex.diagnostic import Diagnostic
from imbrex.problem import epilogue, parse_problem, problem_text
from imbrex.problem.layout import layout_text, parse_layout

FOLDER = Path(__file__).parent / "said"
OTHERS = ("-1", "0", "x", "?2..9")
"""What stands in a word's place, in turn."""


def problem(text: str) -> str:
    return "; ".join(map(problem_text, parse_problem(text)))


class Asked(NamedTuple):
    """words: what a text is cut at."""

    read: Callable[[str], object]
    words: str
    texts: tuple[str, ...]


ASKED = {
    "gemm": Asked(problem, r" ", (
        "gemm -t f16 -m 12 -n 24 -k 33 -g 3 -transA 1 -transB 0 -alpha 0.5 -beta 2 -lda 40",
        "gemm -t i8 -m ?2..9 -n 24 -k 35 -strideA 900 --epilogue relu(x+bias)",
    )),
    "conv": Asked(problem, r" ", (
        "conv -n 2 -c 8 -H 9 -W 7 -k 6 -y 3 -x 3 -p 1,2 -q 1 -u 2 -v 1 -l 1 -j 2 -g 2 -F 1",
        "./bin/MIOpenDriver convfp16 -n 4 -c 64 --in_h 28 -W 28 -k 64 -y 3 -x 3 -f NHWC"
        " -I NHWC -O NHWC -F 4 -t 1",
    )),
    "blas": Asked(problem, r" ", (
        "rocblas-bench -f gemm_strided_batched_ex --a_type f16_r --b_type f16_r --c_type f16_r --d_type f16_r"
        " --compute_type f32_r --transposeA N --transposeB T -m 40 -n 24 -k 16 --alpha 1 --beta 0 --lda 40"
        " --ldb 24 --ldc 40 --stride_a 640 --stride_b 384 --stride_c 960 --batch_count 2",
        "hipblaslt-bench -m 40 -n 24 -k 16 -r f16_r --compute_type f32_r --transA T --transB N --alpha 2"
        " --beta 1 --bias_vector --activation_type relu --batch_count 2",
        "hipblaslt-bench -m 40 -n 24 -k 32 -r f16_r --activation_type clamp --activation_arg1 -2"
        " --activation_arg2 inf",
    )),
    "profile": Asked(problem, r"[ ,]+", (
        "- { rocblas_function: rocblas_gemm_ex, a_type: f16_r, compute_type: f32_r, transA: N, transB: T,"
        " M: 4, N: 8, K: 16, alpha: 1, lda: 4, ldb: 8, beta: 0.0, ldc: 4, call_count: 7 }",
    )),
    "epilogue": Asked(epilogue.parse, r"(?<=[(,+*])|(?=[),+*])", (
        "max(0.1*(x+bias),clamp(x*row_scale,-2,6))+residual", "f16(gelu(pre_activation(x+bias)))",
    )),
    "tuning": Asked(lambda text: tuning.text(tuning.parse(text)), r"(?=[:,])", (
        "v1:general:256,128,64,16,4,2", "v1:xdlops:64,64,8,32,32,8,auto,xor,staged,swapped,2,1",
        "v1:warpgroup:128,256,64,4,2,2,1,cooperative,straight,8", "v1:halo:1,2,4,32,9,64,64,1,7,2,pingpong",
        "v1:cpu:6,64,60,128,128,16,k_blocked,a,straight,vpdpbusd",
    )),
    "configuration": Asked(configuration.parse, r"(?=[+=:@/,])", (
        "v2:v4r4+taps_first+channels=64+product:2=v1:general:64,32,32,8,2,2@split_k:6/wgm=4/along=n,early",
        "v2:window_vectors+strips=1,28,14,1,1", "v2:halo:2+in_place+flags=none",
    )),
    "schedule": Asked(tiles.parse, r"(?=[:/=])", (
        "stream_k:40/wgm=4/along=n/xcd=8/runtime", "data_parallel",
    )),
    "layout": Asked(lambda text: layout_text("input", parse_layout("input", text)), r"", ("NHWC", "NGC01")),
}  # fmt: skip


def damaged(text: str, words: str) -> Iterator[tuple[str, str]]:
    """What was done, and the text with it."""
    yield text, text
    parts = [part for part in re.split(f"({words})" if words else "(.)", text) if part]
    for at, part in enumerate(parts):
        if part.isspace():
            continue
        before, after, other = "".join(parts[:at]), "".join(parts[at + 1 :]), OTHERS[at % len(OTHERS)]
        for what in ("", part + part, part[:-1], other):
            yield f"  {at} {part} -> {what}", before + what + after


def said(asked: Asked) -> Iterator[str]:
    known = set[str]()
    for whole in asked.texts:
        for what, text in damaged(whole, asked.words):
            if text in known:
                continue
            known.add(text)
            try:
                yield f"{what} = {asked.read(text)}\n"
            except Diagnostic as error:
                place = "" if error.col is None else f"{error.col}+{error.length}: "
                yield f"{what} ! {place}{error.message}{f' | {error.hint}' if error.hint else ''}\n"


@pytest.mark.parametrize("name", ASKED)
def test_the_same_is_said_of_the_same(name: str, update_golden: bool) -> None:
    text, path = "".join(said(ASKED[name])), FOLDER / f"{name}.txt"
    expect_kept(text, path, update=update_golden)


def test_no_other_text_is_kept() -> None:
    expect_only(ASKED, FOLDER)
