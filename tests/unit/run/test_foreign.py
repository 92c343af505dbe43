"""Kernels for AArch64, run in QEMU: the checks of any kernel, and what is said where it cannot run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.qemu import needs_qemu

from imbrex.build.isa import isa
from imbrex.build.shared_library import build_shared
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel, compile
from imbrex.problem import Gemm
from imbrex.run.cpu import CpuKernel

GEMM = Gemm(5, 7, 9)
SOURCE = """
extern "C" void vanish();
static void product(const float *a, const float *b, float *c) {
  for (int m = 0; m < 5; ++m)
    for (int n = 0; n < 7; ++n) {
      float sum = 0;
      for (int k = 0; k < 9; ++k) sum += a[m * 9 + k] * b[k * 7 + n];
      c[m * 7 + n] = sum;
    }
}
static void set_fpcr(unsigned long bits) {
  unsigned long was;
  asm volatile("mrs %0, fpcr" : "=r"(was));
  asm volatile("msr fpcr, %0" : : "r"(was | bits));
}
#define KERNEL(NAME, SLIP) \\
  extern "C" int NAME(const float *a, const float *b, float *c, int) { product(a, b, c); SLIP; return 0; }
KERNEL(right, )
KERNEL(writes_input, *const_cast<volatile float *>(b + 3) = 1)
KERNEL(writes_after, *(volatile float *)(c + 35) = 1)
KERNEL(reads_before, (void)*(const volatile float *)(a - 1))
KERNEL(rounds_up, set_fpcr(1 << 22))
KERNEL(traps, asm volatile(".inst 0"))
KERNEL(has_no_memory, return 1)
"""


@pytest.fixture(scope="module")
def library(kernel_cache: Path) -> Path:
    return _built(SOURCE)


@pytest.fixture(scope="module")
def own(kernel_cache: Path) -> Kernel:
    return compile(GEMM, "neon", emulate=True, threads=1)


def _built(source: str) -> Path:
    flags = ("-Wno-unused-parameter", "-Wno-unused-value")
    return build_shared({"slips.cpp": source}, flags=flags, isa=isa("neon")).path


def slipping(own: Kernel, library: Path, symbol: str) -> Kernel:
    loaded: Any = own.loaded
    return replace(own, loaded=replace(loaded, path=library, symbol=symbol))


@needs_qemu
def test_a_kernel_is_asked_called_and_checked(own: Kernel) -> None:
    assert own.grid_sizes == (1,) and own.workspace_bytes > 0
    assert str(own.check()) == "right: 35 elements, on integer, float and probe values"
    a, b = np.ones((5, 9), np.float32), np.full((9, 7), 2, np.float32)
    assert np.array_equal(own(a, b), np.full((5, 7), 18, np.float32))
    assert own.target.is_emulated and str(own.target) == "isa (neon)"


SLIPS = {
    "writes_input": "it writes into its input 'b'",
    "writes_after": "it writes beyond the end of 'c'",
    "reads_before": "it reads before the start of 'a'",
    "rounds_up": "it leaves the FPCR at 0x400000, which was 0x0 (rounding mode)",
    "traps": "its call ends with SIGILL, and not at the pages beside its arrays",
}


@needs_qemu
@pytest.mark.parametrize("symbol", SLIPS)
def test_slips_are_named(own: Kernel, library: Path, symbol: str) -> None:
    assert slipping(own, library, symbol).check().fault == SLIPS[symbol]


@needs_qemu
def test_what_the_process_refuses(own: Kernel, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MemoryError, match="could not allocate"):
        slipping(own, library, "has_no_memory").check()
    with pytest.raises(Diagnostic, match="needs 'nothing'"):
        slipping(own, library, "nothing").check()
    calls = _built('extern "C" void vanish(); extern "C" int calls() { vanish(); return 0; }')
    with pytest.raises(Diagnostic, match="needs 'vanish', which the process in QEMU does not have"):
        slipping(own, calls, "calls").check()
    monkeypatch.setenv("QEMU_CPU", "abacus")
    with pytest.raises(Diagnostic, match=r"QEMU does not run .*unable to find CPU model 'abacus'"):
        own.check()


@needs_qemu
def test_a_cpu_that_lacks_something_is_told(own: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = compile(GEMM, "sve256", emulate=True, threads=1)
    assert wide.check(values="integer").is_right
    monkeypatch.setenv("QEMU_CPU", "neoverse-n1")
    assert own.check(values="integer").is_right
    with pytest.raises(Diagnostic, match="is for 'sve256', and the CPU in QEMU lacks sve"):
        wide.check()
    monkeypatch.setenv("QEMU_CPU", "a64fx")
    with pytest.raises(Diagnostic, match="the CPU in QEMU has SVE of 512 bits, not 256"):
        wide.check()


@needs_qemu
def test_a_wrong_call_raises(own: Kernel, library: Path) -> None:
    arrays = [np.zeros(o.shape, np.float32) for o in GEMM.operands]
    with pytest.raises(Diagnostic, match="it writes beyond the end of 'c'"):
        slipping(own, library, "writes_after")(*arrays)


def test_without_qemu_it_is_said_what_to_install(own: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Diagnostic, match="no qemu-aarch64 on PATH") as caught:
        own.check()
    assert "apt install qemu-user" in (caught.value.hint or "")


def test_another_cpus_kernel_is_built_and_not_run() -> None:
    kernel = compile(GEMM, "neon", threads=1)
    assert isinstance(kernel.loaded, CpuKernel) and str(kernel.target) == "neon"
    if kernel.target.runs_here:
        pytest.skip("this is such a CPU")
    with pytest.raises(Diagnostic, match="'neon' is not of this machine's CPU") as caught:
        kernel.check()
    assert caught.value.hint == "--emulate runs it in QEMU"
