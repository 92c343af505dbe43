"""Launches through hip-python, which is played here: what is called, in which order, with what, and what the
user hears when it fails.  Memory of this GPU is memory of the host.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.run.cpu import Parameter
from imbrex.run.device import DeviceArray
from imbrex.run.hip.kernel import HipKernel
from imbrex.run.launch import Launch, Zero

F32 = np.dtype(np.float32)
SHAPE = (4, 8)


class Kind(Enum):
    hipMemcpyHostToDevice = 1
    hipMemcpyDeviceToHost = 2


@dataclass(eq=False)
class FakeHip:
    """Its one kernel adds its first array to its last.  failing: a call's name -> the error that it gives."""

    chip: str = "gfx942"
    devices: int = 1
    device: int = 0
    failing: dict[str, int] = field(default_factory=dict)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    memory: dict[int, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("hip"):
            raise AttributeError(name)
        if name == "hipMemcpyKind":
            return Kind
        action = getattr(FakeHip, f"_{name}")

        def call(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name, *arguments))
            if name in self.failing:
                return (self.failing[name],)
            return (0, *action(self, *arguments))

        return call

    @property
    def names(self) -> list[str]:
        asked = ("hipGetDeviceCount", "hipGetDevice", "hipGetDeviceProperties")
        return [name for name, *_ in self.calls if name not in asked]

    def _hipGetDeviceCount(self) -> tuple[int]:
        return (self.devices,)

    def _hipGetDevice(self) -> tuple[int]:
        return (self.device,)

    def _hipSetDevice(self, device: int) -> tuple[()]:
        self.device = device
        return ()

    def _hipGetDeviceProperties(self, device: int) -> tuple[Any]:
        return (SimpleNamespace(gcnArchName=f"{self.chip}:sramecc+:xnack-".encode()),)

    def _hipModuleLoadData(self, image: bytes) -> tuple[bytes]:
        return (image,)

    def _hipModuleGetFunction(self, module: bytes, name: bytes) -> tuple[str]:
        return (name.decode(),)

    def _hipMalloc(self, count: int) -> tuple[int]:
        memory = ctypes.create_string_buffer(b"\xff" * count, count)
        address = ctypes.addressof(memory)
        self.memory[address] = memory
        return (address,)

    def _hipFree(self, address: int) -> tuple[()]:
        del self.memory[address]
        return ()

    def _hipMemcpy(self, dest: int, source: int, count: int, kind: Kind) -> tuple[()]:
        assert isinstance(kind, Kind), "hip-python takes no number here"
        ctypes.memmove(dest, source, count)
        return ()

    def _hipMemsetAsync(self, address: int, value: int, count: int, stream: Any) -> tuple[()]:
        ctypes.memset(address, value, count)
        return ()

    def _hipStreamSynchronize(self, stream: Any) -> tuple[()]:
        return ()

    def _hipModuleLaunchKernel(self, *arguments: Any) -> tuple[()]:
        pointers = [pointer.value for pointer in arguments[-1]]
        source, dest = (np.frombuffer((ctypes.c_char * 128).from_address(p), F32) for p in pointers)
        dest += source
        return ()


@pytest.fixture
def hip(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHip]:
    fake = FakeHip()
    monkeypatch.setitem(sys.modules, "hip", SimpleNamespace(hip=fake))  # type: ignore[arg-type]
    yield fake
    assert not fake.memory, "all memory is given back"


@pytest.fixture
def kernel(tmp_path: Path) -> HipKernel:
    """c = a + a, in two launches on a cleared c."""
    (tmp_path / "k.hsaco").write_bytes(b"code")
    parameters = (Parameter("a", SHAPE, F32), Parameter("c", SHAPE, F32, is_written=True))
    steps = (Zero(1), Launch("k_1", 3, 64, (0, 1)), Launch("k_2", 5, 256, (0, 1)))
    return HipKernel(tmp_path / "k.hsaco", "k", "gfx942", parameters, steps)


def arrays() -> tuple[Any, Any]:
    return np.arange(32, dtype=F32).reshape(SHAPE), np.full(SHAPE, np.nan, F32)


