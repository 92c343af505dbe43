"""The host's half of a CUDA file, as a compiler of both sides takes it, and the solver's answers."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest
from tests.unit.emit.cuda.test_text_runs import CASES, HOPPER

from imbrex.build.toolchain import WARNINGS, compile_shared, find_compiler, write_sources
from imbrex.emit.bundle import Bundle
from imbrex.pipeline import Request, lower
from imbrex.problem import Gemm
from imbrex.run.launch import Launch

RUNTIME = Path(__file__).parent / "runtime"
FLAGS = ("-x", "cuda", "--cuda-host-only", "--cuda-gpu-arch=sm_90a", "-nocudainc", "-nocudalib", "-std=c++17")
WARPGROUPS = Request(Gemm(1024, 1024, 1024, dtype="f16", transpose_b=True), HOPPER, "sm_90a")


def compiled(bundle: Bundle, folder: Path, *flags: str) -> str:
    """The assembly text of the launcher."""
    write_sources(bundle.files, folder)
    include = (f"-I{RUNTIME}", "-include", "cuda_runtime.h", "-I.")
    quiet = ("-Wno-unused-command-line-argument", "-Wno-unknown-cuda-version")
    command = [
        *find_compiler("zig").compile,
        *FLAGS,
        *flags,
        *quiet,
        *include,
        "-S",
        "kernel.cu",
        "-o",
        "out.s",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return (folder / "out.s").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", ["scaled", "stream_k", "v1r1", "v4r1"])
def test_launches_in_order(case: str, tmp_path: Path) -> None:
    lowered = lower(CASES[case])
    text = compiled(lowered.bundle, tmp_path, *WARNINGS, "-Werror")
    assert all(step.kernel in text for step in lowered.steps if isinstance(step, Launch))
    assert ("cudaMemsetAsync" in text) is any(not isinstance(step, Launch) for step in lowered.steps)


def test_tensor_maps_are_handed_on(tmp_path: Path) -> None:
    lowered = lower(WARPGROUPS)
    (step,) = lowered.steps
    assert isinstance(step, Launch) and step.tensors and step.shared_bytes > 48 * 1024
    text = lowered.bundle.files["kernel.cu"]
    names = [f"extras[{i}]" for i in range(len(step.tensors))]
    assert f"stream>>>({', '.join(names)}, a, b, c);" in text
    assert "cudaFuncSetAttribute" in compiled(lowered.bundle, tmp_path, "-w")


def test_the_solver_answers_on_the_host(tmp_path: Path) -> None:
    lowered = lower(CASES["v1r1"])
    solver = {"kernel_solver.cpp": lowered.bundle.files["kernel_solver.cpp"]}
    library = ctypes.CDLL(str(compile_shared(solver, tmp_path, flags=(*WARNINGS, "-Werror"))))
    library.imbrex_kernel_kernel_name.restype = library.imbrex_kernel_target.restype = ctypes.c_char_p
    assert library.imbrex_kernel_target() == b"sm_90a"
    launches = [step for step in lowered.steps if isinstance(step, Launch)]
    assert library.imbrex_kernel_launch_count() == len(launches)
    for i, launch in enumerate(launches):
        assert library.imbrex_kernel_kernel_name(i).decode() == launch.kernel
        assert library.imbrex_kernel_grid_size(i) == launch.grid_size
        assert library.imbrex_kernel_shared_bytes(i) == launch.shared_bytes > 0
        assert (library.imbrex_kernel_cluster_size(i), library.imbrex_kernel_tensor_maps(i)) == (1, 0)
    assert [library.imbrex_kernel_is_zeroed(i) for i in range(3)] == [0, 1, 0]
