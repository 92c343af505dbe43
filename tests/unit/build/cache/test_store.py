"""The cache keeps its law when writers race, are killed, run out of disk, and when entries rot."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from filelock import FileLock
from tests.patience import HANG_S

from imbrex.build.cache import Cache, cache_directory, digest
from imbrex.build.cache.entry import MANIFEST
from imbrex.build.cache.reader import Reader
from imbrex.diagnostic import Diagnostic

from .built import KEY, Builder, age, due, objects, python


def test_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IMBREX_CACHE_DIR", "/one")
    monkeypatch.setenv("XDG_CACHE_HOME", "/two")
    assert cache_directory() == Path("/one")
    monkeypatch.delenv("IMBREX_CACHE_DIR")
    assert cache_directory() == Path("/two/imbrex")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache" / "imbrex"


def test_digest_separates_parts() -> None:
    assert len({digest(p) for p in (["ab"], ["a", "b"], ["b", "a"], ["", "ab"], ["1:a"], [])}) == 6
    assert digest(["/caf\udce9"]) != digest(["/caf\udcc3\udca9"]) == digest(["/caf\u00e9"]), (
        "as files are named"
    )


def test_object_is_built_once(cache: Cache) -> None:
    build = Builder()
    first, second = cache.object(KEY, build), cache.object(KEY, build)
    assert (build.calls, first.was_cached, second.was_cached) == (1, False, True)
    assert (second.directory / "device" / "a.hpp").read_text() == "header"
    assert list((cache.root / "incoming").iterdir()) == []


@pytest.mark.parametrize("damage", ["truncate", "flip", "delete", "manifest", "list", "replace", "empty"])
def test_damaged_object_is_built_again(cache: Cache, damage: str) -> None:
    directory = cache.object(KEY, Builder()).directory
    library, manifest = directory / "kernel.so", directory / MANIFEST
    match damage:
        case "truncate":
            os.truncate(library, 3)
        case "flip":
            library.write_text("payloae")
        case "delete":
            (directory / "device" / "a.hpp").unlink()
        case "manifest":
            manifest.write_text(manifest.read_text()[:-2])
        case "list":
            manifest.write_text("[]")
        case "replace":
            os.rename(directory, directory.with_name("aside"))
            directory.write_text("a file")
        case _:
            manifest.unlink()
    assert cache.find(KEY) is None
    build = Builder()
    again = cache.object(KEY, build)
    assert (build.calls, again.was_cached) == (1, False)
    assert (again.directory / "kernel.so").read_text() == "payload"
    assert cache.find(KEY) is not None


def test_successor_of_a_damaged_entry_is_not_thrown_away(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between seeing the damage and throwing it away, another process has put an intact entry there."""
    directory = cache.object(KEY, Builder()).directory
    seen, is_intact = [False], Reader.is_intact
    monkeypatch.setattr(Reader, "is_intact", lambda *asked: seen.pop() if seen else is_intact(*asked))
    assert cache.find(KEY) is not None
    assert seen == []
    assert (directory / "kernel.so").exists()


def test_one_process_at_a_time_throws_away(cache: Cache) -> None:
    os.truncate(cache.object(KEY, Builder()).directory / "kernel.so", 2)
    finder = threading.Thread(target=cache.find, args=(KEY,))
    with FileLock(cache.root / "lock"):
        finder.start()
        finder.join(0.1)
        assert finder.is_alive()
        assert (cache.root / "objects" / KEY).exists()
    finder.join(HANG_S)
    assert not (cache.root / "objects" / KEY).exists()


def test_failed_build_leaves_no_entry_and_its_directory(cache: Cache) -> None:
    seen: list[Path] = []

    def build(directory: Path) -> None:
        seen.append(directory)
        raise Diagnostic("it does not compile")

    with pytest.raises(Diagnostic):
        cache.object(KEY, build)
    assert cache.find(KEY) is None
    assert seen[0].exists()
    seen[0].rmdir()


def test_recipe_returns_as_it_was(cache: Cache) -> None:
    recipe = {"object": KEY, "roles": ["a", "b"], "shape": {"m": 3}, "alpha": 0.1}
    assert cache.recall(KEY) is None
    cache.remember(KEY, recipe)
    assert cache.recall(KEY) == recipe
    cache.remember(KEY, {"newer": True})
    assert cache.recall(KEY) == {"newer": True}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"recipe": "{}"}', '{"recipe": "{}", "sha256": "0"}', '{"recipe": 3, "sha256": ""}'],
)
def test_damaged_recipe_is_forgotten(cache: Cache, text: str) -> None:
    cache.remember(KEY, {"a": 1})
    path = cache.root / "recipes" / f"{KEY}.json"
    path.write_text(text)
    assert cache.recall(KEY) is None
    assert not path.exists()


def test_recipe_under_another_key_is_not_taken(cache: Cache) -> None:
    cache.remember(KEY, {"a": 1})
    other = digest(["other"])
    os.rename(cache.root / "recipes" / f"{KEY}.json", cache.root / "recipes" / f"{other}.json")
    assert cache.recall(other) is None


