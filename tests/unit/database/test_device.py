"""Devices: what makes two of them one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from imbrex.database import device, device_of, threads_of
from imbrex.kernel import CPU, target_of
from imbrex.run.host_machine import host_machine


def test_the_cpu() -> None:
    found = device_of(CPU)
    assert found.name == (host_machine().cpu or "unknown CPU")
    assert dict(found.hardware)["isa"] == host_machine().isa.level
    assert dict(found.conditions) == {"usable_threads": str(host_machine().cores)}
    assert device_of(target_of("sm_90a", emulate=True)) == device_of(target_of("gfx942", "isa")) == found


def test_threads_are_of_a_cpu() -> None:
    assert (threads_of(CPU, 3), threads_of(target_of("emulate"), 3), threads_of(target_of("sm_90a"), 3)) == (
        3,
        3,
        0,
    )


class Driver:
    """A driver of CUDA's, with one GPU."""

    def __init__(self, version: int) -> None:
        self.version = version

    def cuDeviceGetAttribute(self, kind: Any, number: int) -> tuple[int, int]:
        return 0, {"MULTIPROCESSOR_COUNT": 132, "CLOCK_RATE": 1980000}.get(kind, 7)

    def cuDeviceGetName(self, size: int, number: int) -> tuple[int, bytes]:
        return 0, b"NVIDIA H200 (HBM)" + bytes(53) + b"\x7f" + bytes(31)  # what lies behind the text was seen

    def cuDriverGetVersion(self) -> tuple[int, int]:
        return 0, self.version

    class CUdevice_attribute:
        def __getattr__(self, name: str) -> str:
            return name.removeprefix("CU_DEVICE_ATTRIBUTE_")

    CUdevice_attribute = CUdevice_attribute()  # type: ignore[assignment,misc]


def test_a_driver_makes_no_other_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = device._nvidia_at(Driver(12040), 0), device._nvidia_at(Driver(13010), 0)
    assert old.name == "NVIDIA H200 (HBM)" and dict(old.hardware)["multiprocessors"] == "132"
    assert old.key == new.key and old != new


def test_an_amd_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    told = SimpleNamespace(name=b"AMD Instinct MI300X\0", clockRate=2100000, memoryClockRate=1300000)
    told.multiProcessorCount = 304
    hip = SimpleNamespace(hipRuntimeGetVersion=lambda: (0, 60400))
    monkeypatch.setattr("imbrex.run.hip.driver.rocm_here", lambda: hip)
    monkeypatch.setattr("imbrex.run.hip.driver.gpu_properties", lambda hip: told)
    found = device_of(target_of("gfx942"))
    assert (found.name, found.conditions) == ("AMD Instinct MI300X", (("driver", "60400"),))
    assert dict(found.hardware) == {
        "compute_units": "304",
        "clock_khz": "2100000",
        "memory_clock_khz": "1300000",
    }
