"""Kernels of halo weights: all in registers; by warpgroups an instruction has several taps, by warps a line
of the input is read once for all rows of a window.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from imbrex.build.nvidia.cubin import LOG, compile_cubin
from imbrex.build.nvidia.disassembly import find_disassembler, sass
from imbrex.build.nvidia.report import usages
from imbrex.pipeline import Request, lower
from imbrex.problem import Conv2d
from imbrex.schedule import tuning
from imbrex.schedule.target import GPU_TARGETS

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
    return Request(problem, GPU_TARGETS["sm_90a"], "sm_90a", chosen, algorithm)


CASES = {
    "one group": layer("1,4,6,32,9,64,1,16,4,3"),
    "bf16, of 32 channels": layer("1,4,6,32,9,32,1,16,4,3", c=32, dtype="bf16"),
    "one consumer": layer("1,4,4,32,3,64,1,16,4,1", y=1, pad_h=0),
    "merged": layer("1,4,6,32,9,64,1,16,4,3", groups=8),
    "merged, copied": layer(None, "halo:8", "NCHW", groups=8),
    "warps": layer("1,3,5,32,9,64,4,16,6,3", groups=8),
    "warps, two consumers, bf16": layer("1,4,6,32,9,64,4,16,4,2", groups=8, dtype="bf16"),
    "warps, several images": layer("2,3,5,16,9,64,4,4,6,2", groups=4, h=7, w=14),
}


def compiled(case: str, folder: Path) -> Path:
    bundle = lower(CASES[case]).bundle
    _, entry, _ = bundle.units
    return compile_cubin(bundle.files, entry, "sm_90a", folder)


@pytest.mark.parametrize("case", CASES)
def test_compiles(case: str, tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC compiles for NVIDIA GPUs")
    compiled(case, tmp_path)
    log = (tmp_path / LOG).read_text(encoding="utf-8")
    assert "warning" not in log, log
    for used in usages(log):
        assert not used.spill_store_bytes and not used.stack_bytes and not used.remarks, used


def test_an_instruction_has_three_taps() -> None:
    files = "".join(lower(CASES["one group"]).bundle.files.values())
    assert "m64n192k16" in files and "run_taps(" in files and "run_diagonal(conv" not in files
    leading = int(re.findall(r"b_descriptor = 0x([0-9a-f]{16})", files)[0], 16) >> 16 & 0x3FFF
    assert leading << 4 == 128, "the next tap is a pixel further on"


def test_warps_read_a_line_once(tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC compiles for NVIDIA GPUs")
    if find_disassembler() is None:
        pytest.skip("no disassembler")
    text = sass(compiled("warps", tmp_path))
    assert text is not None and "GMMA" not in text
    lines, rows, columns = 3, 3, 3
    assert len(re.findall(r"\bHMMA\b", text)) == lines * rows * columns * 2
    assert len(re.findall(r"\bLDSM\b", text)) == lines + (lines + rows - 1) * columns
