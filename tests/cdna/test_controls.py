"""Controls: what is broken in a kernel is seen, so that a pass means something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from imbrex.build.amd import build_code_object
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


def test_a_missing_barrier_is_a_race(kernel: Kernel, emulator: ModuleType) -> None:
    broken = damaged(kernel, "gemm.hpp", "imbrex::barrier();", "")
    with pytest.raises(emulator.EmuError, match="LDS race"):
        broken.check()


def test_a_sum_that_starts_elsewhere_is_wrong(kernel: Kernel) -> None:
    broken = damaged(kernel, "gemm.hpp", "fill<16>(thread_c, 0)", "fill<16>(thread_c, 1)")
    assert not broken.check().is_right


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_a_missing_wait_for_direct_loads_is_seen(chip: str, gpu: Gpu, emulator: ModuleType) -> None:
    """Memory that comes as late as it may shows what a fast one would hide."""
    gpu(chip)
    kernel = compile(Gemm(64, 64, 256, transpose_b=True, dtype="f16"), chip, f"{TUNING},auto,xor,direct")
    assert kernel.check().is_right
    broken = damaged(kernel, "device/hip/lds.h", "__builtin_amdgcn_s_waitcnt(0x0f70);", "")
    assert is_seen(broken, emulator)


def is_seen(broken: Kernel, emulator: ModuleType) -> bool:
    try:
        return not broken.check().is_right
    except emulator.EmuError:
        return True


def test_a_store_past_the_end_is_seen(kernel: Kernel, emulator: ModuleType) -> None:
    broken = damaged(kernel, "gemm.hpp", "imbrex::buffer_of(c, ", "imbrex::buffer_of(c + 4000, ")
    with pytest.raises(emulator.EmuError, match="out of bounds"):
        broken.check()


def test_code_of_another_chip_is_not_loaded(gpu: Gpu) -> None:
    gpu("gfx950")
    with pytest.raises(Diagnostic, match="a kernel for gfx942 cannot run here: the GPU is gfx950"):
        compile(GEMM, "gfx942", TUNING).check()
