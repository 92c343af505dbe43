"""CDNA: AMD's Instinct GPUs, one row each, and the lane-level build that stands for one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from imbrex.chip.adder import CDNA2_UNITS, CDNA3_UNITS
from imbrex.chip.bank import CDNA4_PHASES, CDNA_PHASES
from imbrex.chip.cdna_rates import KIB, Device, Rates
from imbrex.chip.machine import L2, CodeObjects, GpuMachine, WaveSlots

__all__ = ["CDNA", "GFX942", "LANE_LEVEL"]

MIB: Final = 1 << 20
ISA: Final = "AMD Instinct {} ISA reference, sections on LDS, vector registers and wave state"
COEXECUTION: Final = (
    "shadow and exclusive: AMD matrix instruction calculator 1.3.2, entries on VALU co-execution"
)
L2_RATE: Final = "l2_bytes: rocprofiler-compute's documentation, 2048 bytes a clock and die"
MI100: Final = Device(
    hz=1.502e9,
    idle=1.0,
    busy=0.8,
    l2_bytes=64,
    memory_bytes=1.23e12,
    prologue=2700,
    stored_bytes=7,
    launch=9000,
    source="MI100's data sheet: highest clock and memory; the rest as an MI355X's or a guess, seen by nobody",
)
MI250X: Final = replace(
    MI100,
    hz=1.7e9,
    memory_bytes=1.6e12,
    source="MI250X's data sheet, of one of two dies; the rest as of an MI100",
)
MI300X: Final = Device(
    hz=2.1e9,
    idle=1.0,
    busy=0.55,
    l2_bytes=54,
    memory_bytes=5.3e12,
    prologue=2700,
    stored_bytes=7,
    launch=9000,
    source=f"an MI300X. Clock: a line through what one ran at with 70 to 89 % busy loops of f16 "
    f"(ROCm/gfx950-gluon-tutorials, kernels/gemm/gfx942) and AMD's maxima (1115 to 1230 MHz). {L2_RATE}. "
    f"prologue, stored_bytes and launch as an MI355X's",
)
MI355X: Final = Device(
    hz=2.4e9,
    idle=0.86,
    busy=0.69,
    l2_bytes=64,
    memory_bytes=8e12,
    prologue=2700,
    stored_bytes=7,
    launch=9000,
    source=f"an MI355X. Clock and launch: fitted to six times of ROCm/gfx950-gluon-tutorials (v2 to v9); "
    f"prologue and stored_bytes: its docs/mfma_efficiency.md. {L2_RATE}",
)
CACHE_BITS: Final = ("glc", "slc", "scc")
"""What assemblers of CDNA 1 and 2 call them."""

MI100_RATES: Final = Rates(
    128, 64, 8, frozenset(), f"MI100 ISA; {COEXECUTION}", l1_capacity=16 * KIB, line_bytes=64
)
GFX908: Final = GpuMachine(
    "gfx908",
    "AMD",
    ISA.format("MI100"),
    lds_bytes=64 * KIB,
    lds_banks=32,
    wave_size=64,
    max_threads=1024,
    vector_registers=256,
    compute_units=120,
    phases=CDNA_PHASES,
    has_mfma=True,
    l2=L2(8 * MIB, 1, "CDNA white paper"),
    slots=WaveSlots(256, 4, 10, 512),
    rates=MI100_RATES,
    device=MI100,
    code=CodeObjects(0x30, scopes=CACHE_BITS),
)
GFX90A: Final = replace(
    GFX908,
    name="gfx90a",
    source=ISA.format("MI200"),
    compute_units=104,
    l2=L2(8 * MIB, 1, "CDNA 2 white paper: of one of two dies, each a GPU of its own"),
    slots=WaveSlots(512, 8, 8, 512),
    rates=Rates(
        128, 64, 8, frozenset({"f64"}), f"MI200 ISA; {COEXECUTION}", l1_capacity=16 * KIB, line_bytes=64
    ),
    device=MI250X,
    code=CodeObjects(0x3F, 0, flushes_halves=True, has_scratch_offset=True, scopes=CACHE_BITS),
    units=CDNA2_UNITS,
)
GFX942: Final = replace(
    GFX90A,
    name="gfx942",
    source=ISA.format("MI300"),
    compute_units=304,
    direct_bytes=(4,),
    l2=L2(4 * MIB, 8, "CDNA 3 white paper"),
    rates=Rates(128, 64, 4, frozenset({"f32", "f64"}), f"MI300 ISA; {COEXECUTION}"),
    device=MI300X,
    code=CodeObjects(0x4C, 1, has_vector_offsets=True),
    units=CDNA3_UNITS,
)
GFX950: Final = replace(
    GFX942,
    name="gfx950",
    source=ISA.format("CDNA4"),
    lds_bytes=160 * KIB,
    lds_banks=64,
    compute_units=256,
    phases=CDNA4_PHASES,
    direct_bytes=(16, 12, 4),
    turned_bits=(16, 8, 6, 4),
    l2=L2(4 * MIB, 8, "CDNA 4 white paper"),
    slots=WaveSlots(512, 8, 8, 1280),
    rates=Rates(256, 64, 4, frozenset({"f32", "f64"}), "CDNA4 ISA; as gfx942 where not told"),
    device=MI355X,
    code=CodeObjects(0x4F, 2, has_vector_offsets=True, has_scales=True),
)
CDNA: Final = (GFX908, GFX90A, GFX942, GFX950)

LANE_LEVEL: Final = replace(
    GFX942,
    name="emulate",
    source="chosen equal to gfx942, whose matrix instructions it runs where a tuning names them",
    compute_units=1,
    has_mfma=False,
    l2=None,
    slots=None,
    rates=None,
    code=None,
    like="gfx942",
)
