"""Kernels of halo weights: all in registers; by warpgroups an instruction has several taps, by warps a line
of the input is read once for all rows of a window.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.pairs import one_in, seen_here

from imbrex.build.nvidia.cubin import LOG, compile_cubin
from imbrex.build.nvidia.disassembly import find_disassembler, sass
from imbrex.build.nvidia.report import usages
from imbrex.chip import GPU_MACHINES
from imbrex.config import tuning
from imbrex.pipeline import Request, lower
from imbrex.problem import Conv2d

NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}


def layer(text: str | None, algorithm: str | None = None, layout: str = "NHWC", **given: Any) -> Request:
    shape = {
        "c": 64,
        "k": 64,
        "h": 28,
        "w": 28,
        "y": 3,
        "x": 3,
        "pad_h": 1,
        "pad_w": 1,
        "dtype": "f16",
    } | given
    problem = Conv2d("backward_weight", 16, **shape, **(NHWC if layout == "NHWC" else {}))  # type: ignore[arg-type]
    chosen = None if text is None else tuning.parse(f"v1:halo_weight:{text}")
    return Request(problem, GPU_MACHINES["sm_90a"], "sm_90a", chosen, algorithm)


CASES = {
    "one group": layer("1,4,6,32,9,64,1,16,4,3"),
    "bf16, of 32 channels": layer("1,4,6,32,9,32,1,16,4,3", c=32, dtype="bf16"),
    "one consumer": layer("1,4,4,32,3,64,1,16,4,1", y=1, pad_h=0),
    "merged": layer("1,4,6,32,9,64,1,16,4,3", groups=8),
    "merged, copied": layer(None, "halo:8", "NCHW", groups=8, h=14, w=14),
    "planes, streams of 28": layer("1,4,4,32,9,64,4,8,4,2", "halo:8", "NCHW", groups=8),
    "planes, streams of 56": layer(
        "1,2,2,64,9,64,4,8,6,2", "halo:4", "NCHW", groups=4, h=56, w=56, dtype="bf16"
    ),
    "planes": layer(None, "halo:8", "NCHW", groups=8),
    "planes, streams of one": layer("1,4,4,64,9,64,4,16,3,1", "halo:8", "NCHW", groups=8, h=56, w=56),
}


def compiled(case: str, folder: Path) -> Path:
    bundle = lower(CASES[case]).bundle
    _, entry, _ = bundle.units
    return compile_cubin(bundle.files, entry, "sm_90a", folder)


RECORDED = ("planes, streams of 28", "merged", "planes")
"""The like of which is in the record of hashes, with its registers and what spills."""


@pytest.mark.parametrize("case", one_in(2, seen_here(CASES, RECORDED)))
def test_compiles(case: str, tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC compiles for NVIDIA GPUs")
    compiled(case, tmp_path)
    log = (tmp_path / LOG).read_text(encoding="utf-8")
    assert "warning" not in log, log
    for used in usages(log):
        assert not used.spill_store_bytes and not used.stack_bytes and not used.remarks, used


def test_an_instruction_has_three_taps() -> None:
    files = "".join(lower(CASES["one group"]).bundle.files.values())
    assert "m64n192k16" in files and "splits_columns = true" in files and "split_steps<" not in files
    leading = int(re.findall(r"b_descriptor = 0x([0-9a-f]{16})", files)[0], 16) >> 16 & 0x3FFF
    assert leading << 4 == 128, "the next tap is a pixel further on"


@pytest.mark.parametrize(("case", "parts"), [("planes, streams of 28", 1), ("planes, streams of 56", 2)])
def test_planes_are_not_turned(case: str, parts: int, tmp_path: Path) -> None:
    """Each line is read once, in two blocks of 8, and meets three of the other array."""
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC compiles for NVIDIA GPUs")
    source = "".join(lower(CASES[case]).bundle.files.values())
    (lines,) = {int(x) for x in re.findall(r"strip = (\d+), line", source)}
    assert "imbrex::by_streams" in source and f"piece = {4 * parts};" in source
    if find_disassembler() is None:
        pytest.skip("no disassembler")
    text = sass(compiled(case, tmp_path))
    assert text is not None and "LDSM" not in text
    assert len(re.findall(r"\bHMMA\b", text)) == lines * 9 * parts * 2 * 2
    wide = len(re.findall(r"\bLDS\.(?:64|128)\b", text))
    assert wide >= 2 * lines * 4
