"""CPUs by their vector instructions, one row a level, the widest of an architecture first."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from imbrex.chip.cpu_prices import MESH_PRICES, NARROW_PRICES, WIDE_PRICES
from imbrex.chip.machine import CpuMachine

__all__ = ["LEVELS"]

KIB: Final = 1024
V3: Final = frozenset({"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"})
V4: Final = V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}

VNNI: Final = V4 | {"avx512_vnni"}

AVX512: Final = CpuMachine(
    "avx512",
    vector_bytes=64,
    vector_registers=32,
    fma_per_cycle=2.0,
    l1_bytes=32 * KIB,
    l2_bytes=1024 * KIB,
    l3_bytes=4096 * KIB,
    threads=1,
    source='AMD 58455: Zen 5; 57647, "Software Optimization Guide": Zen 4, family 25',
    arch="x86_64",
    march="x86-64-v4",
    features=V4,
    halved_on=("AuthenticAMD 25",),
    prices=WIDE_PRICES,
)
AVX512_VNNI: Final = replace(
    AVX512,
    name="avx512_vnni",
    source=f"{AVX512.source}; Intel SDM, VPDPBUSD",
    options=("-mavx512vnni",),
    features=VNNI,
)
AVX512_BF16: Final = replace(
    AVX512_VNNI,
    name="avx512_bf16",
    source=f"{AVX512.source}; Intel SDM, VDPBF16PS: on Intel's cores half the rate of f32 multiply-adds",
    options=("-mavx512vnni", "-mavx512bf16"),
    features=VNNI | {"avx512_bf16"},
    not_on=("GenuineIntel",),
)
AMX: Final = replace(
    AVX512_BF16,
    name="amx",
    l1_bytes=48 * KIB,
    l2_bytes=2048 * KIB,
    source=f"{AVX512.source}; Intel SDM, TDPBF16PS, TDPBSSD; Sapphire Rapids: 48 KiB of L1, 2 MiB of L2",
    options=(*AVX512_BF16.options, "-mamx-tile", "-mamx-bf16", "-mamx-int8"),
    features=AVX512_BF16.features | {"amx_tile", "amx_bf16", "amx_int8"},
    not_on=(),
    lent=AVX512_BF16.name,
    prices=MESH_PRICES,
)
AVX2: Final = CpuMachine(
    "avx2",
    vector_bytes=32,
    vector_registers=16,
    fma_per_cycle=2.0,
    l1_bytes=32 * KIB,
    l2_bytes=512 * KIB,
    l3_bytes=4096 * KIB,
    threads=1,
    source="Intel SDM vol. 1, 14: 16 ymm",
    arch="x86_64",
    march="x86-64-v3",
    features=V3,
    prices=NARROW_PRICES,
)
AVX_VNNI: Final = replace(
    AVX2,
    name="avx_vnni",
    source=f"{AVX2.source}; VPDPBUSD",
    options=("-mavxvnni",),
    features=V3 | {"avx_vnni"},
)
SVE512: Final = CpuMachine(
    "sve512",
    vector_bytes=64,
    vector_registers=32,
    fma_per_cycle=2.0,
    l1_bytes=64 * KIB,
    l2_bytes=1024 * KIB,
    l3_bytes=2048 * KIB,
    threads=1,
    source="Fujitsu, A64FX Microarchitecture Manual: two pipelines of 512 bits; Arm ARM: 32 registers",
    arch="aarch64",
    march="generic+sve",
    options=("-msve-vector-bits=512",),
    features=frozenset({"sve", "sve512"}),
    qemu="a64fx",
)
SVE256: Final = replace(
    SVE512,
    name="sve256",
    vector_bytes=32,
    source="Arm, Neoverse V1 Software Optimization Guide: two pipelines of 256 bits; Arm ARM: 32 registers",
    options=("-msve-vector-bits=256",),
    features=frozenset({"sve", "sve256"}),
    qemu="a64fx,sve512=off",
)
SVE256_MMLA: Final = replace(
    SVE256,
    name="sve256_mmla",
    source=f"{SVE256.source}; SMMLA, BFMMLA",
    march="generic+sve+bf16+i8mm",
    features=SVE256.features | {"svebf16", "svei8mm", "bf16", "i8mm"},
    qemu="max,sve-max-vq=2",
)
SVE128: Final = replace(
    SVE512,
    name="sve128",
    vector_bytes=16,
    fma_per_cycle=4.0,
    source="Arm, Neoverse V2 Software Optimization Guide: four pipelines of 128 bits; Arm ARM: 32 registers",
    options=("-msve-vector-bits=128",),
    features=frozenset({"sve", "sve128"}),
    qemu="a64fx,sve512=off,sve256=off",
)
NEON: Final = CpuMachine(
    "neon",
    vector_bytes=16,
    vector_registers=32,
    fma_per_cycle=2.0,
    l1_bytes=64 * KIB,
    l2_bytes=512 * KIB,
    l3_bytes=2048 * KIB,
    threads=1,
    source="Arm ARM: 32 registers",
    arch="aarch64",
    march="generic",
    qemu="cortex-a53",
)
NEON_DOT: Final = replace(
    NEON,
    name="neon_dot",
    source=f"{NEON.source}; SDOT, optional from Armv8.2 on",
    march="generic+dotprod",
    features=frozenset({"asimddp"}),
    qemu="neoverse-n1",
)
NEON_MMLA: Final = replace(
    NEON,
    name="neon_mmla",
    source=f"{NEON.source}; SMMLA, BFMMLA, part of Armv8.6",
    march="generic+dotprod+bf16+i8mm",
    features=NEON_DOT.features | {"bf16", "i8mm"},
    qemu="max,sve=off",
)
GENERIC: Final = CpuMachine(
    "generic",
    vector_bytes=16,
    vector_registers=16,
    fma_per_cycle=1.0,
    l1_bytes=32 * KIB,
    l2_bytes=256 * KIB,
    l3_bytes=1024 * KIB,
    threads=1,
    source="x86-64 baseline: 16 xmm, no fused multiply-add",
)
# On cores with four pipelines of 128 bits NEON is at least as fast as SVE (libxsmm, issue 917).
LEVELS: Final = (
    *(AMX, AVX512_BF16, AVX512_VNNI, AVX512, AVX_VNNI, AVX2),
    *(SVE512, SVE256_MMLA, SVE256, NEON_MMLA, NEON_DOT, NEON, SVE128),
    GENERIC,
)
