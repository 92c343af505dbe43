"""What others could change is not used; what cannot be used costs time and one warning, never the answer."""

from __future__ import annotations

import errno
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from imbrex.build.cache import Cache, CacheWarning, cache_directory, digest, reader, trust
from imbrex.build.cache.entry import MANIFEST

from .built import KEY, Builder, objects

IS_ROOT = os.geteuid() == 0
NOBODY = 65534


def bypassed(root: Path | None, told: str) -> None:
    """It is said once, and objects and recipes are there all the same."""
    with pytest.warns(CacheWarning, match=told):
        cache = Cache(root)
    assert cache.root is None
    build = Builder()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stored = cache.object(KEY, build)
        cache.remember(KEY, {"a": 1})
        again = Cache(root)
        assert (again.object(KEY, build).directory, again.recall(KEY)) == (stored.directory, {"a": 1})
    assert (build.calls, (stored.directory / "kernel.so").read_text()) == (1, "payload")
    assert root is None or root.absolute() not in stored.directory.parents
    assert cache.entries() == []


def test_a_directory_in_which_others_may_write_is_passed_where_it_is_sticky(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o1777)
    assert not Cache(tmp_path / "open" / "cache").object(KEY, Builder()).was_cached
    assert Cache(tmp_path / "open" / "cache").find(KEY) is not None
    (tmp_path / "open").chmod(0o777)
    bypassed(tmp_path / "open" / "cache", r"others may write to '.*open' \(mode 777\)")


@pytest.mark.parametrize("part", [".", "v1", "v1/objects", "v1/recipes", "v1/incoming"])
def test_no_part_of_it_may_be_open(tmp_path: Path, part: str) -> None:
    cache = Cache(tmp_path / "cache")
    cache.object(KEY, Builder())
    cache.remember(KEY, {})
    (tmp_path / "cache" / part).chmod(0o777)
    bypassed(tmp_path / "cache", "others may write to")


def test_a_group_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o770)
    monkeypatch.setattr(
        trust, "_is_alone", lambda group, owner: (group, owner) == (os.getegid(), os.geteuid())
    )
    assert Cache(tmp_path).root is not None, "a group of one's own is no other user"
    monkeypatch.setattr(trust, "_has_access_list", lambda path: path == tmp_path)
    bypassed(tmp_path, r"others may write to '.*' \(mode 770\)")
    monkeypatch.undo()
    monkeypatch.setattr(trust, "_is_alone", lambda group, owner: False)
    with pytest.raises(trust.Objection, match="others may write"):
        reader.opened(tmp_path)


def test_own_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    import grp
    import pwd
    from types import SimpleNamespace as Names

    users, groups = {5: "me"}, {50: ("me", []), 51: ("me", ["me", "you"]), 52: ("us", []), 53: ("me", ["me"])}
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: Names(pw_name=users[uid]))
    monkeypatch.setattr(grp, "getgrgid", lambda gid: Names(gr_name=groups[gid][0], gr_mem=groups[gid][1]))
    alone = [gid for gid in (50, 51, 52, 53, 54) if trust._is_alone(gid, 5)]
    assert alone == [50, 53] and not trust._is_alone(50, 6)


def test_the_cache_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root's is seen by others, and theirs by root."""
    Cache(tmp_path).object(KEY, Builder("planted"))
    us = os.geteuid()
    monkeypatch.setattr(reader, "this_user", lambda: us + 1)
    monkeypatch.setattr(trust, "superuser", lambda: frozenset({us + 2}))
    with pytest.raises(trust.Objection, match="is of user"):
        reader.opened(tmp_path)


@pytest.mark.skipif(not IS_ROOT, reason="only root can give files away")
@pytest.mark.parametrize("part", [".", "v1"])
def test_root_does_not_load_what_a_user_planted(tmp_path: Path, part: str) -> None:
    Cache(tmp_path / "cache").object(KEY, Builder("planted"))
    os.chown(tmp_path / "cache" / part, NOBODY, NOBODY)
    bypassed(tmp_path / "cache", f"is of user {NOBODY}")


@pytest.mark.skipif(not IS_ROOT, reason="only root can give files away")
@pytest.mark.parametrize("part", [".", "kernel.so", "device", "device/a.hpp", MANIFEST])
def test_a_file_of_another_user_is_damage(cache: Cache, part: str) -> None:
    directory = cache.object(KEY, Builder()).directory
    os.chown(directory / part, NOBODY, NOBODY)
    assert cache.find(KEY) is None
    assert not cache.object(KEY, Builder()).was_cached
    assert cache.find(KEY) is not None


