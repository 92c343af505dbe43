"""Source to cubin by NVRTC, without a GPU: what comes out, what is kept, and what a failure says."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from imbrex.build.cache import Cache
from imbrex.build.nvidia import disassembly
from imbrex.build.nvidia.cubin import LOG, build_cubin, compile_cubin, compiler_version, find_cubin, flags_of
from imbrex.build.nvidia.nvrtc import in_memory, nvrtc_here
from imbrex.build.nvidia.report import usages
from imbrex.diagnostic import Diagnostic

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")

ADD = '#include "device/step.h"\nextern "C" __global__ void add(float *c) { c[threadIdx.x] += STEP; }\n'
SOURCES = {
    "add.cu": ADD,
    "device/step.h": '#pragma once\n#include "one.h"\n#include "../none.h"\n#define STEP ONE\n',
    "device/one.h": "#pragma once\n#define ONE 1\n",
    "none.h": '#pragma once\n#include "device/one.h"\n',
}
CUDA_MACHINE = 190  # EM_CUDA


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_a_cubin_is_an_elf_of_its_architecture(cache: Cache) -> None:
    data = build_cubin(SOURCES, "add.cu", "sm_90a", cache=cache).path.read_bytes()
    assert (data[:4], struct.unpack_from("<H", data, 18)[0]) == (b"\x7fELF", CUDA_MACHINE)
    assert b"sm_90a" in data


def test_second_build_is_the_first(cache: Cache) -> None:
    first = build_cubin(SOURCES, "add.cu", "sm_90a", cache=cache)
    written_ns = first.path.stat().st_mtime_ns
    second = build_cubin(SOURCES, "add.cu", "sm_90a", cache=cache)
    assert first == second and second.path.stat().st_mtime_ns == written_ns
    assert first.path.name == "add.cubin"
    there = {p.relative_to(first.path.parent).as_posix() for p in first.path.parent.rglob("*") if p.is_file()}
    assert there == {*SOURCES, "add.cubin", LOG, "manifest.json"}
    assert "Compiling entry function 'add' for 'sm_90a'" in first.log
    assert find_cubin(first.key, "add.cu", "sm_90a", cache) == second
    assert find_cubin("0" * 64, "add.cu", "sm_90a", cache) is None


def test_other_ways_to_build_are_other_cubins(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    ways: list[tuple[dict[str, str], tuple[str, ...]]] = [
        (SOURCES, ()),
        (SOURCES, ("-lineinfo",)),
        ({**SOURCES, "device/one.h": "#define ONE 2\n"}, ()),
    ]
    keys = {build_cubin(s, "add.cu", "sm_90a", flags=f, cache=cache).key for s, f in ways}
    monkeypatch.setattr("imbrex.build.nvidia.cubin.compiler_version", lambda: "NVRTC 99.9")
    keys.add(build_cubin(SOURCES, "add.cu", "sm_90a", cache=cache).key)
    assert len(keys) == 4


SORT = """
extern "C" __global__ void sort(float *c) {
  float x[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) x[i] = c[i * 32 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 64; ++i) c[i * 32 + threadIdx.x] = x[63 - i] * x[i ^ 5];
}
"""


def test_a_unit_asks_for_flags_of_its_own(cache: Cache) -> None:
    text = "// compiler flags: --ptxas-options=-O1\n" + ADD
    plain, asking = (
        build_cubin({**SOURCES, "add.cu": t}, "add.cu", "sm_90a", cache=cache) for t in (ADD, text)
    )
    assert asking.flags == (*flags_of("sm_90a"), "--ptxas-options=-O1")
    assert plain.flags == flags_of("sm_90a")


@pytest.mark.parametrize(("registers", "kept"), [(24, False), (255, True)])
def test_flags_with_which_registers_spill_are_dropped(registers: int, kept: bool, cache: Cache) -> None:
    text = f"// compiler flags: --maxrregcount={registers}{SORT}"
    found = build_cubin({"sort.cu": text}, "sort.cu", "sm_90a", cache=cache)
    (usage,) = usages(found.log)
    assert (found.flags == flags_of("sm_90a"), usage.spill_store_bytes) == (not kept, 0)


def test_a_damaged_cubin_is_built_again(cache: Cache) -> None:
    first = build_cubin(SOURCES, "add.cu", "sm_90a", cache=cache)
    whole = first.path.read_bytes()
    first.path.write_bytes(whole[:100])
    assert find_cubin(first.key, "add.cu", "sm_90a", cache) is None
    assert build_cubin(SOURCES, "add.cu", "sm_90a", cache=cache).path.read_bytes() == whole


def test_headers_are_found_beside_who_includes_them() -> None:
    found = in_memory(SOURCES)
    assert '#include "device/one.h"' in found["device/step.h"]
    assert '#include "none.h"' in found["device/step.h"], "a step up"
    assert found["add.cu"] == ADD
    unknown = in_memory({"a.cu": '#include "cuda_fp16.h"\n#include <mma.h>\n'})
    assert unknown["a.cu"] == '#include "cuda_fp16.h"\n#include <mma.h>\n'


def test_nothing_is_read_from_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lying.h").write_text("#define STEP 1\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Diagnostic, match=r"could not open source file \"lying.h\""):
        compile_cubin({"a.cu": '#include "lying.h"\n'}, "a.cu", "sm_90a", tmp_path / "out")


def test_a_mistake_in_the_source_carries_the_compilers_words(cache: Cache) -> None:
    wrong = {**SOURCES, "device/one.h": "#define ONE two\n"}
    with pytest.raises(Diagnostic) as caught:
        build_cubin(wrong, "add.cu", "sm_90a", tuning="v1:general:64,32,32,4,2,2", cache=cache)
    first, *_ = caught.value.message.splitlines()
    told = "NVRTC failed with NVRTC_ERROR_COMPILATION on 'add.cu', tuning v1:general:64,32,32,4,2,2"
    assert first == told and 'identifier "two" is undefined' in caught.value.message
    kept = Path((caught.value.hint or "").rpartition("kept in ")[2])
    assert (kept / "add.cu").read_text() == ADD and "two" in (kept / LOG).read_text()
    assert cache.entries() == []


def test_a_long_log_is_shown_from_its_first_error(tmp_path: Path) -> None:
    source = "".join(f"int f{i}() {{ return nothing{i}; }}\n" for i in range(80))
    with pytest.raises(Diagnostic) as caught:
        compile_cubin({"a.cu": source}, "a.cu", "sm_90a", tmp_path)
    assert len(caught.value.message.splitlines()) == 4 and "nothing0" in caught.value.message
    assert f"in {LOG}, are kept in {tmp_path}" in (caught.value.hint or "")
    assert "nothing79" in (tmp_path / LOG).read_text()


def test_missing_cuda_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    with pytest.raises(Diagnostic, match="no NVRTC: the package 'cuda-bindings' is not installed") as caught:
        nvrtc_here()
    assert "pip install 'imbrex[cuda]'" in (caught.value.hint or "")


def test_a_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise RuntimeError("Failed to find libnvrtc\nsearched everywhere")

    fake: Any = SimpleNamespace(nvrtcVersion=missing)
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", fake)
    with pytest.raises(
        Diagnostic, match="cuda-bindings finds no libnvrtc: Failed to find libnvrtc"
    ) as caught:
        nvrtc_here()
    assert "pip install 'imbrex[cuda]'" in (caught.value.hint or "")


def test_the_version_is_told() -> None:
    assert compiler_version().startswith("NVRTC 1")


def test_a_disassembler_is_taken_from_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvdisasm"
    tool.write_text('#!/bin/sh\necho "$@"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    disassembly.find_disassembler.cache_clear()
    try:
        assert disassembly.sass(tmp_path / "k.cubin") == f"-c {tmp_path / 'k.cubin'}\n"
        tool.write_text("#!/bin/sh\necho no >&2; exit 1\n")
        with pytest.raises(Diagnostic, match=r"'nvdisasm' cannot read k\.cubin: no"):
            disassembly.sass(tmp_path / "k.cubin")
    finally:
        disassembly.find_disassembler.cache_clear()


def test_no_disassembler_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disassembly, "find_disassembler", lambda: None)
    assert disassembly.sass(Path("k.cubin")) is None
