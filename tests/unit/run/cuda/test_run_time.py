"""A kernel on a GPU that is told a size: what each call launches, with which maps, and what it keeps."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.run.fake_cuda import FakeCuda
from tests.unit.run.fake_torch import aligned

from imbrex.problem.run_time import RunTime
from imbrex.run.cpu import Parameter
from imbrex.run.cuda.call import _Values
from imbrex.run.cuda.kernel import CudaKernel
from imbrex.run.device import DeviceArray
from imbrex.run.launch import Launch, RunTimeGrid, from_json, to_json
from imbrex.view.tensor.form import Box, TensorMap

F32 = np.dtype(np.float32)
MAP = TensorMap(Box((8, 40), (8,), 0, (8, 2), 32, (), (1, 1), open=1), "f32", 0)
STEPS = (
    Launch("k_1", 6, 64, (0, 1), tensors=(MAP,), run_time=RunTimeGrid(4, 8, 4, 3, 6)),
    Launch("k_2", 5, 64, (0, 1), tensors=(MAP,), run_time=RunTimeGrid(9, 40, 8, 1, 4)),
)


@pytest.fixture
def kernel(tmp_path: Path, cuda: FakeCuda) -> CudaKernel:
    """c += a, of 4 to 40 rows."""
    (tmp_path / "k.cubin").write_bytes(b"code")
    cuda.maps = 1
    parameters = (
        Parameter("a", (40, 8), F32, is_open=True),
        Parameter("c", (40, 8), F32, True, is_open=True),
    )
    return CudaKernel(tmp_path / "k.cubin", "k", "sm_90a", parameters, STEPS, (), RunTime("m", 4, 40))


def there(rows: int) -> tuple[DeviceArray, DeviceArray]:
    arrays: list[Any] = [aligned(np.ones((rows, 8), F32)) for _ in range(2)]
    a, c = (DeviceArray(x.ctypes.data, x.shape, None, "float32", 0, owner=x) for x in arrays)
    return a, c


def test_arrays_tell_the_size(kernel: CudaKernel, cuda: FakeCuda) -> None:
    for rows in (4, 8, 9, 40):
        kernel(*there(rows))
    found = [(one.kernel, one.grid[0]) for one in cuda.launched]
    assert found == [("k_1", 3), ("k_1", 6), ("k_2", 2), ("k_2", 4)]
    sizes = [int(call[4][1]) for call in cuda.calls if call[0] == "cuTensorMapEncodeTiled"]
    assert sizes == [4, 8, 9, 40]
    assert cuda.names.count("cuModuleLoadData") == 1, "one cubin serves all sizes"


def test_the_size_is_the_last_parameter() -> None:
    values = _Values([b"m" * 128], [16, 32], 7)
    places = (ctypes.c_void_p * 4).from_address(values.pointers)
    assert ctypes.c_int32.from_address(places[3] or 0).value == 7


def test_the_same_addresses_with_another_size_are_another_call(kernel: CudaKernel, cuda: FakeCuda) -> None:
    a, c = there(12)
    fewer = [DeviceArray(x.address, (5, 8), None, "float32", 0, owner=x.owner) for x in (a, c)]
    kernel(a, c)
    kernel(*fewer)
    kernel(a, c)
    assert [one.kernel for one in cuda.launched] == ["k_2", "k_1", "k_2"]


def test_other_sizes_and_arrays_that_differ_in_theirs(kernel: CudaKernel, cuda: FakeCuda) -> None:
    with pytest.raises(ValueError, match="'a' should have an outermost size from 4 to 40, got 3"):
        kernel(*there(3))
    with pytest.raises(ValueError, match=r"'c' should have shape \(5, 8\), got \(6, 8\)"):
        kernel(there(5)[0], there(6)[1])
    assert not cuda.launched


def test_a_size_that_is_known_before(kernel: CudaKernel) -> None:
    assert kernel.grid_sizes == (6, 5), "the most of every launch"
    assert (kernel.of_size(9).grid_sizes, kernel.of_size(5).grid_sizes) == ((2,), (6,))


def test_json_gives_back_the_steps() -> None:
    assert from_json(json.loads(json.dumps(to_json(STEPS)))) == STEPS
