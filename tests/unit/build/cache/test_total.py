"""A build asks how much the cache holds without looking through it, and rubbish goes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from imbrex.build.cache import Cache, digest, private
from imbrex.build.cache.total import Total
from imbrex.build.cache.writer import Entry, Writer

from .built import KEY, Builder, age, due


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many entries each listing of the cache found."""
    found, real = list[int](), Writer.entries

    def entries(writer: Writer) -> list[Entry]:
        listed = real(writer)
        found.append(len(listed))
        return listed

    monkeypatch.setattr(Writer, "entries", entries)
    return found


def test_a_build_lists_nothing(cache: Cache, listings: list[int]) -> None:
    for i in range(10):
        cache.object(digest([str(i)]), Builder())
    assert listings == [1], "the first of a cache that was never looked through"
    due(cache, 61)
    cache.object(KEY, Builder())
    assert listings == [1], "below the limit there is no reason"
    due(cache, 3601)
    cache.object(digest(["next"]), Builder())
    assert listings == [1, 12]


def test_above_the_limit_once_a_minute(tmp_path: Path, listings: list[int]) -> None:
    small = Cache(tmp_path, limit_bytes=100)
    for i in range(5):
        small.object(digest([str(i)]), Builder())
    assert listings == [1]
    for _ in range(2):
        due(small, 61)
        small.object(KEY, Builder())
        small.object(digest(["b"]), Builder())
    assert listings == [1, 6, 7] or listings == [1, 6], "what is found builds nothing"


@pytest.mark.parametrize(
    ("since_s", "above", "below"),
    [
        (-1, True, True),
        (0, False, False),
        (59, False, False),
        (60, True, False),
        (3599, True, False),
        (3600, True, True),
    ],
)
def test_a_sweep_is_due_a_minute_after_the_last(
    tmp_path: Path, since_s: int, above: bool, below: bool
) -> None:
    """above, below: the limit.  Where the clock was set back, nobody knows when the last one was."""
    total = Total(tmp_path)
    assert total.is_sweep_due(0, 1e9), "there was none"
    total.set(2048)
    total.mark_sweep(1e9)
    assert [total.is_sweep_due(limit, 1e9 + since_s) for limit in (2047, 2048)] == [above, below]


def test_the_total_is_never_less_than_what_is_there(cache: Cache) -> None:
    assert cache.root is not None
    total = Total(cache.root)
    for i in range(5):
        cache.object(digest([str(i)]), Builder("x" * 3000 * i))
        cache.remember(digest([str(i)]), {"a": "x" * 3000 * i})
    stored = sum(entry.size_bytes for entry in cache.entries())
    assert stored <= total.size_bytes() <= stored + 1024 * len(cache.entries())
    due(cache, 3601)
    cache.object(KEY, Builder())
    counted = sum(entry.size_bytes for entry in cache.entries())
    assert counted <= total.size_bytes() < counted + 1024


@pytest.mark.parametrize("name", ["growth", "swept", "lock"])
def test_a_lost_total_is_counted_again(cache: Cache, name: str) -> None:
    cache.object(KEY, Builder("x" * 10_000))
    assert cache.root is not None
    (cache.root / name).unlink()
    due(cache, 3601) if name != "swept" else None
    cache.object(digest(["b"]), Builder())
    assert Total(cache.root).size_bytes() > 10_000


def test_a_clock_that_was_set_back(cache: Cache, listings: list[int]) -> None:
    cache.object(KEY, Builder())
    due(cache, -5000)
    cache.object(digest(["b"]), Builder())
    assert len(listings) == 2


def test_directories_of_dead_builds_are_swept(cache: Cache) -> None:
    stale, young, named = (private.new_directory() for _ in "abc")
    (stale / "kernel.cpp").write_text("half")
    other = Path(tempfile.mkdtemp(prefix="imbrex-notes"))
    away = Path(tempfile.mkdtemp(prefix="away"))
    link = Path(tempfile.gettempdir()) / f"{private.PREFIX}link"
    link.symlink_to(away)
    for path in (stale, other, away, named):
        age(path, 90_000)
    os.rename(named, named.with_name("renamed"))
    cache.object(KEY, Builder())
    assert not stale.exists()
    assert all(path.exists() for path in (young, other, away, link, named.with_name("renamed")))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_directories_of_others_stay(cache: Cache) -> None:
    theirs = private.new_directory()
    age(theirs, 90_000)
    os.chown(theirs, 65534, 65534)
    cache.object(KEY, Builder())
    assert theirs.exists()


KEEPER = """
import sys, tempfile
from imbrex.build.cache import private
tempfile.tempdir = sys.argv[1]
directory = private.new_directory()
private.keep(sys.argv[2], directory)
print(directory, flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_what_a_process_still_uses_stays(end: str) -> None:
    command = [sys.executable, "-c", KEEPER, tempfile.gettempdir(), KEY]
    process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    directory = Path(process.stdout.readline().strip())
    age(directory, 90_000)
    private.sweep(time.time())
    assert directory.exists()
    if end == "kill":
        process.kill()
    process.communicate("\n")
    assert directory.exists() == (end == "kill")
    private.sweep(time.time())
    assert not directory.exists()
