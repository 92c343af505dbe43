"""The table: every machine by its name, and those that stand where none is named."""

from __future__ import annotations

from typing import Final

from imbrex.chip.cdna import CDNA, GFX942, LANE_LEVEL
from imbrex.chip.cpu import LEVELS
from imbrex.chip.hopper import NVIDIA, SM_90A
from imbrex.chip.machine import CpuMachine, GpuMachine, Machine, Vendor
from imbrex.chip.product import no_target

__all__ = ["CPU_ISAS", "GPU_MACHINES", "WARPGROUPS", "WAVES", "gpus", "target"]

GPU_MACHINES: Final[dict[str, GpuMachine]] = {gpu.name: gpu for gpu in (*CDNA, *NVIDIA, LANE_LEVEL)}
CPU_ISAS: Final[dict[str, CpuMachine]] = {cpu.name: cpu for cpu in LEVELS}

WAVES: Final = GFX942
"""What tunings of waves are for unless told otherwise, and whose schedule the lane-level build runs."""
WARPGROUPS: Final = SM_90A
"""What tunings of warpgroups are for unless told otherwise."""


def gpus(vendor: Vendor | None = None) -> tuple[str, ...]:
    """The names of the GPUs that source is written for, of one vendor or of all."""
    return tuple(
        name for name, gpu in GPU_MACHINES.items() if gpu is not LANE_LEVEL and vendor in (None, gpu.vendor)
    )


def target(name: str) -> Machine:
    """The machine of this name; a Diagnostic when there is none."""
    known: dict[str, Machine] = {**GPU_MACHINES, **CPU_ISAS}
    if name not in known:
        raise no_target(name, [*gpus(), *CPU_ISAS])
    return known[name]
