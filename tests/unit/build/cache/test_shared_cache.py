"""A cache that somebody else keeps: read where it is named, trusted as its owner is, and never written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from imbrex.build.cache import Cache, CacheWarning, digest
from imbrex.build.cache.entry import MANIFEST

from .built import KEY, Builder

OTHER = digest(["another key"])
NOBODY = 65534


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """It holds KEY, last used long ago."""
    directory = tmp_path / "shared"
    keeper = Cache(directory)
    os.utime(keeper.object(KEY, Builder("shared")).directory / MANIFEST, (1000, 1000))
    keeper.remember(KEY, {"is": "shared"})
    monkeypatch.setenv("IMBREX_SHARED_CACHE", str(directory))
    return directory


def state(directory: Path) -> list[tuple[str, int, int, int]]:
    """All that a write would change."""
    found = ((path, path.lstat()) for path in sorted(directory.rglob("*")))
    return [(str(path), s.st_size, s.st_mtime_ns, s.st_ino) for path, s in found]


def test_it_is_read_and_never_written(cache: Cache, shared: Path) -> None:
    before = state(shared)
    own = Cache(cache.root and cache.root.parent)
    found = own.object(KEY, Builder())
    assert (found.was_cached, found.directory.is_relative_to(shared)) == (True, True)
    assert (found.directory / "kernel.so").read_text() == "shared"
    assert own.recall(KEY) == {"is": "shared"}
    assert own.recall(OTHER) is None
    assert not own.object(OTHER, Builder()).directory.is_relative_to(shared)
    assert state(shared) == before


def test_what_is_ones_own_comes_first(tmp_path: Path, shared: Path) -> None:
    own = Cache(tmp_path / "own")
    own.remember(KEY, {"is": "own"})
    assert Cache(tmp_path / "own").recall(KEY) == {"is": "own"}


@pytest.mark.parametrize("damage", ["kernel.so", MANIFEST])
def test_what_is_damaged_there_is_built_here(tmp_path: Path, shared: Path, damage: str) -> None:
    (path,) = shared.rglob(damage)
    path.write_text("payloae")
    (recipe,) = (shared / "v1" / "recipes").iterdir()
    recipe.write_text("{}")
    before, own = state(shared), Cache(tmp_path / "own")
    with pytest.warns(CacheWarning, match="the shared cache has an entry that is damaged or not to be read"):
        stored = own.object(KEY, Builder())
    assert stored.directory.is_relative_to(tmp_path / "own")
    assert own.recall(KEY) is None
    assert state(shared) == before


def test_nobody_but_its_owner_may_write_there(tmp_path: Path, shared: Path) -> None:
    (shared / "v1").chmod(0o777)
    with pytest.warns(CacheWarning, match=r"the shared cache .* is not used: others may write to '.*v1'"):
        own = Cache(tmp_path / "own")
    assert own.shared_root is None
    assert not own.object(KEY, Builder()).was_cached


def test_one_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMBREX_SHARED_CACHE", str(tmp_path / "none"))
    with pytest.warns(CacheWarning, match="the shared cache .*none is not used: no such file or directory"):
        assert Cache(tmp_path / "own").shared_root is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_its_owner_is_trusted_by_naming_it_and_nobody_else(tmp_path: Path, shared: Path) -> None:
    for path in (shared, *shared.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    own = Cache(tmp_path / "own")
    assert own.object(KEY, Builder()).directory.is_relative_to(shared)
    (library,) = shared.rglob("kernel.so")
    os.chown(library, NOBODY - 1, NOBODY - 1)
    with pytest.warns(CacheWarning, match="damaged or not to be read"):
        assert not own.object(KEY, Builder()).was_cached
