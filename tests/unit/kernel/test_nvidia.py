"""Kernels for NVIDIA GPUs: the same interface, a cubin beside its sources, and a word where no GPU is."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from tests.patience import said_by, said_when_warm
from tests.unit.run.fake_cuda import FakeCuda
from tests.unit.run.fake_torch import Tensor, aligned
from tests.unit.run.fake_torch import module as torch_module

from imbrex.build.cache import Cache
from imbrex.build.nvidia import cubin
from imbrex.diagnostic import Diagnostic
from imbrex.emit.cuda.files import IN_ORDER
from imbrex.kernel import Kernel, compile
from imbrex.problem import Conv2d, Gemm
from imbrex.run.cuda.kernel import CudaKernel
from imbrex.run.launch import Launch, Zero

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")

GEMM = Gemm(40, 70, 33)
BACKWARD = Conv2d("backward_data", 1, 3, 6, 6, 4, 3, 3, pad_h=1, pad_w=1, stride=2)
GENERAL = "v1:general:64,32,32,4,2,2"


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return compile(GEMM, "sm_90a", GENERAL)


def test_a_kernel_knows_what_it_is(kernel: Kernel) -> None:
    assert (str(kernel.target), kernel.name, kernel.tuning_texts) == ("sm_90a", "gemm", (GENERAL,))
    assert kernel.bundle.units == ("gemm_solver.cpp", "gemm.cu", "gemm.hpp")
    assert set(kernel.bundle.units) < set(kernel.files)
    assert {"gemm.cubin", "compiler.log"} < {p.name for p in kernel.directory.iterdir()}
    assert isinstance(kernel.loaded, CudaKernel)
    assert (kernel.launches, kernel.grid_sizes) == (1, (2 * 3,))


def test_the_report_says_what_the_compiler_said(kernel: Kernel) -> None:
    (told,) = kernel.report["kernels"]
    (found,) = kernel.resources
    assert (told["kernel"], told["block_size"], told["spill_store_bytes"]) == ("imbrex_gemm_0", 64, 0)
    assert told["registers"] == found.registers > 8 and told["errors"] == []
    tiles, gaps = 2 * 2 * 32 * 4 * 4, 2 * 4 * 8 * 4
    shared = told["dynamic_shared_bytes"] + told["static_shared_bytes"]
    assert shared == tiles + gaps, "two buffers of two tiles of 4 rows of 32 f32, A's rows 8 apart"
    assert kernel.report["compiler"].startswith("NVRTC 13.")
    assert "--gpu-architecture=sm_90a" in kernel.report["flags"]
    assert "registers" in dict(found.rows())


def test_flags_with_which_registers_spill_are_not_in_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what it says makes the same kernel."""
    monkeypatch.setattr(cubin, "_SPILLED", -1)
    cache, (flag,) = Cache(tmp_path), IN_ORDER
    first = compile(Gemm(512, 512, 512), "sm_90a", cache=cache)
    assert first.configuration.endswith("+flags=none") and flag not in first.report["flags"]
    assert flag not in first.files["gemm.cu"] and first.configuration in first.files["gemm.cu"]
    again = compile(Gemm(512, 512, 512), "sm_90a", config=first.configuration, cache=cache)
    assert (again.library.path, again.configuration) == (first.library.path, first.configuration)


def test_several_launches_and_a_cleared_result() -> None:
    """v1r1 adds its products in memory."""
    kernel = compile(BACKWARD, "sm_90a", GENERAL, algorithm="v1r1")
    assert isinstance(kernel.loaded, CudaKernel)
    first, *launches = kernel.loaded.steps
    assert first == Zero(1), "the input's gradient"
    assert kernel.launches == len(launches) == len(kernel.resources)
    names = [step.kernel for step in launches if isinstance(step, Launch)]
    assert names == [found.usage.kernel for found in kernel.resources]


def test_a_second_compile_finds_the_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    first, second = (compile(GEMM, "sm_90a", GENERAL, cache=cache) for _ in range(2))
    assert (first.was_cached, second.was_cached) == (False, True)
    assert first.loaded == second.loaded and first.report == second.report
    first.library.path.unlink()
    assert not compile(GEMM, "sm_90a", GENERAL, cache=cache).was_cached


def test_a_failed_compile_names_the_tuning_and_keeps_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imbrex.build.nvidia.cubin.NVIDIA_FLAGS", ("-std=c++17", "-no-such-flag"))
    with pytest.raises(Diagnostic) as caught:
        compile(GEMM, "sm_90a", GENERAL, cache=Cache(tmp_path))
    assert f"on 'gemm.cu', tuning {GENERAL}" in caught.value.message
    kept = Path((caught.value.hint or "").rpartition("kept in ")[2])
    assert (kept / "gemm.cu").exists() and (kept / "gemm.hpp").exists()