def test_least_recently_used_goes_first(tmp_path: Path) -> None:
    keys = [digest([str(i)]) for i in range(5)]
    writer = Cache(tmp_path, limit_bytes=1 << 20)
    for i, key in enumerate(keys):
        age(writer.object(key, Builder("x" * 1000)).directory / MANIFEST, 1000 - i)
    writer.find(keys[0])  # the oldest is now the newest
    age(writer.root / "objects" / keys[0] / MANIFEST, 500)
    newest = digest(["newest"])
    due(writer)
    Cache(tmp_path, limit_bytes=4000).object(newest, Builder("x" * 1000))
    left = {key for key in [*keys, newest] if writer.find(key) is not None}
    assert newest in left
    assert keys[0] in left
    assert not left & {keys[1], keys[2], keys[3]}
    assert sum(entry.size_bytes for entry in writer.entries()) <= 4000


def test_what_was_just_used_is_never_evicted(tmp_path: Path) -> None:
    small = Cache(tmp_path, limit_bytes=10)
    keys = [digest([str(i)]) for i in range(3)]
    for key in keys:
        small.object(key, Builder())
        due(small)
    assert all(small.find(key) is not None for key in keys)


def test_find_marks_an_entry_as_used(cache: Cache) -> None:
    mark = cache.object(KEY, Builder()).directory / MANIFEST
    age(mark, 1000)
    cache.find(KEY)
    assert time.time() - mark.stat().st_mtime < 500


def test_limit_comes_from_the_environment(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMBREX_CACHE_BYTES", "123")
    assert Cache().limit_bytes == 123
    monkeypatch.setenv("IMBREX_CACHE_BYTES", "1 GB")
    with pytest.raises(Diagnostic, match="IMBREX_CACHE_BYTES should be a number of bytes, got '1 GB'"):
        Cache()


def test_only_stale_rubbish_is_swept(cache: Cache) -> None:
    for name, seconds in (("young", 10), ("old", 4000)):
        (cache.root / "incoming" / name).mkdir(parents=True)
        (cache.root / "incoming" / name / "part").write_text("half")
        age(cache.root / "incoming" / name, seconds)
    cache.object(KEY, Builder())
    assert [p.name for p in (cache.root / "incoming").iterdir()] == ["young"]


KILLED = """
import os, signal, sys
from pathlib import Path
from imbrex.build.cache import Cache, entry

def build(directory):
    (directory / "kernel.so").write_text("payload")
    (directory / "second").write_text("payload")

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[2] == "at the rename":
    os.rename = die
else:
    whole = entry.write_file
    entry.write_file = lambda path, data: die() if path.name == entry.MANIFEST else whole(path, data)
Cache(Path(sys.argv[1])).object(sys.argv[3], build)
print("survived")
"""


@pytest.mark.parametrize("moment", ["at the rename", "before the manifest"])
def test_killed_writer_leaves_no_entry(cache: Cache, tmp_path: Path, moment: str) -> None:
    process = python(KILLED, tmp_path, moment, KEY)
    said, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == -9, said
    rubbish = list((cache.root / "incoming").iterdir())
    assert len(rubbish) == 1  # so it was killed in the middle
    assert cache.entries() == []
    build = Builder()
    assert cache.object(KEY, build).directory.exists()
    assert build.calls == 1
    assert rubbish[0].exists()  # it might still be somebody's
    age(rubbish[0], 4000)
    due(cache, 4000)
    cache.object(digest(["next"]), Builder())
    assert not rubbish[0].exists()


WRITER = """
import sys
from pathlib import Path
from imbrex.build.cache import Cache, digest

for i in range(10**6):
    Cache(Path(sys.argv[1])).object(digest([str(i)]), lambda d: (d / "kernel.so").write_text(str(i) * 1000))
    if i == 0:
        print("ready", flush=True)
"""


def test_writer_killed_at_any_time_leaves_only_whole_entries(cache: Cache, tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(4):
        process = python(WRITER, tmp_path)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0.02, 0.2))
        process.kill()
        process.communicate()
    found = [path.name for path in objects(cache).iterdir()]
    assert found
    assert all(cache.find(key) is not None for key in found)


RACER = """
import random, sys
from pathlib import Path
from imbrex.build.cache import Cache, digest

root, who = Path(sys.argv[1]), sys.argv[2]
chance = random.Random(who)
sys.stdin.readline()
for _ in range(60):
    name = str(chance.randrange(6))
    stored = Cache(root).object(digest([name]), lambda d: (d / "kernel.so").write_text(name * 5000))
    assert (stored.directory / "kernel.so").read_text() == name * 5000, name
    Cache(root).remember(digest([name]), {"name": name})
    assert Cache(root).recall(digest([name])) in ({"name": name}, None)
print("done")
"""


@pytest.mark.parametrize("damaged", [False, True])
def test_processes_that_race_for_the_same_entries_all_succeed(
    cache: Cache, tmp_path: Path, damaged: bool
) -> None:
    """Where every entry is damaged they race to throw it away, and none may throw away its successor."""
    for i in range(6 if damaged else 0):
        os.truncate(cache.object(digest([str(i)]), Builder()).directory / "kernel.so", 2)
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(tmp_path), str(i)],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for i in range(4)
    ]
    said = [racer.communicate("go\n", timeout=HANG_S)[0] for racer in racers]
    assert said == ["done\n"] * 4
    assert len(cache.entries()) == 12
    assert list((cache.root / "incoming").iterdir()) == []
