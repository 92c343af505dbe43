"""The model that ranks XDLOPS tunings: what must make a product slower, makes it slower."""

from __future__ import annotations

import dataclasses

import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.config.context import Access, GemmContext
from imbrex.config.xdlops.cost import RATES, Rates, wave_cycles
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.dtype import F16, F32

ROWS = Access((8, 1), (4096.0, 1.0), (1, 0))
GEMM = GemmContext(4096, 4096, 4096, F16, 1, ROWS, ROWS, ROWS.exchanged)
TILE = XdlopsTuning(128, 128, 4, 64, 64, 8, swapped=True, buffers=1)


def cost(tuning: XdlopsTuning = TILE, context: GemmContext = GEMM, machine: str = "gfx942") -> float:
    return wave_cycles(tuning.plan(context, GPU_MACHINES[machine]))


def test_more_work_costs_more() -> None:
    assert cost() < cost(context=dataclasses.replace(GEMM, k=4097)), "one more step"
    assert cost() < cost(context=dataclasses.replace(GEMM, m=4097)), "one more row of blocks"
    assert cost(context=dataclasses.replace(GEMM, g=3)) > 2.5 * cost()


def test_the_matrix_unit_bounds_a_large_product() -> None:
    """No less than all multiplications at the chip's rate, and not twice as much for a good tile."""
    rate = {"gfx90a": 1024, "gfx942": 2048}
    for machine, flops in rate.items():
        least = 2 * 4096**3 / flops / GPU_MACHINES[machine].compute_units
        assert least <= cost(machine=machine) < 2 * least
    assert cost(machine="gfx90a") > 1.5 * cost(machine="gfx942")


def test_narrow_reads_and_small_tiles_cost() -> None:
    single = Access((1, 1), (3.0, 1.0), (1, 0))
    assert cost() < cost(context=dataclasses.replace(GEMM, a=single))
    assert cost() < cost(dataclasses.replace(TILE, m_per_block=32, m_per_wave=16))


def test_a_step_that_crosses_stretches_costs() -> None:
    taps = dataclasses.replace(GEMM, b=dataclasses.replace(ROWS, run=(64.0, 1.0)))
    odd = dataclasses.replace(GEMM, b=dataclasses.replace(ROWS, run=(48.0, 1.0)))
    assert cost() == cost(context=taps) < cost(context=odd)


def test_what_no_instruction_serves_is_never_chosen() -> None:
    assert cost(context=dataclasses.replace(GEMM, dtype=F32)) < float("inf")
    assert cost(dataclasses.replace(TILE, m_per_wave=22, m_per_block=22)) == float("inf")


def test_what_passes_no_register_costs_less() -> None:
    direct = dataclasses.replace(TILE, copy="direct", buffers=2)
    assert cost(direct, machine="gfx950") < cost(dataclasses.replace(direct, copy="staged"), machine="gfx950")


def test_several_phases_of_reads_cost_where_few_workgroups_take_turns() -> None:
    """The same products and bytes in half as many steps, each of two phases."""
    big = dataclasses.replace(TILE, m_per_block=256, m_per_wave=128)
    longer = dataclasses.replace(big, k_per_block=8)
    assert cost(big) < cost(longer, machine="gfx942")


RATE_NAMES = [field.name for field in dataclasses.fields(Rates)]
FORMS = (
    (TILE, "gfx942"),
    (dataclasses.replace(TILE, buffers=2), "gfx90a"),
    (dataclasses.replace(TILE, copy="direct", buffers=2), "gfx950"),
    (dataclasses.replace(TILE, m_per_block=64, m_per_wave=32, k_per_block=8), "gfx942"),
)
CONTEXTS = (GEMM, dataclasses.replace(GEMM, b=dataclasses.replace(ROWS, run=(48.0, 1.0))))


def costs(monkeypatch: pytest.MonkeyPatch, **rates: float) -> list[float]:
    monkeypatch.setattr("imbrex.config.xdlops.cost.RATES", dataclasses.replace(RATES, **rates))
    return [cost(tuning, context, machine) for context in CONTEXTS for tuning, machine in FORMS]


@pytest.mark.parametrize("name", RATE_NAMES)
def test_a_price_is_paid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever takes longer makes no kernel faster, and some slower; `l2_bytes` are of a cycle."""
    usual, dearer = costs(monkeypatch), costs(monkeypatch, **{name: 2 * getattr(RATES, name)})
    if name == "l2_bytes":
        usual, dearer = dearer, usual
    assert all(a <= b for a, b in zip(usual, dearer, strict=True)) and sum(usual) < sum(dearer)


def issued(monkeypatch: pytest.MonkeyPatch, tuning: XdlopsTuning, context: GemmContext = GEMM) -> float:
    """Vector instructions of a wave in a step, where nothing but them takes any time."""
    monkeypatch.setattr("imbrex.config.xdlops.cost.RATES", dataclasses.replace(RATES, issue=10**9, clash=0))
    plan = tuning.plan(context, GPU_MACHINES["gfx950"])
    rounds = plan.grid_size / GPU_MACHINES["gfx950"].compute_units
    return round(wave_cycles(plan) / rounds / plan.k_iterations / 10**9)


def test_vector_instructions_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four waves of 64 x 64, 32 of k: a work item brings 16 elements of A, and as many of B, 8 at a time.

    Fragments: 2 + 2 tiles of 32 rows, in two parts of k, one of 16 bytes each.  A copy has two loads, with
    two instructions for the index of each, and two writes, a direct one no writes.  What lies along n is
    turned: 4 loads, 4 writes, 8 moves of registers.  Single elements are joined by half an instruction each.
    """
    staged = dataclasses.replace(TILE, buffers=2, swapped=False)
    direct = dataclasses.replace(staged, copy="direct")
    assert issued(monkeypatch, staged) == 8 + 2 * (4 + 2)
    assert issued(monkeypatch, direct) == 8 + 2 * 4
    turned = dataclasses.replace(GEMM, b=ROWS.exchanged)
    assert issued(monkeypatch, staged, turned) == 8 + (4 + 2) + (4 + 8 + 8)
    single = dataclasses.replace(GEMM, b=Access((1, 1), (1.0, 1.0), (1, 0)))
    assert issued(monkeypatch, staged, single) == 8 + (4 + 2) + (32 + 2 + 8)
    words = dataclasses.replace(staged, kpack=4)
    whole = dataclasses.replace(single, dtype=F32)
    assert issued(monkeypatch, words, whole) == 8 + (4 + 2) + (16 + 2), "f32 fills registers"
