"""Files for a GPU compile without a warning: as plain C++, and as by hipcc; the solver for the host."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest
from tests.pairs import one_in

from imbrex.build.amd.code_object import compile_code_object
from imbrex.build.toolchain import WARNINGS, compile_shared, find_compiler
from imbrex.chip import GPU_MACHINES, gpus
from imbrex.config import tuning
from imbrex.emit.bundle import Bundle
from imbrex.emit.hip import address
from imbrex.pipeline import Request, lower
from imbrex.problem import Conv2d, Gemm, Problem

RUNTIME = Path(__file__).parent / "runtime"
STRICT = (*WARNINGS, "-Werror", "-O0")
NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
GEMM = Gemm(100, 60, 77, dtype="f16", transpose_b=True, alpha=0.5, beta=2.0)
CASES: dict[str, tuple[Problem, str, str | None]] = {
    "general": (Gemm(70, 50, 33, dtype="f64"), "v1:general:64,32,32,4,2,2", None),
    "staged": (GEMM, "v1:xdlops:64,64,4,32,32,8", None),
    "direct": (GEMM, "v1:xdlops:64,64,4,32,32,8,auto,xor,direct", None),
    "masked": (Conv2d("forward", 1, 32, 7, 7, 64, 3, 3, dtype="f16", pad_h=1, pad_w=1, **NHWC), "", None),
    "atomic": (Conv2d("backward_data", 1, 6, 9, 7, 10, 3, 3, dtype="f32", dilation=2), "", "v1r1"),
    "bytes": (Gemm(70, 50, 64, dtype="i8", transpose_b=True), "v1:xdlops:32,32,4,16,16,16", None),
}


def emitted(case: str, chip: str) -> Bundle:
    problem, text, algorithm = CASES[case]
    if case == "direct":
        problem = Gemm(128, 64, 96, dtype="f16", transpose_b=True)
    chosen = tuning.parse(text) if text else None
    return lower(Request(problem, GPU_MACHINES[chip], chip, chosen, algorithm)).bundle


def has(case: str, chip: str) -> bool:
    """Direct copies are for gfx942 and later."""
    return case != "direct" or chip in ("gfx942", "gfx950")


EVERYWHERE = [(case, chip) for case in CASES for chip in gpus("AMD") if has(case, chip)]


@pytest.mark.parametrize(("case", "chip"), one_in(3, EVERYWHERE))
def test_compiles_as_plain_cpp(case: str, chip: str, tmp_path: Path) -> None:
    assert compile_code_object(emitted(case, chip).files, "kernel.cpp", chip, tmp_path, flags=STRICT).exists()


@pytest.mark.parametrize(("side", "runtime"), [("device", True), ("host", True), ("device", False)])
@pytest.mark.parametrize("case", one_in(2, list(CASES)))
def test_compiles_as_hip(case: str, side: str, runtime: bool, tmp_path: Path) -> None:
    """hipcc compiles a file twice; without its header there is only the device's half."""
    bundle = emitted(case, "gfx942")
    for file, text in bundle.files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    include = (f"-I{RUNTIME}",) if runtime else ()
    mode = ("-x", "hip", f"--offload-{side}-only", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib")
    flags = ("-std=c++17", *STRICT, "-Wno-unused-command-line-argument")
    command = [
        *find_compiler("zig").compile,
        *mode,
        *flags,
        *include,
        "-I.",
        "-S",
        "kernel.cpp",
        "-o",
        "out.s",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert ("v_" in (tmp_path / "out.s").read_text()) == (side == "device")


def test_the_solver_answers_on_the_host(tmp_path: Path) -> None:
    bundle = emitted("atomic", "gfx942")
    solver = {"kernel_solver.cpp": bundle.files["kernel_solver.cpp"]}
    library = ctypes.CDLL(str(compile_shared(solver, tmp_path, flags=(*WARNINGS, "-Werror"))))
    library.imbrex_kernel_kernel_name.restype = library.imbrex_kernel_target.restype = ctypes.c_char_p
    assert library.imbrex_kernel_target() == b"gfx942"
    names = [
        library.imbrex_kernel_kernel_name(i).decode() for i in range(library.imbrex_kernel_launch_count())
    ]
    sizes = [library.imbrex_kernel_block_size(i) for i in range(len(names))]
    heads = [f"__global__ void __launch_bounds__({n})\n{k}(" for k, n in zip(names, sizes, strict=True)]
    assert heads and all(head in bundle.files["kernel.cpp"] for head in heads)
    assert library.imbrex_kernel_lds_bytes(0) > 0 == library.imbrex_kernel_workspace_bytes(0)
    shapes = (ctypes.c_int64 * 12)(10, 6, 3, 3, 1, 6, 9, 7, 1, 10, 5, 3)
    assert library.imbrex_kernel_is_applicable(shapes, 12) == 1
    assert library.imbrex_kernel_is_applicable(shapes, 11) == 0
    assert [library.imbrex_kernel_is_zeroed(i) for i in range(3)] == [0, 1, 0]


@pytest.mark.parametrize(("reach", "has_buffers"), [(1 << 14, True), (1 << 6, False)])
def test_long_arrays(reach: int, has_buffers: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Beyond reach as a whole, by a buffer for each address; for lanes that are far apart, by pointers."""
    monkeypatch.setattr(address, "REACH", reach)
    for case in ("staged", "direct", "masked"):
        bundle = emitted(case, "gfx942")
        text = bundle.files["kernel.hpp"]
        assert ("buffer_from(" in text) == has_buffers and (has_buffers or "buffer_of(" not in text)
        folder = tmp_path / case
        folder.mkdir()
        assert compile_code_object(bundle.files, "kernel.cpp", "gfx942", folder, flags=STRICT).exists()
