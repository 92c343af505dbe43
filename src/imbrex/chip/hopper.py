"""Hopper: NVIDIA's GPUs of compute capability 9.0, with the instructions that are their own."""

from __future__ import annotations

from typing import Final

from imbrex.chip.adder import HOPPER_UNITS
from imbrex.chip.bank import WARP_PHASES
from imbrex.chip.hopper_rates import HOPPER_ITEMS, HOPPER_LANES, HOPPER_RATES
from imbrex.chip.machine import GpuMachine, Multiprocessor, WorkItems

__all__ = ["NVIDIA", "SM_90A"]

GUIDE: Final = "CUDA C++ Programming Guide"

SM_90A: Final = GpuMachine(
    "sm_90a",
    "NVIDIA",
    f"{GUIDE}, 9.0; H200",
    lds_bytes=227 * 1024,
    lds_banks=32,
    wave_size=32,
    max_threads=1024,
    vector_registers=255,
    compute_units=132,
    phases=WARP_PHASES,
    has_wgmma=True,
    has_tensor_maps=True,
    has_clusters=True,
    most_in_cluster=8,  # guide, "Thread Block Clusters": more are for a GPU to allow
    overlaps_launches=True,
    compute_capability=(9, 0),
    units=HOPPER_UNITS,
    multiprocessor=Multiprocessor(
        4, 65536, {"f32": 1, "f64": 2, "i32": 2}, HOPPER_ITEMS, f"{GUIDE}, throughputs"
    ),
    warpgroup_rates=HOPPER_RATES,
    lane_rates=HOPPER_LANES,
    # A cluster lies in one of the GPU's parts, not all of which have a multiple of 4 multiprocessors (CUTLASS
    # counts on so many); of 8, two lie in each part that has 16.
    cluster_residents={2: 132, 4: 116, 8: 112},
    usual_residents={4: 120, 8: 120},  # an H200 of 2026-12-01, asked by cuOccupancyMaxActiveClusters
    work_items=WorkItems((4, 2), lanes_along_k=True, reads_ahead=True),
)
NVIDIA: Final = (SM_90A,)
