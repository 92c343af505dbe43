"""General tunings on Hopper: large tiles for large products, work for everybody for small ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.config.choose import choose
from imbrex.config.context import Access, GemmContext
from imbrex.config.general.choice import MARGIN, scheduled
from imbrex.config.general.cost import added_cycles, general_cycles, resident_of
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.general.space import HOPPER_SPACE
from imbrex.config.legal import check
from imbrex.config.tiles import DATA_PARALLEL
from imbrex.dtype import F16, F32, F64

HOPPER = GPU_MACHINES["sm_90a"]
ROWS, COLUMNS = Access((4, 1)), Access((1, 4))
LARGE = GeneralTuning(256, 128, 128, 8, 4, 4)


def square(size: int) -> GemmContext:
    return GemmContext(size, size, size, F32, 1, ROWS, COLUMNS, COLUMNS)


def chosen(size: int) -> GeneralTuning:
    found = choose(square(size), HOPPER, "general")
    assert isinstance(found, GeneralTuning)
    return found


def test_a_large_product_takes_the_largest_tile() -> None:
    assert chosen(4096) == LARGE


@pytest.mark.parametrize("size", [512, 1024])
def test_a_small_product_is_shared_by_more(size: int) -> None:
    tuning, schedule = scheduled(square(size), HOPPER)
    workgroups = schedule.workgroups or tuning.plan(square(size)).grid_size
    assert LARGE.plan(square(size)).grid_size < HOPPER.compute_units <= workgroups


def test_time_grows_with_work_and_with_the_type() -> None:
    small, large = square(2048), square(4096)
    times = [general_cycles(LARGE.plan(c), HOPPER) for c in (small, large)]
    assert 6 < times[1] / times[0] < 9
    wide = [general_cycles(LARGE.plan(replace(small, dtype=t)), HOPPER) for t in (F32, F16, F64)]
    assert wide == sorted(wide)


def test_half_a_machine_takes_no_longer_than_a_part_of_it() -> None:
    """Rounds are whole: one more tile than there are multiprocessors takes two."""
    tiles = [GemmContext(128, 128 * n, 4096, F32, 1, ROWS, COLUMNS, COLUMNS) for n in (66, 132, 133)]
    half, whole, more = (general_cycles(LARGE.plan(c), HOPPER) for c in tiles)
    assert half == whole < more


def test_every_tuning_of_the_space_is_legal() -> None:
    assert [t for t in HOPPER_SPACE if check(t, square(1024), HOPPER)] == []


@pytest.mark.parametrize(("b", "k_per_block"), [(COLUMNS, 8), (ROWS, 16)])
@pytest.mark.parametrize(
    ("m", "n", "k", "parts"),
    [(4096, 4096, 4096, 1), (2048, 2048, 2048, 1), (128, 8192, 8192, 4), (512, 512, 32768, 16)],
)
def test_what_was_best_is_chosen(m: int, n: int, k: int, parts: int, b: Access, k_per_block: int) -> None:
    """On an H200: few tiles of a long k are shared; longer rows where both operands' loads run along k."""
    context = GemmContext(m, n, k, F32, 1, ROWS, b, COLUMNS)
    tuning, schedule = scheduled(context, HOPPER)
    assert tuning == replace(LARGE, k_per_block=k_per_block)
    assert (schedule.workgroups or LARGE.plan(context).grid_size) == parts * LARGE.plan(context).grid_size
    assert (schedule == DATA_PARALLEL) == (parts == 1)


def test_sharing_keeps_the_tuning_that_is_given_and_must_pay() -> None:
    context, small = square(512), GeneralTuning(64, 64, 64, 8, 4, 4)
    tuning, schedule = scheduled(context, HOPPER, small)
    assert tuning == small and schedule.mode == "split_k" and schedule.workgroups is not None
    parts = schedule.workgroups // small.plan(context).grid_size
    alone, shared = (general_cycles(small.plan(context, HOPPER), HOPPER, p) for p in (1, parts))
    assert shared <= alone * (1 - MARGIN)
    assert scheduled(replace(context, k=64), HOPPER, small)[1] == DATA_PARALLEL


def test_a_step_takes_as_long_as_its_tile_is_on_its_way() -> None:
    """Half as many columns take no less time where there is a multiprocessor for each tile."""
    thin, wide = (GemmContext(64, n, 4096, F32, 1, ROWS, COLUMNS, COLUMNS) for n in (64 * 66, 64 * 132))
    tile = GeneralTuning(64, 64, 64, 8, 4, 4)
    assert general_cycles(tile.plan(thin, HOPPER), HOPPER) == general_cycles(tile.plan(wide, HOPPER), HOPPER)


def test_parts_that_are_on_their_way_together_cost_one_way() -> None:
    """Registers hold four others' sums of 16 a work item, and one other's of 64."""
    small, large = (t.plan(square(512), HOPPER) for t in (GeneralTuning(64, 32, 32, 8, 2, 2), LARGE))
    more = [
        added_cycles(small, HOPPER, parts + 1) - added_cycles(small, HOPPER, parts) for parts in range(2, 7)
    ]
    assert max(more) == more[3] > 2 * more[0] and more[0] == pytest.approx(more[1]) == pytest.approx(more[2])
    steps = [
        added_cycles(large, HOPPER, parts + 1) - added_cycles(large, HOPPER, parts) for parts in (2, 3, 4)
    ]
    assert (
        steps == pytest.approx([steps[0]] * 3) and steps[0] > more[3] and added_cycles(small, HOPPER, 1) == 0
    )


def test_a_multiprocessor_holds_fewer_workgroups_of_many_sums_where_they_share_tiles() -> None:
    """What NVRTC 13.0 gives them: 214 to 228 registers and 180 alone, of 6 x 2 x 8 sums."""
    many, few = (
        t.plan(square(1024), HOPPER)
        for t in (GeneralTuning(64, 96, 64, 8, 4, 4), GeneralTuning(64, 32, 32, 8, 2, 2))
    )
    assert (resident_of(many, HOPPER), resident_of(many, HOPPER, shared=True)) == (5, 4)
    assert resident_of(few, HOPPER) == resident_of(few, HOPPER, shared=True)
