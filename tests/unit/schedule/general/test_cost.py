"""General tunings on Hopper: large tiles for large products, work for everybody for small ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.dtype import F16, F32, F64
from imbrex.schedule.choose import choose
from imbrex.schedule.context import Access, GemmContext
from imbrex.schedule.general.cost import general_cycles
from imbrex.schedule.general.plan import GeneralTuning
from imbrex.schedule.target import GPU_TARGETS

HOPPER = GPU_TARGETS["sm_90a"]
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
    found = chosen(size).plan(square(size))
    assert LARGE.plan(square(size)).grid_size < HOPPER.compute_units <= found.grid_size


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
