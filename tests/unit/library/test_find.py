"""The family of a line: what a library finds is what `parse_problem` reads, and never another problem."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from imbrex.build.toolchain import compile_shared
from imbrex.library.dispatch import header, table
from imbrex.library.family import families
from imbrex.problem import parse_problem

Find: TypeAlias = Callable[[str], tuple[int, int]]

FAMILIES = (
    "gemm -m 4 -n 8 -k 16",
    "gemm -t f16 -m 4 -n 8 -k 16 -transB 1",
    "gemm -m 4 -n 8 -k 16 -alpha 2 -beta 1",
    'gemm -m 4 -n 8 -k 16 --epilogue "relu(x + bias)"',
    "gemm -m 4 -n 8 -k 16 -lda 20",
    "conv -n 2 -c 3 -H 8 -W 9 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1",
    "conv -n 2 -c 4 -H 8 -W 9 -k 4 -y 3 -x 3 -f NHWC -I NHWC -O NHWC -F 1",
    "conv -n 2 -c 4 -H 8 -W 9 -k 4 -y 3 -x 3 -F 4",
    "convbfp16 -n 5 -c 3 -H 32 -W 32 -k 32 -y 3 -x 3 -F 1",
)
FOUND = [
    ("gemm -t f32 -m 6 -n 8 -k 16 -transA 0 -transB 0 -g 1", 0, 6),
    ("  17 gemm -k 16 -n 8 -m 6  # a list's line", 0, 6),
    ("gemm -transA false -m 6 -n 8 -k 16 -transC 0 -alpha 1.0 -beta 0", 0, 6),
    ("gemm --type=f16 -m 6 -n 8 -k 16 --transB=True", 1, 6),
    ("gemm -beta 1.0 -alpha 2.0 -m 6 -n 8 -k 16", 2, 6),
    ("gemm --epilogue='relu(x + bias)' -m 6 -n 8 -k 16", 3, 6),
    ("gemm -m 4 -n 8 -k 16 --lda 20", 4, 1),
    ("MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 7 -c 3 -H 8 -W 9 -k 4 -y 3 -x 3"
     " -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 1 -t 1 -V 0", 5, 7),
    ("conv -n 7 -c 3 -H 8 -W 9 -k 4 --fil_h 3 --fil_w 3 --pad_h 1 --pad_w 1 --in_layout NCHW --forw 1", 5, 7),
    ("conv -F 1 -n 7 -c 4 -H 8 -W 9 -k 4 --in_layout NHWC --fil_layout NHWC --out_layout NHWC", 6, 7),
    ("conv -F 4 -n 2 -c 4 -H 8 -W 9 -k 4", 7, 1),
    ("convbfp16 -F 1", 8, 100),
]  # fmt: skip
UNKNOWN = [
    "", "gemm", "gemm -m", "gemm -m 6 -n 8", "gemm -m 6 -n 8 -k", "gemm -m 6 -n 8 -k 16 -m 6", "no problem",
    "gemm -m 6 -n 9 -k 16", "gemm -m ? -n 8 -k 16", "gemm -m -6 -n 8 -k 16",
    "gemm -m 99999999999999999999 -n 8 -k 16",
    "gemm -m 6 -n 8 -k 16 -alpha 2", "gemm -m 6 -n 8 -k 16 -lda 24",
    "gemm -m 6 -n 8 -k 16 --epilogue relu(x)",
    "gemm -m 6 -n 8 -k 16 -unknown 1", "gemm -m 6 -n 8 -k 16 -transC 1", "gemm -m 6 -n 8 -k 16 more",
    "rocblas-bench -f gemm -r s -m 6 -n 8 -k 16", "hipblaslt-bench -m 6 -n 8 -k 16", "x gemm -m 6 -n 8 -k 16",
    "conv -n 7 -c 3 -H 8 -W 9 -k 4 -y 3 -x 3 -p 1 -q 1", "conv -n 7 -c 3 -H 8 -W 9 -k 4 -p 1 -q 1 -F 3",
    "conv -n 7 -c 3 -H 8 -W 9 -k 4 -p 1 -q 1 -F 1 -m trans", "conv -F 1 -n 7 -c 4 -H 8 -W 9 -k 4 -I NHWC",
    "convfp16 -n 7 -c 3 -H 8 -W 9 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1", "conv -F 4 -n 3 -c 4 -H 8 -W 9 -k 4",
]  # fmt: skip


@pytest.fixture(scope="module")
def find(tmp_path_factory: pytest.TempPathFactory) -> Find:
    found = families((problem, 1) for line in FAMILIES for problem in parse_problem(line))
    kernels = [f"int run_{n}(void *const *, int64_t, int) {{ return 0; }}" for n in range(len(FAMILIES))]
    texts = {"net.h": header("net", found, "cpu"), "net.cpp": table("net", found, kernels)}
    folder: Path = tmp_path_factory.mktemp("find")
    compile_shared(texts, folder, name="libnet.so")
    net = ctypes.CDLL(str(folder / "libnet.so"))

    def call(line: str) -> tuple[int, int]:
        rows = ctypes.c_int64()
        return net.imbrex_net_find(line.encode(), ctypes.byref(rows)), rows.value

    return call


@pytest.mark.parametrize(("line", "family", "rows"), FOUND)
def test_a_line_as_its_user_has_it_is_found(line: str, family: int, rows: int, find: Find) -> None:
    assert find(line) == (family, rows)
    (told,) = families((problem, 1) for problem in parse_problem(line))
    assert find(told.text.replace("?", str(rows))) == (family, rows)


@pytest.mark.parametrize("line", UNKNOWN)
def test_what_is_no_line_or_another_problem_s_is_not_found(line: str, find: Find) -> None:
    assert find(line)[0] == -1
