"""Directories of the cache: made from the top, however deep."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from imbrex.build.cache.entry import make_directory


def test_a_deep_path_is_made_from_the_top(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ["/"]

    def mkdir(path: Path, _: int) -> None:
        if str(path.parent) != made[-1]:
            raise FileNotFoundError(path)
        made.append(str(path))

    monkeypatch.setattr(os, "mkdir", mkdir)
    make_directory(Path("/" + "a/" * 2000))
    assert len(made) == 2001


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    make_directory(tmp_path / "a" / "b")
    make_directory(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    with pytest.raises(FileExistsError):
        make_directory(tmp_path / "file")


def test_a_directory_that_makes_none_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As /proc, where a path that is not there cannot be; one that others remove meanwhile is made again."""
    made, removed, real = tmp_path / "a" / "b", [True, True], os.mkdir

    def mkdir(path: Path, mode: int) -> None:
        if path.name == "none" or (path == made and removed and removed.pop()):
            raise FileNotFoundError(path)
        real(path, mode)

    monkeypatch.setattr(os, "mkdir", mkdir)
    make_directory(made)
    assert made.is_dir() and not removed
    with pytest.raises(FileNotFoundError):
        make_directory(tmp_path / "none" / "below")
