"""A folder's files are replaced all or not at all, whatever fails and whenever."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from imbrex.cli import replace
from imbrex.cli.replace import replaced
from imbrex.diagnostic import Diagnostic

NEW = {"gemm.so": "new library", "gemm.hpp": "new header", "device/a.h": "new a", "more/deep/b.h": "b"}
OLD = {"gemm.so": "old library", "device/a.h": "old a", "mine.txt": "mine", "device/c.h": "c"}


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def tree(folder: Path) -> dict[str, str | None]:
    """Every file and directory below, hidden ones too."""
    found = sorted(folder.rglob("*"))
    return {p.relative_to(folder).as_posix(): p.read_text() if p.is_file() else None for p in found}


def put(folder: Path) -> None:
    with replaced(folder) as staging:
        write(staging, NEW)


def test_a_new_folder_appears_whole(tmp_path: Path) -> None:
    put(tmp_path / "a" / "out")
    assert {k: v for k, v in tree(tmp_path / "a" / "out").items() if v is not None} == NEW
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["out"]


def test_other_files_stay(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    put(tmp_path)
    assert {k: v for k, v in tree(tmp_path).items() if v is not None} == OLD | NEW


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_at_any_step_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException, is_there: bool
) -> None:
    """Every call that changes the disk fails once; after it, what puts the old files back works again."""
    left = [0]

    def failing(real: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object, **named: object) -> object:
            left[0] -= 1
            if left[0] == 0:
                raise failure
            return real(*given, **named)

        return call

    for module, name in ((os, "replace"), (os, "rename"), (os, "link"), (Path, "mkdir"), (os, "mkdir")):
        monkeypatch.setattr(module, name, failing(getattr(module, name)))
    failed = 0
    for step in range(1, 100):
        folder = tmp_path / str(step) / "out"
        left[0] = 0
        folder.parent.mkdir()
        if is_there:
            write(folder, OLD)
        before, left[0] = tree(folder.parent), step
        try:
            put(folder)
        except (Diagnostic, KeyboardInterrupt):
            failed += 1
            assert tree(folder.parent) == before, f"step {step}"
        else:
            after = {k: v for k, v in tree(folder).items() if v is not None}
            assert after == (OLD if is_there else {}) | NEW
        if left[0] > 0:  # there are no more steps
            break
    assert failed >= (12 if is_there else 4), "the steps were seen"


def test_a_disk_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", none)
    write(tmp_path, OLD)
    put(tmp_path)
    assert {k: v for k, v in tree(tmp_path).items() if v is not None} == OLD | NEW


@pytest.mark.parametrize("blocked", ["gemm.so", "device/a.h", "device", "more/deep"])
def test_what_stands_in_the_way_is_seen_before(tmp_path: Path, blocked: str) -> None:
    """A directory where a file should be, and a file where a directory should be."""
    if blocked in NEW:
        (tmp_path / blocked).mkdir(parents=True)
    else:
        (tmp_path / blocked).parent.mkdir(exist_ok=True)
        (tmp_path / blocked).write_text("in the way")
    before = tree(tmp_path)
    name = Path(blocked).name
    with pytest.raises(Diagnostic, match=f"'{name}' there is (a|no) directory"):
        put(tmp_path)
    assert tree(tmp_path) == before


def test_old_files_that_cannot_be_put_back_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, OLD)
    calls = [0]
    real = os.replace

    def dying(*given: object) -> None:
        calls[0] += 1
        if calls[0] > 2:
            raise OSError(errno.EIO, "Input/output error")
        real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", dying)
    with pytest.raises(Diagnostic, match="what was there is now in"):
        put(tmp_path)
    (kept,) = tmp_path.glob(f".imbrex.*/{replace.STUCK}")
    assert (kept / "device" / "a.h").read_text() == "old a" or (kept / "gemm.so").read_text() == "old library"
