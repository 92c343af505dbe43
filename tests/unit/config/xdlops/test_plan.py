"""XdlopsTuning: matrix instructions by wave tile, type and chip; what follows from a tuning."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from imbrex.chip import GPU_MACHINES, GpuMachine
from imbrex.config.context import Access, GemmContext
from imbrex.config.defines import defines
from imbrex.config.legal import check
from imbrex.config.xdlops import mfma
from imbrex.config.xdlops.banks import LdsTile, traffic_of
from imbrex.config.xdlops.banks import _candidates as candidates
from imbrex.config.xdlops.block import waves_block
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.config.xdlops.space import wave_space
from imbrex.dtype import BF16, DTYPES, F8E4M3FN, F8E4M3FNUZ, F16, F32, F64, I8, DType
from imbrex.view.mma import instructions
from imbrex.view.stage.lds import LdsKind, LdsLayout

ALONG_K, ALONG_D = Access((16, 1), (64.0, 1.0), (1, 0)), Access((1, 16), (1.0, 64.0), (0, 1))


def gpu(name: str) -> GpuMachine:
    return GPU_MACHINES[name]


def name_of(tuning: XdlopsTuning, dtype: DType, chip: str) -> str | None:
    tiles = tuning.plan(GemmContext(256, 256, 256, dtype), gpu(chip)).wave_tiles
    return tiles.instruction.name if tiles else None


@pytest.mark.parametrize(
    ("wave", "pack", "dtype", "chip", "name"),
    [
        ((64, 64), 8, F16, "gfx908", "mfma_f32_16x16x16_f16"),
        ((64, 64), 8, F16, "gfx942", "mfma_f32_16x16x16_f16"),
        ((64, 64), 8, F16, "gfx950", "mfma_f32_16x16x32_f16"),
        ((64, 64), 4, F16, "gfx950", "mfma_f32_16x16x16_f16"),
        ((16, 16), 8, F16, "gfx950", "mfma_f32_16x16x32_f16"),
        ((4, 64), 4, F16, "gfx942", "mfma_f32_4x4x4_16b_f16"),
        ((32, 32), 8, BF16, "gfx908", "mfma_f32_16x16x8_bf16"),
        ((32, 32), 8, BF16, "gfx90a", "mfma_f32_16x16x16_bf16"),
        ((32, 32), 4, F32, "gfx942", "mfma_f32_16x16x4_f32"),
        ((48, 16), 4, F32, "gfx942", "mfma_f32_16x16x4_f32"),
        ((8, 64), 1, F32, "gfx908", "mfma_f32_4x4x1_16b_f32"),
        ((16, 16), 2, F64, "gfx90a", "mfma_f64_16x16x4_f64"),
        ((32, 32), 16, I8, "gfx90a", "mfma_i32_16x16x16_i8"),
        ((32, 32), 16, I8, "gfx942", "mfma_i32_16x16x32_i8"),
        ((32, 32), 16, I8, "gfx950", "mfma_i32_16x16x64_i8"),
        ((32, 32), 16, F8E4M3FNUZ, "gfx942", "mfma_f32_16x16x32_fp8_fp8"),
        ((16, 16), 32, F8E4M3FN, "gfx950", "mfma_f32_16x16x128_fp8_fp8"),
        ((16, 16), 16, F8E4M3FN, "gfx950", "mfma_f32_16x16x32_fp8_fp8"),
        ((32, 32), 8, F64, "gfx908", None),
        ((32, 32), 8, F8E4M3FN, "gfx942", None),
        ((48, 40), 4, F32, "gfx942", None),
    ],
)
def test_the_instruction_of_a_wave_tile(
    wave: tuple[int, int], pack: int, dtype: DType, chip: str, name: str | None
) -> None:
    assert name_of(XdlopsTuning(*wave, 16, *wave, pack), dtype, chip) == name


def test_an_instruction_is_used_when_it_is_named() -> None:
    blocked = XdlopsTuning(64, 64, 4, 64, 64, 4, instruction="mfma_f32_32x32x4_2b_f16")
    assert name_of(blocked, F16, "gfx942") == "mfma_f32_32x32x4_2b_f16"
    truncating = dataclasses.replace(blocked, instruction="mfma_f32_32x32x4_xf32")
    assert name_of(truncating, F32, "gfx942") == "mfma_f32_32x32x4_xf32"
    assert (
        name_of(dataclasses.replace(truncating, instruction="auto"), F32, "gfx942") != truncating.instruction
    )
    assert name_of(truncating, F32, "gfx950") is None


def test_the_lane_level_build_has_the_instructions_of_gfx942() -> None:
    for dtype in DTYPES.values():
        assert mfma.served(dtype, gpu("emulate").chip) == mfma.served(dtype, "gfx942")
    assert not mfma.served(F32, "avx512")


@pytest.mark.parametrize("chip", ["gfx908", "gfx90a", "gfx942", "gfx950"])
def test_any_instruction_of_a_chip_can_be_named(chip: str) -> None:
    """One wave tile of one instruction, packs of what it takes: always a cut, if A and B split k alike."""
    known = {t.name for t in DTYPES.values() if t.is_operand}
    tried = 0
    for used in instructions(chip):
        kinds = {used.format(o, chip) for o in ("a", "b")}
        if len(kinds) > 1 or not kinds <= known or used.format("a", chip) not in known:
            continue
        (kind,) = kinds
        wave = used.m * used.blocks, used.n
        tuning = XdlopsTuning(*wave, 16, *wave, used.a_elements, used.name)
        assert name_of(tuning, DTYPES[kind], chip) == used.name
        tried += 1
    assert tried >= 19


def test_the_seeds_example() -> None:
    """128 x 128 x 16 in waves of 64 x 64: four waves; A is copied by 4 x 64 work items along (K, M)."""
    context = GemmContext(128, 115200, 576, F32, a=ALONG_K)
    plan = XdlopsTuning(128, 128, 4, 64, 64, 4).plan(context)
    assert (plan.tuning.waves, plan.block_size, plan.grid_size) == ((2, 2), 256, 900)
    a = plan.a_copy
    assert (a.read_dim, a.data_per_read, a.data_per_write, a.cluster_lengths) == (0, 4, 4, (4, 64))
    assert plan.lds_buffer_bytes == (8192, 8192) and plan.lds_bytes == 32768
    assert plan.accumulators == 64 and plan.c_data_per_write == 1 and plan.k_iterations == 36


def test_packs_multiply_the_k_of_a_tile() -> None:
    """rocMLIR counts k_per_block in packs: (128, 128, 4, 64, 64, 8) takes 32 of f16 K in one step."""
    plan = XdlopsTuning(128, 128, 4, 64, 64, 8).plan(GemmContext(256, 256, 64, F16, a=ALONG_K))
    assert plan.tuning.tile == (128, 128, 32) and plan.k_iterations == 2
    assert plan.lds_buffer_bytes == (32 * 128 * 2, 32 * 128 * 2)
    assert (plan.a_copy.data_per_read, plan.a_copy.data_per_write) == (8, 8)


def test_a_swapped_tuning_stores_along_n() -> None:
    """Rows are then gemmN: the tile, the grid and the stores turn with them."""
    context = GemmContext(512, 128, 64, F16, c=Access((1, 8), (1.0, 128.0), (0, 1)))
    straight = XdlopsTuning(128, 64, 4, 64, 32, 8)
    swapped = dataclasses.replace(straight, swapped=True, interleave=2)
    assert (straight.tile, swapped.tile) == ((128, 64, 32), (64, 128, 32))
    assert (straight.plan(context).blocks, swapped.plan(context).blocks) == ((4, 2), (1, 8))
    widths = [
        t.plan(context).c_data_per_write
        for t in (straight, dataclasses.replace(swapped, interleave=1), swapped)
    ]
    assert widths == [1, 4, 8]


def test_attributes_and_definitions_agree() -> None:
    context = GemmContext(256, 256, 64, F32, a=ALONG_K, b=ALONG_D)
    for tuning in list(wave_space(context, gpu("gfx942")))[::5]:
        plan = tuning.plan(context)
        if check(tuning, context, gpu("gfx942")):
            continue
        named, block = defines(plan), waves_block(plan)
        assert named["CK_PARAM_TUNABLE_BLOCK_SIZE"] == block.block_size
        assert named["CK_PARAM_GEMM_M_PER_WAVE"] == block.multiply.m_per_wave
        assert named["CK_PARAM_GEMM_N_PER_WAVE"] == block.multiply.n_per_wave
        assert (
            named["CK_PARAM_TUNABLE_GEMM_B_BLOCK_COPY_CLUSTER_LENGTHS_GEMM_K"],
            named["CK_PARAM_TUNABLE_GEMM_B_BLOCK_COPY_CLUSTER_LENGTHS_GEMM_N"],
        ) == block.b.copy_cluster_lengths
        assert named["CK_PARAM_DEPENDENT_GRID_SIZE"] == plan.grid_size


LAYOUTS = {
    "nt": (ALONG_K, ALONG_K),
    "nn": (ALONG_K, ALONG_D),
    "tt": (ALONG_D, ALONG_K),
    "tn": (ALONG_D, ALONG_D),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("dtype", [F16, F32, I8, F64], ids=str)
def test_tiles_of_128_and_more_have_no_bank_conflicts(layout: str, chip: str, dtype: DType) -> None:
    """Reads of fragments and writes of copies, transposed ones too, in steps of 128 bytes."""
    pack = 16 // dtype.bytes
    context = GemmContext(4096, 4096, 4096, dtype, 1, *LAYOUTS[layout])
    for (m, n), kind in itertools.product(((128, 128), (256, 128)), ("xor", "tiled")):
        tuning = XdlopsTuning(m, n, 8, m // 2, n // 2, pack, lds=kind)  # type: ignore[arg-type]
        a, b = tuning.plan(context, gpu(chip)).lds_traffic
        assert a.reads.extra == b.reads.extra == 0
        if kind == "xor":
            assert a.extra == b.extra == 0, (layout, chip, dtype, tuning)


def test_a_fragment_of_32_bytes_is_two_packs_without_conflicts() -> None:
    """8-bit floats at their double rate; packs of 32 bytes would take half of the banks at once."""
    context = GemmContext(4096, 4096, 4096, F8E4M3FN, 1, ALONG_K, ALONG_K)
    for copy, k in itertools.product(("staged", "direct"), (2, 4)):
        plan = XdlopsTuning(128, 128, k, 64, 64, 32, copy=copy).plan(context, gpu("gfx950"))  # type: ignore[arg-type]
        assert plan.wave_tiles is not None and plan.wave_tiles.instruction.k == 32 * (4 if k == 4 else 2)
        assert [layout.kpack for layout in plan.lds_layouts] == [16, 16]
        assert [traffic.extra for traffic in plan.lds_traffic] == [0, 0]
        whole = LdsLayout("xor", 32, (1, 1))
        assert traffic_of(whole, plan.lds_tile("m")).reads.extra > 0


@pytest.mark.parametrize(
    ("chip", "layout", "goes"), [("gfx950", "nt", True), ("gfx950", "nn", True), ("gfx942", "nt", False)]
)
def test_direct_copies_are_looked_at_where_they_are_wide(chip: str, layout: str, goes: bool) -> None:
    """16 bytes at once, along k, or along n where reads of LDS transpose; gfx942 has 4, and no such reads."""
    context = GemmContext(4096, 4096, 4096, F16, 1, *LAYOUTS[layout])
    assert any(t.copy == "direct" for t in wave_space(context, gpu(chip))) == goes


@pytest.mark.parametrize("name", ["mfma_f32_32x32x16_f16", "mfma_f32_16x16x32_f16", "mfma_i32_32x32x32_i8",
                                  "mfma_f32_16x16x128_fp8_fp8", "mfma_f32_32x32x64_fp8_fp8"])  # fmt: skip
def test_reads_that_transpose_have_no_bank_conflicts(name: str) -> None:
    """Rows of k; without the permutation of their packs they meet in the same banks."""
    dtype = {"f16": F16, "_i8": I8, "fp8": F8E4M3FN}[name[-3:]]
    kpack = 32 if dtype is F8E4M3FN else 16 // dtype.bytes
    tuning = XdlopsTuning(128, 128, 128 // dtype.bytes // kpack, 64, 64, kpack, name, copy="ahead")
    for layout, turned in {"nn": (False, True), "tn": (True, True), "tt": (True, False)}.items():
        context = GemmContext(4096, 4096, 4096, dtype, 1, *LAYOUTS[layout])
        plan = tuning.plan(context, gpu("gfx950"))
        assert (plan.turned(plan.a_copy) > 0, plan.turned(plan.b_copy) > 0) == turned
        assert layout != "tn" or [traffic.extra for traffic in plan.lds_traffic] == [0, 0]
    plain = dataclasses.replace(tuning, lds="plain").plan(context, gpu("gfx950"))
    assert plain.lds_traffic[0].reads.extra > 0


def test_plain_layouts_conflict_where_rows_are_written_along_k() -> None:
    """The control: eight lanes of a row write to the same banks."""
    context = GemmContext(4096, 4096, 4096, F16, 1, ALONG_K, ALONG_K)
    a, _ = XdlopsTuning(128, 128, 8, 64, 64, 8, lds="plain").plan(context).lds_traffic
    assert a.reads.extra == 0 and a.writes is not None and a.writes.extra == 7 * a.writes.cycles


def test_candidates_of_a_layout() -> None:
    """Lines of 1, 2 and 4 rows that divide a tile, turned by one step or two; pads of 16 bytes."""
    tuning = XdlopsTuning(32, 32, 4, 32, 32, 8, buffers=1)
    tiles = tuning.plan(GemmContext(256, 256, 256, F16), gpu("gfx942")).wave_tiles
    assert tiles is not None

    def found(kind: LdsKind, rows: int) -> list[tuple[int, ...]]:
        place = LdsTile(tiles, "m", 32, rows, 2, None, 8, "gfx942")
        return [layout.numbers for layout in candidates(kind, place)]

    assert found("plain", 8) == [()] and found("tiled", 8) == [(16,)]
    assert found("padded", 8) == [(8 * i,) for i in range(8)]
    one, two = [(1, 1), (1, 2), (1, 4), (1, 1, 2), (1, 1, 4), (1, 2, 4)], [(2, 1), (2, 2), (2, 1, 2)]
    assert found("xor", 8) == [*one, *two, (4, 1)]
    assert found("xor", 6) == [*one, *two], "4 rows do not divide 6"
