"""Tensor maps: what the driver is told, its fault in small im2col maps mended, launches with them."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.run.fake_cuda import FakeCuda
from tests.unit.run.fake_torch import aligned

from imbrex.run.cpu import Parameter
from imbrex.run.cuda.kernel import CudaKernel
from imbrex.run.cuda.tensor_map import encoded
from imbrex.run.device import DeviceArray
from imbrex.run.launch import Launch, from_json, to_json
from imbrex.view.tensor.form import Box, TensorMap, Walk

BOX = Box((64, 100, 3), (72, 7200), 8, (64, 32, 1), 128, (), (1, 1, 1))
WALK = Walk((64, 28, 28, 2), (64, 1792, 50176), 0, (-1, -1), (1, 1), 64, 128, (2, 2), 64, ())
F32 = np.dtype(np.float32)


def values(numbers: Any) -> list[int]:
    return [int(n) for n in numbers]


def test_a_box(cuda: FakeCuda) -> None:
    data = encoded(cuda, TensorMap(BOX, "f16", 0), 4096, 13000)
    assert len(data) == 128 and struct.unpack_from("<2Q", data) == (4096 + 16, 2**64 - 1)
    ((name, kind, rank, address, sizes, strides, box, steps, *rest),) = cuda.calls
    assert (name, kind.name, rank, address) == ("cuTensorMapEncodeTiled", FLOAT16, 3, 4112)
    assert values(sizes) == [64, 100, 3] and values(strides) == [144, 14400], "bytes"
    assert values(box) == [64, 32, 1] and values(steps) == [1, 1, 1]
    assert [r.name.removeprefix("CU_TENSOR_MAP_") for r in rest] == [
        "INTERLEAVE_NONE", "SWIZZLE_128B", "L2_PROMOTION_L2_128B", "FLOAT_OOB_FILL_NONE",
    ]  # fmt: skip


FLOAT16 = "CU_TENSOR_MAP_DATA_TYPE_FLOAT16"


def test_a_walk(cuda: FakeCuda) -> None:
    encoded(cuda, TensorMap(WALK, "bf16", 0), 4096, 13000)
    ((name, kind, rank, _, sizes, strides, lower, upper, channels, pixels, steps, *rest),) = cuda.calls
    assert (name, kind.name[24:], rank) == ("cuTensorMapEncodeIm2col", "BFLOAT16", 4)
    assert values(sizes) == [64, 28, 28, 2] and values(strides) == [128, 3584, 100352]
    assert (lower, upper, channels, pixels) == ([-1, -1], [1, 1], 64, 128)
    assert values(steps) == [1, 2, 2, 1] and rest[1].name.endswith("64B")


@pytest.mark.parametrize(
    ("sizes", "version", "is_cleared"),
    [
        ((64, 28, 28, 1), 13000, True),
        ((64, 28, 28, 1), 13010, True),
        ((64, 28, 28, 1), 13020, False),
        ((64, 32, 32, 1), 13000, False),
    ],
)
def test_the_drivers_fault_in_small_walks(
    cuda: FakeCuda, sizes: tuple[int, int, int, int], version: int, is_cleared: bool
) -> None:
    """Below 128 KiB; the played driver sets every bit."""
    walk = replace(WALK, sizes=sizes, strides=(64, 64 * sizes[1], 64 * sizes[1] * sizes[2]))
    words = struct.unpack("<16Q", encoded(cuda, TensorMap(walk, "f16", 0), 0, version))
    assert words[1] == 2**64 - 1 - (is_cleared << 21)
    assert set(words[2:]) == {2**64 - 1}


def test_a_box_is_left_as_it_is(cuda: FakeCuda) -> None:
    words = struct.unpack("<16Q", encoded(cuda, TensorMap(BOX, "f16", 0), 0, 13000))
    assert words[1] == 2**64 - 1


@pytest.mark.parametrize(("dtype", "kind"), [("tf32", "TFLOAT32"), ("i8", "UINT8"), ("f8e4m3fn", "UINT8")])
def test_types(cuda: FakeCuda, dtype: str, kind: str) -> None:
    encoded(cuda, TensorMap(replace(BOX, base=16), dtype, 0), 0, 13000)
    assert cuda.calls[0][1].name == f"CU_TENSOR_MAP_DATA_TYPE_{kind}"


def test_an_address_that_no_map_takes(cuda: FakeCuda) -> None:
    with pytest.raises(ValueError, match="a tensor map needs a multiple of 16 bytes, got address 0x1008"):
        encoded(cuda, TensorMap(replace(BOX, base=4), "f16", 0), 4096, 13000)


def test_a_map_that_the_driver_refuses(cuda: FakeCuda) -> None:
    cuda.failing["cuTensorMapEncodeTiled"] = 1
    with pytest.raises(ValueError, match="the driver refuses the tensor map: CUDA_ERROR_INVALID_VALUE"):
        encoded(cuda, TensorMap(BOX, "f16", 0), 4096, 13000)


class TestLaunch:
    @pytest.fixture
    def kernel(self, tmp_path: Path, cuda: FakeCuda) -> CudaKernel:
        """c += a; of its arguments, c comes first among the maps."""
        (tmp_path / "k.cubin").write_bytes(b"code")
        parameters = (Parameter("a", (4, 8), F32), Parameter("c", (4, 8), F32, is_written=True))
        maps = (TensorMap(BOX, "f32", 1), TensorMap(WALK, "f32", 0))
        cuda.maps = 2
        launch = Launch("k", 3, 64, (0, 1), 200_000, 2, maps)
        assert from_json(to_json([launch])) == (launch,)
        return CudaKernel(tmp_path / "k.cubin", "k", "sm_90a", parameters, (launch,))

    def on_gpu(self) -> tuple[DeviceArray, DeviceArray]:
        a, c = (aligned(np.ones((4, 8), F32)) for _ in range(2))
        return tuple(DeviceArray(x.ctypes.data, x.shape, None, "float32", 0, owner=x) for x in (a, c))  # type: ignore[return-value]

    def test_maps_come_before_pointers(self, kernel: CudaKernel, cuda: FakeCuda) -> None:
        a, c = self.on_gpu()
        kernel(a, c)
        (launch,) = cuda.launched
        assert launch.addresses == (a.address, c.address) and launch.aligned == [True, True]
        of_c, of_a = (struct.unpack_from("<Q", each)[0] for each in launch.maps)
        assert (of_c, of_a) == (c.address + 32, a.address)

    def test_maps_are_kept_by_address(self, kernel: CudaKernel, cuda: FakeCuda) -> None:
        (a, c), (_, d) = self.on_gpu(), self.on_gpu()
        for result in (c, d, c, d):
            kernel(a, result)
        made = [name for name in cuda.names if name.startswith("cuTensorMap")]
        assert sorted(made) == ["cuTensorMapEncodeIm2col", "cuTensorMapEncodeTiled", "cuTensorMapEncodeTiled"]
        bases = [struct.unpack_from("<Q", launch.maps[0])[0] - 32 for launch in cuda.launched]
        assert bases == [c.address, d.address] * 2

    def test_which_array_is_wrong_is_said(self, kernel: CudaKernel, cuda: FakeCuda) -> None:
        cuda.failing["cuTensorMapEncodeTiled"] = 1
        with pytest.raises(ValueError, match="'c': the driver refuses the tensor map"):
            kernel(*self.on_gpu())
