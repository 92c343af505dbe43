"""Compiling: what comes out runs, names no path of the host, and a failure says all that is needed."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path

import pytest

from imbrex.build.isa import isa
from imbrex.build.toolchain import WARNINGS, Compiler, compile_shared, find_compiler
from imbrex.diagnostic import Diagnostic

ANSWER = 'extern "C" int answer() { return 42; }\n'


def _answer(path: Path, symbol: str = "answer") -> int:
    return int(ctypes.CDLL(str(path))[symbol]())


@pytest.fixture(params=["zig", "g++", "clang++"])
def compiler(request: pytest.FixtureRequest) -> Compiler:
    if request.param != "zig" and shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return find_compiler(request.param)


def test_units_see_headers_and_each_other(compiler: Compiler, tmp_path: Path) -> None:
    sources = {
        "device/value.hpp": "#pragma once\nint value();\n",
        "value.cpp": '#include "device/value.hpp"\nint value() { return 40; }\n',
        "main.cpp": '#include "device/value.hpp"\nextern "C" int answer() { return value() + EXTRA; }\n',
    }
    library = compile_shared(sources, tmp_path, compiler=compiler, flags=["-DEXTRA=2", "-Werror", *WARNINGS])
    assert _answer(library) == 42
    assert sorted(p.name for p in tmp_path.iterdir()) == ["device", "kernel.so", "main.cpp", "value.cpp"]


def test_libc_is_met_in_the_process(compiler: Compiler, tmp_path: Path) -> None:
    text = """
    #include <stddef.h>
    #include <stdint.h>
    #if defined(__x86_64__)
    #include <immintrin.h>
    #endif
    extern "C" void* aligned_alloc(size_t, size_t);
    extern "C" void free(void*);
    extern "C" int pthread_create(unsigned long*, const void*, void* (*)(void*), void*);
    extern "C" int pthread_join(unsigned long, void**);
    static void* work(void* p) { *static_cast<int32_t*>(p) = 42; return nullptr; }
    extern "C" int answer() {
        void* memory = aligned_alloc(64, 64);
        unsigned long thread = 0;
        if (pthread_create(&thread, nullptr, work, memory) != 0) return -1;
        pthread_join(thread, nullptr);
        const int32_t value = *static_cast<int32_t*>(memory);
        free(memory);
        return value;
    }
    """
    assert _answer(compile_shared({"k.cpp": text}, tmp_path, compiler=compiler)) == 42


def test_the_named_level_is_compiled_for(compiler: Compiler, tmp_path: Path) -> None:
    """The same source built for two levels answers differently on one host."""
    if isa().arch != "x86_64":
        pytest.skip("the levels are those of x86-64")
    text = '#ifndef __AVX2__\n#define __AVX2__ 0\n#endif\nextern "C" int answer() { return __AVX2__; }\n'
    for name, wanted in (("generic", 0), ("avx2", 1)):
        (tmp_path / name).mkdir()
        library = compile_shared({"k.cpp": text}, tmp_path / name, compiler=compiler, isa=isa(name))
        assert _answer(library) == wanted


def test_library_names_no_host_path(compiler: Compiler, tmp_path: Path) -> None:
    text = 'extern "C" const char* where() { return __FILE__; }\n'
    data = compile_shared({"unit.cpp": text}, tmp_path, compiler=compiler).read_bytes()
    assert b"unit.cpp" in data  # so a path would have been seen
    for path in (tmp_path, Path(sys.prefix), Path.home()):
        assert os.fsencode(path) + b"/" not in data


def test_equal_sources_give_equal_bytes(tmp_path: Path) -> None:
    built: list[bytes] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        built.append(compile_shared({"k.cpp": ANSWER}, tmp_path / name).read_bytes())
    assert built[0] == built[1]


def test_bundled_compiler_needs_no_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    (tmp_path / "build").mkdir()
    compile_shared({"k.cpp": ANSWER}, tmp_path / "build", compiler=find_compiler("zig"))
    assert [p.name for p in tmp_path.iterdir()] == ["build"]


def test_error_carries_the_compiler_words_and_keeps_the_source(compiler: Compiler, tmp_path: Path) -> None:
    with pytest.raises(Diagnostic) as caught:
        compile_shared({"k.cpp": "int f() {\n  return missing;\n}\n"}, tmp_path, compiler=compiler)
    text = str(caught.value)
    assert text.startswith(f"error: {compiler.name} failed with exit status 1 on 'k.cpp'\n")
    assert "k.cpp:2" in text and "missing" in text
    assert text.endswith(f"compiler.log, are kept in {tmp_path}")
    assert {"k.cpp", "compiler.log"} <= {p.name for p in tmp_path.iterdir()}


def test_long_compiler_output_is_cut_and_kept(tmp_path: Path) -> None:
    text = "\n".join(f"int f{i}() {{ return missing{i}; }}" for i in range(60))
    with pytest.raises(Diagnostic) as caught:
        compile_shared({"k.cpp": text}, tmp_path, flags=["-ferror-limit=0"])
    assert len(str(caught.value).splitlines()) < 6
    assert "missing0" in str(caught.value) and "missing1" not in str(caught.value)
    assert "missing59" in (tmp_path / "compiler.log").read_text()


def test_duplicate_symbol_is_the_linker_error(compiler: Compiler, tmp_path: Path) -> None:
    with pytest.raises(Diagnostic, match=r"on 'kernel\.so'\n(.|\n)*answer"):
        compile_shared({"a.cpp": ANSWER, "b.cpp": ANSWER}, tmp_path, compiler=compiler)


def test_environment_names_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMBREX_CXX", "no-such-compiler -O1")
    with pytest.raises(
        Diagnostic, match=r"compiler 'no-such-compiler -O1' \(from IMBREX_CXX\) is not on PATH"
    ):
        find_compiler()
    assert find_compiler("zig").name == "zig clang"  # the argument wins
    monkeypatch.setenv("IMBREX_CXX", "")
    assert find_compiler().name == "zig clang"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("g++ 'open", "cannot be read: no closing quotation"),
        ("/no/such/c++", "is not on PATH"),
        (" ", "is not on PATH"),
    ],
)
def test_unusable_compiler_is_one_message(command: str, message: str) -> None:
    with pytest.raises(Diagnostic, match=message):
        find_compiler(command)


def test_compiler_that_does_not_run_is_one_message(tmp_path: Path) -> None:
    broken = tmp_path / "c++"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(Diagnostic, match="does not run"):
        find_compiler(str(broken))


def test_missing_bundle_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from imbrex.build import toolchain

    toolchain._bundled.cache_clear()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    try:
        with pytest.raises(Diagnostic, match=r"no C\+\+ compiler(.|\n)*install ziglang"):
            find_compiler()
    finally:
        toolchain._bundled.cache_clear()


def test_a_header_alone_is_the_caller_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no unit to compile"):
        compile_shared({"k.hpp": ""}, tmp_path)
