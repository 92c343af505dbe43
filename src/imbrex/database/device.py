"""The device that a target's kernels run on, as the driver or the system describes it.

Law: what a kernel's time follows from is `hardware`; what changes without the machine being another one, its
driver or how many of its threads this process may use, is a condition.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

from imbrex.database.record import Device, Fact
from imbrex.run.answer import done
from imbrex.run.host_machine import host_machine

__all__ = ["Aim", "device_of", "threads_of"]


class Aim(Protocol):
    """What is asked of a target (`imbrex.kernel.Target`)."""

    @property
    def is_native(self) -> bool: ...

    @property
    def is_cuda(self) -> bool: ...

    @property
    def is_executed(self) -> bool: ...


def device_of(target: Aim) -> Device:
    """This CPU, or the current GPU; a Diagnostic where the GPU is not here."""
    if target.is_native or target.is_executed:
        return _cpu()
    return _nvidia() if target.is_cuda else _amd()


def threads_of(target: Aim, threads: int) -> int:
    """A CPU's number of threads; 0 on a GPU, which none of the host's matter to."""
    return threads if target.is_native or target.is_executed else 0


@cache
def _cpu() -> Device:
    here = host_machine()
    caches = (("l1d", here.l1d_bytes), ("l2", here.l2_bytes), ("l3", here.l3_bytes))
    sizes = [(name, size) for name, size in caches if size is not None]
    return Device(
        here.cpu or "unknown CPU",
        _facts(("isa", here.isa.level), *sizes),
        _facts(("usable_threads", here.cores)),
    )


def _nvidia() -> Device:
    from imbrex.run.cuda.driver import cuda_here, current_device

    cuda = cuda_here()
    return _nvidia_at(cuda, current_device(cuda))


@cache
def _nvidia_at(cuda: Any, number: int) -> Device:
    from imbrex.run.cuda.driver import driver_version, gpu_text

    kinds = cuda.CUdevice_attribute
    attributes = {
        "multiprocessors": kinds.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
        "clock_khz": kinds.CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
        "memory_clock_khz": kinds.CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
        "l2": kinds.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
    }
    found = {
        name: done(cuda.cuDeviceGetAttribute(kind, number), f"asking GPU {number}")[0]
        for name, kind in attributes.items()
    }
    name = gpu_text(cuda, number).rpartition(" (")[0]
    return Device(name, _facts(*found.items()), _facts(("driver", driver_version(cuda))))


def _amd() -> Device:
    from imbrex.run.hip.driver import gpu_properties, rocm_here

    hip = rocm_here()
    of = gpu_properties(hip)
    name = of.name.decode(errors="replace") if isinstance(of.name, bytes) else str(of.name)
    (driver,) = done(hip.hipRuntimeGetVersion(), "asking the driver")
    clocks = (("clock_khz", of.clockRate), ("memory_clock_khz", of.memoryClockRate))
    units = ("compute_units", of.multiProcessorCount)
    return Device(name.partition(chr(0))[0].strip(), _facts(units, *clocks), _facts(("driver", driver)))


def _facts(*pairs: tuple[str, object]) -> tuple[Fact, ...]:
    return tuple((name, str(value)) for name, value in pairs)
