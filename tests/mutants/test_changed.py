"""Lines that a revision of git has not, and the sample that is drawn of them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.mutants.__main__ import chosen
from tests.mutants.changed import changed_lines


def numbered(lines: Iterable[int]) -> str:
    return "".join(f"x{i} = {i}\n" for i in lines)


def test_lines_that_a_revision_has_not(tmp_path: Path) -> None:
    """What changed, what is new, of a file that moved what differs, and a new file; nothing that is gone."""

    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    folder = tmp_path / "src/imbrex_toy"
    folder.mkdir(parents=True)
    git("init", "-q")
    (folder / "half.py").write_text("def f(x):\n    return x < 3\n\n\ny = 1\n", "utf-8")
    (folder / "once.py").write_text(numbered(range(9)), "utf-8")
    (tmp_path / "test_half.py").write_text("a = 0\n", "utf-8")
    git("add", ".")
    git("commit", "-qm", "first")
    assert changed_lines(tmp_path, "HEAD") == {}
    (folder / "half.py").write_text("def f(x):\n    return x < 4\n\n\ny = 1\nz = 2\n", "utf-8")
    git("mv", "src/imbrex_toy/once.py", "src/imbrex_toy/twice.py")
    (folder / "twice.py").write_text(numbered(range(1, 9)) + "new = 3\n", "utf-8")
    (folder / "more.py").write_text("a = 1\n", "utf-8")
    (tmp_path / "test_half.py").write_text("a = 1\n", "utf-8")
    git("add", "src/imbrex_toy/more.py")
    assert changed_lines(tmp_path, "HEAD") == {
        "src/imbrex_toy/half.py": {2, 6}, "src/imbrex_toy/twice.py": {9}, "src/imbrex_toy/more.py": {1},
    }  # fmt: skip


def test_a_sample_of_new_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants of those lines, and of no others; of all lines where no revision is named."""
    monkeypatch.setattr("tests.mutants.__main__.ROOT", tmp_path)
    new = {"src/imbrex/a.py": frozenset({2, 9}), "src/gone.py": frozenset({1})}
    monkeypatch.setattr("tests.mutants.__main__.changed_lines", lambda *_: new)
    (tmp_path / "src/imbrex").mkdir(parents=True)
    for name in "ab":
        (tmp_path / f"src/imbrex/{name}.py").write_text(numbered(range(3)), "utf-8")
    assert [(m.path, m.line) for m in chosen("", 9, since="v1")] == [("src/imbrex/a.py", 2)]
    assert len(chosen("", 9)) == 6
