"""Source to code object: the text beside it is its disassembly, and the cache keeps both or neither."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from imbrex.build.amd.code_object import (
    AMD_FLAGS,
    LINK_FLAGS,
    CodeObject,
    build_code_object,
    compile_code_object,
    find_code_object,
)
from imbrex.build.cache import Cache
from imbrex.build.toolchain import find_compiler
from imbrex.chip import gpus
from imbrex.diagnostic import Diagnostic

ADD = """
extern "C" __attribute__((amdgpu_kernel)) void add(__attribute__((address_space(1))) float *c) {
  c[__builtin_amdgcn_workitem_id_x()] += STEP;
}
"""
SOURCES = {"add.cpp": '#include "step.h"\n' + ADD, "step.h": "#define STEP 1\n"}
MACHINES = {"gfx908": 0x30, "gfx90a": 0x3F, "gfx942": 0x4C, "gfx950": 0x4F}
"""EF_AMDGPU_MACH of LLVM's user guide, the low byte of the ELF flags."""

Code = Callable[[str], CodeObject]


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.mark.parametrize("chip", gpus("AMD"))
def test_a_code_object_is_an_elf_of_its_chip(chip: str, amd_code: Code) -> None:
    data = amd_code(chip).path.read_bytes()
    machine, flags = struct.unpack_from("<H", data, 18)[0], struct.unpack_from("<I", data, 48)[0]
    assert (data[:4], machine, flags & 0xFF) == (b"\x7fELF", 224, MACHINES[chip])


def test_second_build_is_the_first(cache: Cache) -> None:
    first = build_code_object(SOURCES, "add.cpp", "gfx942", cache=cache)
    written_ns = first.path.stat().st_mtime_ns
    second = build_code_object(SOURCES, "add.cpp", "gfx942", cache=cache)
    assert first == second and second.path.stat().st_mtime_ns == written_ns
    assert first.path.name == "add.hsaco"
    names = {"add.cpp", "step.h", "add.hsaco", "add.s"}
    assert {p.name for p in first.path.parent.iterdir()} == names | {"manifest.json"}
    assert find_code_object(first.key, "add.cpp", "gfx942", cache) == second
    assert find_code_object("0" * 64, "add.cpp", "gfx942", cache) is None


def test_other_ways_to_build_are_other_objects(cache: Cache) -> None:
    keys = {
        build_code_object(sources, "add.cpp", chip, flags=flags, cache=cache).key
        for sources, chip, flags in (
            (SOURCES, "gfx942", ()),
            (SOURCES, "gfx950", ()),
            (SOURCES, "gfx942", ("-O1",)),
            ({**SOURCES, "step.h": "#define STEP 2\n"}, "gfx942", ()),
        )
    }
    assert len(keys) == 4


def test_a_damaged_object_is_built_again(cache: Cache) -> None:
    first = build_code_object(SOURCES, "add.cpp", "gfx942", cache=cache)
    whole = first.path.read_bytes()
    first.path.write_bytes(whole[:100])
    assert find_code_object(first.key, "add.cpp", "gfx942", cache) is None
    again = build_code_object(SOURCES, "add.cpp", "gfx942", cache=cache)
    assert again.path.read_bytes() == whole


def test_the_environment_does_not_choose_the_compiler(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """IMBREX_CXX is of CPU kernels: no system compiler has to know AMD's GPUs."""
    monkeypatch.setenv("IMBREX_CXX", "no-such-compiler")
    assert build_code_object(SOURCES, "add.cpp", "gfx942", cache=cache).path.exists()


def segments(elf: Path) -> list[tuple[int, bytes]]:
    """Type and bytes of every program segment but the first, which holds the file's own headers."""
    data = elf.read_bytes()
    start, size, count = *struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54)
    headers = (struct.unpack_from("<IIQQQQ", data, start + i * size) for i in range(count))
    return [(kind, data[at : at + length]) for kind, _, at, _, _, length in headers if at]


def test_the_text_loses_nothing(amd_sources: dict[str, str], amd_code: Code, tmp_path: Path) -> None:
    """Compiled straight to an object and linked alike, the same sources load as the same bytes."""
    compiler, (unit, text) = find_compiler("zig"), *amd_sources.items()
    (tmp_path / unit).write_text(text)
    steps = (
        (*compiler.compile, *AMD_FLAGS, "-mcpu=gfx942", "-c", unit, "-o", "k.o"),
        (*compiler.link[:2], *LINK_FLAGS, "-o", "k.hsaco", "k.o"),
    )
    for step in steps:
        subprocess.run(step, cwd=tmp_path, check=True)
    straight, other = segments(tmp_path / "k.hsaco"), segments(amd_code("gfx950").path)
    assert straight == segments(amd_code("gfx942").path) != other


@pytest.mark.parametrize("chip", gpus("AMD"))
def test_an_independent_disassembler_reads_the_same(chip: str, amd_code: Code) -> None:
    tool = shutil.which("llvm-objdump-22")
    if tool is None:
        pytest.skip("llvm-objdump-22 is not installed")
    code = amd_code(chip)
    said = subprocess.run([tool, "-d", str(code.path)], capture_output=True, text=True, check=True).stdout
    decoded = re.findall(r"^\t([sv]_\w+|ds_\w+|global_\w+|buffer_\w+|scratch_\w+)", said, re.M)
    written = re.findall(r"^\t([sv]_\w+|ds_\w+|global_\w+|buffer_\w+|scratch_\w+)", code.assembly, re.M)
    padding = ("s_nop", "s_code_end")
    assert [m for m in decoded if m not in padding] == [m for m in written if m not in padding]
    assert any(m.startswith("v_mfma") for m in written)


def test_a_mistake_in_the_source_carries_the_compilers_words(cache: Cache) -> None:
    with pytest.raises(Diagnostic) as caught:
        build_code_object({"add.cpp": ADD}, "add.cpp", "gfx942", cache=cache)
    message = str(caught.value)
    assert "failed with exit status 1 on 'add.cpp'" in message and "undeclared identifier 'STEP'" in message
    kept = Path(message.rpartition("kept in ")[2])
    assert (kept / "add.cpp").read_text() == ADD
    assert cache.entries() == []


def test_an_instruction_that_the_chip_lacks_is_one_message(tmp_path: Path) -> None:
    source = ADD.replace("+= STEP", "= __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(0, 0, {}, 0, 0, 0)[0]")
    source = source.replace("{}", "(__attribute__((ext_vector_type(4))) float){}")
    compile_code_object({"add.cpp": source}, "add.cpp", "gfx942", tmp_path / "has")
    with pytest.raises(Diagnostic, match="needs target feature fp8-insts"):
        compile_code_object({"add.cpp": source}, "add.cpp", "gfx90a", tmp_path / "lacks")
