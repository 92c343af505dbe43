"""A library of kernels for a GPU, checked there by the program that goes with it, without Python's part."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import HANG_S

from imbrex.cli import main
from imbrex.kernel import compile

pytestmark = pytest.mark.gpu

PROBLEMS = (
    "gemm -m 256 -n 512 -k 512 -t f16",
    "gemm -m 64 -n 512 -k 512 -t f16",
    "gemm -m 1 -n 512 -k 512 -t f16",
    'gemm -m 64 -n 512 -k 8192 -t bf16 --epilogue "relu(x + bias)"',
    'gemm -m 512 -n 512 -k 512 -t bf16 --epilogue "gelu_tanh(x) * row_scale"',
    "gemm -m 128 -n 128 -k 4096 -t f32",
    "gemm -m 100 -n 60 -k 75 -t f16",
    "gemm -m 6 -n 8 -k 5 -g 3 -transA 1 -alpha 0.5 -beta 2",
    "gemm -m 512 -n 512 -k 512 -t i8 -transB 1",
    "convfp16 -n 8 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -f NHWC -I NHWC -O NHWC -F 1",
    "convfp16 -n 2 -c 16 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -F 1",
    "convfp16 -n 2 -c 16 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F 2",
    "convfp16 -n 2 -c 16 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -F 4",
)

TOLD = (
    "gemm -m ?1..320 -n 1024 -k 512 -t f16",
    "convfp16 -n ?1..12 -c 64 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1 -f NHWC -I NHWC -O NHWC -F 1",
)
"""Kernels that are told their rows, each checked at several."""


def test_the_program_finds_every_kernel_right(gpu: None, tmp_path: Path) -> None:
    folder = tmp_path / "net"
    with pytest.raises(SystemExit) as end:
        main(
            (
                "build",
                "--library",
                "net",
                *PROBLEMS,
                *TOLD,
                "--target",
                "sm_90a",
                "--untuned",
                "-o",
                str(folder),
            )
        )
    assert end.value.code == 0
    cc = (sys.executable, "-m", "ziglang", "cc") if importlib.util.find_spec("ziglang") else ("cc",)
    words = (*cc, "-O1", "-std=c99", "net_test.c", "libnet.so", "-lm", "-Wl,-rpath,.")
    built = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    done = subprocess.run(("./a.out",), cwd=folder, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stdout + done.stderr
    told = [compile(problem, "sm_90a", untuned=True).sizes for problem in TOLD]
    assert f"{len(PROBLEMS) + sum(map(len, told))} problems, all right" in done.stdout
