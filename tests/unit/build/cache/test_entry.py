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
