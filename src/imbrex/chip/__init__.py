"""Machines, one row each: what they can do, their memories, banks and rates, each with its source."""

from imbrex.chip.adder import PLAIN, PLAIN_F64, Unit
from imbrex.chip.bank import BANK_BYTES, Access, Phases
from imbrex.chip.cpu_prices import PRICES, Level, Prices
from imbrex.chip.machine import (
    L2,
    USUAL,
    VECTOR_BYTES,
    CodeObjects,
    CpuMachine,
    GpuMachine,
    Machine,
    Multiprocessor,
    Rates,
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
    LineRates,
    ProductRates,
    WarpgroupRates,
    WeightRates,
)

__all__ = [
    "BANK_BYTES",
    "CPU_ISAS",
    "GPU_MACHINES",
    "KNOWN",
    "L2",
    "PLAIN",
    "PLAIN_F64",
    "PRICES",
    "SIZES",
    "USUAL",
    "VECTOR_BYTES",
    "WARPGROUPS",
    "WAVES",
    "Access",
    "CodeObjects",
    "CpuMachine",
    "GpuMachine",
    "HaloRates",
    "ItemRates",
    "LaneRates",
    "Level",
    "LineRates",
    "Machine",
    "Multiprocessor",
    "Parameter",
    "Phases",
    "Prices",
    "ProductRates",
    "Rates",
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
