"""What `imbrex explain` says, word by word: every operand's map, its addresses, guards and vectors; tables.

    pytest tests/golden --update-golden     writes what it says now

The problems are those whose source is kept, tunings and all: a map of a view that changes is seen where a
person reads it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.kept import expect_kept, expect_only
from tests.golden.test_source import CASES

from imbrex.cli import main
from imbrex.problem import problem_text

FOLDER = Path(__file__).parent / "explained"
INSTRUCTIONS = (
    "mfma_f32_32x32x8_f16", "mfma_f32_16x16x16_f16", "mfma_f32_4x4x4_16b_f16", "mfma_f64_4x4x4_4b_f64",
    "mfma_f64_16x16x4_f64", "mfma_i32_32x32x16_i8", "wmma_i32_16x16x32_iu4_w64_gfx12",
)  # fmt: skip
TILES = ("f16_16x16x16_2x2_Kx2", "i8_16x16x32_2x2_Kx2", "hip_f32_1024", "f32_32x32x2_2x1_Kx4_w2x2")
SCHEDULES = {
    "gfx942": "gemm -t f16 -m 1500 -n 700 -k 4000", "sm_90a": "gemm -t f16 -m 1500 -n 700 -k 4000",
    "avx512": "gemm -m 300 -n 500 -k 2000",
}  # fmt: skip
TABLES = (
    {"mma": ("mma",), "swizzle": ("swizzle",)}
    | {name: ("mma", name) for name in INSTRUCTIONS}
    | {name: ("swizzle", name) for name in TILES}
    | {f"schedule_{t}": ("schedule", line, "--target", t, "--threads", "3") for t, line in SCHEDULES.items()}
)


def words_of(case: str) -> tuple[str, ...]:
    of = CASES[case]
    target = ("--target", of.isa, "--threads", "1") if of.target == "cpu" else ("--target", of.target)
    chosen = ("--tuning", of.tuning, "--schedule", of.schedule, "--untuned")
    algorithm = ("--algorithm", of.algorithm) if of.algorithm else ()
    return (problem_text(of.problem), *target, *chosen, *algorithm)


SAID = TABLES | {case: words_of(case) for case in CASES}


@pytest.mark.parametrize("name", SAID)
def test_it_says_what_it_said(
    name: str, update_golden: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as end:
        main(("explain", *SAID[name]))
    text, path = capsys.readouterr().out, FOLDER / f"{name}.txt"
    assert end.value.code == 0, text
    expect_kept(text, path, update=update_golden)


def test_no_other_text_is_kept() -> None:
    expect_only(SAID, FOLDER)
