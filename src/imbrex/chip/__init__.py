"""Machines, one row each: what they can do, their memories, banks and rates, each with its source."""

from imbrex.chip.adder import PLAIN, PLAIN_F64, Unit
from imbrex.chip.bank import BANK_BYTES, Access, Phases
from imbrex.chip.cdna_rates import Device, Rates
from imbrex.chip.cpu_prices import PRICES, Level, Prices
from imbrex.chip.machine import (
    L2,
    LINE_BYTES,
    SECTOR_BYTES,
    USUAL,
    VECTOR_BYTES,
    CodeObjects,
    CpuMachine,
    GpuMachine,
    Machine,
    Multiprocessor,
    Vendor,
    WaveSlots,
    WorkItems,
)
from imbrex.chip.parameter import SIZES, Parameter, parameters, with_parameters
from imbrex.chip.product import KNOWN, no_target, products_of
from imbrex.chip.table import CPU_ISAS, GPU_MACHINES, WARPGROUPS, WAVES, gpus, target
from imbrex.chip.warpgroup_rates import (
    HaloRates,
    ItemRates,
    LaneRates,
    LaunchRates,
    LineRates,
    ProductRates,
    RowRates,
    WarpgroupRates,
    WeightRates,
)

__all__ = [
    "BANK_BYTES",
    "CPU_ISAS",
    "GPU_MACHINES",
    "KNOWN",
    "L2",
    "LINE_BYTES",
    "PLAIN",
    "PLAIN_F64",
    "PRICES",
    "SECTOR_BYTES",
    "SIZES",
    "USUAL",
    "VECTOR_BYTES",
    "WARPGROUPS",
    "WAVES",
    "Access",
    "CodeObjects",
    "CpuMachine",
    "Device",
    "GpuMachine",
    "HaloRates",
    "ItemRates",
    "LaneRates",
    "LaunchRates",
    "Level",
    "LineRates",
    "Machine",
    "Multiprocessor",
    "Parameter",
    "Phases",
    "Prices",
    "ProductRates",
    "Rates",
    "RowRates",
    "Unit",
    "Vendor",
    "WarpgroupRates",
    "WaveSlots",
    "WeightRates",
    "WorkItems",
    "gpus",
    "no_target",
    "parameters",
    "products_of",
    "target",
    "with_parameters",
]
