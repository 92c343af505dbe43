"""Tunings that tests run on the host are for the host's vectors, on whatever machine the tests run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.host_tuning import WRITTEN_FOR, for_machine

from imbrex.chip import CPU_ISAS, CpuMachine
from imbrex.config.context import GemmContext
from imbrex.config.cpu.legal import CPU_RULES
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.tuning import parse, text
from imbrex.dtype import DType, dtype

TESTS = Path(__file__).resolve().parents[1]
TUNING = re.compile(r"v1:cpu:(?:\{|\d+(?:,[\w{}]+){5})")
HOST = re.compile(
    r"^from imbrex(?:\.kernel)? import .*\bcompile\b|\bimbrex\.compile\(|\bhost_(?:isa|machine)\b"
    r"|def test_\w+\([^)]*\b(?:build|imbrex): ",
    re.MULTILINE,
)
"""Who compiles for the host: by `compile`, by a fixture, or by a machine of the host's level."""
ELSEWHERE = {
    "e2e/test_aarch64.py": 1,  # sve128
    "e2e/test_tiles.py": 2,  # amx
    "fuzz/machines.py": 1,  # drawn for the host; an illegal one is a message
    "unit/kernel/test_choice.py": 4,  # kept configurations of which none can be built
    "unit/kernel/test_run_time.py": 1,  # amx
}
"""Files that have as many tunings of CPUs that are for no host: of a target that is named, or never built."""


def written(node: ast.AST) -> str:
    """A text as it is written, with {} for what is put in."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=values):
            return "".join(written(one) or "{}" for one in values)
        case _:
            return ""


def bare(node: ast.AST) -> Iterator[str]:
    """Tunings of CPUs that `for_host` is not given."""
    match node:
        case ast.Call(func=ast.Name(id="for_host")):
            return
        case ast.Constant() | ast.JoinedStr():
            if TUNING.search(written(node)):
                yield written(node)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from bare(child)


def not_for_the_host(source: str) -> list[str]:
    """Tunings that the file may give the host as they are written."""
    if "v1:cpu:" not in source or HOST.search(source) is None:  # as of most files: parsing takes milliseconds
        return []
    return list(bare(ast.parse(source)))


def test_tests_give_the_host_tunings_of_its_vectors() -> None:
    own = Path(__file__)
    files = {f.relative_to(TESTS).as_posix(): f.read_text("utf-8") for f in TESTS.rglob("*.py") if f != own}
    found = {name: texts for name, source in files.items() if (texts := not_for_the_host(source))}
    others = {name: texts for name, texts in found.items() if len(texts) != ELSEWHERE.get(name)}
    assert others == {}, "tests.host_tuning.for_host makes a tuning one of the host's vectors"
    assert found.keys() == ELSEWHERE.keys()


IMPORTED = "from imbrex.kernel import Kernel, compile\n"
GIVEN = "v1:cpu:4,16,8,32,16,16,k_blocked,a,straight"


@pytest.mark.parametrize(
    "source",
    [
        f"{IMPORTED}TILE = '{GIVEN}'",
        f"{IMPORTED}compile(p, config='v2:direct+product={GIVEN}@data_parallel')",
        f"{IMPORTED}compile(p, tuning=f'v1:cpu:{{m}},{{n}},{{m}},32,48,{{lanes}},k_blocked,b,straight')",
        "import imbrex\nimbrex.compile(line, tuning=f'v1:cpu:{form}')",
        f"def test_it(text: str, build: Any) -> None:\n    build(p, 'cpu', parse('{GIVEN}'))",
        f"def test_it(imbrex: Command) -> None:\n    imbrex('run', LINE, '--tuning', '{GIVEN}')",
        f"lower(Request(p, machine_for('cpu', host_machine().isa.level), 'cpu', parse('{GIVEN}')))",
    ],
)
def test_control_a_tuning_of_16_lanes(source: str) -> None:
    assert len(not_for_the_host(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        f"{IMPORTED}TILE = for_host('{GIVEN}')",
        f"{IMPORTED}compile(p, tuning='v1:cpu:1,2')",
        f"lower(Request(p, machine_for('cpu', 'avx512'), 'cpu', parse('{GIVEN}')))",
    ],
)
def test_what_is_for_the_host_or_for_no_host(source: str) -> None:
    assert not_for_the_host(source) == []


def is_legal(tuning: str, machine: CpuMachine, of: DType) -> bool:
    found = parse(tuning)
    assert isinstance(found, CpuTuning)
    return CPU_RULES.is_legal(found.plan(GemmContext(100, 70, 300, of)), machine)


SMALL = st.integers(1, 4)


@given(st.integers(1, 30), SMALL, SMALL, SMALL, st.sampled_from(["f32", "f64", "i8", "bf16"]))
def test_what_is_legal_stays_so_on_every_level(rows: int, vectors: int, m: int, n: int, kind: str) -> None:
    of = dtype(kind)
    lanes = WRITTEN_FOR.lanes(of.accumulator.bytes)
    columns = vectors * lanes
    given = text(CpuTuning(rows, columns, m * rows, n * columns, 64, lanes, "k_blocked", "b", swapped=True))
    for machine in CPU_ISAS.values():
        assert is_legal(for_machine(given, machine), machine, of) == is_legal(given, WRITTEN_FOR, of)


@pytest.mark.parametrize(
    ("level", "wanted"),
    [
        ("amx", "14,32,28,64,32,16"),
        ("avx512", "14,32,28,64,32,16"),
        ("sve512", "14,32,28,64,32,16"),
        ("sve256", "14,16,28,32,32,8"),
        ("avx2", "14,8,28,16,32,8"),
        ("neon", "14,8,28,16,32,4"),
        ("generic", "14,4,28,8,32,4"),
    ],
)
def test_vectors_are_shorter_and_then_fewer(level: str, wanted: str) -> None:
    form = "v2:v4r1+product:4=v1:cpu:{},k_major,a,straight@data_parallel"
    assert for_machine(form.format("14,32,28,64,32,16"), CPU_ISAS[level]) == form.format(wanted)


def test_rows_are_fewer_where_one_vector_is_too_many() -> None:
    few = replace(WRITTEN_FOR, vector_bytes=32, vector_registers=16)
    assert for_machine("v1:cpu:20,16,40,48,64,16,k_major,a,straight", few) == (
        "v1:cpu:14,8,28,24,64,8,k_major,a,straight"
    )
