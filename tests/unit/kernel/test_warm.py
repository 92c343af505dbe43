"""warm: what is compiled in other processes is what later calls find."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import imbrex
from imbrex.cli.warm import command
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Target, warm
from imbrex.kernel.make import OFFERED, NotBuilt
from imbrex.kernel.warm import CompileJob, Warmed, expect_warmed
from imbrex.problem import Gemm


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMBREX_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that are threads of this process, with its flags."""
    from imbrex.run import workers
    from imbrex.run.isolated import Failed, answered

    class InProcess:
        def __init__(self, function: object) -> None:
            self.function = function

        def __call__(self, argument: object, limit_s: float = 60.0) -> object:
            is_result, _, answer = answered(self.function, argument)  # type: ignore[arg-type]
            return answer if is_result else Failed("error", answer)

        def end(self) -> None: ...

    monkeypatch.setattr(workers, "Isolated", InProcess)


SMALL = "gemm -m 5 -n 7 -k 3"


@pytest.mark.usefixtures("in_process")
def test_later_calls_find_what_was_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = imbrex.warm([SMALL, Gemm(5, 7, 3), "gemm -m 4 -n 4 -k 4"], threads=1, jobs=1)
    assert one.times == 2 and one.seconds > 0 < other.seconds
    assert imbrex.compile(SMALL, threads=1).was_cached
    (again,) = imbrex.warm(SMALL, threads=1)
    assert again.seconds == 0
    token = OFFERED.set("built")
    try:
        a, b = np.ones((5, 3), np.float32), np.ones((3, 7), np.float32)
        assert (imbrex.gemm(a, b, threads=1) == 3).all()
        with pytest.raises(NotBuilt, match="there is no kernel yet of gemm"):
            imbrex.gemm(a, np.ones((3, 9), np.float32), threads=1)
    finally:
        OFFERED.reset(token)


@pytest.mark.usefixtures("in_process")
def test_one_that_has_no_kernel_is_told_after_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = warm.compile

    def broken(problem: Gemm, *given: object, **named: object) -> object:
        if problem.m == 6:
            raise Diagnostic("the compiler is ill")
        return plain(problem, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(warm, "compile", broken)
    with pytest.raises(Diagnostic, match=r"no kernel of gemm .*-m 6 .*: the compiler is ill$"):
        imbrex.warm(["gemm -m 6 -n 7 -k 3", SMALL], threads=1, jobs=1)
    assert imbrex.compile(SMALL, threads=1).was_cached


@pytest.mark.usefixtures("in_process")
def test_the_command(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text(f"{SMALL}\n{SMALL}\nnonsense of nobody\n")
    words = [str(lines), "--threads", "1", "--jobs", "1", "--keep-going"]
    told = CliRunner().invoke(command, words, standalone_mode=False)
    assert told.return_value == 0
    assert "1 kernel compiled" in told.output and "skipped nonsense of nobody" in told.output
    told = CliRunner().invoke(command, [*words, "--format", "json"], standalone_mode=False)
    (row,) = json.loads(told.stdout)["results"]
    assert row["times"] == 2 and row["seconds"] == 0 and row["error"] is None


PROGRAM = """
import sys, imbrex
found = imbrex.warm(["gemm -m 5 -n 7 -k 3", "gemm -m 4 -n 4 -k 4"], "emulate", jobs=2)
assert all(one.seconds > 0 for one in found)
kernels = [imbrex.compile(one.problem, "emulate") for one in found]
assert all(kernel.was_cached for kernel in kernels)
print("once")
"""


def test_processes_of_a_program_without_a_guard(tmp_path: Path) -> None:
    """They do not run the program again."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "once\n", "")


def test_an_order_is_told_as_it_is() -> None:
    import pickle

    order = CompileJob(Gemm(5, 7, 3), Target("cpu"), 1)
    assert pickle.loads(pickle.dumps(order)) == order


@pytest.mark.parametrize(
    ("refused", "others"),
    [(1, ""), (2, "; 1 other has none, either"), (3, "; 2 others have none, either")],
)
def test_the_first_without_a_kernel_is_named_and_the_others_counted(refused: int, others: str) -> None:
    problem = Gemm(8, 8, 8)
    expect_warmed(made := [Warmed(problem, 1.0)])
    with pytest.raises(Diagnostic) as told:
        expect_warmed([*made, *[Warmed(problem, 0.0, "no reason")] * refused])
    assert told.value.message.endswith(f": no reason{others}")
