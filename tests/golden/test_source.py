"""Emitted source, as it stands in this folder: a change to it is seen, and meant.

    pytest tests/golden --update-golden     writes what is emitted now

Tunings and machines are pinned, so that nothing here depends on where the test runs or on the model.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from imbrex.emit.bundle import Bundle
from imbrex.pipeline import Request, lower, machine_for
from imbrex.problem import Conv2d, Gemm
from imbrex.schedule import tuning

FOLDER = Path(__file__).parent
NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
CASES = {
    "conv_nchw": (
        Conv2d("forward", 1, 16, 14, 14, 24, 3, 3, pad_h=1, pad_w=1),
        "cpu",
        "v1:cpu:8,48,24,96,144,16,k_blocked,a,straight",
    ),
    "conv_nhwc_stride": (
        Conv2d("backward_data", 1, 16, 14, 14, 24, 3, 3, pad_h=1, pad_w=1, stride=2, **NHWC),
        "cpu",
        "v1:cpu:6,32,48,64,48,16,k_major,b,straight",
    ),
    "conv_gfx942": (
        Conv2d("forward", 2, 64, 14, 14, 128, 3, 3, dtype="f16", pad_h=1, pad_w=1, **NHWC),
        "gfx942",
        "v1:xdlops:64,64,4,32,32,8,auto,xor,staged,straight,1,1",
    ),
    "gemm_gfx950": (
        Gemm(256, 128, 256, dtype="f16", transpose_b=True, beta=1.0),
        "gfx950",
        "v1:xdlops:128,128,4,64,64,8,auto,xor,direct",
    ),
    "gemm_gfx90a": (Gemm(100, 50, 33), "gfx90a", "v1:general:64,32,32,4,2,2"),
    "gemm_sm_90a": (Gemm(100, 50, 33, dtype="f16"), "sm_90a", "v1:general:64,32,32,4,2,2"),
    "gemm_lanes": (Gemm(64, 64, 40, transpose_a=True, beta=1.0), "emulate", "v1:general:64,32,32,4,2,2"),
}


def emitted(case: str) -> Bundle:
    problem, target, text = CASES[case]
    return lower(
        Request(problem, machine_for(target, "avx512", 1), target, tuning.parse(text), name=case)
    ).bundle


@pytest.mark.parametrize("case", CASES)
def test_source_is_as_it_was(case: str, update_golden: bool) -> None:
    bundle = emitted(case)
    for unit in bundle.units:
        path = FOLDER / case / f"{unit}.golden"
        if update_golden:
            path.parent.mkdir(exist_ok=True)
            path.write_text(bundle.files[unit], encoding="utf-8")
        assert bundle.files[unit] == path.read_text(encoding="utf-8"), f"{path}; see --update-golden"


def test_nothing_else_is_kept() -> None:
    wanted = {FOLDER / case / f"{unit}.golden" for case in CASES for unit in emitted(case).units}
    assert set(FOLDER.rglob("*.golden")) == wanted
