"""Source texts to a shared object, through the cache.

Law: equal sources, flags, compiler and instruction set give the same file; anything else another one.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from imbrex.build.cache import Cache, digest, source_parts
from imbrex.build.device_units import device_objects
from imbrex.build.isa import Isa, host_isa
from imbrex.build.precompiled import compiled_with, precompiled
from imbrex.build.toolchain import (
    FLAGS,
    Compiler,
    compile_shared,
    compiler_of,
    find_compiler,
    linked,
    write_sources,
)

__all__ = ["LIBRARY", "SharedLibrary", "build_shared", "find_shared", "recipe_key"]

LIBRARY = "kernel.so"


@dataclass(frozen=True, slots=True)
class SharedLibrary:
    """path: the library, beside its sources."""

    path: Path
    key: str
    was_cached: bool


def build_shared(
    sources: Mapping[str, str],
    *,
    flags: Sequence[str] = (),
    compiler: Compiler | None = None,
    isa: Isa | None = None,
    cache: Cache | None = None,
) -> SharedLibrary:
    """The library of these sources, from the cache when it is there.  sources, flags: as `compile_shared`
    takes them.
    """
    isa, cache = isa or host_isa(), cache or Cache()
    compiler = compiler or compiler_of(isa)
    key = _object_key(sources, flags, compiler, isa)

    def build(directory: Path) -> None:
        given = precompiled(sources, flags, compiler, isa, cache)
        objects = device_objects(sources, flags, compiler, isa, cache)

        def compile_some(some: Mapping[str, str], further: tuple[str, ...]) -> None:
            all_flags = (*flags, *further)
            compile_shared(
                some, directory, name=LIBRARY, flags=all_flags, compiler=compiler, isa=isa, compiled=objects
            )

        left = compiled_with(given, sources, directory, compile_some)
        write_sources(linked(left, given.headers, directory) if given else left, directory)

    stored = cache.object(key, build, (LIBRARY,))
    return SharedLibrary(stored.directory / LIBRARY, key, stored.was_cached)


def find_shared(key: str, cache: Cache | None = None) -> SharedLibrary | None:
    """The library built earlier under `key`, None when it is gone."""
    stored = (cache or Cache()).find(key, (LIBRARY,))
    return None if stored is None else SharedLibrary(stored.directory / LIBRARY, key, True)


def recipe_key(problem: str, options: str = "", *, builder: tuple[str, ...] | None = None) -> str:
    """Key for `Cache.remember`: the problem, the options, and all that would make other code of them.

    builder: what else decides the code; by default the C++ compiler and this machine's instruction set.
    This package's own files do, too: an edited generator never meets what its predecessor remembered.
    """
    words = (find_compiler().version, host_isa().fingerprint) if builder is None else builder
    return digest([_generator_digest(), problem, options, *words])


def _object_key(sources: Mapping[str, str], flags: Sequence[str], compiler: Compiler, isa: Isa) -> str:
    settings = [*FLAGS, "|", *isa.flags, "|", *flags, "|", *compiler.link[1:], *compiler.link_libraries]
    return digest([*source_parts(sources), "|", *settings, "|", compiler.version, isa.fingerprint])


@functools.cache
def _generator_digest() -> str:
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    total = hashlib.sha256()
    for directory, below, files in os.walk(package):
        below.sort()
        for name in sorted(f for f in files if f.endswith((".py", ".hpp", ".h", ".cpp", ".cu", ".cuh"))):
            path = os.path.join(directory, name)
            with open(path, "rb") as file:
                text = file.read()
            total.update(f"{os.path.relpath(path, package)}:{len(text)}:".encode())
            total.update(text)
    return total.hexdigest()
