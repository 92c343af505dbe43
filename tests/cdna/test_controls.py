"""Controls: what is broken in a kernel is seen, so that a pass means something."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.pairs import in_turn, one_in

from imbrex.build.amd.code_object import CodeObject, assemble_code_object, build_code_object
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel, compile
from imbrex.problem import Conv2d, Gemm

Gpu = Callable[[str], Any]

GEMM = Gemm(70, 66, 130, dtype="f16")
TUNING = "v1:xdlops:64,64,4,32,32,8"


def damaged(kernel: Kernel, file: str, old: str, new: str) -> Kernel:
    """The kernel with another text in one of its files."""
    assert old in kernel.files[file], f"there is no '{old}' to break"
    assert kernel.target.chip is not None
    files = {**kernel.files, file: kernel.files[file].replace(old, new)}
    code = build_code_object(files, f"{kernel.name}.cpp", kernel.target.chip)
    return replace(kernel, loaded=replace(kernel.loaded, path=code.path))


@pytest.fixture
def kernel(gpu: Gpu) -> Kernel:
    gpu("gfx942")
    found = compile(GEMM, "gfx942", TUNING)
    assert found.check().is_right
    return found


def test_a_missing_barrier_is_a_race(kernel: Kernel) -> None:
    broken = damaged(kernel, "gemm.hpp", "imbrex::barrier();", "")
    with pytest.raises(Diagnostic, match=r"gemm_0, workgroup \(\d, 0, 0\), wave \d, 0x.* `ds_.*LDS race"):
        broken.check()


TURNED = Gemm(20, 128, 64, dtype="i8")
HEADERS = {
    "s_barrier dropped": (
        "device/hip/lds.h", "__builtin_amdgcn_s_barrier();", "", GEMM, TUNING, "LDS race",
    ),
    "a byte from elsewhere": (
        "device/gpu/register.h", "0x05010400", "0x05010500",
        TURNED, "v1:xdlops:128,32,2,64,32,16,auto,xor,staged,swapped,1,1", None,
    ),
}  # fmt: skip
"""Of headers: the file, its text, another, a kernel that has it, what is said; None: it computes wrongly."""


@pytest.mark.parametrize("fault", HEADERS)
def test_a_fault_in_a_header_is_seen(fault: str, gpu: Gpu) -> None:
    file, old, new, problem, tuning, told = HEADERS[fault]
    gpu("gfx942")
    broken = damaged(compile(problem, "gfx942", tuning), file, old, new)
    if told is None:
        assert not broken.check(values="integer").is_right
    else:
        with pytest.raises(Diagnostic, match=told):
            broken.check(values="integer")


def test_a_sum_that_starts_elsewhere_is_wrong(kernel: Kernel) -> None:
    broken = damaged(kernel, "gemm.hpp", "fill<16>(thread_c, 0.f)", "fill<16>(thread_c, 1.f)")
    assert not broken.check().is_right


@pytest.mark.parametrize(("copy", "chip"), in_turn(["staged", "direct"], ["gfx942", "gfx950"]))
def test_missing_waits_are_seen(copy: str, chip: str, gpu: Gpu, tmp_path: Path) -> None:
    """Without the waits for global memory in its text; a memory that is always fast would hide it."""
    gpu(chip)
    kernel = compile(Gemm(64, 64, 256, transpose_b=True, dtype="f16"), chip, f"{TUNING},auto,xor,{copy}")
    assert isinstance(kernel.library, CodeObject) and kernel.check().is_right
    waiting = kernel.library.assembly
    hasty = re.sub(r"(s_waitcnt.*) ?vmcnt\(\d+\)", r"\1", waiting)
    assert hasty != waiting
    text = tmp_path / "gemm.s"
    text.write_text(re.sub(r"s_waitcnt\s*$", "s_nop 0", hasty, flags=re.M))
    broken = replace(kernel, loaded=replace(kernel.loaded, path=assemble_code_object(text, chip)))
    if copy == "direct":  # what comes late comes to LDS, where others write by then
        with pytest.raises(Diagnostic, match="LDS race"):
            broken.check()
    else:
        assert not broken.check().is_right


def test_a_wait_for_one_load_too_few_is_seen(gpu: Gpu, tmp_path: Path) -> None:
    """In the text: from the header, whose wait is for all, the compiler makes one of its own."""
    gpu("gfx942")
    kernel = compile(Gemm(64, 64, 256, transpose_b=True, dtype="f16"), "gfx942", f"{TUNING},auto,xor,direct")
    assert isinstance(kernel.library, CodeObject)
    text = tmp_path / "gemm.s"
    text.write_text(kernel.library.assembly.replace("vmcnt(0)", "vmcnt(1)"))
    broken = replace(kernel, loaded=replace(kernel.loaded, path=assemble_code_object(text, "gfx942")))
    with pytest.raises(Diagnostic, match="LDS race"):
        broken.check(values="integer")


AHEAD = "v1:xdlops:128,128,8,64,64,8,mfma_f32_32x32x16_f16,xor,ahead,swapped,1,{}"
SIXTEENS = "v1:xdlops:64,224,8,32,112,8,mfma_f32_16x16x32_f16,xor,ahead,straight,1,{}"
MUTANTS = (
    (r"s_barrier", lambda found: "s_nop 0"),
    (r"vmcnt\((\d+)\)", lambda found: f"vmcnt({int(found[1]) + 1})"),
    (r"lgkmcnt\((\d+)\)", lambda found: f"lgkmcnt({int(found[1]) + 1})"),
)  # fmt: skip
"""What is dropped, or waits for one too few."""


@pytest.mark.parametrize(
    ("tuning", "loads", "buffers", "a", "b"),
    one_in(
        2,
        [
            (AHEAD, 8, 2, False, True),
            (AHEAD, 8, 2, True, False),
            (AHEAD, 8, 3, False, False),
            (SIXTEENS, 9, 4, False, True),
        ],
    ),
)
def test_every_mutant_of_a_loop_that_reads_ahead_is_seen(
    tuning: str, loads: int, buffers: int, a: bool, b: bool, gpu: Gpu, tmp_path: Path
) -> None:
    """One barrier, or one wait, of the loop's text at a time; all of them.  loads: of a tile, by a lane."""
    gpu("gfx950")
    m, n = (int(number) for number in tuning.split(":")[2].split(",")[:2])
    problem = Gemm(m, n, 64 * (3 * buffers + 2), transpose_a=a, transpose_b=b, dtype="f16")
    kernel = compile(problem, "gfx950", tuning.format(buffers))
    waits = set(re.findall(r"vmcnt\(\d+\)", loop_of(kernel)[1]))
    assert waits == {f"vmcnt({loads * (buffers - 2)})"}, "whole tiles stay under way"
    assert seen_mutants(kernel, tmp_path) >= 10


