"""What kernels of CPUs have precompiled: equal objects, nothing for others, and a refusal costs only time."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from imbrex.build.cache import Cache
from imbrex.build.cache.entry import is_intact
from imbrex.build.cache.trust import this_user
from imbrex.build.isa import isa
from imbrex.build.precompiled import RESULT, precompiled
from imbrex.build.shared_library import build_shared
from imbrex.build.toolchain import LOG, compile_shared, compiler_of, find_compiler
from imbrex.diagnostic import Diagnostic
from imbrex.emit.bundle import device_headers

INCLUDED = '#include "device/cpu/operand.h"\n#include "device/cpu/threads.h"\n'
UNIT = 'extern "C" void f(imbrex::vec<float> *x) { *x = imbrex::load<float>((float *)x + 1) * *x; }\n'
SOURCES = {"f.cpp": INCLUDED + UNIT, **device_headers("cpu")}
FLAGS = ("-O1",)


@pytest.mark.parametrize("level", ["avx2", "amx", "neon"])
def test_the_object_is_the_same_with_it(tmp_path: Path, level: str) -> None:
    of, cache = isa(level), Cache(tmp_path / "cache")
    compiler = compiler_of(of)
    given = precompiled(SOURCES, FLAGS, compiler, of, cache)
    assert given is not None and Path(given.flags[1]).name == RESULT
    again = precompiled(SOURCES, FLAGS, compiler, of, cache)
    assert again is not None and again.flags == given.flags
    built = build_shared(SOURCES, flags=FLAGS, compiler=compiler, isa=of, cache=cache)
    (tmp_path / "without").mkdir()
    without = compile_shared(SOURCES, tmp_path / "without", flags=FLAGS, compiler=compiler, isa=of)
    assert built.path.read_bytes() == without.read_bytes()
    found = {str(file.relative_to(built.path.parent)) for file in built.path.parent.rglob("*.*")}
    assert found == {*SOURCES, "kernel.so", "manifest.json"}, "a kernel has its sources beside it"


@pytest.mark.parametrize("most_links", [0, 5, 1000])
def test_sources_lie_beside_a_kernel_however_many_links_a_disk_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_links: int
) -> None:
    """Two kernels share the headers' files; where links end, at once or after some, they have their own."""
    of, cache, real, made = isa("generic"), Cache(tmp_path / "cache"), os.link, list[Path]()

    def link(source: Path, target: Path) -> None:
        if len(made) >= most_links:
            raise OSError(errno.EMLINK, "too many links")
        made.append(target)
        real(source, target)

    monkeypatch.setattr(os, "link", link)
    for value in (1, 2):
        sources = SOURCES | {"f.cpp": f"{INCLUDED}int f() {{ return {value}; }}\n"}
        at = build_shared(sources, flags=FLAGS, isa=of, cache=cache).path.parent
        assert {name: (at / name).read_text("utf-8") for name in sources} == sources
        assert is_intact(at, sources, frozenset({this_user()}))
    shared = [path for path in at.rglob("device/**/*.h") if path.stat().st_nlink > 1]
    assert bool(shared) == (most_links == 1000)


def test_a_refusal_costs_time_and_not_the_kernel(tmp_path: Path) -> None:
    of, cache, used = isa("generic"), Cache(tmp_path / "cache"), tmp_path / "used"
    bundled, script = compiler_of(of), tmp_path / "cc"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *-include-pch*) touch {used}; echo "error: other"; exit 1;; esac\n'
        f'exec {bundled.compile[0]} "$@"\n'
    )
    script.chmod(0o755)
    compiler = replace(bundled, compile=(str(script), *bundled.compile[1:]))
    built = build_shared(SOURCES, flags=FLAGS, compiler=compiler, isa=of, cache=cache)
    assert used.exists() and not (built.path.parent / LOG).exists()
    kept = [entry.path for entry in cache.entries()]
    assert built.path.parent in kept and not any((path / RESULT).exists() for path in kept)


def test_an_error_is_of_sources_that_lie_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    wrong, cache = SOURCES | {"f.cpp": INCLUDED + "int f() { return none; }\n"}, Cache(tmp_path / "cache")
    with pytest.raises(Diagnostic, match="none"):
        build_shared(wrong, flags=FLAGS, isa=isa("generic"), cache=cache)
    (kept,) = (path.parent for path in tmp_path.rglob(LOG))
    assert all((kept / file).is_file() for file in wrong)
    assert [entry.path for entry in cache.entries() if (entry.path / RESULT).exists()], "it was not refused"


def test_a_full_disk_is_told_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("imbrex.build.toolchain.put_sources", full)
    with pytest.raises(Diagnostic, match=r"cannot be written to /.*: No space left") as error:
        build_shared(SOURCES, flags=FLAGS, isa=isa("generic"), cache=Cache(tmp_path / "cache"))
    assert error.value.hint == "set TMPDIR to a directory with free space"


def test_other_flags_and_headers_have_their_own(tmp_path: Path) -> None:
    of, cache = isa("neon"), Cache(tmp_path / "cache")
    other = SOURCES | {"device/cpu/extent.h": SOURCES["device/cpu/extent.h"] + "\n"}
    made = [
        precompiled(*words, compiler_of(of), of, cache)
        for words in ((SOURCES, ("-O0",)), (SOURCES, ("-O1",)), (other, ("-O1",)))
    ]
    assert len({one.flags for one in made if one is not None}) == 3
    two = precompiled({"g.cpp": "int g() { return 1; }\n", **SOURCES}, ("-O1",), compiler_of(of), of, cache)
    assert two is not None and made[1] is not None and two.flags == made[1].flags, "one unit includes it"


def test_no_kernel_of_a_cpu_has_none(tmp_path: Path) -> None:
    of, cache = isa("avx2"), Cache(tmp_path / "cache")
    other = {**device_headers("cpu"), "f.cpp": '#include "device/cpu/pool.h"\n'}
    assert precompiled(other, (), compiler_of(of), of, cache) is None
    assert cache.entries() == []


def test_another_compiler_reads_the_headers_itself(tmp_path: Path) -> None:
    script = tmp_path / "cc"
    script.write_text("#!/bin/sh\necho cc 1\n")
    script.chmod(0o755)
    assert precompiled(SOURCES, (), find_compiler(str(script)), isa("avx2"), Cache(tmp_path / "c")) is None
