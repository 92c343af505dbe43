"""Hot loops of machines that are not here, counted as docs/cpu_kernels.md says; no sum leaves a register."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.hashes.hot_loop import hot_loop
from tests.pairs import seen_here

from imbrex.build.isa import isa
from imbrex.build.toolchain import FLAGS, compiler_of, run_all, write_sources
from imbrex.chip import CPU_ISAS
from imbrex.config.cpu.plan import CpuTuning
from imbrex.pipeline import Request, lower, machine_for
from imbrex.problem import Gemm

PAGE = Path(__file__).parents[2] / "docs" / "cpu_kernels.md"
ROW = re.compile(
    r"^\| `(\w+)` \| (\w+) \| (\d+) x (\d+) \| `(\w+)` \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE
)
ROWS = [found.groups() for found in ROW.finditer(PAGE.read_text("utf-8"))]
LIKE_OTHERS = [
    " ".join(row)
    for i, row in enumerate(ROWS)
    if all(any(row[at] == above[at] for above in ROWS[:i]) for at in (0, 4))
]
"""Whose level and whose instruction rows above them have."""


def test_each_level_that_is_emulated_has_a_row() -> None:
    told = {level for level, *_ in ROWS}
    assert told == {name for name, row in CPU_ISAS.items() if row.qemu or row.lent}


@pytest.mark.parametrize("text", seen_here(map(" ".join, ROWS), LIKE_OTHERS))
def test_the_page_says_what_is_compiled(text: str, tmp_path: Path) -> None:
    level, dtype, *_ = row = tuple(text.split())
    problem = Gemm(240, 240, 256, dtype=dtype)
    lowered = lower(Request(problem, machine_for("cpu", level, 1), "cpu"))
    (tuning,) = lowered.tunings
    assert isinstance(tuning, CpuTuning)
    write_sources(lowered.bundle.files, tmp_path)
    wanted, unit = isa(level), lowered.bundle.units[1]
    compiler = compiler_of(wanted)
    told = (*FLAGS, *wanted.triple, *wanted.flags, "-I.", "-S", unit, "-o", "unit.s")
    run_all(compiler, [(*compiler.compile, *told)], [unit], tmp_path)
    loop = hot_loop((tmp_path / "unit.s").read_text("utf-8"))
    counts = (loop.multiplies, loop.loads, loop.prefetches, loop.others)
    tile = (tuning.m_per_thread, tuning.n_per_thread)
    assert (level, dtype, *map(str, tile), loop.multiply, *map(str, counts)) == row
    assert loop.stack == 0, "a sum or an address leaves its register"
