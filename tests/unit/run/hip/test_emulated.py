"""Memory of the emulated GPU: what may be passed to a launch, and how much of it a kernel may reach."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from imbrex.cdna.execute import Launch, Memory
from imbrex.diagnostic import Diagnostic
from imbrex.run.hip import emulated
from imbrex.run.hip.emulated import EmulatedGpu, emulated_gpu

BYTES = 64


def launched(gpu: EmulatedGpu, *addresses: int | None, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What would be executed."""
    found: dict[str, Any] = {}

    def execute(*words: Any) -> None:
        found.update(zip(("code", "name", "launch", "pointers", "memory", "strict"), words, strict=True))

    monkeypatch.setattr(emulated, "execute", execute)
    pointers = [ctypes.c_void_p(address) for address in addresses]
    gpu.hipModuleLaunchKernel((None, "k"), 3, 1, 1, 64, 2, 1, 512, None, None, pointers)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("before", [0, 1, 16, BYTES - 1])
def test_a_pointer_reaches_as_far_before_the_end_as_it_lies_behind_the_start(
    before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = EmulatedGpu("gfx942")
    _, address = gpu.hipMalloc(BYTES)
    found = launched(gpu, address + before, address + before, monkeypatch=monkeypatch)
    assert found["memory"] == [Memory(address + before, BYTES - 2 * before)]
    assert [int.from_bytes(pointer, "little") for pointer in found["pointers"]] == [address + before] * 2
    assert (found["name"], found["launch"]) == ("k", Launch((3, 1, 1), (64, 2, 1), 512))
    assert gpu.launched == ["k"] and found["strict"].seed == 1


def test_what_is_no_memory_is_refused_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing, the byte before an array and the one behind it, and what was freed."""
    gpu = EmulatedGpu("gfx942")
    _, address = gpu.hipMalloc(BYTES)
    for wrong in (None, address - 1, address + BYTES):
        with pytest.raises(Diagnostic, match=rf"is given 0x{wrong or 0:x}, which is no memory"):
            launched(gpu, address, wrong, monkeypatch=monkeypatch)
    gpu.hipFree(address)
    with pytest.raises(Diagnostic, match="no memory"):
        launched(gpu, address, monkeypatch=monkeypatch)
    _, empty = gpu.hipMalloc(0)
    assert launched(gpu, empty, monkeypatch=monkeypatch)["memory"] == [Memory(empty, 0)]


def test_memory_that_nobody_wrote_holds_what_is_no_zero() -> None:
    gpu = EmulatedGpu("gfx90a")
    _, address = gpu.hipMalloc(BYTES)
    read, around = np.zeros(BYTES, np.uint8), np.zeros(1, np.uint8)
    gpu.hipMemcpy(read.ctypes.data, address, BYTES, gpu.hipMemcpyKind.hipMemcpyDeviceToHost)
    assert set(read.tolist()) == {0xA5}
    for beside in (address - 1, address + BYTES):
        ctypes.memmove(around.ctypes.data, beside, 1)
        assert around[0] == 0xA5
    gpu.hipMemsetAsync(address, 3, BYTES - 1, None)
    gpu.hipMemcpy(read.ctypes.data, address, BYTES, gpu.hipMemcpyKind.hipMemcpyDeviceToHost)
    assert read[: BYTES - 1].tolist() == [3] * (BYTES - 1) and read[-1] == 0xA5
    assert emulated_gpu("gfx90a") is emulated_gpu("gfx90a")
