"""What each price of a CPU kernel is paid for, by hand: one price at a time, the others free."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from imbrex.chip import CPU_ISAS, PRICES, Level, Prices
from imbrex.config.context import Access, GemmContext
from imbrex.config.cpu.columns import HALVES, LANES_SUMMED, last_columns, repays
from imbrex.config.cpu.cost import ceiling_share, cycles, parts
from imbrex.config.cpu.crowding import LEAST_COPIED, LINE, MOST_COPIED_BYTES
from imbrex.config.cpu.plan import COLUMN_BYTES, COLUMNS_TOGETHER, WIDE_VECTOR, CpuTuning
from imbrex.config.cpu.space import cpu_space
from imbrex.dtype import BF16, F16, F32
from imbrex.emit.bundle import device_headers
from imbrex.index.expr import var
from imbrex.index.met import Guarded
from imbrex.pipeline import Request, configuration_of
from imbrex.problem import parse_problem
from imbrex.view.mma.vector import CPU_UNITS, FMA

AVX512 = CPU_ISAS["avx512"]
ALONG_K, ALONG_ROWS = Access(run=(1e12, 1.0), step=(1, 0)), Access(run=(1.0, 1e12), step=(0, 1))
GEMM = GemmContext(100, 70, 300, F16, g=2, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
TILE = CpuTuning(14, 32, 56, 64, 128, 16, "k_major")
"""112 x 96 with padding: 8 x 3 register tiles, 2 x 2 blocks, 3 of K, and all of it twice.  Panels are packed,
and sums wait in the private tile between steps of K, for those of A keep no neighbours along k together.
"""
CALLS = 8 * 3 * 3 * 2
FREE = Prices(
    **{f.name: Level(0, 0, 0) if isinstance(getattr(PRICES, f.name), Level) else 0.0 for f in fields(Prices)}
)
FREE = replace(FREE, gather=float("inf"), scatter=float("inf"), most_pieces=PRICES.most_pieces)
PRODUCTS = 8 * 3 * 300 * 2 * 14
"""Cycles of two vectors of 14 rows at two multiply-adds a cycle."""
PAID = {
    "call": (replace(FREE, call=1), CALLS),
    "sums, there and back": (replace(FREE, sum=1), CALLS * 2 * 14 * 2),
    "broadcast": (replace(FREE, broadcast=1), 8 * 3 * 300 * 2 * 14),
    "load": (replace(FREE, load=1), 8 * 3 * 300 * 2 * 2),
    "latency": (replace(FREE, fma_latency=20), 8 * 3 * 300 * 2 * (20 - 14)),
    "coordinates": (replace(FREE, coordinate=1), 2 * 4 * 3 * (56 + 64 + 2 * 128)),
    "packing": (replace(FREE, copy=1), 2 * (112 * 300 * 2 + 96 * 300 * 2) / 16),
    "stores": (replace(FREE, store=1), 2 * 100 * 70 / 16),
    "the private tile": (replace(FREE, tile=Level(1, 9, 9)), CALLS * 2 * 14 * 32 * 4),
    "the panel that moves": (replace(FREE, stream=Level(1, 9, 9)), CALLS * 32 * 128 * 4),
}


def test_what_is_free_multiplies_at_its_rate() -> None:
    assert cycles(TILE, GEMM, replace(AVX512, prices=FREE)) == PRODUCTS


def test_what_is_free_reaches_the_ceiling_but_for_padding() -> None:
    context, machine = replace(GEMM, m=112, n=96), replace(AVX512, prices=FREE)
    assert ceiling_share(TILE, context, machine) == 1.0
    padded = 100 * 70 / (112 * 96)
    assert ceiling_share(TILE, GEMM, machine) == pytest.approx(padded)
    on_two, even = replace(machine, threads=2), replace(TILE, n_per_block=96)
    assert ceiling_share(even, GEMM, on_two) == pytest.approx(padded)
    assert padded > ceiling_share(TILE, GEMM, on_two) > 0.8 * padded
    halves = replace(TILE, unit="vdpbf16ps", k_per_block=256)
    assert ceiling_share(halves, replace(context, dtype=BF16), machine) == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("what", PAID)
def test_a_price_is_paid_as_often_as_it_is_met(what: str) -> None:
    prices, times = PAID[what]
    assert cycles(TILE, GEMM, replace(AVX512, prices=prices)) - PRODUCTS == pytest.approx(times)


NO_PRICES = "most_pieces", "near", "slow_steps"


@pytest.mark.parametrize("name", [f.name for f in fields(Prices) if f.name not in NO_PRICES])
def test_nothing_gets_cheaper_by_a_price(name: str) -> None:
    """Of every kind of access, packed and in one pass."""
    was = getattr(PRICES, name)
    more = Level(2 * was.l2, 2 * was.l3, 2 * was.memory) if isinstance(was, Level) else 2 * was
    dearer = replace(PRICES, **{name: more})
    accesses = (Access(), ALONG_K, ALONG_ROWS, Access((1, 16), (1.0, 1024.0), (0, 1)))
    contexts = [replace(GEMM, a=a, b=b, c=c) for a in accesses for b in accesses for c in accesses]
    for context in (*contexts, GemmContext(2, 1000, 1000, F16, 1, ALONG_K, ALONG_ROWS, ALONG_ROWS)):
        assert cycles(TILE, context, replace(AVX512, prices=dearer)) >= cycles(TILE, context, AVX512)


def test_a_panel_that_l1_cannot_keep_comes_again_behind_the_multiply_adds() -> None:
    """B stays, and is read in place: 64 columns of 200 rows are 51,200 bytes, 16 of them 12,800.  The
    first of eight panels of A finds it elsewhere.
    """
    context = GemmContext(48, 1000, 200, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
    wide, narrow = (CpuTuning(6, n, 48, 1024, 208, 16, "k_blocked", "b") for n in (64, 16))
    slow = replace(AVX512, prices=replace(FREE, near=0.6, feed=1.0))
    fast = replace(AVX512, prices=replace(FREE, near=0.6, feed=0.001))
    free = replace(AVX512, prices=FREE)
    assert cycles(wide, context, slow) == pytest.approx(7 * 16 * 64 * 200 * 4, rel=1e-3)
    assert cycles(wide, context, free) == pytest.approx(cycles(wide, context, fast), rel=1e-3)
    assert cycles(narrow, context, slow) == cycles(narrow, context, free)


@pytest.mark.parametrize(("m", "met"), [(1024, 1), (1000, 0)])
def test_an_a_of_rows_that_crowd_comes_anew_for_each_block_of_columns(m: int, met: int) -> None:
    """Rows of 4096 bytes crowd, those of 4000 do not; two blocks of columns meet A, or one does."""
    context = GemmContext(m, 1024, 1024, F32, a=ALONG_ROWS, b=ALONG_ROWS, c=ALONG_ROWS)
    of = replace(AVX512, l2_bytes=1 << 21)
    for columns, blocks in ((512, 2), (1024, 1)):
        tuning = CpuTuning(6, 64, 1026, columns, 256, 16, "k_major", "a")
        prices = (replace(FREE, near=0.6, crowded_byte=each) for each in (0.0, 1.0))
        free, paid = (cycles(tuning, context, replace(of, prices=each)) for each in prices)
        assert paid - free == pytest.approx(met * blocks * 4 * m * 1024)


def test_a_last_panel_of_fewer_vectors_waits_for_its_loads() -> None:
    """16 columns of a tile of 9x48: 4.5 cycles of products behind 10 loads, and broadcasts that one vector
    has for itself.
    """
    context = GemmContext(9, 16, 100, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
    tile = CpuTuning(9, 48, 9, 48, 112, 16, "k_blocked", "b")
    free, bound = (replace(AVX512, prices=replace(FREE, broadcast=0.3, narrower=x)) for x in (0.0, 1.0))
    whole = replace(context, n=48)
    assert cycles(tile, context, bound) - cycles(tile, context, free) == pytest.approx(
        100 * (0.5 + 0.3 * 9 * 2 / 3)
    )
    assert cycles(tile, whole, bound) == cycles(tile, whole, free)


def test_panels_take_pieces_of_rows_of_k() -> None:
    """An A whose rows are k, of 600 rows by 512 of k, 1.2 MB and more than L2 has: a piece of each row for
    each panel of 6; of 96 rows, which L2 keeps beside all else, none is paid for.
    """
    context = GemmContext(600, 64, 512, F32, a=ALONG_ROWS, b=ALONG_K, c=ALONG_ROWS)
    tile = CpuTuning(6, 64, 600, 64, 512, 16, "k_major", "b")
    free, shared = (replace(AVX512, prices=replace(FREE, shared=x)) for x in (0.0, 1.0))
    assert cycles(tile, context, shared) - cycles(tile, context, free) == 100 * 512
    few = replace(context, m=96)
    assert cycles(tile, few, shared) == cycles(tile, few, free)


def test_short_steps_of_k_are_tried_where_a_core_has_use_for_them() -> None:
    context = GemmContext(48, 512, 1024, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
    for least, isa in ((192, "avx512"), (128, "amx")):
        machine = CPU_ISAS[isa]
        assert machine.prices.least_step == least
        found = cpu_space(context, machine)
        assert min(t.k_per_block for t in found if isinstance(t, CpuTuning)) == (128 if least == 128 else 176)


def test_the_busiest_thread_decides() -> None:
    """Eight workgroups."""
    at_once, even = replace(AVX512, prices=replace(AVX512.prices, wake=0.0)), replace(GEMM, n=128)
    alone = cycles(TILE, even, at_once)
    for threads, most in ((2, 4), (3, 3), (8, 1), (9, 1)):
        assert cycles(TILE, even, replace(at_once, threads=threads)) == pytest.approx(alone * most / 8)


def test_what_comes_from_memory_comes_in_long_pieces() -> None:
    """A hundred B of 400 KB: two panels of A meet each, so that one of four vectors is a quarter of the
    pieces of one; of an array that L3 or L2 holds it costs what passes there.
    """
    gemm = GemmContext(10, 100, 1000, F32, 100, ALONG_K, ALONG_ROWS, ALONG_ROWS)
    tiles = [CpuTuning(5, 16 * v, 10, 112 if v == 1 else 128, 1008, 16, "k_blocked", "b") for v in (1, 4)]
    names = "far_row", "passing_row", "met_row"
    far, near, nearest = (replace(AVX512, prices=replace(FREE, **{p: 1.0})) for p in names)
    one, four = (cycles(t, gemm, far) - cycles(t, gemm, replace(AVX512, prices=FREE)) for t in tiles)
    assert 0 < four < one / 3
    assert cycles(tiles[0], gemm, near) == cycles(tiles[0], gemm, replace(AVX512, prices=FREE))
    held = replace(gemm, b=replace(ALONG_ROWS, elements=250_000))
    assert cycles(tiles[0], held, near) > cycles(tiles[0], held, nearest) > cycles(tiles[0], held, far)
    small = replace(gemm, b=replace(ALONG_ROWS, elements=100_000))
    assert cycles(tiles[0], small, nearest) > cycles(tiles[0], small, near) == cycles(tiles[0], small, far)


def test_few_rows_do_not_part_b_into_columns() -> None:
    """Five last columns of 1000 k: 3 rows save less than what it takes to part them, 64 save more."""
    pairs = [(columns, rows) for columns in (5, 8) for rows in (3, 64)]
    found = {(columns, rows): repays(columns, rows, 1000, 1, 16, 1.0) for columns, rows in pairs}
    assert found == {(5, 3): False, (5, 64): True, (8, 3): False, (8, 64): True}
    assert not repays(5, 64, 1000, 4, 16, 1.0), "four times as many elements a word"


def test_half_a_vector_takes_five_eighths_where_a_machine_runs_halves() -> None:
    """It saves less, then, to sum columns along k: three of 80 pay, four do not.  A tile of eight columns and
    of all sixteen: fewer cycles where rows hide their latency.
    """
    assert [last_columns(n, 16, 80, 0.625) for n in (3, 4)] == [3, 0]
    assert [last_columns(n, 16, 80, 1.0) for n in (3, 4)] == [3, 4]
    halves = replace(AVX512, fma_per_cycle=1.0, runs_halves=True, prices=FREE)
    gemm = GemmContext(24, 8, 16, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
    tile = CpuTuning(24, 16, 24, 16, 16, 16, "k_blocked", "b")
    some, all_ = (cycles(tile, replace(gemm, n=n), halves) for n in (8, 16))
    assert some == pytest.approx(all_ * 0.625)
    assert cycles(tile, replace(gemm, n=9), halves) == all_
    few = replace(tile, m_per_thread=4, m_per_block=4)
    latency = replace(halves, prices=replace(FREE, fma_latency=4.0))
    some, all_ = (cycles(few, replace(gemm, m=4, n=n), latency) for n in (8, 16))
    assert some == all_, "four rows wait for the sums either way"


def test_kernels_weigh_halves_and_sums_of_lanes_as_the_model_does() -> None:
    headers = device_headers("cpu")
    assert f"lanes_summed = {LANES_SUMMED};" in headers["device/cpu/product.h"]
    single, words = (int(8 * part) for part in HALVES)
    assert f"half_takes = unit<U>::together > 1 ? {words} : {single};" in headers["device/cpu/unit.h"]


def test_kernels_copy_the_panels_of_b_that_the_model_says_are_copied_as_they_are_met() -> None:
    header = device_headers("cpu")["device/cpu/b_view.h"]
    most = f"most_copied_bytes = 1 << {MOST_COPIED_BYTES.bit_length() - 1},"
    assert f"least_copied_visits = {LEAST_COPIED}, {most}" in header
    assert f"sizeof(vec<T>) == {LINE} && Met >= least_copied_visits" in header


def test_kernels_cut_as_many_panels_at_a_time_as_the_plan_has_room_for() -> None:
    narrow, wide = COLUMN_BYTES
    header = device_headers("cpu")["device/cpu/operand_a.h"]
    bytes_together = f"least_bytes = vector_bytes > {WIDE_VECTOR // 2} ? {wide} : {narrow}"
    assert f"least = {COLUMNS_TOGETHER}, {bytes_together}," in header


def test_columns_that_are_summed_along_k_are_no_panel() -> None:
    """They lie apart, one by one: nothing of them is read again, however long K is."""
    fed = replace(FREE, feed=1.0, near=0.0)
    gemm = GemmContext(64, 1, 8192, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
    tile = CpuTuning(8, 16, 64, 16, 8192, 16, "k_blocked", "b")
    found = [cycles(tile, replace(gemm, n=n), replace(AVX512, prices=fed)) for n in (1, 16, 32)]
    base = [cycles(tile, replace(gemm, n=n), replace(AVX512, prices=FREE)) for n in (1, 16, 32)]
    assert found[0] == base[0] and found[2] > base[2]
    assert found[1] == base[1], "a panel that is all of B lies in one piece"


def test_a_turned_c_is_whole_squares_each_of_whose_columns_is_stored() -> None:
    """Of 17 rows two squares; a column that is summed along K is stored as it is."""
    turning = replace(FREE, store_transpose=1.0, crowded=1.0)
    whole = CpuTuning(6, 16, 18, 64, 48, 16, "k_blocked", "b")
    gemm = GemmContext(17, 16, 40, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_K)
    found = [cycles(whole, replace(gemm, n=n), replace(AVX512, prices=turning)) for n in (16, 17, 28)]
    base = [cycles(whole, replace(gemm, n=n), replace(AVX512, prices=FREE)) for n in (16, 17, 28)]
    paid = [x - y for x, y in zip(found, base, strict=True)]
    assert paid == pytest.approx([2 * 16, 2 * 16, 0.4 * 2 * 32 + 0.6 * 2 * 28])


def test_a_matrix_is_turned_sooner_than_windows_are() -> None:
    """Of a matrix whole rows are loaded; the last squares along K are turned whole."""
    tile = CpuTuning(6, 16, 6, 16, 48, 16, "k_blocked", "b")
    gemm = GemmContext(6, 16, 40, F32, a=ALONG_K, b=replace(ALONG_K, elements=640), c=ALONG_ROWS)
    shown = replace(gemm, b=replace(gemm.b, elements=100))
    for name, matrix in (("turned", gemm), ("transpose", shown)):
        other = shown if matrix is gemm else gemm
        paid = replace(FREE, gather=1e9, **{name: 1.0})
        of, free = replace(AVX512, prices=paid), replace(AVX512, prices=replace(FREE, gather=1e9))
        assert cycles(tile, matrix, of) - cycles(tile, matrix, free) == pytest.approx(48)
        assert cycles(tile, other, of) == cycles(tile, other, free)


def test_batches_of_few_rows_turn_b_and_no_more_of_c_than_there_is() -> None:
    """Of 3 x 34 the turned C is three squares; by one column, which is summed along K, it costs nothing."""
    for line, is_swapped in (
        ("gemm -m 3 -n 34 -k 16 -transA 1 -transB 1 -g 48", False),
        ("gemm -m 15 -n 36 -k 14 -transB 1 -g 100", False),
        ("gemm -m 1 -n 128 -k 64 -transB 1 -g 96", True),
    ):
        halved = replace(CPU_ISAS["avx512_bf16"], fma_per_cycle=1.0, runs_halves=True)
        found = configuration_of(Request(parse_problem(line)[0], halved, "avx512_bf16"))
        assert (",swapped" in str(found)) is is_swapped


def test_a_b_that_few_rows_meet_comes_in_long_pieces_of_its_rows() -> None:
    """4 MiB of it: a tile of 11 vectors costs less than of 8, and of 4; one that L1 holds costs nothing."""
    gemm = GemmContext(1, 1024, 1024, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
    tiles = [CpuTuning(1, 16 * v, 1, 16 * 33, 1024, 16, "k_blocked", "b") for v in (11, 3)]
    passing = replace(AVX512, prices=replace(FREE, passing_row=1.0, far_row=1.0))
    wide, narrow = (cycles(t, gemm, passing) - cycles(t, gemm, replace(AVX512, prices=FREE)) for t in tiles)
    assert 0 < wide < narrow / 3
    small = replace(gemm, n=16, k=64)
    assert cycles(tiles[1], small, passing) == cycles(tiles[1], small, replace(AVX512, prices=FREE))


def test_pages_of_a_b_that_passes_once_are_walked() -> None:
    """Each of 2048 rows is a page; steps of 512 have no more at a time than the core knows."""
    gemm = GemmContext(5, 1024, 2048, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
    walked, free = (replace(AVX512, prices=replace(FREE, walk=price)) for price in (1.0, 0.0))
    steps = [CpuTuning(5, 32, 5, 1024, k, 16, "k_blocked", "b") for k in (2048, 512)]
    assert [cycles(t, gemm, walked) - cycles(t, gemm, free) for t in steps] == [32 * 2048, 0]


def test_rows_of_c_are_awaited_where_few_multiply_adds_hide_them() -> None:
    """4 MiB of C, 64 rows of 16 pages: 16 k of a tile of 8 x 2 vectors take 128 cycles."""
    gemm = GemmContext(64, 16384, 16, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
    awaited, free = (replace(AVX512, prices=replace(FREE, arrival=price)) for price in (200.0, 0.0))
    stays, passes = (CpuTuning(8, 32, 64, 16384, 16, 16, "k_blocked", order) for order in ("b", "a"))

    def lost(tile: CpuTuning, context: GemmContext) -> float:
        return cycles(tile, context, awaited) - cycles(tile, context, free)

    assert lost(stays, gemm) == pytest.approx(8 * 512 * (200 - 128))
    long = replace(stays, k_per_block=32)
    assert lost(passes, gemm) == lost(long, replace(gemm, k=32)) == lost(stays, replace(gemm, n=512)) == 0


def test_rows_of_c_begin_with_each_block_of_columns_where_a_stays() -> None:
    """The same C in four blocks of columns: three times 64 rows, less what 16 k of a panel of 8 hide."""
    gemm = GemmContext(64, 16384, 16, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
    begun, free = (replace(AVX512, prices=replace(FREE, begun=price)) for price in (50.0, 0.0))
    cut = CpuTuning(8, 32, 64, 4096, 16, 16, "k_blocked", "a")
    whole, stays = replace(cut, n_per_block=16384), replace(cut, stationary="b")
    found = [cycles(t, gemm, begun) - cycles(t, gemm, free) for t in (cut, whole, stays)]
    assert found == pytest.approx([8 * 3 * (8 * 50 - 128), 0, 0])


def test_few_rows_of_c_are_foreseen() -> None:
    gemm = GemmContext(64, 16384, 16, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
    tile = CpuTuning(8, 32, 64, 16384, 16, 16, "k_blocked", "b")
    of = [
        cycles(tile, gemm, replace(AVX512, prices=replace(FREE, arrival=200.0, streams=streams)))
        for streams in (0.0, 63.0, 64.0)
    ]
    assert of[0] == of[1] > of[2] == cycles(tile, gemm, replace(AVX512, prices=FREE))


def test_rows_that_pass_once_are_no_more_than_the_hardware_foresees() -> None:
    """As dot products of rows of A with one column; where columns fill vectors, rows are fetched ahead."""
    priced = replace(AVX512, prices=replace(FREE, unforeseen=1.0))
    for n, costs in ((1, [0, 4]), (16, [0, 0])):
        gemm = GemmContext(600, n, 1000, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
        tiles = [CpuTuning(rows, 16, 600, 16, 1008, 16, "k_blocked", "b") for rows in (6, 10)]
        found = [cycles(t, gemm, priced) - cycles(t, gemm, replace(AVX512, prices=FREE)) for t in tiles]
        assert found == pytest.approx([600 * 1000 * 4 * c for c in costs])


def test_rows_that_pass_once_come_from_memory_in_few_pieces() -> None:
    """Of dot products, and of a matrix that no cache holds: a step over K more begins each row anew."""
    priced = replace(AVX512, prices=replace(FREE, anew=1.0))
    few = AVX512.l3_bytes // 4 // 4000
    for rows, n, costs in ((few + 1, 1, few + 1), (few, 1, 0), (few + 1, 16, 0)):
        gemm = GemmContext(rows, n, 1000, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
        steps = [CpuTuning(6, 16, rows, 16, k, 16, "k_blocked", "b") for k in (1008, 512)]
        found = [cycles(t, gemm, priced) - cycles(t, gemm, replace(AVX512, prices=FREE)) for t in steps]
        assert found == [0, costs]


def test_tiles_of_one_vector_leave_registers_for_a_broadcast_and_of_sixteen_for_more() -> None:
    tallest = {name: [FMA.tallest(CPU_ISAS[name], v) for v in (1, 2, 3)] for name in ("avx512", "avx2")}
    assert tallest == {"avx512": [29, 14, 9], "avx2": [11, 6, 4]}


def test_few_rows_have_tiles_as_wide_as_there_are_registers() -> None:
    for rows, n, vectors in ((1, 512, 11), (1, 4096, 15), (2, 1024, 8), (3, 1024, 7), (4, 4096, 6)):
        gemm = GemmContext(rows, n, 1024, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
        assert vectors in {t.vectors for t in cpu_space(gemm, AVX512) if t.m_per_thread == rows}


def test_a_packed_panel_that_stays_comes_back_where_l1_has_no_place_for_it() -> None:
    """Runs of nine neighbours along k, as taps of an image's gradient are: 4 x 2304 of A are 36 KiB, twice
    what L1 has place for; three quarters of them half of what is beyond.
    """
    runs = Access(run=(9.0, 1.0), step=(1, 0))
    context = GemmContext(256, 196, 2304, F32, a=runs, b=ALONG_ROWS, c=ALONG_ROWS)
    machine = replace(CPU_ISAS["avx2"], prices=replace(FREE, near=0.5625, returning=1))
    free = replace(machine, prices=replace(FREE, near=0.5625))
    whole = CpuTuning(4, 24, 256, 216, 2304, 8, "k_blocked")
    for tuning, returned in (
        (whole, 64 * 8 * 4 * 2304 * 4),
        (replace(whole, k_per_block=1728), 2 * 64 * 8 * 4 * 1728 * 4 / 2),
        (replace(whole, k_per_block=1152), 0),
        (replace(whole, stationary="b"), 0),
    ):
        assert cycles(tuning, context, machine) - cycles(tuning, context, free) == pytest.approx(returned)
    in_rows = replace(context, a=ALONG_K)
    assert cycles(whole, in_rows, machine) == cycles(whole, in_rows, free)


def test_columns_in_place_cost_each_block_and_each_panel_of_b() -> None:
    """A of 2 MiB comes anew for each of four blocks of columns, and its pages for each byte of B; an A that
    L2 holds, of pages that the core has at hand, costs neither.
    """
    prices = replace(FREE, passing=1.0, again=1.0, beside=1.0)
    machine = replace(CPU_ISAS["avx2"], l3_bytes=32 << 20, prices=prices)
    large = GemmContext(1040, 96, 512, F32, a=ALONG_ROWS, b=ALONG_ROWS, c=ALONG_ROWS)
    small = replace(large, m=128, k=64)
    for context, rows, k in ((large, 1040, 512), (small, 128, 64)):
        tuning = CpuTuning(4, 24, rows, 24, k, 8)
        free = replace(machine, prices=replace(prices, again=0.0, beside=0.0))
        more = cycles(tuning, context, machine) - cycles(tuning, context, free)
        again, looked_up = 3 * 4 * rows * k, rows // 4 * 96 * k * 4 * (1 - 64 / 512)
        assert more == pytest.approx(again + looked_up if context is large else 0)


def test_a_last_panel_of_few_sums_waits_for_them() -> None:
    """Six rows of one vector are three cycles at two a cycle, of which a sum's latency is four."""
    waits = replace(CPU_ISAS["avx2"], prices=replace(FREE, fma_latency=4.0, waiting=1.0))
    whole, more = (
        cycles(
            CpuTuning(6, 16, 60, 32, 256, 8, "k_blocked"),
            GemmContext(60, n, 256, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS),
            waits,
        )
        for n in (16, 24)
    )
    assert more == pytest.approx(1.5 * whole + 10 * 256)


