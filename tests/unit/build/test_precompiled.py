"""The header of vector instructions, parsed once: the same objects, and none where nobody includes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from imbrex.build.cache import Cache
from imbrex.build.isa import isa
from imbrex.build.precompiled import precompiled
from imbrex.build.toolchain import compile_shared, compiler_of, find_compiler

UNITS = {
    "x86_64": "#include <immintrin.h>\nextern \"C\" __m256 f(__m256 x) { return x * x; }\n",
    "aarch64": "#include <arm_neon.h>\nextern \"C\" float32x4_t f(float32x4_t x) { return x * x; }\n",
}  # fmt: skip


@pytest.mark.parametrize("level", ["avx2", "neon"])
def test_the_object_is_the_same_with_it(tmp_path: Path, level: str) -> None:
    of, cache = isa(level), Cache(tmp_path / "cache")
    sources, compiler = {"f.cpp": UNITS[of.arch]}, compiler_of(of)
    flags = precompiled(sources, ("-O1",), compiler, of, cache)
    assert flags[0] == "-include-pch" and Path(flags[1]).is_file()
    assert precompiled(sources, ("-O1",), compiler, of, cache) == flags
    made = []
    for name, more in (("without", ()), ("with", flags)):
        (tmp_path / name).mkdir()
        made.append(compile_shared(sources, tmp_path / name, flags=("-O1", *more), compiler=compiler, isa=of))
    assert made[0].read_bytes() == made[1].read_bytes()


def test_other_flags_have_their_own(tmp_path: Path) -> None:
    of, cache = isa("avx2"), Cache(tmp_path / "cache")
    one, other = (
        precompiled({"f": UNITS["x86_64"]}, (f,), compiler_of(of), of, cache) for f in ("-O0", "-O1")
    )
    assert one != other


def test_who_includes_none_gets_none(tmp_path: Path) -> None:
    of, cache = isa("avx2"), Cache(tmp_path / "cache")
    assert precompiled({"f.cpp": "int f;"}, (), compiler_of(of), of, cache) == ()
    assert cache.entries() == []


def test_another_compiler_reads_the_header_itself(tmp_path: Path) -> None:
    script = tmp_path / "cc"
    script.write_text("#!/bin/sh\necho cc 1\n")
    script.chmod(0o755)
    of = isa("avx2")
    assert (
        precompiled({"f": UNITS["x86_64"]}, (), find_compiler(str(script)), of, Cache(tmp_path / "c")) == ()
    )
