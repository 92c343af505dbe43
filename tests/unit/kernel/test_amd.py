"""Kernels for AMD GPUs: the same interface, a code object beside its sources, and a word where no GPU is."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from tests.patience import said_when_warm

from imbrex.build.cache import Cache
from imbrex.chip import gpus
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel, compile
from imbrex.problem import Conv2d, Gemm
from imbrex.run.launch import Zero

GEMM = Gemm(40, 70, 33)
BACKWARD = Conv2d("backward_data", 1, 3, 6, 6, 4, 3, 3, pad_h=1, pad_w=1, stride=2)
GENERAL = "v1:general:64,32,32,4,2,2"


@pytest.fixture(scope="module", params=gpus("AMD"))
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return compile(GEMM, request.param, GENERAL)


def test_a_kernel_knows_what_it_is(kernel: Kernel) -> None:
    chip = kernel.target.chip
    assert (str(kernel.target), kernel.name, kernel.tuning_texts) == (chip, "gemm", (GENERAL,))
    assert kernel.bundle.units == ("gemm_solver.cpp", "gemm.cpp", "gemm.hpp")
    assert set(kernel.bundle.units) < set(kernel.files) and "device/hip/buffer.h" in kernel.files
    assert {"gemm.hsaco", "gemm.s"} < {p.name for p in kernel.directory.iterdir()}
    assert (kernel.launches, kernel.grid_sizes) == (1, (2 * 3,))


def test_the_report_counts_what_the_code_uses(kernel: Kernel) -> None:
    (told,) = kernel.report["kernels"]
    (found,) = kernel.resources
    assert (told["kernel"], told["block_size"], told["spilled_vgprs"]) == ("imbrex_gemm_0", 64, 0)
    assert told["lds_bytes"] == 2 * 2 * 32 * 4 * 4, "two buffers of two tiles of 32 x 4 f32"
    assert told["vgprs"] == found.usage.vgprs > 4
    assert told["occupancy"]["waves_per_simd"] >= 1
    assert kernel.report["chip"] == str(kernel.target) and f"-mcpu={kernel.target}" in kernel.report["flags"]


def test_a_hot_loop_of_matrix_instructions_is_modelled() -> None:
    kernel = compile(Gemm(128, 128, 512, dtype="f16"), "gfx942", "v1:xdlops:64,64,4,32,32,8")
    (found,) = kernel.resources
    assert found.hot_loop is not None and sum(found.hot_loop.counts.matrix.values()) > 0
    assert found.hot_loop.waves == found.occupancy.waves_per_simd
    assert 0 < found.hot_loop.bound.busy <= 1
    names = [name for name, _ in found.rows()]
    assert names == ["registers", "lds", "occupancy", "hot loop", "", "matrix unit"]


@pytest.mark.parametrize(("lds", "is_free"), [("xor", True), ("plain", False)])
def test_bank_conflicts_are_in_the_report(lds: str, is_free: bool) -> None:
    """The control is a layout whose rows begin in the same banks."""
    tuning = f"v1:xdlops:64,64,4,32,32,8,auto,{lds}"
    (found,) = compile(Gemm(128, 128, 512, transpose_b=True, dtype="f16"), "gfx942", tuning).resources
    assert found.lds is not None and found.hot_loop is not None
    slower = found.hot_loop.conflicts.read * found.hot_loop.conflicts.write
    assert (found.lds.extra_cycles == 0) == (slower == 1.0) == is_free
    assert (found.to_json()["lds_conflict_cycles"] == 0) == is_free


def test_several_launches_and_a_cleared_result() -> None:
    """v1r1 adds its products in memory."""
    kernel = compile(BACKWARD, "gfx942", GENERAL, algorithm="v1r1")
    steps = kernel.loaded.steps  # type: ignore[union-attr]
    assert steps[0] == Zero(1), "the input's gradient"
    assert kernel.launches == len(steps) - 1 == len(kernel.resources)
    assert {step.kernel for step in steps[1:]} == {found.usage.kernel for found in kernel.resources}


def test_a_second_compile_finds_the_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    first, second = (compile(GEMM, "gfx942", GENERAL, cache=cache) for _ in range(2))
    assert (first.was_cached, second.was_cached) == (False, True)
    assert first.loaded == second.loaded and first.report == second.report
    first.library.path.unlink()
    assert not compile(GEMM, "gfx942", GENERAL, cache=cache).was_cached


def test_chips_and_emulation_are_other_kernels() -> None:
    real, other, emulated = (
        compile(GEMM, "gfx90a", GENERAL),
        compile(GEMM, "gfx942", GENERAL),
        compile(GEMM, "gfx90a", GENERAL, emulate=True),
    )
    assert len({k.library.path for k in (real, other, emulated)}) == 3
    assert (emulated.target.kind, emulated.target.chip) == ("emulate", "gfx90a")
    assert emulated.check().is_right and emulated.resources == ()


def test_without_hip_python_a_call_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hip", None)
    kernel = compile(GEMM, "gfx942", GENERAL)
    a, b = np.zeros((40, 33), np.float32), np.zeros((33, 70), np.float32)
    for call in (lambda: kernel(a, b), kernel.check):
        with pytest.raises(Diagnostic) as caught:
            call()
        assert caught.value.message == "a kernel for gfx942 cannot run here: hip-python is not installed"
        assert "--emulate" in str(caught.value.hint) and "emulate=True" in str(caught.value.hint)


def test_a_warm_start_imports_no_compiler(kernel_cache: Path) -> None:
    program = (
        "import sys, numpy, imbrex\n"
        f"kernel = imbrex.compile('gemm -m 40 -n 70 -k 33', 'gfx942', {GENERAL!r})\n"
        "assert kernel.was_cached\n"
        "print([m for m in sys.modules if m.startswith(('xdsl', 'imbrex.ir', 'imbrex.view', 'hip'))])\n"
    )
    assert said_when_warm(program, kernel_cache) == ("[]\n", "")