def test_without_nvrtc_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from imbrex.build.nvidia.nvrtc import nvrtc_version

    nvrtc_version.cache_clear()
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    with pytest.raises(Diagnostic, match="no NVRTC: the package 'cuda-bindings' is not installed") as caught:
        compile(GEMM, "sm_90a", GENERAL)
    assert "pip install 'imbrex[cuda]'" in (caught.value.hint or "")


def test_without_a_driver_a_call_says_so(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    a, b = np.zeros((40, 33), np.float32), np.zeros((33, 70), np.float32)
    for call in (lambda: kernel(a, b), kernel.check):
        with pytest.raises(Diagnostic, match="a kernel for sm_90a cannot run here: cuda-bindings is not"):
            call()


class TestCalls:
    """On a driver that is played; it adds a's first 32 elements to those of b."""

    @pytest.fixture
    def cuda(self, monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
        fake = FakeCuda()
        monkeypatch.setitem(sys.modules, "cuda.bindings.driver", fake)
        monkeypatch.setitem(sys.modules, "torch", torch_module())
        return fake

    @pytest.fixture
    def tensors(self, cuda: FakeCuda) -> list[Tensor]:
        return [Tensor(aligned(np.zeros(s, np.float32))) for s in ((40, 33), (33, 70), (40, 70))]

    def test_a_second_call_is_quick(self, cuda: FakeCuda, tensors: list[Tensor]) -> None:
        kernel = compile(GEMM, "sm_90a", GENERAL)
        for _ in range(2):
            cuda.calls.clear()
            assert kernel(*tensors) is tensors[2]
        assert [name for name, *_ in cuda.calls] == ["cuLaunchKernelEx"]
        assert cuda.launched[-1].addresses == tuple(t.data_ptr() for t in tensors[:2])

    def test_a_result_is_made(self, cuda: FakeCuda, tensors: list[Tensor]) -> None:
        result = compile(GEMM, "sm_90a", GENERAL)(*tensors[:2])
        assert isinstance(result, Tensor) and result.shape == (40, 70)

    def test_mistakes_are_said_after_quick_calls_too(self, cuda: FakeCuda, tensors: list[Tensor]) -> None:
        kernel = compile(GEMM, "sm_90a", GENERAL)
        kernel(*tensors)
        with pytest.raises(TypeError, match="takes 3 arrays"):
            kernel(tensors[0])
        with pytest.raises(ValueError, match="'b' should have shape"):
            kernel(tensors[0], tensors[0], tensors[2])


HIDDEN = """
import importlib.abc, sys
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
import importlib.util
find = importlib.util.find_spec
def seen(name, *rest):
    return None if name.partition(".")[0] in {names!r} else find(name, *rest)
importlib.util.find_spec = seen
"""


def said(program: str, cache: Path, hidden: tuple[str, ...] = ()) -> tuple[str, str]:
    """What a process says that cannot import some packages."""
    return said_by(HIDDEN.format(names=hidden) + program, cache)


def test_it_compiles_where_ziglang_is_not_installed(tmp_path: Path) -> None:
    program = (
        "import imbrex\n"
        f"kernel = imbrex.compile('gemm -m 40 -n 70 -k 33', 'sm_90a', {GENERAL!r})\n"
        "print(kernel.was_cached, kernel.report['kernels'][0]['kernel'])\n"
    )
    assert said(program, tmp_path, ("ziglang",)) == ("False imbrex_gemm_0\n", "")


def test_the_cpu_says_that_ziglang_is_missing(tmp_path: Path) -> None:
    program = "from imbrex.cli import main\nmain(['run', 'gemm -m 4 -n 4 -k 4'])\n"
    out, error = said(program, tmp_path, ("ziglang",))
    assert out == "" and "no C++ compiler: the package 'ziglang' is not installed" in error
    assert "hint: install ziglang with pip" in error and "Traceback" not in error


def test_a_warm_start_imports_no_compiler(kernel_cache: Path) -> None:
    """Neither xdsl nor ziglang has to be there."""
    program = (
        "import imbrex\n"
        f"kernel = imbrex.compile('gemm -m 40 -n 70 -k 33', 'sm_90a', {GENERAL!r})\n"
        "assert kernel.was_cached\n"
        "unwanted = ('xdsl', 'imbrex.ir', 'imbrex.lower', 'torch')\n"
        "print([m for m in sys.modules if m.startswith(unwanted)])\n"
        "try:\n"
        "    kernel.loaded.prepare()\n"
        "except imbrex.Diagnostic as error:\n"
        "    print(error.message[:34])\n"
    )
    told = "[]\na kernel for sm_90a cannot run her\n"
    hidden = HIDDEN.format(names=("xdsl", "ziglang")) + program
    assert said_when_warm(hidden, kernel_cache, first=program) == (told, "")
