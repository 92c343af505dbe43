"""Faults put in: a disk that is full or read-only at any step, and bytes that flip in any file.

After each of them the caller has what it asked for, and the next one finds or makes an intact entry.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.patience import HANG_S

from imbrex.build.cache import Cache, CacheWarning, digest, location, private
from imbrex.build.cache.entry import MANIFEST

from .built import KEY, Builder

NESTED = "[" * 200_000
CALLS = ("open", "mkdir", "rename", "replace", "write", "utime", "ftruncate", "unlink", "rmdir")


def healthy(cache: Cache) -> None:
    """A build goes through, and what it leaves is found and intact."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stored = cache.object(KEY, Builder())
        assert (stored.directory / "kernel.so").read_text() == "payload"
        assert cache.find(KEY) is not None
        cache.remember(KEY, {"a": 1})
        assert cache.recall(KEY) == {"a": 1}


@contextmanager
def failing(below: Path, code: int, step: int, lasts: bool) -> Iterator[list[int]]:
    """Calls that change something below: the one of this number fails, and if it lasts all after it.

    What it gives counts them.
    """
    count = [0]

    def wrapped(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(first: object, *given: object, **named: object) -> object:
            is_write = name != "open" or bool(int(str(given[0])) & (os.O_CREAT | os.O_WRONLY))
            if is_write and (isinstance(first, int) or str(first).startswith(str(below))):
                count[0] += 1
                if count[0] == step or (lasts and count[0] > step):
                    raise OSError(code, os.strerror(code))
            return real(first, *given, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, wrapped(name, getattr(os, name)))
        yield count


def forget() -> None:
    """As a new process."""
    private._entries.clear()
    private.recipes.clear()
    location._warned.clear()


@pytest.mark.parametrize("lasts", [False, True])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_a_disk_that_fails_at_any_step(tmp_path: Path, code: int, lasts: bool) -> None:
    """Of a new cache, whose first build looks through it, too."""
    warned, count = 0, [1]
    for step in range(1, 200):
        cache = Cache(tmp_path / str(step))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with failing(tmp_path, code, step, lasts) as count:
                stored = cache.object(KEY, Builder())
                cache.remember(KEY, {"a": 1})
                assert (stored.directory / "kernel.so").read_text() == "payload", step
                assert cache.recall(KEY) == {"a": 1}
        assert {w.category for w in said} <= {CacheWarning} and len(said) <= 1
        warned += len(said)
        forget()
        healthy(cache)
        if count[0] < step:
            break
    assert step > 20 and warned > 10, "the steps were seen"


@pytest.mark.parametrize("name", ["kernel.so", "device/a.hpp", MANIFEST, "recipe", "growth", "swept", "lock"])
@pytest.mark.parametrize("at", [0.0, 0.5, 1.0])
def test_a_flipped_byte_in_any_file(cache: Cache, name: str, at: float) -> None:
    directory = cache.object(KEY, Builder()).directory
    cache.remember(KEY, {"a": 1})
    assert cache.root is not None
    path = cache.root / name if name in ("growth", "swept", "lock") else directory / name
    path = cache.root / "recipes" / f"{KEY}.json" if name == "recipe" else path
    data = bytearray(path.read_bytes() or b"x")
    data[int(at * (len(data) - 1))] ^= 0x10
    path.write_bytes(data)
    if name == "recipe":
        assert cache.recall(KEY) is None and not path.exists()
    elif path.is_relative_to(directory):
        assert cache.find(KEY) is None and not directory.exists()
    healthy(cache)


MANIFESTS = {
    "no files": '{"files": {}}',
    "other files": f'{{"files": {{"a": {{"bytes": 0, "sha256": "{hashlib.sha256().hexdigest()}"}}}}}}',
    "nested": NESTED,
    "nested names": '{"files": ' + '{"a":' * 100_000,
    "a number": "1" * 5000,
    "huge": " " * (2 << 20),
    "files a list": '{"files": [1]}',
    "a size a list": '{"files": {"kernel.so": {"bytes": [], "sha256": ""}}}',
    "a size nan": '{"files": {"kernel.so": {"bytes": NaN, "sha256": ""}}}',
    "no text": "\udcff",
}


@pytest.mark.parametrize("text", MANIFESTS.values(), ids=MANIFESTS)
def test_a_manifest_that_is_none_is_thrown_away(cache: Cache, text: str) -> None:
    directory = cache.object(KEY, Builder(), ("kernel.so",)).directory
    (directory / MANIFEST).write_bytes(text.encode(errors="surrogateescape"))
    (directory / "a").touch()
    assert cache.find(KEY, ("kernel.so",)) is None
    assert not directory.exists()
    healthy(cache)


def test_a_warning_that_is_an_error_loses_nothing(tmp_path: Path) -> None:
    """Under `-W error` it is raised once; what was built is there all the same."""
    cache, build = Cache(tmp_path), Builder()
    with failing(tmp_path, errno.ENOSPC, 1, lasts=True), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CacheWarning):
            cache.object(KEY, build)
        assert cache.object(KEY, build).was_cached and build.calls == 1
        with pytest.raises(CacheWarning):
            cache.remember(KEY, {"a": 1})
        assert cache.recall(KEY) == {"a": 1}


