"""Sources to a library through the cache: equal inputs meet, different ones do not."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from imbrex.build import shared_library as module
from imbrex.build.cache import Cache, CacheWarning
from imbrex.build.isa import host_isa
from imbrex.build.shared_library import build_shared, find_shared, recipe_key
from imbrex.build.toolchain import find_compiler
from imbrex.diagnostic import Diagnostic

SOURCES = {"k.cpp": 'extern "C" int answer() { return 42; }\n'}


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_second_build_is_the_first(cache: Cache) -> None:
    first, second = build_shared(SOURCES, cache=cache), build_shared(SOURCES, cache=cache)
    assert (first.was_cached, second.was_cached) == (False, True)
    assert first.path == second.path
    assert ctypes.CDLL(str(second.path)).answer() == 42
    assert (second.path.parent / "k.cpp").read_text() == SOURCES["k.cpp"]
    assert find_shared(first.key, cache) == second
    assert find_shared("0" * 64, cache) is None


def test_a_library_keeps_to_its_own_definitions(cache: Cache) -> None:
    """What another library shows to the whole process, under the same name, does not take their place."""
    text = 'inline int number = {n};\nextern "C" int {name}() {{ return number; }}\n'
    paths = {
        name: str(build_shared({"k.cpp": text.format(n=n, name=name)}, cache=cache).path)
        for n, name in enumerate(("none", "one"))
    }
    loaded = {name: ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL) for name, path in paths.items()}
    assert [loaded[name][name]() for name in paths] == [0, 1]


def test_object_key_changes_with_everything_that_makes_the_object() -> None:
    compiler, host = find_compiler(), host_isa()
    variants: list[tuple[Any, ...]] = [
        (SOURCES, (), compiler, host),
        ({"k.cpp": SOURCES["k.cpp"] + " "}, (), compiler, host),
        ({"l.cpp": SOURCES["k.cpp"]}, (), compiler, host),
        ({**SOURCES, "a.hpp": ""}, (), compiler, host),
        (SOURCES, ("-DA",), compiler, host),
        (SOURCES, ("-D", "A"), compiler, host),
        (SOURCES, (), replace(compiler, version="other"), host),
        (SOURCES, (), compiler, replace(host, features=host.features ^ {"fma"})),
    ]
    assert len({module._object_key(*v) for v in variants}) == len(variants)


def test_object_key_does_not_hold_where_the_compiler_lies() -> None:
    compiler, host = find_compiler(), host_isa()
    moved = replace(
        compiler, compile=("elsewhere/zig", *compiler.compile[1:]), link=("elsewhere/zig", *compiler.link[1:])
    )
    assert module._object_key(SOURCES, (), compiler, host) == module._object_key(SOURCES, (), moved, host)


def test_recipe_key_changes_with_all_that_makes_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    assert recipe_key("conv") == recipe_key("conv", builder=(find_compiler().version, host_isa().fingerprint))
    keys = {
        recipe_key("conv"),
        recipe_key("gemm"),
        recipe_key("conv", "tile"),
        recipe_key("conv", builder=("NVRTC 13.0",)),
    }
    monkeypatch.setattr(module, "_generator_digest", lambda: "edited")
    assert len({*keys, recipe_key("conv")}) == 5


def test_generator_digest_reads_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    digest: Callable[[], str] = module._generator_digest.__wrapped__
    (tmp_path / "build").mkdir()
    monkeypatch.setattr(module, "__file__", str(tmp_path / "build" / "shared_library.py"))
    (tmp_path / "rule.py").write_text("one")
    before = digest()
    assert digest() == before
    (tmp_path / "rule.py").write_text("two")
    assert digest() != before


def test_unwritable_cache_still_gives_the_library(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the directory should be")
    with pytest.warns(CacheWarning, match=r"the cache .*cache is not used: '.*cache' is no directory"):
        cache = Cache(tmp_path / "cache")
    built = build_shared(SOURCES, flags=["-DPRIVATE"], cache=cache)
    assert ctypes.CDLL(str(built.path)).answer() == 42
    assert tmp_path not in built.path.parents
    assert build_shared(SOURCES, flags=["-DPRIVATE"], cache=cache).path == built.path


def test_failed_build_leaves_no_entry(cache: Cache) -> None:
    with pytest.raises(Diagnostic) as caught:
        build_shared({"k.cpp": "int f( {\n"}, cache=cache)
    kept = Path(str(caught.value).rpartition("kept in ")[2])
    assert (kept / "k.cpp").read_text() == "int f( {\n"
    assert cache.entries() == []
