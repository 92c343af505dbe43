"""Controls: what is broken in a kernel is seen, so that a pass means something."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from imbrex.build.amd.code_object import CodeObject, assemble_code_object, build_code_object
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel, compile
from imbrex.problem import Gemm

Gpu = Callable[[str], Any]

GEMM = Gemm(70, 66, 130, dtype="f16")
TUNING = "v1:xdlops:64,64,4,32,32,8"


def damaged(kernel: Kernel, file: str, old: str, new: str) -> Kernel:
    """The kernel with another text in one of its files."""
    assert old in kernel.files[file], f"there is no '{old}' to break"
    assert kernel.goal.chip is not None
    files = {**kernel.files, file: kernel.files[file].replace(old, new)}
    code = build_code_object(files, f"{kernel.name}.cpp", kernel.goal.chip)
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


def test_a_sum_that_starts_elsewhere_is_wrong(kernel: Kernel) -> None:
    broken = damaged(kernel, "gemm.hpp", "fill<16>(thread_c, 0)", "fill<16>(thread_c, 1)")
    assert not broken.check().is_right


@pytest.mark.parametrize("copy", ["staged", "direct"])
@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
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


def test_a_store_past_the_end_is_seen(kernel: Kernel) -> None:
    broken = damaged(kernel, "gemm.hpp", "imbrex::buffer_of(c, ", "imbrex::buffer_of(c + 4000, ")
    with pytest.raises(Diagnostic, match="memory out of bounds"):
        broken.check()


def test_code_of_another_chip_is_not_loaded(gpu: Gpu) -> None:
    gpu("gfx950")
    with pytest.raises(Diagnostic, match="a kernel for gfx942 cannot run here: the GPU is gfx950"):
        compile(GEMM, "gfx942", TUNING).check()