def test_tiles_pack_a_once_for_each_block_of_columns_but_copy_whole_runs_on_each_visit() -> None:
    """Two blocks of columns pack A twice; runs of 64 are copied for each of eight panels of B, however many
    blocks these are in.
    """
    short, long = (replace(ALONG_K, run=(float(run), 1.0), elements=100) for run in (2, 64))
    gemm = GemmContext(64, 256, 128, BF16, a=short, b=ALONG_ROWS, c=ALONG_ROWS)
    one, two = (CpuTuning(32, 32, 64, n, 128, 16, "k_blocked", "b", unit="tdpbf16ps") for n in (256, 128))
    for access, factor in ((short, 2), (long, 1)):
        found = [parts(of, replace(gemm, a=access), CPU_ISAS["amx"])["A"] for of in (one, two)]
        assert found[1] == pytest.approx(factor * found[0])


def test_tiles_that_are_read_in_place_are_copied_where_edges_cut_them() -> None:
    """One row of 32 of an image, padded by one on both sides, and three taps: of six tiles two are cut."""
    tap, lane, tiles = var("k", 96), var("m", 32), CPU_UNITS["tdpbf16ps"].tiles
    guards = Guarded((tap // 32,), (lane - 1,), (32,), (("k", 96),), (("m", 32),))
    whole = replace(ALONG_K, run=(32.0, 1.0), elements=1024)
    tuning = CpuTuning(32, 32, 32, 64, 96, 16, "k_blocked", "b", unit="tdpbf16ps")
    gemm = GemmContext(32, 64, 96, BF16, a=whole, b=ALONG_ROWS, c=ALONG_ROWS)
    edges = replace(gemm, a=replace(whole, guarded=guards))
    free, cut = (parts(tuning, of, CPU_ISAS["amx"])["A"] for of in (gemm, edges))
    assert tiles is not None
    assert free == pytest.approx(2 * 2 * 3 * tiles.placed)
    assert cut - free == pytest.approx(2 * 2 * 16 * (tiles.run + tiles.copied))


def test_rows_of_b_that_are_all_packed_go_to_l2() -> None:
    """512 KiB once for each block of rows; none where B stays, is turned, or twice L1 holds the block."""
    machine = replace(AVX512, l1_bytes=32 << 10, l2_bytes=2 << 20, prices=replace(FREE, put_down=1.0))
    context = GemmContext(48, 512, 256, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
    block = CpuTuning(6, 64, 24, 512, 256, 16, "k_blocked")

    def paid(tuning: CpuTuning, of: GemmContext) -> float:
        return cycles(tuning, of, machine) - cycles(tuning, of, replace(machine, prices=FREE))

    assert paid(block, context) == pytest.approx(2 * 512 * 256 * 4)
    assert paid(replace(block, n_per_block=128, k_per_block=128), context) == 0
    assert paid(replace(block, n_per_block=128, k_per_block=192), context) == pytest.approx(2 * 512 * 256 * 4)
    assert paid(replace(block, stationary="b"), context) == 0
    assert paid(block, replace(context, b=ALONG_K)) == 0


def test_rows_of_b_in_place_that_are_too_many_pages_come_from_l3_each_time() -> None:
    """1100 rows of a page each, a panel of which L2 would hold; 1000 rows a core finds again."""
    machine = replace(AVX512, l2_bytes=2 << 20, l3_bytes=1 << 30, prices=replace(FREE, apart=Level(0, 1, 1)))
    for k, each in ((1100, 1), (1000, 0)):
        context = GemmContext(12, 1040, k, F32, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
        tuning = CpuTuning(6, 64, 12, 1088, k, 16, "k_blocked", "b")
        paid = cycles(tuning, context, machine) - cycles(tuning, context, replace(machine, prices=FREE))
        assert paid == pytest.approx(each * 2 * 1088 * k * 4)
