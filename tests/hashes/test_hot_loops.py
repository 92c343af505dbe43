"""Hot loops of machines that are not here, counted as docs/cpu_kernels.md says; no sum leaves a register."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.hashes.hot_loop import hot_loop, loops
from tests.pairs import one_in, seen_here

from imbrex.build.cache import Cache
from imbrex.build.device_units import DEVICE
from imbrex.build.isa import isa
from imbrex.build.precompiled import precompiled
from imbrex.build.toolchain import compile_options, compiler_of, run_all, write_sources
from imbrex.chip import CPU_ISAS
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.tuning import Tuning, parse
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


@pytest.fixture(scope="module", autouse=True)
def effort() -> None:
    """What users' kernels get, whose loops these are."""


def test_each_level_that_is_emulated_has_a_row() -> None:
    told = {level for level, *_ in ROWS}
    assert told == {name for name, row in CPU_ISAS.items() if row.qemu or row.lent}


@pytest.mark.parametrize("text", one_in(2, seen_here(map(" ".join, ROWS), LIKE_OTHERS)))
def test_the_page_says_what_is_compiled(text: str, tmp_path: Path) -> None:
    level, dtype, *_ = row = tuple(text.split())
    tuning, assembly = _compiled(Gemm(240, 240, 256, dtype=dtype), level, tmp_path)
    loop = hot_loop(assembly)
    counts = (loop.multiplies, loop.loads, loop.prefetches, loop.others)
    tile = (tuning.m_per_thread, tuning.n_per_thread)
    assert (level, dtype, *map(str, tile), loop.multiply, *map(str, counts)) == row
    assert loop.stack == 0, "a sum or an address leaves its register"


@pytest.mark.parametrize("rows", one_in(3, [12, 16, 24, 29]))
def test_tall_tiles_keep_most_of_their_rows_in_registers(rows: int, tmp_path: Path) -> None:
    """Rows that are read where they lie, each a pointer and a step away, of a B that one panel meets."""
    tile = parse(f"v1:cpu:{rows},16,{rows},16,192,16,k_blocked,b,straight")
    _, assembly = _compiled(Gemm(rows, 16, 190, batch=20), "avx512", tmp_path, tile)
    found = [body for body in loops(assembly.splitlines()) if sum("vfmadd" in line for line in body) >= rows]
    assert found
    assert max(sum("(%rsp" in line for line in body) for body in found) <= rows // 2


@pytest.mark.parametrize(("panels", "fetched"), [(1, 3), (3, 3), (4, 2)])
def test_few_visits_fetch_the_line_that_a_row_of_b_ends_in(panels: int, fetched: int, tmp_path: Path) -> None:
    """A row of two vectors, each the start of a fetch; of many visits the last one fetches for all."""
    rows = 6 * panels
    tile = parse(f"v1:cpu:6,16,{rows},496,200,8,k_blocked,b,straight")
    _, assembly = _compiled(Gemm(rows, 496, 200), "avx2", tmp_path, tile)
    found = set[float]()
    for body in loops(assembly.splitlines()):
        multiplies, fetches = (sum(word in line for line in body) for word in ("vfmadd", "prefetch"))
        if multiplies and multiplies % 12 == 0:
            found.add(fetches / (multiplies / 12))
    assert max(found) == fetched


@pytest.mark.parametrize(("columns", "whole", "half"), [(8, False, True), (9, True, False), (24, True, True)])
def test_lanes_that_nobody_wants_are_not_multiplied(
    columns: int, whole: bool, half: bool, tmp_path: Path
) -> None:
    """Of up to half a vector of columns half is multiplied; whatever there is, a row is broadcast once."""
    _, assembly = _compiled(Gemm(12, columns, 256), "avx512", tmp_path)
    kernels = re.findall(r"^\w+micro_kernel\w+:(.*?)^\.Lfunc_end", assembly, re.MULTILINE | re.DOTALL)
    assert kernels
    for kernel in kernels:
        y = re.search(r"\tvfmadd(?:213|231)ps\t.*, %ymm", kernel) is not None
        z = re.search(r"\tvfmadd231ps\t.*, %zmm", kernel) is not None  # the other form scales what is stored
        assert (z, y) == (whole, half)
        assert not whole or not re.search(r"\tvbroadcastss\t.*, %ymm", kernel)


@pytest.mark.parametrize("level", ["avx2", "avx512"])
def test_products_of_pairs_leave_no_sum_in_memory(level: str, tmp_path: Path) -> None:
    """Each is added by an instruction of its own, so that a register holds it meanwhile."""
    tuning, assembly = _compiled(Gemm(240, 240, 256, dtype="i8"), level, tmp_path)
    assert tuning.unit == "vpmaddwd"
    loop = max(loops(assembly.splitlines()), key=lambda body: sum("vpmaddwd" in line for line in body))
    multiplies, adds = (sum(f"\t{name}\t" in line for line in loop) for name in ("vpmaddwd", "vpaddd"))
    assert multiplies == adds >= tuning.m_per_thread * tuning.vectors
    assert not any("(%rsp" in line for line in loop)


def _compiled(problem: Gemm, level: str, folder: Path, tuning: Tuning | None = None) -> tuple[CpuTuning, str]:
    """The tuning of a problem that is a single product, and its assembly."""
    lowered = lower(Request(problem, machine_for("cpu", level, 1), "cpu", tuning))
    (used,) = lowered.tunings
    assert isinstance(used, CpuTuning)
    files, wanted, unit = lowered.bundle.files, isa(level), lowered.bundle.units[1]
    compiler = compiler_of(wanted)
    parsed = precompiled(files, (), compiler, wanted, Cache())
    assert parsed is not None, "the headers are parsed once for each level"
    write_sources({name: text for name, text in files.items() if not name.startswith(DEVICE)}, folder)
    told = (*compile_options(wanted), *parsed.flags, "-I.", "-S", unit, "-o", "unit.s")
    run_all(compiler, [(*compiler.compile, *told)], [unit], folder)
    return used, (folder / "unit.s").read_text("utf-8")
