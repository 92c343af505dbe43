"""Every folder of tests is looked into: pytest leaves out `build` and others unless it is told.  And no test
gives a process less time than a loaded machine takes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection
from fnmatch import fnmatch
from pathlib import Path

import pytest
from tests import pairs, quick

TESTS = Path(__file__).resolve().parents[1]


def left_out(patterns: list[str]) -> set[str]:
    """Folders with tests that a pattern keeps pytest from."""
    folders = {file.parent.relative_to(TESTS) for file in TESTS.rglob("test_*.py")}
    return {str(f) for f in folders for part in f.parts for p in patterns if fnmatch(part, p)}


def test_every_folder_is_looked_into(request: pytest.FixtureRequest) -> None:
    assert left_out(request.config.getini("norecursedirs")) == set()


def test_control_a_pattern_that_leaves_tests_out() -> None:
    assert "unit/build/cache" in left_out([".*", "build"])


@pytest.mark.parametrize("names", [quick.names, pairs.thinned])
def test_what_is_said_of_functions_is_of_some_that_exist(names: Callable[[], Collection[str]]) -> None:
    functions = {
        (".".join(file.relative_to(TESTS).with_suffix("").parts), name)
        for file in TESTS.rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", file.read_text("utf-8"))
    }
    parts = {n: re.fullmatch(r"(.*?)(?:\.Test\w*)?\.(test_\w+)", n) for n in names()}
    unknown = [n for n, found in parts.items() if found is None or found.groups() not in functions]
    assert [n for n in unknown if not n.startswith("lit.")] == []


def impatient(text: str) -> list[int]:
    """Lines that wait for a process so many seconds, where `HANG_S` is meant."""
    if "timeout" not in text:  # as in most files: reading one takes milliseconds
        return []
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    waits = (k for call in calls for k in call.keywords if k.arg == "timeout")
    return [k.value.lineno for k in waits if isinstance(k.value, ast.Constant) and k.value.value]


def test_nobody_takes_a_loaded_machine_for_a_fault() -> None:
    files = {file.relative_to(TESTS).as_posix(): file.read_text() for file in TESTS.rglob("*.py")}
    assert [f"{name}:{line}" for name, text in files.items() for line in impatient(text)] == []


def test_control_a_wait_of_a_minute() -> None:
    assert impatient("run(x)\nrun(x, timeout=60)") == [2]
    assert impatient("run(x, timeout=HANG_S)\nrun(x, timeout=0)") == []
