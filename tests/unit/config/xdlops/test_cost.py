"""The model that ranks XDLOPS tunings: what must make a product slower, makes it slower."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest

from imbrex.chip import GPU_MACHINES, Device, GpuMachine, Rates
from imbrex.config.context import Access, GemmContext
from imbrex.config.xdlops.best_first import BEHIND, best_first, in_order
from imbrex.config.xdlops.cost import bound_cycles, closer_cycles, mostly_cycles, tile_cost, wave_cycles
from imbrex.config.xdlops.legal import XDLOPS_RULES
from imbrex.config.xdlops.loop import WRITTEN, loop_of
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.config.xdlops.residency import resident_groups, waves_of_simd
from imbrex.config.xdlops.space import wave_space
from imbrex.dtype import BF16, F8E4M3FNUZ, F16, F32
from imbrex.emit.bundle import device_headers

ROWS = Access((8, 1), (4096.0, 1.0), (1, 0))
GEMM = GemmContext(4096, 4096, 4096, F16, 1, ROWS, ROWS, ROWS.exchanged)
COLUMNS = Access((1, 8), (1.0, 4096.0), (0, 1))
MI300X = GPU_MACHINES["gfx942"]
TILE = XdlopsTuning(128, 128, 4, 64, 64, 8, swapped=True, buffers=1)


def cost(tuning: XdlopsTuning = TILE, context: GemmContext = GEMM, machine: str = "gfx942") -> float:
    return wave_cycles(tuning.plan(context, GPU_MACHINES[machine]))


def test_more_work_costs_more() -> None:
    assert cost() < cost(context=dataclasses.replace(GEMM, k=4097)), "one more step"
    assert cost() < cost(context=dataclasses.replace(GEMM, m=16384)), "more rounds"
    assert cost(context=dataclasses.replace(GEMM, g=3)) > 2 * cost()


def test_the_matrix_unit_bounds_a_large_product() -> None:
    """No less than all multiplications at the chip's rate, and not much more than twice for a usual tile."""
    rate = {"gfx90a": 1024, "gfx942": 2048}
    for machine, flops in rate.items():
        least = 2 * 4096**3 / flops / GPU_MACHINES[machine].compute_units
        assert least <= cost(machine=machine) < 2.3 * least
    assert cost(machine="gfx90a") > 1.5 * cost(machine="gfx942")


def test_narrow_reads_and_small_tiles_cost() -> None:
    single = Access((1, 1), (3.0, 1.0), (1, 0))
    assert cost() < cost(context=dataclasses.replace(GEMM, a=single))
    assert cost() < cost(dataclasses.replace(TILE, m_per_block=32, m_per_wave=16))


def test_a_result_that_an_epilogue_narrows_takes_less_time_to_store() -> None:
    wide = dataclasses.replace(GEMM, dtype=F8E4M3FNUZ)
    narrow = wide.storing(BF16)
    assert (wide.stored_bytes, narrow.stored_bytes) == (4, 2) and wide.storing(F32) == wide
    slow, fast = (tile_cost(TILE.plan(context, MI300X), 1) for context in (wide, narrow))
    assert MI300X.device is not None and slow.step == fast.step
    assert slow.start - fast.start == pytest.approx(128 * 128 * 2 / MI300X.device.stored_bytes)