@pytest.mark.skipif(not IS_ROOT, reason="only root can give files away")
def test_a_link_of_another_user(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    assert Cache(tmp_path / "link").root == (tmp_path / "there" / "v1").resolve()
    os.lchown(tmp_path / "link", NOBODY, NOBODY)
    bypassed(tmp_path / "link", f"the link '.*link' is of user {NOBODY}|'.*link' is of user {NOBODY}")


@pytest.mark.parametrize("part", [".", "kernel.so", "device", MANIFEST])
def test_no_link_out_of_it_is_followed(cache: Cache, tmp_path: Path, part: str) -> None:
    """What is behind it would be intact; it is thrown away as damage, and what it leads to stays."""
    directory = cache.object(KEY, Builder()).directory
    away = tmp_path / "away"
    (directory / part).rename(away)
    (directory / part).symlink_to(away)
    assert cache.find(KEY) is None
    assert not cache.object(KEY, Builder()).was_cached
    assert cache.find(KEY) is not None and not (directory / part).is_symlink()
    assert away.exists()


def test_a_recipe_behind_a_link(cache: Cache, tmp_path: Path) -> None:
    cache.remember(KEY, {"a": 1})
    assert cache.root is not None
    path = cache.root / "recipes" / f"{KEY}.json"
    path.rename(tmp_path / "away")
    path.symlink_to(tmp_path / "away")
    assert cache.recall(KEY) is None and not path.is_symlink()


def test_parts_behind_links(tmp_path: Path) -> None:
    Cache(tmp_path / "cache").object(KEY, Builder())
    where = tmp_path / "cache" / "v1" / "objects"
    where.rename(tmp_path / "away")
    where.symlink_to(tmp_path / "away")
    bypassed(tmp_path / "cache", "'.*objects' is a link")


@pytest.mark.parametrize("name", ["kernel.so", MANIFEST])
def test_a_pipe_is_not_waited_for(cache: Cache, name: str) -> None:
    path = cache.object(KEY, Builder()).directory / name
    path.unlink()
    os.mkfifo(path)
    assert cache.find(KEY) is None


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "device/../../x", "", ".", "device//a.hpp"])
def test_a_manifest_names_files_below(cache: Cache, name: str) -> None:
    directory = cache.object(KEY, Builder()).directory
    (directory / MANIFEST).write_text(json.dumps({"files": {name: {"bytes": 0, "sha256": ""}}}))
    assert cache.find(KEY) is None


def _no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(uid: int) -> object:
        raise KeyError(uid)

    monkeypatch.delenv("IMBREX_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)


def _gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> str:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setenv("IMBREX_CACHE_DIR", "relative")
    monkeypatch.setattr(os, "getcwd", gone)


def _closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a directory that may not be searched is to whoever is not root."""
    real = os.lstat

    def closed(path: os.PathLike[str] | str) -> os.stat_result:
        if "closed/" in f"{path}":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path)

    monkeypatch.setenv("IMBREX_CACHE_DIR", "/tmp/closed/cache")
    monkeypatch.setattr(os, "lstat", closed)


IMPOSSIBLE: dict[str, tuple[Callable[[pytest.MonkeyPatch], None] | str, str]] = {
    "too long a name": (f"/tmp/{'x' * 300}", "file name too long"),
    "too long a path": ("/tmp/" + "x/" * 5000, "file name too long"),
    "no such user": ("~nouser-of-imbrex/x", "'~nouser-of-imbrex/x' names a home that is not there"),
    "a file on the way": (f"{__file__}/x", "is no directory"),
    "a device": ("/dev/null", "'/dev/null' is no directory"),
    "no home": (_no_home, "this user has no home"),
    "the working directory is gone": (_gone, "relative to a directory that is gone"),
    "not to be searched": (_closed, "permission denied"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_path_costs_time_only(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    given, told = IMPOSSIBLE[case]
    if isinstance(given, str):
        monkeypatch.setenv("IMBREX_CACHE_DIR", given)
    else:
        given(monkeypatch)
    bypassed(None, f"the cache.* is not used: .*{told}")


def test_a_path_with_a_nul(tmp_path: Path) -> None:
    bypassed(tmp_path / "a\0b", "null")


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    bypassed(tmp_path / "a", "too many links")


def test_a_relative_path_is_made_absolute_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    monkeypatch.chdir(tmp_path / "one")
    monkeypatch.setenv("IMBREX_CACHE_DIR", "cache")
    assert cache_directory() == tmp_path / "one" / "cache"
    cache = Cache()
    monkeypatch.chdir(tmp_path / "two")
    assert cache.object(KEY, Builder()).directory == tmp_path / "one" / "cache" / "v1" / "objects" / KEY
    assert cache.find(KEY) is not None


def test_what_is_made_is_closed_to_others_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        cache = Cache(tmp_path / "new" / "cache")
        cache.object(KEY, Builder())
        cache.remember(KEY, {})
    finally:
        os.umask(before)
    made = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    assert len(made) > 8 and not [p for p in made if p.stat().st_mode & 0o022]
    assert cache.find(KEY) is not None and objects(cache).exists()


def test_somebody_was_faster_between_the_look_and_the_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory that was not there is another's by the time when it would be made."""
    cache = Cache(tmp_path / "cache")
    (tmp_path / "cache" / "v1").mkdir(parents=True)
    (tmp_path / "cache" / "v1").chmod(0o777)
    with pytest.warns(CacheWarning, match="cannot be written: others may write to"):
        stored = cache.object(digest(["b"]), Builder())
    assert (stored.directory / "kernel.so").read_text() == "payload"
