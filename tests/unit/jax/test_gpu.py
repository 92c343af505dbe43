"""A handler for a GPU: what XLA hands over reaches a driver that is played, in XLA's stream."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.patience import HANG_S

from imbrex.build.toolchain import compile_shared
from imbrex.kernel import compile
from imbrex.problem import Gemm, parse_problem
from imbrex.run.cuda.kernel import CudaKernel

jax: Any = pytest.importorskip("jax", reason="jax is not installed")
pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")

from imbrex.jax import handler  # noqa: E402

PROGRAM = """
import ctypes, sys
caller, made = map(ctypes.CDLL, sys.argv[1:3])
memory = [ctypes.create_string_buffer(int(size) + 512) for size in sys.argv[3].split(",")]
starts = [ctypes.addressof(m) + -ctypes.addressof(m) % 256 for m in memory]
arrays = (ctypes.c_void_p * len(starts))(*starts)
print("arrays", *starts, flush=True)
answer = caller.call(made.imbrex_jax_handler, arrays, len(starts), ctypes.c_longlong(int(sys.argv[4])))
ctypes.CDLL(None).fflush(None)
print("answer", answer, ctypes.c_int.from_address(starts[-1]).value, flush=True)
"""
PROBLEM = Gemm(64, 512, 128, dtype="f16")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the caller and the driver."""
    folder = tmp_path_factory.mktemp("gpu")
    here = Path(__file__).parent
    api = Path(jax.ffi.include_dir(), "xla", "ffi", "api", handler.ABOUT).read_text()
    compile_shared(
        {"caller.cpp": (here / "caller.cpp").read_text(), handler.ABOUT: api}, folder, name="caller.so"
    )
    driver = here.parent / "library" / "libcuda.cpp"
    compile_shared({driver.name: driver.read_text()}, folder, name="libcuda.so.1")
    return folder


def called(folder: Path, problem: Gemm = PROBLEM, rows: int = 64, **told: int) -> list[str]:
    """What the driver was told of a call of the handler, and how that ended."""
    handler.on_gpu(problem, "sm_90a")
    sizes = ",".join(str(operand.elements * 2) for operand in PROBLEM.operands)
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder)} | {k: str(v) for k, v in told.items()}
    words = (folder / "caller.so", handler._kept[-1]._name, sizes, rows)
    command = [str(word) for word in (sys.executable, "-I", "-S", "-c", PROGRAM, *words)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_kernel_is_launched_in_the_stream_of_xla(played: Path) -> None:
    loaded = compile(PROBLEM, "sm_90a").loaded
    assert isinstance(loaded, CudaKernel)
    (step,) = loaded.launches
    said = called(played, MAPS=len(step.tensors), ARRAYS=len(step.arguments))
    places = [int(place) for place in said[0].split()[1:]]
    (launch,) = (one for one in said if one.startswith("launch"))
    assert f"launch {step.kernel} {step.grid_size} " in launch and " stream 77 " in launch
    for tensor in step.tensors:
        assert f"map {places[step.arguments[tensor.argument]]} 0" in launch
    assert said[-1] == "answer 1 7"


def test_what_the_driver_refuses_is_an_error_of_xlas(played: Path) -> None:
    said = called(played, CAPABILITY=8)
    assert (
        said[-2]
        == "error code     4: a kernel of Imbrex was not launched; the codes of libraries for a GPU say why"
    )
    assert said[-1] == "answer 0 0"


def test_a_kernel_of_any_number_of_rows_is_told_that_of_the_arrays(played: Path) -> None:
    (open_rows,) = parse_problem("gemm -t f16 -m ? -n 512 -k 128")
    assert isinstance(open_rows, Gemm)
    grids: list[int] = []
    for rows in (1, 64, 1000):
        kernel = compile(open_rows, "sm_90a").at(rows)
        assert isinstance(kernel.loaded, CudaKernel)
        (step,) = kernel.loaded.launches
        said = called(played, open_rows, rows, MAPS=len(step.tensors), ARRAYS=len(step.arguments))
        (launch,) = (one for one in said if one.startswith("launch"))
        grids.append(int(launch.split()[2]))
        assert said[-1] == "answer 1 7", said
    assert grids == sorted(grids) and grids[0] < grids[-1]