@pytest.mark.parametrize(
    ("tile", "how"), one_in(2, [("128,112,8,32,112,4", "straight,2"), ("64,64,8,32,32,8", "swapped,2,3")])
)
def test_every_mutant_of_a_loop_that_reads_ahead_through_registers_is_seen(
    tile: str, how: str, gpu: Gpu, tmp_path: Path
) -> None:
    """gfx942; of 112 rows 128 are copied, and B's are turned; with three buffers registers hold two tiles."""
    gpu("gfx942")
    m, n, packs, *_, pack = (int(number) for number in tile.split(","))
    problem = Gemm(m, n, packs * pack * 7, dtype="f16")
    kernel = compile(problem, "gfx942", f"v1:xdlops:{tile},auto,xor,staged_ahead,{how}")
    assert seen_mutants(kernel, tmp_path) >= 10


@pytest.mark.parametrize(("dtype", "name"), one_in(2, in_turn(["mxfp4", "mxfp6"], ["fp4", "fp6"]), 1))
def test_every_mutant_of_a_loop_that_transposes_packs_is_seen(
    dtype: str, name: str, gpu: Gpu, tmp_path: Path
) -> None:
    """A's packs along m, B's along n, and their scales, which are loaded beside."""
    gpu("gfx950")
    problem = Gemm(128, 128, 8 * 256, transpose_a=True, dtype=dtype)
    used = f"mfma_f32_32x32x64_{name}_{name},xor,ahead,swapped"
    kernel = compile(problem, "gfx950", f"v1:xdlops:128,128,8,64,64,2,{used}")
    assert f"_tr_b{dtype[-1]}" in loop_of(kernel)[1]
    assert seen_mutants(kernel, tmp_path) >= 10


def test_every_mutant_of_a_loop_of_taps_is_seen(gpu: Gpu, tmp_path: Path) -> None:
    """A's tiles of 2 loads a tap, B's of 2 and 3 a piece: what may be under way differs from tap to tap."""
    gpu("gfx950")
    last = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
    layer = Conv2d("forward", 8, 128, 5, 2, 64, 3, 3, pad_h=(1, 1), pad_w=(1, 1), dtype="f16", **last)
    kernel = compile(layer, "gfx950", "v1:xdlops:64,128,8,32,64,8,auto,xor,ahead,straight,2,3,3")
    waits = set(re.findall(r"vmcnt\(\d+\)", loop_of(kernel)[1]))
    assert waits == {"vmcnt(2)", "vmcnt(4)", "vmcnt(5)"}
    assert seen_mutants(kernel, tmp_path) >= 20


def loop_of(kernel: Kernel) -> tuple[str, str, str]:
    """The text of a kernel: before its loop, the loop from its label to its branch, and what is behind."""
    assert isinstance(kernel.library, CodeObject)
    text = kernel.library.assembly
    found = re.search(r"\n(\.LBB0_\d+):.*?s_cbranch\S+ \1\b", text, re.DOTALL)
    assert found is not None, "there is no loop"
    return text[: found.start()], found[0], text[found.end() :]


