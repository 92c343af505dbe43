"""Rules: each has a tuning that keeps it and one that breaks it, with the reason in full."""

import dataclasses
import itertools
from collections.abc import Iterator

import pytest

from imbrex.chip import GPU_MACHINES, target
from imbrex.config.block_plan import entries
from imbrex.config.context import Access, GemmContext
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.general.space import GENERAL_LIST
from imbrex.config.legal import CPU_RULES, GENERAL_RULES, Illegal, check
from imbrex.config.tuning import Tuning
from imbrex.dtype import BF16, F16, F32, F64, I8, MXF8E4M3FN

GEMM = GemmContext(1024, 1024, 1024, F32)
HUGE = GemmContext(2**26, 2**26, 8, F32)
GENERAL = GeneralTuning(256, 128, 128, 8, 4, 4)
CPU = CpuTuning(14, 32, 140, 512, 256, 16)

BROKEN: list[tuple[str, Tuning, GemmContext, str, str]] = [
    (
        "block_size",
        GeneralTuning(512, 256, 128, 8, 4, 4),
        GEMM,
        "gfx942",
        "block_size 512 is not one of 64, 128, 256",
    ),
    (
        "scales",
        GENERAL,
        dataclasses.replace(GEMM, dtype=MXF8E4M3FN),
        "gfx950",
        "work items take no scales, which mxf8e4m3fn has; say xdlops",
    ),
    ("thread_tile", GeneralTuning(64, 128, 64, 8, 8, 4), GEMM, "gfx942", "m_per_thread 8 is not one of 2, 4"),
    (
        "thread_clusters",
        GeneralTuning(256, 128, 32, 8, 4, 4),
        GEMM,
        "gfx942",
        "n_per_block 32 is not a multiple of 64 (4 for each of 4 x 4 work items)",
    ),
    (
        "thread_clusters",
        GeneralTuning(256, 96, 128, 8, 4, 4),
        GEMM,
        "gfx942",
        "m_per_block 96 is not a multiple of 64 (4 for each of 4 x 4 work items)",
    ),
    (
        "copy_of_blocks",
        GeneralTuning(256, 64, 64, 2, 4, 4),
        GEMM,
        "gfx942",
        "a's block 2x64 does not divide among 256 work items",
    ),
    (
        "lds_bytes",
        GeneralTuning(256, 128, 128, 64, 4, 4),
        GEMM,
        "gfx942",
        "lds_bytes 131072 > 65536 on gfx942",
    ),
    ("registers", GeneralTuning(64, 128, 128, 16, 4, 4), GEMM, "gfx942", "registers 448 > 256 on gfx942"),
    ("grid", GENERAL, HUGE, "gfx942", "grid_size 274877906944 > 2147483647"),
    (
        "vector_lanes",
        CpuTuning(14, 48, 140, 480, 256, 24),
        GEMM,
        "avx512",
        "vector_lanes 24 is not 16, the f32 of a vector of avx512",
    ),
    (
        "vector_lanes",
        CpuTuning(5, 16, 10, 48, 64, 8),
        GEMM,
        "avx512",
        "vector_lanes 8 is not 16, the f32 of a vector of avx512",
    ),
    (
        "register_tile",
        CpuTuning(14, 40, 140, 400, 256, 16),
        GEMM,
        "avx512",
        "n_per_thread 40 is not a multiple of vector_lanes 16",
    ),
    (
        "vector_registers",
        CpuTuning(6, 24, 60, 480, 256, 8),
        GEMM,
        "avx2",
        "registers 22 > 16 on avx2 (6x24 tile of 8 lanes)",
    ),
    (
        "unit",
        CpuTuning(14, 32, 140, 480, 256, 16, unit="vdpbf16ps"),
        GEMM,
        "avx512",
        "unit vdpbf16ps does not multiply f32 on avx512, which has fma",
    ),
    (
        "tiles",
        CpuTuning(24, 32, 48, 64, 256, 16, unit="tdpbf16ps"),
        dataclasses.replace(GEMM, dtype=BF16),
        "amx",
        "m_per_thread 24 is no multiple of 16, the rows of a tile of tdpbf16ps",
    ),
    (
        "vector_registers",
        CpuTuning(48, 32, 48, 64, 256, 16, unit="tdpbf16ps"),
        dataclasses.replace(GEMM, dtype=BF16),
        "amx",
        "registers 10 > 8 on amx (48x32 tile of 16 lanes)",
    ),
    (
        "cache_blocks",
        CpuTuning(14, 32, 128, 512, 256, 16),
        GEMM,
        "avx512",
        "m_per_block 128 is not a multiple of m_per_thread 14",
    ),
    (
        "cache_blocks",
        CpuTuning(14, 32, 140, 500, 256, 16),
        GEMM,
        "avx512",
        "n_per_block 500 is not a multiple of n_per_thread 32",
    ),
    ("kind", CPU, GEMM, "gfx942", "a cpu tuning does not run on gfx942"),
    ("kind", GENERAL, GEMM, "avx512", "a general tuning does not run on avx512"),
]


