"""GeneralTuning: the seed's example number by number, and the laws of clusters, LDS and grid."""

import pytest

from imbrex.chip import GPU_MACHINES, target
from imbrex.config.access import context_of
from imbrex.config.block_plan import entries
from imbrex.config.choose import choose
from imbrex.config.context import Access, GemmContext
from imbrex.config.defines import defines
from imbrex.config.general.plan import LEVEL1_CLUSTERS, GeneralTuning
from imbrex.config.general.space import GENERAL_LIST
from imbrex.dtype import F16, F32
from imbrex.index.map import Dim, Map
from imbrex.view.conv.implicit_gemm import Convolution, forward
from imbrex.view.gemm.product import GemmView
from imbrex.view.stage.lds import spaced

from ..convs import convolution
from ..test_legal import general_points


@pytest.fixture(scope="module")
def seed() -> GemmContext:
    """Forward, K 128, C 8, 3x3, N 128, 32x32, no pad, KCYX NCHW NKHW."""
    conv: Convolution = convolution(n=128, c=8, h=32, w=32, k=128, y=3, x=3)
    view: GemmView = forward(conv)
    return context_of(view, F32)


def test_the_seeds_problem_is_a_gemm_of_128_by_115200_by_72(seed: GemmContext) -> None:
    assert (seed.g, seed.m, seed.n, seed.k) == (1, 128, 115200, 72)


def test_the_seeds_example(seed: GemmContext) -> None:
    """Reads: A's filter rows are 72 long, so 4 at a time along gemmK.  B's image rows are 30 long and start
    anywhere (y and x slide them), so 1 at a time; the rule of 2020 took 4 there, see test_access."""
    plan = GeneralTuning(256, 128, 128, 8, 4, 4).plan(seed)
    assert plan.grid_size == 900
    assert entries(plan.block) == {
        "block_size": 256,
        "m_per_block": 128,
        "n_per_block": 128,
        "k_per_block": 8,
        "m_per_thread": 4,
        "n_per_thread": 4,
        "k_per_thread": 1,
        "m_level0_cluster": 4,
        "n_level0_cluster": 4,
        "m_level1_cluster": 4,
        "n_level1_cluster": 4,
        "matrix_a_source_vector_read_dim": 0,
        "matrix_a_source_data_per_read": 4,
        "matrix_a_dest_data_per_write_dim_m": 1,
        "matrix_b_source_vector_read_dim": 1,
        "matrix_b_source_data_per_read": 1,
        "matrix_b_dest_data_per_write_dim_n": 1,
        "matrix_c_source_dest_vector_read_write_dim": 3,
        "matrix_c_dest_data_per_write": 4,
        "matrix_a_copy_cluster_lengths": (2, 128),
        "matrix_b_copy_cluster_lengths": (2, 128),
        "pipeline": "2x2",
    }
    assert (plan.grid_size, plan.blocks, plan.k_iterations) == (900, (1, 900), 9)
    assert (plan.a_copy.per_thread, plan.a_copy.slice_lengths) == (4, (4, 1))
    assert (plan.lds_align, plan.lds_buffer_bytes, plan.lds_bytes) == (4, (4096, 4096), 16384)
    assert plan.tuning.repeats == (2, 2)


def test_the_seeds_example_is_chosen(seed: GemmContext) -> None:
    assert choose(seed, target("gfx942"), "general") == GeneralTuning(256, 128, 128, 8, 4, 4)


def test_the_seeds_definitions(seed: GemmContext) -> None:
    tunable = "CK_PARAM_TUNABLE_"
    assert defines(GeneralTuning(256, 128, 128, 8, 4, 4).plan(seed)) == {
        f"{tunable}BLOCK_SIZE": 256,
        f"{tunable}GEMM_M_PER_BLOCK": 128,
        f"{tunable}GEMM_N_PER_BLOCK": 128,
        f"{tunable}GEMM_K_PER_BLOCK": 8,
        f"{tunable}GEMM_M_PER_THREAD_SUB_C": 4,
        f"{tunable}GEMM_N_PER_THREAD_SUB_C": 4,
        f"{tunable}GEMM_M_LEVEL0_CLUSTER": 4,
        f"{tunable}GEMM_N_LEVEL0_CLUSTER": 4,
        f"{tunable}GEMM_M_LEVEL1_CLUSTER": 4,
        f"{tunable}GEMM_N_LEVEL1_CLUSTER": 4,
        f"{tunable}GEMM_C_THREAD_COPY_DST_DATA_PER_WRITE_GEMM_N1": 4,
        f"{tunable}GEMM_A_BLOCK_COPY_CLUSTER_LENGTHS_GEMM_K": 2,
        f"{tunable}GEMM_A_BLOCK_COPY_CLUSTER_LENGTHS_GEMM_M": 128,
        f"{tunable}GEMM_A_BLOCK_COPY_SRC_DATA_PER_READ_GEMM_K": 4,
        f"{tunable}GEMM_A_BLOCK_COPY_DST_DATA_PER_WRITE_GEMM_M": 1,
        f"{tunable}GEMM_B_BLOCK_COPY_CLUSTER_LENGTHS_GEMM_K": 2,
        f"{tunable}GEMM_B_BLOCK_COPY_CLUSTER_LENGTHS_GEMM_N": 128,
        f"{tunable}GEMM_B_BLOCK_COPY_SRC_DATA_PER_READ_GEMM_N": 1,
        f"{tunable}GEMM_B_BLOCK_COPY_DST_DATA_PER_WRITE_GEMM_N": 1,
        "CK_PARAM_DEPENDENT_GRID_SIZE": 900,
    }


