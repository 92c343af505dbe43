"""XdlopsTuning: wave tiles, matrix instructions, packs."""

import itertools

import pytest

from imbrex.dtype import F16, F32
from imbrex.schedule.choose import XDLOPS_LISTS
from imbrex.schedule.context import Access, GemmContext
from imbrex.schedule.defines import defines
from imbrex.schedule.mfma import K_BASE, MFMA_TYPES, WAVE_SIZE, WAVE_TILES, mfma_of
from imbrex.schedule.xdlops import XdlopsTuning

# name of the builtin without its prefix: m x n x k, blocks
INSTRUCTIONS = {
    ("f32", 64, 64): (32, 32, 1, 2),
    ("f32", 16, 64): (16, 16, 1, 4),
    ("f32", 4, 64): (4, 4, 1, 16),
    ("f32", 32, 32): (32, 32, 2, 1),
    ("f32", 16, 16): (16, 16, 4, 1),
    ("f16", 64, 64): (32, 32, 4, 2),
    ("f16", 64, 16): (16, 16, 4, 4),
    ("f16", 8, 64): (4, 4, 4, 16),
    ("f16", 32, 32): (32, 32, 8, 1),
    ("f16", 16, 16): (16, 16, 16, 1),
}


@pytest.mark.parametrize("key", INSTRUCTIONS)
def test_instructions_by_wave_tile(key: tuple[str, int, int]) -> None:
    name, m, n = key
    mfma = mfma_of(m, n, name, "gfx908")
    assert mfma is not None and (mfma.m, mfma.n, mfma.k, mfma.blocks) == INSTRUCTIONS[key]


@pytest.mark.parametrize(
    ("name", "machine", "k"),
    [
        ("bf16", "gfx908", 8),
        ("bf16", "gfx90a", 16),
        ("i8", "gfx90a", 16),
        ("i8", "gfx942", 32),
        ("i8", "gfx950", 32),
    ],
)
def test_k_of_the_16x16_reduction_grew_over_the_machines(name: str, machine: str, k: int) -> None:
    mfma = mfma_of(16, 16, name, machine)
    assert mfma is not None and mfma.k == k


def test_every_instruction_uses_all_lanes() -> None:
    """A operands: rows x blocks x parts of K are the 64 lanes; wave tiles are whole instructions."""
    for (m, n), name, machine in itertools.product(WAVE_TILES, MFMA_TYPES, K_BASE):
        mfma = mfma_of(m, n, name, machine)
        if mfma is not None:
            assert mfma.m * mfma.blocks * mfma.blocks_k == WAVE_SIZE
            assert m * n % (mfma.m * mfma.n * mfma.blocks) == 0 and m % mfma.m == n % mfma.n == 0
            assert mfma.is_k_reduction == (mfma.blocks == 1)
            assert mfma.accumulators in (4, 16, 32)


def test_no_instruction() -> None:
    assert mfma_of(64, 48, "f32", "gfx942") is None
    assert mfma_of(4, 64, "i8", "gfx942") is None
    assert mfma_of(64, 64, "f64", "gfx942") is None
    assert mfma_of(64, 64, "f32", "avx512") is None


def test_the_seeds_example() -> None:
    """128 x 128 x 16 in waves of 64 x 64: four waves; A is copied by 4 x 64, in slices of 4 along K."""
    context = GemmContext(128, 115200, 576, F32, a=Access((4, 1), (576.0, 1.0)))
    plan = XdlopsTuning(128, 128, 16, 64, 64).plan(context)
    assert (plan.tuning.waves, plan.tuning.block_size, plan.grid_size) == ((2, 2), 256, 900)
    assert (plan.a_copy.read_dim, plan.a_copy.data_per_read, plan.a_copy.cluster_lengths) == (0, 4, (4, 64))
    assert plan.lds_buffer_bytes == (8192, 8192) and plan.lds_bytes == 32768
    assert plan.accumulators == 64 and plan.c_data_per_write == 1 and plan.k_iterations == 36


def test_packs_multiply_the_k_of_a_tile() -> None:
    """rocMLIR counts k_per_block in packs: (128, 128, 4, 64, 64, 8) takes 32 of f16 K in one step."""
    plan = XdlopsTuning(128, 128, 4, 64, 64, 8).plan(
        GemmContext(256, 256, 64, F16, a=Access((8, 1), (64.0, 1.0)))
    )
    assert plan.tuning.tile == (128, 128, 32) and plan.k_iterations == 2
    assert plan.lds_buffer_bytes == (32 * 128 * 2, 32 * 128 * 2)
    assert (plan.a_copy.data_per_read, plan.a_copy.data_per_write) == (8, 8)


def test_attributes_and_definitions_agree() -> None:
    for tuning in XDLOPS_LISTS["f32"]:
        plan = tuning.plan(GemmContext(256, 256, 64, F32))
        named, attributes = defines(plan), plan.attributes
        assert named["CK_PARAM_TUNABLE_BLOCK_SIZE"] == attributes["block_size"]
        assert named["CK_PARAM_GEMM_M_PER_WAVE"] == attributes["m_per_wave"]
        assert named["CK_PARAM_GEMM_N_PER_WAVE"] == attributes["n_per_wave"]
        assert [
            named["CK_PARAM_TUNABLE_GEMM_B_BLOCK_COPY_CLUSTER_LENGTHS_GEMM_K"],
            named["CK_PARAM_TUNABLE_GEMM_B_BLOCK_COPY_CLUSTER_LENGTHS_GEMM_N"],
        ] == attributes["matrix_b_copy_cluster_lengths"]
        assert named["CK_PARAM_DEPENDENT_GRID_SIZE"] == plan.grid_size