def there(array: np.ndarray[Any, Any], device: int = 0) -> DeviceArray:
    """As if it lay on a GPU."""
    return DeviceArray(array.ctypes.data, array.shape, None, array.dtype.name, device, owner=array)


def test_arrays_of_the_host_go_there_and_come_back(kernel: HipKernel, hip: FakeHip) -> None:
    a, c = arrays()
    kernel(a, c)
    np.testing.assert_array_equal(c, 2 * a)
    copies = ["hipMalloc", "hipMemcpy"] * 2
    launches = ["hipMemsetAsync", "hipModuleLaunchKernel", "hipModuleLaunchKernel"]
    assert hip.names == [
        "hipModuleLoadData",
        "hipModuleGetFunction",
        "hipModuleGetFunction",
        *copies,
        *launches,
        *("hipStreamSynchronize", "hipMemcpy", "hipFree", "hipFree"),
    ]


def test_only_the_elements_of_a_view_come_back(kernel: HipKernel, hip: FakeHip) -> None:
    """Its memory goes there, gaps and all: the kernel counts on the strides."""
    rows = SHAPE[0]
    wide = np.full((rows, 32 // rows + 3), np.nan, F32)
    own = (rows, 32 // rows)
    strides = (32 // rows + 3, 1)
    parameters = tuple(replace(p, shape=own, strides=strides) for p in kernel.parameters)
    a, c = wide.copy()[:, : own[1]], wide.copy()
    a[...] = np.arange(32).reshape(own)
    c[:, own[1] :] = 7
    replace(kernel, parameters=parameters)(a, c[:, : own[1]])
    sizes = [call[1] for call in hip.calls if call[0] == "hipMalloc"]
    assert sizes == [4 * ((rows - 1) * strides[0] + own[1])] * 2
    assert (c[:, own[1] :] == 7).all()
    np.testing.assert_array_equal(c[0, : own[1]], 2 * a[0])


def test_launches_have_their_geometry_and_the_stream(kernel: HipKernel, hip: FakeHip) -> None:
    kernel(*arrays(), stream=77)
    launched = [call[1:10] for call in hip.calls if call[0] == "hipModuleLaunchKernel"]
    assert launched == [("k_1", 3, 1, 1, 64, 1, 1, 0, 77), ("k_2", 5, 1, 1, 256, 1, 1, 0, 77)]


def test_arrays_of_a_gpu_are_used_in_place_and_not_waited_for(kernel: HipKernel, hip: FakeHip) -> None:
    a, c = arrays()
    kernel(there(a), there(c))
    np.testing.assert_array_equal(c, 2 * a)
    assert {"hipMalloc", "hipMemcpy", "hipStreamSynchronize"}.isdisjoint(hip.names)


def test_a_module_is_loaded_once(kernel: HipKernel, hip: FakeHip) -> None:
    for _ in range(3):
        kernel(*arrays())
    assert hip.names.count("hipModuleLoadData") == 1


def test_a_call_happens_on_the_gpu_of_its_arrays(kernel: HipKernel, hip: FakeHip) -> None:
    a, c = arrays()
    kernel(there(a, 2), there(c, 2))
    assert [call for call in hip.calls if call[0] == "hipSetDevice"] == [
        ("hipSetDevice", 2),
        ("hipSetDevice", 0),
    ]
    with pytest.raises(ValueError, match=r"the arrays lie on GPUs \[0, 1\]"):
        kernel(there(a, 0), there(c, 1))


def test_a_resident_call_is_repeated_without_copies(kernel: HipKernel, hip: FakeHip) -> None:
    a, c = arrays()
    with kernel.resident(a, c) as call:
        before = len(hip.calls)
        call()
        call()
        again = [name for name, *_ in hip.calls[before:]]
    one = ["hipMemsetAsync", "hipModuleLaunchKernel", "hipModuleLaunchKernel", "hipStreamSynchronize"]
    assert again == one * 2
    np.testing.assert_array_equal(c, 2 * a)


def test_launches_are_in_the_callers_stream(kernel: HipKernel, hip: FakeHip) -> None:
    kernel(*arrays(), stream=SimpleNamespace(cuda_stream=6))
    assert {call[9] for call in hip.calls if call[0] == "hipModuleLaunchKernel"} == {6}


@pytest.mark.parametrize("call", ["hipMalloc", "hipMemcpy", "hipModuleLaunchKernel", "hipModuleLoadData"])
def test_an_error_of_the_runtime_is_one_message(kernel: HipKernel, hip: FakeHip, call: str) -> None:
    hip.failing[call] = 98
    with pytest.raises(Diagnostic, match="failed: 98"):
        kernel(*arrays())


def test_no_memory_is_a_memory_error(kernel: HipKernel, hip: FakeHip) -> None:
    hip.failing["hipMalloc"] = 2
    with pytest.raises(MemoryError, match="memory for 'a': the GPU has no memory left"):
        kernel(*arrays())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"chip": "gfx90a"}, "a kernel for gfx942 cannot run here: the GPU is gfx90a"),
        ({"devices": 0}, "a kernel for gfx942 cannot run here: there is no AMD GPU"),
        ({"failing": {"hipGetDeviceCount": 100}}, "there is no AMD GPU"),
    ],
)
def test_another_gpu_or_none(kernel: HipKernel, hip: FakeHip, changed: dict[str, Any], message: str) -> None:
    vars(hip).update(changed)
    for call in (kernel.prepare, lambda: kernel(*arrays())):
        with pytest.raises(Diagnostic) as caught:
            call()
        assert message in caught.value.message and "--emulate" in str(caught.value.hint)