def seen_mutants(kernel: Kernel, folder: Path) -> int:
    """How many were tried; all of them race, or compute wrongly."""
    assert kernel.check(values="integer").is_right
    before, loop, behind = loop_of(kernel)
    tried = 0
    for pattern, other in MUTANTS:
        for found in re.finditer(pattern, loop):
            text = folder / f"mutant_{tried}.s"
            broken = loop[: found.start()] + other(found) + loop[found.end() :]
            text.write_text("".join((before, broken, behind)))
            mutant = replace(
                kernel, loaded=replace(kernel.loaded, path=assemble_code_object(text, str(kernel.target)))
            )
            try:
                assert not mutant.check(values="integer").is_right, f"{tried}: {found[0]}"
            except Diagnostic as error:
                assert "LDS race" in error.message
            tried += 1
    return tried


def test_every_mutant_of_the_launch_that_adds_partial_sums_is_seen(gpu: Gpu, tmp_path: Path) -> None:
    """One wait of its text for a load too few, or one sum left out, at a time."""
    gpu("gfx942")
    problem = Gemm(64, 64, 320, transpose_b=True, dtype="f16")
    kernel = compile(problem, "gfx942", TUNING, schedule="reduce_k:10")
    assert isinstance(kernel.library, CodeObject) and kernel.check(values="integer").is_right
    before, label, rest = kernel.library.assembly.partition("\nimbrex_gemm_1:")
    body, end, behind = rest.partition("s_endpgm")
    tried = 0
    for pattern, other in (MUTANTS[1], (r"v_(?:pk_)?add_f32\S*\s[^\n]*", lambda found: "s_nop 0")):
        for found in re.finditer(pattern, body):
            text = tmp_path / f"gemm_{tried}.s"
            broken = body[: found.start()] + other(found) + body[found.end() :]
            text.write_text("".join((before, label, broken, end, behind)))
            path = assemble_code_object(text, "gfx942")
            mutant = replace(kernel, loaded=replace(kernel.loaded, path=path))
            assert not mutant.check(values="integer").is_right, found[0]
            tried += 1
    assert tried >= 20


MEETINGS = {
    "one too few": ("RELAXED, agent) < count)", "RELAXED, agent) < count - 1)"),
    "not waited for": (
        "workitem_id_x() == 0) {\n    __hip_atomic_fetch", "workitem_id_x() > 999) {\n    __hip_atomic_fetch",
    ),
    "none arrives": ("__hip_atomic_fetch_add(arrived, 1, __ATOMIC_RELEASE, agent);", ""),
}  # fmt: skip
"""Texts of flag.h, and others."""


@pytest.mark.parametrize("name", MEETINGS)
def test_every_mutant_of_a_meeting_is_seen(name: str, gpu: Gpu) -> None:
    gpu("gfx942")
    kernel = compile(
        Gemm(64, 64, 320, transpose_b=True, dtype="f16"), "gfx942", TUNING, schedule="scatter_k:10"
    )
    assert kernel.check(values="integer").is_right
    broken = damaged(kernel, "device/hip/flag.h", *MEETINGS[name])
    try:
        assert not broken.check(values="integer").is_right
    except Diagnostic as error:
        assert name == "none arrives" and "none of them gets on" in error.message


def test_every_mutant_behind_a_meeting_is_seen(gpu: Gpu, tmp_path: Path) -> None:
    """One barrier of the meeting, one wait of the sums for a load too few, or one sum left out, at a time."""
    gpu("gfx942")
    problem = Gemm(64, 64, 320, transpose_b=True, dtype="f16")
    kernel = compile(problem, "gfx942", TUNING, schedule="scatter_k:10")
    assert isinstance(kernel.library, CodeObject) and kernel.check(values="integer").is_right
    start = kernel.library.assembly.index("buffer_wbl2")
    before, body = kernel.library.assembly[:start], kernel.library.assembly[start:]
    body, end, behind = body.partition("s_endpgm")
    sums, patterns = body.index("buffer_load"), [(MUTANTS[0], 0), (MUTANTS[1], 1)]
    added = (r"v_(?:pk_)?add_f32\S*\s[^\n]*", lambda found: "s_nop 0")
    tried = 0
    for (pattern, other), first in (*patterns, (added, 1)):
        for found in re.finditer(pattern, body):
            if found.start() < first * sums:
                continue
            text = tmp_path / f"gemm_{tried}.s"
            broken = body[: found.start()] + other(found) + body[found.end() :]
            text.write_text("".join((before, broken, end, behind)))
            path = assemble_code_object(text, "gfx942")
            mutant = replace(kernel, loaded=replace(kernel.loaded, path=path))
            assert not mutant.check(values="integer").is_right, found[0]
            tried += 1
    assert tried >= 20


def test_a_store_past_the_end_is_seen(kernel: Kernel) -> None:
    broken = damaged(kernel, "gemm.hpp", "imbrex::buffer_of(c, ", "imbrex::buffer_of(c + 4000, ")
    with pytest.raises(Diagnostic, match="memory out of bounds"):
        broken.check()


def test_code_of_another_chip_is_not_loaded(gpu: Gpu) -> None:
    gpu("gfx950")
    with pytest.raises(Diagnostic, match="a kernel for gfx942 cannot run here: the GPU is gfx950"):
        compile(GEMM, "gfx942", TUNING).check()
