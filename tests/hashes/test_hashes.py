"""What the record of machine code is of, what decides its hashes, and what the command says.

That the code is as recorded is a tier of its own: `make hashes`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="pyelftools is not installed")

from tests.hashes import machine_code
from tests.hashes.__main__ import is_compiled_anyway, main
from tests.hashes.assembly_text import instructions, nameless
from tests.hashes.hash_cases import CHIPS, DIRECTIONS, HOPPER, TYPES, HashCase, hash_cases
from tests.hashes.machine_code import KernelCode, compiled
from tests.hashes.record import differences, read, record_of, write

from imbrex.config.algorithm.table import ALGORITHMS
from imbrex.config.tuning import KINDS
from imbrex.problem import Conv2d

CASES = {str(case): case for case in hash_cases()}
TEXT = """
first:  ; @first
\ts_mov_b32 s0, 4 ; a comment
.LBB0_1:
\ts_cbranch_scc0 .LBB0_1
\t.type\tfirst,@function
\t.long\t7
"""


def test_there_are_many_and_none_twice() -> None:
    assert len(CASES) == len(hash_cases()) >= 200


def test_every_type_and_direction_of_every_target() -> None:
    found = {(c.target, c.problem.dtype.name) for c in CASES.values()}
    assert found >= {(target, dtype) for target, types in TYPES.items() for dtype in types}
    convolutions = {(c.target, c.problem.direction) for c in CASES.values() if isinstance(c.problem, Conv2d)}
    assert convolutions >= {(t, d) for t in (HOPPER, *CHIPS, "cpu") for d in DIRECTIONS}


def test_every_algorithm_and_kind_of_tuning() -> None:
    chosen = " ".join(kernel.chosen for kernel in read().kernels.values())
    asked = {(c.algorithm or "").partition(":")[0] for c in CASES.values()}
    assert asked >= {row.name for row in ALGORITHMS}
    assert all(f"v1:{kind}:" in chosen for kind in KINDS)


def test_the_record_is_of_these_cases() -> None:
    """`python -m tests.hashes --update --only TEXT` adds what is new, and drops what is no case any more."""
    assert {case for case, _ in read().kernels} == set(CASES)


@pytest.mark.parametrize(
    ("changed", "is_same"),
    [
        (TEXT.replace("first", "another"), True),
        (TEXT.replace("LBB0_1", "LBB7_3").replace("a comment", ""), True),
        (TEXT.replace("s0, 4", "s0, 5"), False),
        (TEXT.replace("\ts_mov", ".L1:\n\ts_mov"), False),
        (TEXT.replace(".long\t7", ".long\t8"), False),
        (TEXT.replace("s_mov", "s_not"), False),
    ],
    ids=["name", "label", "operand", "another label", "constant", "instruction"],
)
def test_text_without_names(changed: str, is_same: bool) -> None:
    before, after = (list(nameless(text, "amdgcn")) for text in (TEXT, changed))
    assert (before == after) == is_same
    assert instructions(after) == 2


@pytest.mark.parametrize("target", [HOPPER, "gfx942", "cpu"])
def test_name_and_folder_decide_nothing(target: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if target == HOPPER:
        pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC compiles for NVIDIA GPUs")
    case = next(case for case in CASES.values() if case.target == target)
    here = compiled(case)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert compiled(case, "of_another_name") == here
    assert all(kernel.instructions > 50 for kernel in here)


OLD = KernelCode("gfx942 gemm", "0", "ab", 100, 32, 0, "v1")


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ([OLD], []),
        ([replace(OLD, code="cd", registers=40)], ["gfx942 gemm 0: code ab -> cd, registers 32 -> 40"]),
        ([replace(OLD, chosen="v2")], ["gfx942 gemm 0: chosen v1 -> v2"]),
        ([], ["gfx942 gemm 0: gone"]),
        ([OLD, replace(OLD, kernel="1")], ["gfx942 gemm 1: new"]),
    ],
)
def test_what_changed_is_said(now: list[KernelCode], said: list[str]) -> None:
    assert list(differences(record_of({}, [OLD]), record_of({}, now))) == said


SMALLEST = "gfx908 gemm_i8_nt"


def of(case: HashCase) -> KernelCode:
    return next(kernel for kernel in read().kernels.values() if kernel.case == str(case))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An other hash is told, with exit code 1, until the record is written anew."""
    (case,) = (case for name, case in CASES.items() if name.startswith(SMALLEST))
    record, path = read(), tmp_path / "record.jsonl"
    words = ["--only", SMALLEST, "--jobs", "1", "--all", "--record"]
    wrong = replace(of(case), code="0" * 16, spills=3)
    write(record_of(record.compilers, (record.kernels | {(wrong.case, wrong.kernel): wrong}).values()), path)
    assert main([*words, str(path)]) == 1
    assert "code 0000000000000000 -> " in (told := capsys.readouterr().out) and "spills 3 -> 0" in told
    assert main([*words, str(path), "--update"]) == 0
    assert main([*words, str(path)]) == 0


def test_equal_sources_have_the_code_of_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other sources have not, nor has what was compiled by other flags."""
    case = next(case for name, case in CASES.items() if name.startswith(SMALLEST))
    here = compiled(case)
    known = [replace(kernel, code="0" * 16, chosen="") for kernel in here]
    (told,) = compiled(case, known=known)
    assert told == replace(here[0], code="0" * 16)
    assert compiled(case, known=[replace(known[0], source="another")]) == here
    monkeypatch.setattr(machine_code, "_callers", lambda: "another way to call it")
    assert compiled(case, known=known) == here


def test_some_are_compiled_anyway() -> None:
    assert 20 < sum(map(is_compiled_anyway, CASES.values())) < 60


def test_another_compiler_is_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "record.jsonl"
    write(record_of({"ziglang": "0.1"}, read().kernels.values()), path)
    assert main(["--only", SMALLEST, "--jobs", "1", "--record", str(path)]) == 0
    assert "gfx908 is skipped: the record is of ziglang 0.1, here is " in capsys.readouterr().out