def test_clusters_of_the_2020_list_are_those_of_the_pipeline() -> None:
    for tuning in GENERAL_LIST:
        assert tuning.repeats == (2, 2) and tuning.remainders == (0, 0) and tuning.pipeline == "2x2", tuning


def test_a_wide_block_takes_its_clusters_turned() -> None:
    """rocMLIR's table has 4 x 2 for 128 work items, which leaves a 64 x 128 block no 2 x 2 pipeline."""
    assert GeneralTuning(128, 128, 64, 8, 4, 4).level1_clusters == LEVEL1_CLUSTERS[128] == (4, 2)
    assert GeneralTuning(128, 64, 128, 8, 4, 4).level1_clusters == (2, 4)


def test_other_repeats_use_the_table_and_the_naive_loop() -> None:
    tuning = GeneralTuning(64, 128, 128, 8, 4, 4)
    assert tuning.level1_clusters == (2, 2) and tuning.repeats == (4, 4) and tuning.pipeline == "naive"


def test_thread_tiles_cover_every_legal_block() -> None:
    """Both ways, repeat x level 1 x level 0 x thread is the block; clusters multiply to block_size."""
    legal = [t for t in general_points() if t.remainders == (0, 0) and min(t.repeats) >= 1]
    assert len(legal) > 100
    for t in legal:
        (m0, n0), (m1, n1), (rm, rn) = t.level0_clusters, t.level1_clusters, t.repeats
        assert rm * m1 * m0 * t.m_per_thread == t.m_per_block, t
        assert rn * n1 * n0 * t.n_per_thread == t.n_per_block, t
        assert m0 * m1 * n0 * n1 == t.block_size, t


def test_padding_fills_whole_tiles() -> None:
    context = GemmContext(100, 70, 30, F32, g=3)
    plan = GeneralTuning(64, 64, 64, 16, 4, 4).plan(context)
    assert plan.blocks == (2, 2) and plan.grid_size == 12 and plan.k_iterations == 2
    assert context.padded(*plan.tuning.tile) == (128, 128, 32)
    assert context.wasted(64, 64, 16) == 128 * 128 * 32 - 100 * 70 * 30


def test_lds_rows_are_aligned_to_thread_tiles_and_writes() -> None:
    """Writes of 8 f16 and thread tiles of 2 and 4: rows are multiples of lcm(8, 2, 4) = 8."""
    contiguous = Access((1, 8), (1.0, 64.0))
    plan = GeneralTuning(64, 32, 64, 16, 2, 4).plan(GemmContext(32, 64, 16, F16, a=contiguous, b=contiguous))
    assert plan.a_copy.data_per_write == 8 and plan.lds_align == 8
    assert plan.lds_buffer_bytes == (16 * 32 * 2, 16 * 64 * 2)


def test_lds_rows_grow_to_the_alignment() -> None:
    """An odd block width: 36 columns with thread tiles of 8 take rows of 40."""
    plan = GeneralTuning(64, 36, 64, 16, 8, 4).plan(GemmContext(36, 64, 16, F32))
    assert plan.lds_align == 8 and plan.lds_buffer_bytes[0] == 16 * 40 * 4


@pytest.mark.parametrize(
    ("vector_n", "n_per_thread", "width"), [(4, 4, 4), (4, 2, 2), (2, 4, 2), (1, 4, 1), (8, 4, 4)]
)
def test_c_stores_no_wider_than_memory_and_thread_tile(vector_n: int, n_per_thread: int, width: int) -> None:
    context = GemmContext(128, 128, 8, F32, c=Access((1, vector_n), (1.0, 8.0)))
    assert GeneralTuning(256, 128, 128, 8, 4, n_per_thread).plan(context).c_data_per_write == width


def test_hopper_turns_without_bank_conflicts() -> None:
    """A runs along k: two work items take eight of a row, and the second four lie 16 banks further."""
    along_k, along_n = Access((4, 1), (64.0, 1.0), (1, 0)), Access((1, 4), (1.0, 64.0), (0, 1))
    context = GemmContext(128, 64, 64, F32, a=along_k, b=along_n, c=along_n)
    plan = GeneralTuning(128, 64, 128, 8, 4, 4).plan(context, GPU_MACHINES["sm_90a"])
    assert plan.clusters == ((4, 2), (2, 8)) and plan.block.pipeline == "ahead"
    assert (plan.a_copy.runs_along_k, plan.b_copy.runs_along_k) == (True, False)
    assert plan.block.a.lds_numbers == (4, 16)
    buffer = GeneralTuning(128, 64, 128, 8, 4, 4).plan(context).lds_buffer_bytes
    assert plan.lds_buffer_bytes == (buffer[0] + 2 * 16 * 4, buffer[1])
    stored = Map(spaced((Dim("k", 8), Dim("m", 64)), 4, 16))
    lanes = [stored.evaluate((4 * (lane % 2), lane // 2))[0] for lane in range(32)]
    assert len({(group * (4 * 64 + 16) + place) % 32 for group, place in lanes}) == 32