@pytest.mark.parametrize(("even", "each"), [(64, 0), (32, 0), (16, 20), (2, 20)])
def test_pixels_of_windows_are_taken_apart_where_a_step_has_several(even: int, each: int) -> None:
    """k of 32 a step, and a window that shows each element nine times."""
    window = Access((1, 8), (1.0, 4096.0), (0, 1), elements=4096 * 4096 // 9, even=even)
    plan = TILE.plan(dataclasses.replace(GEMM, a=window), MI300X)
    counts = Counter(op.unit for op in loop_of(plan))
    turned = Counter(op.unit for op in loop_of(TILE.plan(dataclasses.replace(GEMM, a=COLUMNS), MI300X)))
    loads = plan.b_copy.per_thread // plan.b_copy.data_per_read
    assert counts["vector"] - turned["vector"] == each * loads


def test_a_step_that_crosses_stretches_costs() -> None:
    taps = dataclasses.replace(GEMM, b=dataclasses.replace(ROWS, run=(64.0, 1.0)))
    odd = dataclasses.replace(GEMM, b=dataclasses.replace(ROWS, run=(48.0, 1.0)))
    assert cost() <= cost(context=taps) < cost(context=odd)


def test_what_no_instruction_serves_is_never_chosen() -> None:
    assert cost(context=dataclasses.replace(GEMM, dtype=F32)) < float("inf")
    assert cost(dataclasses.replace(TILE, m_per_wave=22, m_per_block=22)) == float("inf")


def test_larger_tiles_where_loads_bound() -> None:
    """AMD measured 69 and 83 % of the loop of these tiles on gfx950; the order was upside down once."""
    small = dataclasses.replace(TILE, copy="direct", buffers=2)
    large = dataclasses.replace(small, m_per_block=256, m_per_wave=128)
    assert cost(large, machine="gfx950") < 0.95 * cost(small, machine="gfx950")


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_bounds_are_bounds_and_the_order_is_that_of_all_clocks(chip: str) -> None:
    """Of a product that fills the chip, and of one whose last round is nearly empty; a bound that is BEHIND
    stands for clocks.
    """
    machine = GPU_MACHINES[chip]
    for context in (GEMM, dataclasses.replace(GEMM, m=3000, n=1100)):
        plans = [tuning.plan(context, machine) for tuning in wave_space(context, machine)[::5]]
        answers = [
            [f(plan) for f in (bound_cycles, closer_cycles, mostly_cycles, wave_cycles)] for plan in plans
        ]
        bounds, closer, mostly, whole = map(list, zip(*answers, strict=True))
        rows = zip(bounds, closer, mostly, whole, strict=True)
        assert all(a <= b <= 1.001 * c and c <= 1.001 * d for a, b, c, d in rows)
        far = BEHIND * min(whole)
        clocks = [BEHIND * b if b >= far else c for b, c in zip(bounds, whole, strict=True)]
        assert far < max(bounds) and sum(b < c for b, c in zip(mostly, whole, strict=True)) >= (
            context != GEMM
        )
        assert list(best_first(plans)) == sorted(range(len(plans)), key=lambda position: clocks[position])


def test_nothing_is_asked_before_it_has_to_be() -> None:
    calls = list[tuple[str, int]]()

    def answer(name: str, costs: dict[int, float]) -> Callable[[int], float]:
        return lambda position: calls.append((name, position)) or costs[position]

    asked = [answer("closer", {0: 3.0, 1: 2.0, 2: 9.0}), answer("cost", {0: 4.0, 1: 5.0})]
    found = in_order(range(3), {0: 1.0, 1: 2.0, 2: 4.5}, asked)
    assert calls == [] and next(found) == (4.0, 0)
    assert calls == [("closer", 0), ("closer", 1), ("cost", 1), ("cost", 0)]
    assert next(found) == (5.0, 1) and calls[4:] == [("closer", 2)]


RATES = {
    "lds_bytes": 0.5, "l1_bytes": 0.5, "l1_capacity": 0.25, "request_queue": 0.25, "lds_latency": 4,
    "memory_latency": 3, "memory_spread": 3, "barrier": 20, "branch": 20, "shadow": 4,
}  # fmt: skip
DEVICE = {"prologue": 4, "stored_bytes": 0.25, "l2_bytes": 0.5}
AHEAD = XdlopsTuning(256, 256, 8, 128, 64, 8, "mfma_f32_32x32x16_f16", copy="ahead")
FORMS = (
    (AHEAD, "gfx950"),
    (TILE, "gfx942"),
    (dataclasses.replace(TILE, buffers=2), "gfx90a"),
    (dataclasses.replace(TILE, copy="direct", buffers=2), "gfx950"),
    (dataclasses.replace(TILE, m_per_block=64, m_per_wave=32, k_per_block=8), "gfx942"),
)
FEW = dataclasses.replace(GEMM, m=512, n=512)
CONTEXTS = (GEMM, FEW, dataclasses.replace(GEMM, b=dataclasses.replace(ROWS, run=(48.0, 1.0))))


@cache
def costs(name: str = "", times: float = 1.0) -> float:
    def machine(chip: str) -> GpuMachine:
        gpu = GPU_MACHINES[chip]
        record: Rates | Device | None = gpu.device if name in DEVICE else gpu.rates
        assert record is not None
        usual = getattr(record, name)
        changed = dataclasses.replace(record, **{name: type(usual)(times * usual)})
        field = {"device": changed} if name in DEVICE else {"rates": changed}
        return dataclasses.replace(gpu, **field)

    gpus = {chip: machine(chip) if name else GPU_MACHINES[chip] for _, chip in FORMS}
    return sum(wave_cycles(tuning.plan(c, gpus[chip])) for c in CONTEXTS for tuning, chip in FORMS)


@pytest.mark.parametrize("name", [*RATES, *DEVICE])
def test_a_price_is_paid(name: str) -> None:
    """Whatever takes longer, or is less, makes kernels slower."""
    assert costs(name, (RATES | DEVICE)[name]) > costs()


def counts(tuning: XdlopsTuning, context: GemmContext = GEMM) -> Counter[str]:
    """Operations of a wave in a step."""
    return Counter(op.unit for op in loop_of(tuning.plan(context, GPU_MACHINES["gfx950"])))


def test_the_loop_by_hand() -> None:
    """Four waves of 64 x 64, 32 of k: a work item brings 16 elements of A, and as many of B, 8 at a time.

    4 + 4 fragments of 16 rows and 32 of k, 16 products of 16x16x32.  What lies along n is turned: 4 loads,
    of 4 elements each, 2 writes, 8 moves of registers.  Single elements are joined by half an instruction.
    """
    staged = dataclasses.replace(TILE, buffers=2, swapped=False)
    found = counts(staged)
    assert (found["matrix"], found["read"], found["load"], found["write"], found["vector"]) == (
        16,
        8,
        4,
        4,
        0,
    )
    assert (found["barrier"], counts(TILE)["barrier"]) == (1, 2), "one buffer is written when all have read"
    direct = counts(dataclasses.replace(staged, copy="direct"))
    assert (direct["direct"], direct["load"], direct["write"]) == (4, 0, 0)
    turned = counts(staged, dataclasses.replace(GEMM, b=ROWS.exchanged))
    assert turned["vector"] == 8
    single = dataclasses.replace(GEMM, b=Access((1, 1), (1.0, 1.0), (1, 0)))
    assert counts(staged, single)["vector"] == 8
    windows = dataclasses.replace(GEMM, b=dataclasses.replace(ROWS, run=(64.0, 1.0)))
    assert counts(staged, windows)["vector"] == 2 * 2, "two for the index of each load"


def test_a_loop_that_reads_ahead_by_hand() -> None:
    """A step of 64: two parts, each reads 2 x (4 + 2) fragments for 16 products of 32 clocks.

    Eight waves load 2 x 32 KiB, 1 KiB of a wave at a time.  Of three buffers one more tile may be under way.
    """
    tuning = dataclasses.replace(AHEAD, buffers=3)
    loop = loop_of(tuning.plan(GEMM, GPU_MACHINES["gfx950"]))
    found = Counter(op.unit for op in loop)
    assert (found["matrix"], found["read"], found["direct"], found["barrier"]) == (32, 24, 8, 1)
    assert [(op.vm, op.lgkm) for op in loop if op.unit == "wait"] == [(None, 0), (8, 0)]
    place = next(i for i, op in enumerate(loop) if op.unit == "barrier")
    assert {op.unit for op in loop[place - 5 : place - 1]} == {"matrix"}, "reads are early in a part"
    assert {op.unit for op in loop[place + 1 : place + 8]} == {"read", "direct", "matrix"}


def test_reading_ahead_is_the_pick_of_a_large_product_where_loads_are_wide() -> None:
    """gfx950; one step is a line of memory.  An operand along n is transposed as it is read, which takes
    twice as many reads, if its elements have two bytes or one.
    """
    ahead = [t for t in wave_space(GEMM, GPU_MACHINES["gfx950"]) if t.copy == "ahead"]
    assert {t.tile[2] * 2 for t in ahead} == {128}
    large = [t for t in ahead if t.m_per_block * t.n_per_block >= 128 * 128]
    assert {t.buffers for t in large} == {2, 3}
    used = {t.instruction for t in large if t.m_per_wave % (32 * t.interleave) == t.n_per_wave % 32 == 0}
    assert used == {"mfma_f32_32x32x16_f16"}
    assert {t.instruction for t in large} == used | {"mfma_f32_16x16x32_f16"}, "of seven sixteenths"
    best = dataclasses.replace(AHEAD, swapped=ahead[0].swapped)
    staged = dataclasses.replace(best, m_per_block=128, copy="staged", instruction="auto", buffers=1)
    assert cost(best, machine="gfx950") < 0.85 * cost(staged, machine="gfx950")
    along_n = dataclasses.replace(GEMM, b=ROWS.exchanged)
    turned = Counter(
        op.lane_bytes for op in loop_of(best.plan(along_n, GPU_MACHINES["gfx950"])) if op.unit == "read"
    )
    assert turned == ({8: 32, 16: 8} if best.swapped else {8: 16, 16: 16})
    assert best in [t for t in wave_space(along_n, GPU_MACHINES["gfx950"]) if t.copy == "ahead"]
    wide = dataclasses.replace(along_n, dtype=F32, b=dataclasses.replace(ROWS, vector=(4, 1)).exchanged)
    for context, chip in ((wide, "gfx950"), (GEMM, "gfx942")):
        assert not any(t.copy == "ahead" for t in wave_space(context, GPU_MACHINES[chip]))


def test_a_loop_that_reads_ahead_through_registers_by_hand() -> None:
    """256 x 224 x 32, eight waves of 64 x 112: two parts of 4 + 7 reads for 28 products each.

    Of 224 columns 256 are copied: 2 loads of 16 bytes and 4 writes of 8 for each operand.  Rows of half a
    line take the cache twice as long, and rows that do not exist no time.
    """
    tuning = XdlopsTuning(256, 224, 8, 64, 112, 4, copy="staged_ahead")
    plan = tuning.plan(GEMM, MI300X)
    assert (plan.b_copy.d, plan.lds_bytes, plan.b_copy.data_per_read, plan.b_copy.data_per_write) == (
        256,
        65536,
        8,
        4,
    )
    loop = loop_of(plan)
    found = Counter(op.unit for op in loop)
    units = ("matrix", "read", "load", "write", "barrier")
    assert [found[unit] for unit in units] == [56, 22, 4, 8, 1]
    assert [op.factor for op in loop if op.unit == "load"] == [2.0, 2.0, 1.75, 1.75]
    assert [op.vm for op in loop if op.vm is not None] == [2, 2], "each operand waits for its own loads"
    text = "".join(op.unit[0] for op in loop if op.unit in ("read", "write", "load", "barrier"))
    assert text == "r" * 11 + "wwwwll" + "wwww" + "b" + "rrrrrrlrrrrrl"


def test_reading_ahead_through_registers_is_the_pick_of_a_large_product_on_gfx942() -> None:
    """304 tiles of 256 x 224 are one for each compute unit."""
    for a, b in ((ROWS, ROWS), (ROWS, COLUMNS), (COLUMNS, ROWS), (COLUMNS, COLUMNS)):
        context = dataclasses.replace(GEMM, a=a, b=b)
        plans = [tuning.plan(context, MI300X) for tuning in wave_space(context, MI300X)]
        legal = [p for p in plans if XDLOPS_RULES.is_legal(p, MI300X)]
        best = legal[next(iter(best_first(legal)))]
        assert (best.tuning.copy, best.tuning.n_per_block) == ("staged_ahead", 224), best.tuning
        assert wave_cycles(best) < 0.95 * min(wave_cycles(p) for p in legal if p.tuning.copy == "staged")
    for context, chip in (
        (GEMM, "gfx950"),
        (GEMM, "gfx90a"),
        (dataclasses.replace(GEMM, dtype=F32), "gfx942"),
    ):
        assert not any(t.copy == "staged_ahead" for t in wave_space(context, GPU_MACHINES[chip]))


def test_small_tiles_are_read_ahead_of_which_two_share_a_compute_unit() -> None:
    """gfx950: of a tile of 64 x 128, with three and four in LDS."""
    ahead = [t for t in wave_space(GEMM, GPU_MACHINES["gfx950"]) if t.copy == "ahead"]
    small = [t for t in ahead if t.m_per_block * t.n_per_block < 128 * 128]
    assert {t.buffers for t in small} == {3, 4}
    held = {resident_groups(t.plan(GEMM, GPU_MACHINES["gfx950"])) for t in small}
    assert held == {1, 2}


@pytest.mark.parametrize(
    ("tuning", "chip", "groups", "waves"),
    [
        (TILE, "gfx942", 3, 3),
        (dataclasses.replace(TILE, buffers=2), "gfx942", 2, 2),
        (dataclasses.replace(TILE, m_per_block=256, m_per_wave=128), "gfx942", 2, 2),
        (dataclasses.replace(TILE, m_per_block=256, m_per_wave=128), "gfx908", 2, 2),
        (XdlopsTuning(16, 16, 4, 16, 16, 8), "gfx950", 32, 8),
    ],
)
def test_residency_by_hand(tuning: XdlopsTuning, chip: str, groups: int, waves: int) -> None:
    """64 + 80 registers of 512; LDS 32 KiB of 64; 128 + 104 registers; 128 sums of 256, apart; slots."""
    plan = tuning.plan(GEMM, GPU_MACHINES[chip])
    assert (resident_groups(plan), waves_of_simd(plan)) == (groups, waves)


def test_the_device_writes_among_the_same_products_as_the_model() -> None:
    header, (first, last, whole) = device_headers("gfx942")["device/hip/schedule.h"], WRITTEN
    assert f"half = Products * {first} / {whole}, end = Products * {last} / {whole};" in header
