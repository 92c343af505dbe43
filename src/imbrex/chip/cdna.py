"""CDNA: AMD's Instinct GPUs, one row each, and the lane-level build that stands for one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from imbrex.chip.adder import CDNA2_UNITS, CDNA3_UNITS
from imbrex.chip.bank import CDNA4_PHASES, CDNA_PHASES
from imbrex.chip.machine import L2, CodeObjects, GpuMachine, Rates, WaveSlots

__all__ = ["CDNA", "GFX942", "LANE_LEVEL"]

KIB: Final = 1024
MIB: Final = 1 << 20
ISA: Final = "AMD Instinct {} ISA reference, sections on LDS, vector registers and wave state"
COEXECUTION: Final = (
    "shadow and exclusive: AMD matrix instruction calculator 1.3.2, entries on VALU co-execution"
)
LATENCY: Final = (
    "latencies: rounded up from third-party measurements of MI300X (chipsandcheese.com, 2024): LDS 31 ns, "
    "HBM 350 ns at 2.1 GHz"
)
CACHE_BITS: Final = ("glc", "slc", "scc")
"""What assemblers of CDNA 1 and 2 call them."""

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
    rates=Rates(128, 64, 8, frozenset(), 128, 750, f"MI100 ISA; {COEXECUTION}; {LATENCY}"),
    code=CodeObjects(0x30, scopes=CACHE_BITS),
)
GFX90A: Final = replace(
    GFX908,
    name="gfx90a",
    source=ISA.format("MI200"),
    compute_units=104,
    l2=L2(8 * MIB, 1, "CDNA 2 white paper: of one of two dies, each a GPU of its own"),
    slots=WaveSlots(512, 8, 8, 512),
    rates=Rates(128, 64, 8, frozenset({"f64"}), 128, 750, f"MI200 ISA; {COEXECUTION}; {LATENCY}"),
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
    rates=Rates(128, 64, 4, frozenset({"f32", "f64"}), 128, 750, f"MI300 ISA; {COEXECUTION}; {LATENCY}"),
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
    direct_bytes=(16, 4),
    l2=L2(4 * MIB, 8, "CDNA 4 white paper"),
    slots=WaveSlots(512, 8, 8, 1280),
    rates=Rates(
        256, 64, 4, frozenset({"f32", "f64"}), 128, 750, f"CDNA4 ISA; as gfx942 where not told; {LATENCY}"
    ),
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