def test_a_runtime_that_is_missing(kernel: HipKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise RuntimeError("failed to dlopen 'libamdhip64.so'\nmore")

    fake = SimpleNamespace(hip=SimpleNamespace(hipGetDeviceCount=missing))
    monkeypatch.setitem(sys.modules, "hip", fake)  # type: ignore[arg-type]
    with pytest.raises(Diagnostic) as caught:
        kernel.prepare()
    assert caught.value.message.endswith("finds no ROCm runtime: failed to dlopen 'libamdhip64.so'")


def test_a_workspace_comes_and_goes_with_a_call(kernel: HipKernel, hip: FakeHip) -> None:
    """c = 0 + a by way of an array of the GPU's own."""
    steps = (Zero(1), Launch("k_1", 1, 64, (2, 1)), Launch("k_2", 1, 64, (0, 1)))
    with_scratch = replace(kernel, steps=steps, workspace=(Parameter("packed", SHAPE, F32, True),))
    a, c = arrays()
    assert with_scratch.workspace_bytes == 128
    with_scratch(a, c)
    assert hip.names.count("hipMalloc") == hip.names.count("hipFree") == 3
    assert np.isnan(c).all(), "what nobody wrote there is not zero"


def test_arrays_that_do_not_fit_are_refused(kernel: HipKernel, hip: FakeHip) -> None:
    a, c = arrays()
    with pytest.raises(TypeError, match="'k' takes 2 arrays, got 1"):
        kernel(a)
    with pytest.raises(TypeError, match="'a' should have dtype float32, got float64"):
        kernel(a.astype(float), c)
    with pytest.raises(ValueError, match="'c' should have shape"):
        kernel(there(a), there(c.reshape(8, 4)))
    assert "hipModuleLaunchKernel" not in hip.names


def test_more_work_items_than_hip_launches(tmp_path: Path, hip: FakeHip) -> None:
    (tmp_path / "k.hsaco").write_bytes(b"code")
    parameters = (Parameter("a", SHAPE, F32), Parameter("c", SHAPE, F32, is_written=True))
    kernel = HipKernel(tmp_path / "k.hsaco", "k", "gfx942", parameters, (Launch("k", 1 << 26, 64, (0, 1)),))
    with pytest.raises(Diagnostic, match="'k' has 4294967296 work items; HIP launches less than"):
        kernel(*arrays())
