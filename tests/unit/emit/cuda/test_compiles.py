"""CUDA kernels of every family and type compile for Hopper without a warning, and the large ones hold all in
registers.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.pairs import one_in, seen_here
from tests.unit.emit.cuda.test_text_runs import CASES, HOPPER

from imbrex.build.nvidia.cubin import LOG, WANTED_FLAGS, compile_cubin
from imbrex.build.nvidia.report import usages
from imbrex.config import tuning
from imbrex.emit.bundle import Bundle
from imbrex.pipeline import Request, lower
from imbrex.problem import Gemm

nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC compiles for NVIDIA GPUs")
LARGEST = "v1:general:256,128,128,8,4,4"
LARGE = {
    f"{'t' if a else 'n'}{'t' if b else 'n'} {t}": Request(
        Gemm(1024, 1024, 1024, transpose_a=a, transpose_b=b, dtype=t),
        HOPPER,
        "sm_90a",
        tuning.parse(LARGEST),
    )
    for t, a, b in (
        *(("f32", a, b) for a in (False, True) for b in (False, True)),
        ("f64", True, False),
        ("f16", False, True),
        ("i8", False, False),
    )
}
ALL = CASES | LARGE
HERE = (
    *("guards f8e4m3fn", "vectors bf16", "forward f8e5m2", "two_tile f16", "split_k i8", "groups", "weight"),
    *("aligned, finished", "aligned tf32", "depthwise, finished", "depthwise, backward data bf16"),
    *("nn f32", "tn f64", "nt f16", "nn i8"),
)
"""Each type and family once, and what the record of hashes has no like of: that holds the registers and what
spills.  That all of them compute what they should is seen on the CPU.
"""
SPILLED, FEW = 64, 8
"""Bytes, at most: of numbers that are known before the loop and needed after it; and in the large ones."""


def emitted(case: str) -> Bundle:
    return lower(ALL[case]).bundle


@pytest.mark.parametrize("case", one_in(2, seen_here(ALL, set(ALL) - set(HERE))))
def test_compiles(case: str, tmp_path: Path) -> None:
    bundle = emitted(case)
    _, entry, _ = bundle.units
    assert compile_cubin(bundle.files, entry, "sm_90a", tmp_path).exists()
    log = (tmp_path / LOG).read_text(encoding="utf-8")
    assert "warning" not in log, log
    found = usages(log)
    most = FEW if case in LARGE and not case.endswith("f64") else SPILLED
    assert found and all(u.spill_store_bytes <= most for u in found), found


def test_what_is_shared_is_asked_for() -> None:
    (launch,) = lower(ALL["nn f32"]).steps
    gaps = 2 * 64  # bytes after every four of A's eight rows, which memory has along k
    assert launch.shared_bytes == 2 * (2 * 8 * 128 * 4 + gaps)  # type: ignore[union-attr]


def test_the_chips_have_headers() -> None:
    names = set(emitted("nn f32").files)
    assert {"kernel.cu", "device/cuda/shared.h", "device/gpu/pointer.h", "device/cpu/narrow.h"} <= names


def test_products_of_registers_stay_in_order() -> None:
    """What the text asks for is what the build understands."""
    problems = {"f32": Gemm(512, 512, 256), "f16": Gemm(512, 512, 256, transpose_b=True, dtype="f16")}
    texts = {t: lower(Request(p, HOPPER, "sm_90a")).bundle.files["kernel.cu"] for t, p in problems.items()}
    asked = {t: [m["flags"] for m in WANTED_FLAGS.finditer(text)] for t, text in texts.items()}
    assert asked == {"f32": ["--ptxas-options=-O1"], "f16": []}