def test_an_entry_without_files_is_none(cache: Cache) -> None:
    """Whatever is asked of it."""
    directory = cache.object(KEY, Builder()).directory
    (directory / MANIFEST).write_text(MANIFESTS["no files"])
    assert cache.find(KEY) is None and not directory.exists()


@pytest.mark.parametrize("text", [NESTED, '{"recipe": ' + NESTED, "1" * 5000, " " * (17 << 20)])
def test_a_recipe_that_is_none_is_thrown_away(cache: Cache, text: str) -> None:
    healthy(cache)
    assert cache.root is not None
    (cache.root / "recipes" / f"{KEY}.json").write_text(text)
    assert cache.recall(KEY) is None
    healthy(cache)


def test_a_recipe_whose_hash_is_right_and_that_is_nested(cache: Cache) -> None:
    healthy(cache)
    assert cache.root is not None
    text = json.dumps({"recipe": NESTED, "sha256": digest([KEY, NESTED])})
    (cache.root / "recipes" / f"{KEY}.json").write_text(text)
    assert cache.recall(KEY) is None
    healthy(cache)


def test_an_entry_has_the_files_that_it_needs(cache: Cache) -> None:
    with pytest.raises(AssertionError, match=r"kernel\.cubin"):
        cache.object(KEY, Builder(), ("kernel.cubin",))
    cache.object(KEY, Builder(), ("kernel.so",))
    assert cache.find(KEY, ("kernel.so", "other")) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root; see the next test")
def test_read_only_directory(tmp_path: Path) -> None:
    Cache(tmp_path).object(KEY, Builder())
    paths = [tmp_path, *tmp_path.rglob("*")]
    for path in paths:
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        assert Cache(tmp_path).object(KEY, Builder()).was_cached
        with pytest.warns(CacheWarning, match="Permission denied"):
            assert not Cache(tmp_path).object(digest(["other"]), Builder()).was_cached
    finally:
        for path in paths:
            path.chmod(0o700)


ON_A_DISK = """
import sys, warnings
from pathlib import Path
from imbrex.build.cache import Cache, digest

warnings.simplefilter("always")
cache, told = Cache(Path(sys.argv[1])), []
def build(directory):
    (directory / "kernel.so").write_text("x" * 30_000)
for i in range(12):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        stored = cache.object(digest([str(i)]), build, ["kernel.so"])
        cache.remember(digest([str(i)]), {"i": i})
    assert (stored.directory / "kernel.so").read_text() == "x" * 30_000
    assert cache.recall(digest([str(i)])) == {"i": i}
    told += [str(w.message) for w in said]
intact = [cache.find(digest([str(i)])) is not None for i in range(12)]
print(all(intact), len(cache.entries()) > 4, *told, sep="|")
"""


@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_a_real_disk(tmp_path: Path, kind: str) -> None:
    """In a mount namespace of its own, which goes with its process."""
    cache = tmp_path / "cache"
    cache.mkdir()
    script = 'mount -t tmpfs -o size=256k,mode=755 none "$1"'
    script += ' && mkdir "$1/v1" && mount -o remount,ro "$1"' if kind == "read-only" else ""
    command = ["unshare", "-m", "sh", "-c", f'{script} || exit 77; exec "$2" -c "$3" "$1"']
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    ended = subprocess.run(
        [*command, "sh", str(cache), sys.executable, ON_A_DISK],
        env={**os.environ, "TMPDIR": tempfile.gettempdir()},
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    if ended.returncode == 77 or "unshare failed" in ended.stderr:
        pytest.skip(f"no disk can be mounted here: {ended.stderr.strip()}")
    reason = "No space left on device" if kind == "full" else "Read-only file system"
    found = "True" if kind == "full" else "False"
    assert ended.stdout == f"True|{found}|the cache {cache} cannot be written: {reason}\n", ended.stderr
