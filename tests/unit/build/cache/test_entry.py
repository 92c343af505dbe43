"""Directories of the cache: made from the top, however deep."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path

import pytest

from imbrex.build.cache.entry import is_intact, make_directory, write_entry
from imbrex.build.cache.trust import this_user


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


@pytest.mark.parametrize("mode", [0o644, 0o664, 0o666, 0o600, 0o755])
@pytest.mark.parametrize("has_links", [True, False])
def test_an_entry_is_its_own_whatever_built_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, has_links: bool
) -> None:
    """Of files that others could write, or that lie on another disk, it has copies, which they cannot."""

    def link(*_: Path) -> None:
        raise OSError(errno.EXDEV, "another disk")

    if not has_links:
        monkeypatch.setattr(os, "link", link)
    source, target = tmp_path / "source", tmp_path / "target"
    make_directory(source / "below")
    make_directory(target)
    for name in ("a.h", "below/b.h"):
        (source / name).write_text(name, "utf-8")
        (source / name).chmod(mode)
    assert write_entry(source, target) > len("a.hbelow/b.h")
    assert is_intact(target, ("a.h", "below/b.h"), frozenset({this_user()}))
    files = [target / "a.h", target / "below/b.h"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o644}
    assert {file.stat().st_nlink for file in files} == {2 if has_links and mode == 0o644 else 1}
    shutil.rmtree(source)
    assert is_intact(target, ("a.h", "below/b.h"), frozenset({this_user()}))
