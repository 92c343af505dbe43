"""Arrays on a GPU, told by DLPack or by the CUDA array interface; here both tell of memory of the host."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from imbrex.run.device import DeviceArray, check_device_array, on_device

ROCM, CPU = 10, 1


class ByDlpack:
    """An array of NumPy's that says that it lies on a GPU."""

    def __init__(self, array: np.ndarray[Any, Any], device: tuple[int, int] = (ROCM, 0)) -> None:
        self.array, self.device = array, device
        self.streams: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, stream: Any = None) -> Any:
        self.streams.append(stream)
        return self.array.__dlpack__()


class ByInterface:
    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        strides = None if array.flags.c_contiguous else array.strides
        data = (array.ctypes.data, not array.flags.writeable)
        told = {"shape": array.shape, "typestr": array.dtype.str, "data": data, "strides": strides}
        self.__cuda_array_interface__ = told | {"version": 3}


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "int32"])
@pytest.mark.parametrize("kind", [ByDlpack, ByInterface])
def test_an_array_is_found_where_it_lies(kind: Any, dtype: str) -> None:
    array = np.zeros((2, 3, 4), dtype)
    found = on_device(kind(array), "a")
    assert found is not None
    assert (found.address, found.shape, found.dtype) == (array.ctypes.data, (2, 3, 4), dtype)
    assert not found.is_read_only


@pytest.mark.parametrize("kind", [ByDlpack, ByInterface])
def test_strides_are_in_elements(kind: Any) -> None:
    found = on_device(kind(np.zeros((6, 4), np.float16)[::2]), "a")
    assert found is not None and found.strides == (8, 1)


def test_offsets_are_part_of_the_address() -> None:
    array = np.zeros((6, 4), np.float32)[2:]
    found = on_device(ByDlpack(array), "a")
    assert found is not None and found.address == array.ctypes.data


def test_nobody_waits() -> None:
    value = ByDlpack(np.zeros(3))
    on_device(value, "a")
    assert value.streams == [-1]


@pytest.mark.parametrize("value", [np.zeros(3), [1.0], ByDlpack(np.zeros(3), (CPU, 0))])
def test_arrays_of_the_host_are_none(value: object) -> None:
    assert on_device(value, "a") is None


def test_an_owner_that_refuses_is_one_message() -> None:
    with pytest.raises(TypeError, match="'a' cannot be read by DLPack: "):
        on_device(ByDlpack(np.zeros(3, ml_dtypes.bfloat16)), "a")


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.zeros((2, 3), np.float64), TypeError, "'a' should have dtype float32, got float64"),
        (np.zeros((3, 2), np.float32), ValueError, r"'a' should have shape \(2, 3\), got \(3, 2\)"),
        (np.zeros((2, 6), np.float32)[:, ::2], ValueError, r"contiguous, got strides \(6, 2\)"),
        (np.zeros((3, 2), np.float32).T, ValueError, r"contiguous, got strides \(1, 2\)"),
    ],
)
def test_what_is_refused(array: Any, error: type[Exception], message: str) -> None:
    found = on_device(ByDlpack(array), "a")
    assert found is not None
    with pytest.raises(error, match=message):
        check_device_array(found, "a", dtype="float32", shape=(2, 3), written=False)


def test_an_address_that_vectors_cannot_use() -> None:
    array = DeviceArray(0x1004, (4,), None, "float32", 0)
    with pytest.raises(ValueError, match="'a' should lie at a multiple of 16 bytes"):
        check_device_array(array, "a", dtype="float32", shape=(4,), written=False)


def test_an_output_must_be_writable() -> None:
    array = DeviceArray(0x1000, (4,), None, "float32", None, is_read_only=True)
    check_device_array(array, "c", dtype="float32", shape=(4,), written=False)
    with pytest.raises(ValueError, match="'c' is the output, but it is read-only"):
        check_device_array(array, "c", dtype="float32", shape=(4,), written=True)


def test_sizes_of_one_have_any_stride() -> None:
    array = DeviceArray(0x1000, (1, 4), (999, 1), "float32", 0)
    check_device_array(array, "a", dtype="float32", shape=(1, 4), written=False)


def test_strides_are_those_of_the_kernel() -> None:
    wanted: dict[str, Any] = {"dtype": "float32", "shape": (2, 4), "strides": (8, 1), "written": True}
    check_device_array(DeviceArray(0x1000, (2, 4), (8, 1), "float32", 0), "c", **wanted)
    for strides, told in (((9, 1), r"\(9, 1\)"), (None, r"\(4, 1\)")):
        with pytest.raises(ValueError, match=rf"'c' should have strides \(8, 1\) in elements.*, got {told}"):
            check_device_array(DeviceArray(0x1000, (2, 4), strides, "float32", 0), "c", **wanted)
