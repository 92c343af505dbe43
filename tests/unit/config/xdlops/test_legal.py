"""Rules of XDLOPS tunings: each has one that breaks it, with the reason and what would work."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import pytest

from imbrex.chip import GPU_MACHINES, target
from imbrex.config.choose import choose, family_of
from imbrex.config.context import Access, GemmContext
from imbrex.config.legal import XDLOPS_RULES, Illegal, check
from imbrex.config.xdlops.cost import prediction_of
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.config.xdlops.space import wave_space
from imbrex.dtype import BF16, F8E4M3FN, F16, F32, F64, I8, DType
from imbrex.view.conv.row_taps import RowTaps

ROWS = Access((16, 1), (64.0, 1.0), (1, 0))
GEMM = GemmContext(1024, 1024, 1024, F32, 1, ROWS, ROWS, ROWS.exchanged)
HALF, BYTE = dataclasses.replace(GEMM, dtype=F16), dataclasses.replace(GEMM, dtype=I8)
XDLOPS = XdlopsTuning(128, 128, 4, 64, 64, 4)
F16_TILE = XdlopsTuning(128, 128, 4, 64, 64, 8)
DIRECT = dataclasses.replace(F16_TILE, copy="direct")

TAPS = GemmContext(256, 4096, 9 * 96, F16, a=Access((8, 1)), b=Access((8, 1)), taps=RowTaps(3, 96, 16))
WITH_TAPS = XdlopsTuning(128, 128, 8, 64, 64, 8, taps=3)
BROKEN: list[tuple[str, XdlopsTuning, GemmContext, str, str]] = [
    (
        "taps",
        dataclasses.replace(WITH_TAPS, taps=2),
        TAPS,
        "gfx950",
        "taps 2 of a step: this product's steps take 1 or 3",
    ),
    (
        "taps",
        WITH_TAPS,
        dataclasses.replace(TAPS, taps=None),
        "gfx950",
        "taps 3 of a step: this product's steps take 1",
    ),
    (
        "taps",
        dataclasses.replace(WITH_TAPS, k_per_block=4, swapped=True),
        TAPS,
        "gfx950",
        "taps 3 share columns; rows of a swapped product are not shared: say straight",
    ),
    (
        "taps",
        WITH_TAPS,
        TAPS,
        "gfx950",
        "96 channels of a tap are not whole steps of 64: k_per_block 8 of packs of 8",
    ),
    (
        "buffers",
        dataclasses.replace(WITH_TAPS, k_per_block=4, taps=2, copy="ahead", buffers=4),
        dataclasses.replace(TAPS, taps=RowTaps(2, 96, 16)),
        "gfx950",
        "buffers 4 > 3: of 2 taps no more are loaded ahead",
    ),
    (
        "matrix_unit",
        XDLOPS,
        dataclasses.replace(GEMM, dtype=F64),
        "gfx908",
        "no matrix instruction of gfx908 multiplies f64; those of gfx90a, gfx942, gfx950 do",
    ),
    (
        "matrix_unit",
        F16_TILE,
        dataclasses.replace(GEMM, dtype=F8E4M3FN),
        "gfx942",
        "no matrix instruction of gfx942 multiplies f8e4m3fn; those of gfx12, gfx950 do",
    ),
    (
        "instruction",
        dataclasses.replace(F16_TILE, instruction="mfma_f32_32x32x16_f16"),
        HALF,
        "gfx942",
        "gfx942 has no mfma_f32_32x32x16_f16, which is of gfx950; mfma_f32_32x32x8_f16 would do",
    ),
    (
        "instruction",
        dataclasses.replace(F16_TILE, instruction="mfma_f32_32x32x8_f16"),
        BYTE,
        "gfx942",
        "mfma_f32_32x32x8_f16 multiplies f16, the product is of i8; "
        "mfma_i32_32x32x4_2b_i8, mfma_i32_16x16x4_4b_i8,"
        " mfma_i32_4x4x4_16b_i8, mfma_i32_32x32x16_i8 or mfma_i32_16x16x32_i8 would do",
    ),
    (
        "wave_tile",
        XdlopsTuning(72, 72, 4, 72, 72, 4),
        GEMM,
        "gfx942",
        "wave tile 72x72 is not a multiple of an instruction's for f32 on gfx942:"
        " 4x64, 16x16, 16x64, 32x32, 32x64,"
        " 64x4, 64x16 or 64x32",
    ),
    (
        "wave_tile",
        dataclasses.replace(F16_TILE, m_per_wave=16, m_per_block=32, instruction="mfma_f32_32x32x8_f16"),
        HALF,
        "gfx942",
        "wave tile 16x64 is not a multiple of an instruction's for f16 on gfx942: 32x32",
    ),
    (
        "wave_tile",
        dataclasses.replace(F16_TILE, kpack=2, k_per_block=16),
        HALF,
        "gfx942",
        "kpack 2 is not a multiple of what an instruction takes at once for f16 on gfx942: 4",
    ),
    (
        "wave_tile",
        XdlopsTuning(64, 64, 1, 32, 32, 4),
        GEMM,
        "gfx942",
        "k_per_block 1 is not a multiple of the groups of lanes that share k for f32 on gfx942: 2 or 4",
    ),
    (
        "wave_tile",
        XdlopsTuning(64, 64, 4, 32, 32, 8, instruction="mfma_f32_32x32x8_f16", interleave=2),
        HALF,
        "gfx942",
        "interleave 2 of tiles of 32 rows does not divide m_per_wave 32",
    ),
    (
        "waves",
        XdlopsTuning(96, 128, 4, 64, 64, 4),
        GEMM,
        "gfx942",
        "m_per_block 96 is not a multiple of m_per_wave 64",
    ),
    (
        "waves",
        XdlopsTuning(64, 96, 4, 64, 64, 4),
        GEMM,
        "gfx942",
        "n_per_block 96 is not a multiple of n_per_wave 64",
    ),
    (
        "waves",
        XdlopsTuning(256, 256, 4, 32, 32, 4),
        GEMM,
        "gfx942",
        "block_size 4096 is outside 64..1024",
    ),
    (
        "kpack",
        XdlopsTuning(128, 128, 4, 64, 64, 8),
        GEMM,
        "gfx942",
        "kpack 8 is not a power of two up to 4 for f32",
    ),
    ("buffers", dataclasses.replace(XDLOPS, buffers=3), GEMM, "gfx942", "buffers 3 is not one of 1, 2"),
    (
        "buffers",
        dataclasses.replace(DIRECT, buffers=1),
        HALF,
        "gfx942",
        "a direct copy fills one buffer while the other is read: buffers 1 is not 2",
    ),
    (
        "buffers",
        dataclasses.replace(DIRECT, copy="ahead", buffers=1),
        HALF,
        "gfx950",
        "buffers 1 is not one of 2, 3, 4, as copies that are read ahead need",
    ),
    (
        "registers",
        XdlopsTuning(256, 256, 8, 128, 128, 8, copy="ahead"),
        HALF,
        "gfx950",
        "registers 416 > 256 on gfx950, beyond which sums are copied back and forth",
    ),
    (
        "buffers",
        dataclasses.replace(F16_TILE, kpack=4, copy="staged_ahead", buffers=1),
        HALF,
        "gfx942",
        "buffers 1 is not one of 2, 3: two of LDS, and one tile more in registers",
    ),
    (
        "ahead_through_registers",
        dataclasses.replace(F16_TILE, copy="staged_ahead"),
        HALF,
        "gfx942",
        "k_per_block 4 is not two parts of what mfma_f32_16x16x16_f16 takes at once",
    ),
    (
        "ahead_through_registers",
        dataclasses.replace(WITH_TAPS, m_per_block=64, n_per_block=64, k_per_block=4, copy="staged_ahead"),
        TAPS,
        "gfx942",
        "taps 3 of a step are read ahead where copies are direct; say ahead",
    ),
    (
        "lds_layout",
        XdlopsTuning(128, 128, 6, 64, 64, 4),
        GEMM,
        "gfx942",
        "k_per_block 6 is not a power of two, as xor rows of LDS need; padded would do",
    ),
    (
        "copy_of_blocks",
        XdlopsTuning(4, 64, 4, 4, 64),
        GEMM,
        "gfx942",
        "a's block 4x4 does not divide among 64 work items",
    ),
    (
        "direct",
        DIRECT,
        HALF,
        "gfx90a",
        "gfx90a has no direct copies to LDS; gfx942 and gfx950 have; say staged",
    ),
    (
        "direct",
        dataclasses.replace(DIRECT, lds="padded"),
        HALF,
        "gfx950",
        "a direct copy fills LDS without gaps, not padded rows; xor, plain and tiled would do",
    ),
    (
        "direct",
        DIRECT,
        dataclasses.replace(HALF, b=ROWS.exchanged),
        "gfx942",
        "a direct copy of b takes 2 (4 bytes) aligned neighbours in k; it has 1; say staged",
    ),
    (
        "direct",
        dataclasses.replace(DIRECT, lds="tiled"),
        dataclasses.replace(HALF, b=ROWS.exchanged),
        "gfx950",
        "an operand that reads of LDS transpose lies there in rows of k, not tiled; xor and plain would do",
    ),
    (
        "direct",
        DIRECT,
        dataclasses.replace(HALF, a=dataclasses.replace(ROWS, vector=(4, 1)).exchanged),
        "gfx950",
        "a direct copy of a takes 8 (16 bytes) or 2 (4 bytes) aligned neighbours in k, or 8 in m, which "
        "reads of LDS transpose (it has 4 of 128); it has 1; say staged",
    ),
    (
        "direct",
        XdlopsTuning(96, 64, 2, 32, 32, 8, copy="direct"),
        HALF,
        "gfx950",
        "b's block 16x64 is not filled by whole vectors of 16 bytes by 384 work items",
    ),
    (
        "lds_bytes",
        XdlopsTuning(256, 256, 16, 128, 128, 4),
        GEMM,
        "gfx942",
        "lds_bytes 262144 > 65536 on gfx942",
    ),
    (
        "lds_bytes",
        XdlopsTuning(256, 128, 8, 128, 64, 8),
        HALF,
        "gfx942",
        "lds_bytes 98304 > 65536 on gfx942; 1 buffer would fit",
    ),
    (
        "registers",
        XdlopsTuning(256, 256, 4, 256, 128, 4),
        GEMM,
        "gfx942",
        "accumulators 512 > 256 on gfx942; a smaller wave tile needs fewer",
    ),
    (
        "registers",
        XdlopsTuning(512, 256, 4, 128, 128, 4),
        GEMM,
        "gfx950",
        "registers 376 > 256 on gfx950, where a SIMD has 2 waves of the workgroup",
    ),
    (
        "grid",
        XDLOPS,
        dataclasses.replace(GEMM, m=2**26, n=2**26, k=8),
        "gfx942",
        "grid_size 274877906944 > 2147483647",
    ),
]


@pytest.mark.parametrize(
    ("rule", "tuning", "context", "machine", "reason"), BROKEN, ids=lambda x: str(x)[:40]
)
def test_a_broken_rule_says_why(
    rule: str, tuning: XdlopsTuning, context: GemmContext, machine: str, reason: str
) -> None:
    assert Illegal(rule, reason) in check(tuning, context, target(machine))


def test_every_rule_is_broken_by_one_case() -> None:
    rules = {rule.__name__ for rule in (*XDLOPS_RULES.first, *XDLOPS_RULES.second)}
    assert rules == {name for name, *_ in BROKEN}


@pytest.mark.parametrize(
    ("tuning", "context", "machine"),
    [
        (XDLOPS, GEMM, "gfx942"),
        (XdlopsTuning(128, 128, 16, 64, 64, 1), GEMM, "gfx942"),
        (F16_TILE, HALF, "gfx950"),
        (DIRECT, HALF, "gfx942"),
        (DIRECT, HALF, "gfx950"),
        (dataclasses.replace(DIRECT, lds="tiled"), HALF, "emulate"),
        (XdlopsTuning(128, 128, 6, 64, 64, 4, lds="padded"), GEMM, "gfx942"),
        (XdlopsTuning(256, 128, 8, 128, 64, 8, buffers=1), HALF, "gfx942"),
        (XdlopsTuning(64, 64, 8, 32, 32, 8), BYTE, "gfx942"),
        (XdlopsTuning(4, 64, 16, 4, 64, 1), GEMM, "gfx908"),
    ],
)
def test_a_legal_tuning_has_no_reasons(tuning: XdlopsTuning, context: GemmContext, machine: str) -> None:
    assert check(tuning, context, target(machine)) == ()


def xdlops_points(dtype: DType) -> Iterator[XdlopsTuning]:
    """Powers of two, legal or not; 8-bit types take longer K."""
    eight_bit = dtype.bytes == 1
    k_per_block = (4, 8, 16, 32) if eight_bit else (1, 2, 4, 8)
    kpacks = (1, 4, 8, 16) if eight_bit else (1, 4, 8)
    m_blocks, n_blocks = (4, 8, 16, 32, 64, 128, 256), (16, 32, 64, 128, 256)
    waves = (4, 8, 16, 32, 64, 128)
    for numbers in itertools.product(m_blocks, n_blocks, k_per_block, waves, n_blocks[:4], kpacks):
        if numbers[3] <= numbers[0] and numbers[4] <= numbers[1]:
            yield XdlopsTuning(*numbers)


def test_legal_points_of_the_space_have_whole_plans() -> None:
    """Nothing legal divides by zero, overflows LDS or leaves an element uncopied: passes rely on it."""
    access = Access((4, 2), (64.0, 8.0))
    for dtype in (F32, F16, I8):
        context = GemmContext(200, 300, 70, dtype, a=access, b=access, c=access)
        legal = 0
        for tuning in list(xdlops_points(dtype))[::7]:
            if check(tuning, context, target("gfx942")):
                continue
            legal += 1
            plan = tuning.plan(context)
            assert 0 < plan.lds_bytes <= 65536 and plan.grid_size >= 1 and plan.k_iterations >= 1
            assert plan.a_copy.is_exact and plan.b_copy.is_exact and plan.wave_tiles is not None
            assert plan.wave_tiles.threads == plan.block_size
            assert tuning.tile[2] % plan.wave_tiles.k_step == 0
        assert legal > 30


@pytest.mark.parametrize("machine", ["gfx908", "gfx90a", "gfx942", "gfx950"])
def test_large_products_get_large_tiles(machine: str) -> None:
    """Packs of 16 bytes, of 8 where they are read ahead through registers, four waves; at least 128 x 128 and
    steps of 64 bytes where instructions are so fast that loads bound small tiles; small products small ones.
    """
    chip = GPU_MACHINES[machine]
    for dtype in (F32, F16, BF16, I8, F64, F8E4M3FN):
        context = dataclasses.replace(GEMM, m=4096, n=4096, k=4096, dtype=dtype)
        if family_of(context, chip) == "general":
            assert dtype in (F64, F8E4M3FN) and machine != "gfx950"
            continue
        best = choose(context, chip, "xdlops")
        assert isinstance(best, XdlopsTuning) and check(best, context, chip) == ()
        plan = best.plan(context, chip)
        pack = 8 if best.copy == "staged_ahead" else 16
        assert plan.block_size >= 256 and best.kpack * dtype.bytes >= pack
        assert prediction_of(plan).in_loop > 0.5
        if dtype.bytes <= 2 and machine in ("gfx942", "gfx950"):
            assert best.m_per_block * best.n_per_block >= 128 * 128 and best.tile[2] * dtype.bytes >= 64
            assert plan.a_copy.data_per_read == plan.b_copy.data_per_read == 16 // dtype.bytes
        assert plan.c_data_per_write * dtype.output.bytes == 16 or dtype == F64
        small = choose(dataclasses.replace(context, m=30, n=50, k=100), chip, "xdlops")
        assert isinstance(small, XdlopsTuning) and small.m_per_block * small.n_per_block <= 32 * 32


def test_a_step_stays_within_the_channels_of_a_convolution() -> None:
    """K runs over taps of 96 channels: steps of 32 divide them, steps of 64 do not.

    On gfx950 reading ahead by steps of 64, a line of memory, is worth the indices of a step that crosses.
    """
    rows = Access((8, 1), (96.0, 1.0), (1, 0))
    filters = dataclasses.replace(rows, run=(864.0, 1.0))
    context = GemmContext(4096, 4096, 9 * 96, F16, 1, filters, rows, ROWS.exchanged)
    for machine in ("gfx942", "gfx950"):
        best = choose(context, target(machine), "xdlops")
        assert isinstance(best, XdlopsTuning)
        assert 96 % best.tile[2] == 0 or best.copy == "ahead"
    assert len(wave_space(context, GPU_MACHINES["gfx950"])) > 20
