"""Machines, one row each: what they can do, their memories, banks and rates, each with its source."""

from imbrex.chip.bank import BANK_BYTES, Access, Phases
from imbrex.chip.machine import L2, USUAL, CpuTarget, GpuTarget, Rates, Target, Vendor, WaveSlots, WorkItems
from imbrex.chip.product import KNOWN, no_target
from imbrex.chip.table import CPU_ISAS, GPU_TARGETS, WARPGROUPS, WAVES, gpus, target

__all__ = [
    "BANK_BYTES",
    "CPU_ISAS",
    "GPU_TARGETS",
    "KNOWN",
    "L2",
    "USUAL",
    "WARPGROUPS",
    "WAVES",
    "Access",
    "CpuTarget",
    "GpuTarget",
    "Phases",
    "Rates",
    "Target",
    "Vendor",
    "WaveSlots",
    "WorkItems",
    "gpus",
    "no_target",
    "target",
]
