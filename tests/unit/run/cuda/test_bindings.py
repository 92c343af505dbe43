"""cuda-bindings as it is, over a driver that is played in C++: what reaches the driver is what was meant.

The played driver of `fake_cuda` takes whatever it is given; here types and layouts are those of the library.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import HANG_S

from imbrex.build.toolchain import compile_shared

pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from imbrex.run.cpu import Parameter
from imbrex.run.cuda.kernel import CudaKernel
from imbrex.run.cuda.time import measure_on_gpu
from imbrex.run.device import DeviceArray
from imbrex.run.launch import Launch, Zero
from imbrex.view.tensor.form import Box, TensorMap, Walk

F32 = np.dtype(np.float32)
box = Box((8, 4), (8,), 0, (8, 2), 32, (), (1, 1))
walk = Walk((4, 2, 2, 2), (4, 8, 16), 0, (-1, -2), (1, 2), 4, 128, (2, 3), 0, ())
launch = Launch("k", 4, 384, (0, 1), 200_000, 2, (TensorMap(box, "f32", 1), TensorMap(walk, "f32", 0)))
mine = (Parameter("flags", (132,), np.dtype(np.int32), True, True),)
parameters = (Parameter("a", (4, 8), F32), Parameter("c", (4, 8), F32, True))
kernel = CudaKernel(Path(sys.argv[1]), "k", "sm_90a", parameters, (Zero(1), launch), mine)

a, c = np.arange(32, dtype=F32).reshape(4, 8), np.full((4, 8), np.nan, F32)
kernel(a, c, stream=77)
assert (c == a).all(), c

room = np.zeros(64 + 64, F32)
start = -room.ctypes.data // 4 % 16
x, y = room[start : start + 32], room[start + 32 : start + 64]
x[...] = 1
on_gpu = [DeviceArray(v.ctypes.data, (4, 8), None, "float32", None, owner=v) for v in (x, y)]
for _ in range(3):
    kernel(*on_gpu)
assert (y == 1).all(), y
for stream in (900, 901):
    kernel(*on_gpu, stream=stream)
known = kernel._known
assert len(known.workspaces) == len(known.ends) + 2 == 3, "the second graph has the first one's"
timing = measure_on_gpu(kernel, a, c, budget_s=0.0, warmup_s=0.0)
print("timed", timing.calls_per_sample, round(timing.median_ns), flush=True)
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a libcuda."""
    folder = tmp_path_factory.mktemp("driver")
    source = Path(__file__).with_name("libcuda.cpp")
    compile_shared({source.name: source.read_text()}, folder, name="libcuda.so.1")
    return folder


def test_the_driver_gets_what_was_meant(driver: Path) -> None:
    (driver / "k.cubin").write_bytes(b"code")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(driver)}
    command = (sys.executable, "-c", PROGRAM, str(driver / "k.cubin"))
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG_S)
    assert (ended.returncode, ended.stderr) == (0, "")
    said = ended.stdout.splitlines()
    assert "tiled kind 7 rank 2 sizes 8 4 stride 32 box 8 2 steps 1 1 swizzle 1" in said
    assert "im2col kind 7 rank 4 lower -1 -2 upper 1 2 channels 4 pixels 128 steps 1 2 3 1" in said
    launched = "launch grid 4 block 384 shared 200000 stream {} cluster 2 maps 1 255 df"
    assert launched.format(77) in said and launched.format(0) in said
    assert said.count("user object 1 1") == 2, "without synchronisation"
    assert {"graph 1900 keeps 192 1 1", "graph 1901 keeps 192 1 1"} <= set(said), "moved"
    assert said[-1] == "timed 4 12500"
