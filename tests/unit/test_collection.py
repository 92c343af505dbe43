"""Every folder of tests is looked into: pytest leaves out `build` and others unless it is told."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


def left_out(patterns: list[str]) -> set[str]:
    """Folders with tests that a pattern keeps pytest from."""
    folders = {file.parent.relative_to(TESTS) for file in TESTS.rglob("test_*.py")}
    return {str(f) for f in folders for part in f.parts for p in patterns if fnmatch(part, p)}


def test_every_folder_is_looked_into(request: pytest.FixtureRequest) -> None:
    assert left_out(request.config.getini("norecursedirs")) == set()


def test_control_a_pattern_that_leaves_tests_out() -> None:
    assert "unit/build/cache" in left_out([".*", "build"])