@pytest.mark.parametrize(("rule", "tuning", "context", "machine", "reason"), BROKEN)
def test_a_broken_rule_says_so(
    rule: str, tuning: Tuning, context: GemmContext, machine: str, reason: str
) -> None:
    assert Illegal(rule, reason) in check(tuning, context, target(machine))


def test_every_rule_is_broken_by_one_case() -> None:
    rules = [rule for rules in (GENERAL_RULES, CPU_RULES) for rule in (*rules.first, *rules.second)]
    assert {rule.__name__ for rule in rules} == {name for name, *_ in BROKEN} - {"kind"}


@pytest.mark.parametrize(
    ("tuning", "context", "machine"),
    [
        (GENERAL, GEMM, "gfx908"),
        (GENERAL, GEMM, "emulate"),
        (GeneralTuning(256, 128, 128, 16, 4, 4), dataclasses.replace(GEMM, dtype=F64), "gfx942"),
        (CPU, GEMM, "avx512"),
        (CpuTuning(6, 16, 120, 512, 256, 8), GEMM, "avx2"),
    ],
)
def test_a_legal_tuning_has_no_reasons(tuning: Tuning, context: GemmContext, machine: str) -> None:
    assert check(tuning, context, target(machine)) == ()


def test_lds_of_gfx950_is_larger() -> None:
    tuning = GeneralTuning(256, 128, 128, 64, 4, 4)
    assert check(tuning, GEMM, target("gfx942")) and not check(tuning, GEMM, target("gfx950"))


def test_all_reasons_of_a_rank_are_given() -> None:
    reasons = check(GeneralTuning(512, 100, 100, 8, 3, 5), GEMM, target("gfx942"))
    assert [r.rule for r in reasons] == ["block_size", "thread_tile", "thread_tile"]


def test_both_directions_of_the_clusters_are_checked() -> None:
    """One upstream version negated the wrong half of the test, so that one direction went unchecked."""
    for m, n in ((96, 128), (128, 96)):
        assert [r.rule for r in check(GeneralTuning(256, m, n, 8, 4, 4), GEMM, target("gfx942"))] == [
            "thread_clusters"
        ]


def test_lists_are_legal_for_a_large_gemm() -> None:
    for machine, tuning in itertools.product(GPU_MACHINES.values(), GENERAL_LIST):
        assert check(tuning, GEMM, machine) == ()


def general_points() -> Iterator[GeneralTuning]:
    """The 324 points of rocMLIR's ranges, legal or not."""
    for numbers in itertools.product(
        (64, 128, 256), (32, 64, 128), (32, 64, 128), (4, 8, 16), (2, 4), (2, 4)
    ):
        yield GeneralTuning(*numbers)


def test_legal_points_of_the_spaces_have_whole_plans() -> None:
    """Nothing legal divides by zero, overflows LDS or leaves an element uncopied: passes rely on it."""
    access = Access((4, 2), (64.0, 8.0))
    for dtype in (F32, F16, I8):
        context = GemmContext(200, 300, 70, dtype, a=access, b=access, c=access)
        legal = 0
        for tuning in general_points():
            if check(tuning, context, target("gfx942")):
                continue
            legal += 1
            plan = tuning.plan(context)
            assert 0 < plan.lds_bytes <= 65536 and plan.grid_size >= 1 and plan.k_iterations >= 1
            for copy in (plan.a_copy, plan.b_copy):
                (slice_k, slice_d), (cluster_k, cluster_d) = copy.slice_lengths, copy.cluster_lengths
                assert (slice_k * cluster_k, slice_d * cluster_d) == (copy.k_per_block, copy.d_per_block)
                assert cluster_k * cluster_d == copy.threads == tuning.block_size
            assert all(value != 0 for key, value in entries(plan.block).items() if not key.endswith("_dim"))
        assert legal > 100
