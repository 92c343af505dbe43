"""Configurations of the Triton peer: each at most once for a problem, sensible for it, and fit for Hopper."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from imbrex.bench.corpus import sample
from imbrex.bench.gpu.triton_peer.configs import LEAST_STEPS, MOST_PARTS, Config, configs, parts_for

PROCESSORS = 132
SHARED_BYTES = 227 * 1024
SIZES = [*sample(48), (8, 8, 8), (1, 4096, 65536), (16384, 16384, 64)]


def compiled(config: Config) -> Config:
    """What is compiled: the number of parts is an argument."""
    return replace(config, parts=1)


@pytest.mark.parametrize("described", [True, False])
def test_no_configuration_is_named_twice(described: bool) -> None:
    for size in SIZES:
        found = configs(*size, PROCESSORS, described=described)
        assert found and len(set(found)) == len(found) == len({str(config) for config in found}), size


def test_sizes_choose_among_a_few_dozen_kernels() -> None:
    kernels = {compiled(c) for size in SIZES for c in configs(*size, PROCESSORS, described=True)}
    assert {config.way for config in kernels} == {"tiles", "persistent", "parts"}
    assert len(kernels) <= 40, "each takes a quarter of a second to compile"


def test_what_descriptors_cannot_say_is_read_by_pointers() -> None:
    for size in SIZES:
        assert {c.way for c in configs(*size, PROCESSORS, described=False)} == {"pointers"}


def test_stages_of_both_operands_fit_in_shared_memory() -> None:
    for size in SIZES:
        for is_described in (True, False):
            for config in configs(*size, PROCESSORS, described=is_described):
                held = 2 * (config.rows + config.columns) * config.depth * config.stages
                assert held < SHARED_BYTES, config


def test_triton_takes_every_configuration() -> None:
    """Blocks and warps are powers of two, as Triton wants them; a warpgroup multiplies 64 rows or is shared;
    sums are at most 256 registers of a thread, and stages are in flight.
    """
    for size, is_described in product(SIZES, (True, False)):
        for config in configs(*size, PROCESSORS, described=is_described):
            assert all(of & (of - 1) == 0 for of in (config.rows, config.columns, config.depth)), config
            assert config.warps in (4, 8) and 2 <= config.stages <= 6, config
            assert config.columns >= 16 and 2 * config.depth % 128 == 0, config
            assert config.rows * config.columns <= 128 * 32 * config.warps, config


def test_programs_go_through_tiles_only_where_there_are_more_tiles() -> None:
    for m, n, k in SIZES:
        for config in configs(m, n, k, PROCESSORS, described=True):
            assert config.way != "persistent" or config.tiles(m, n) > PROCESSORS
            assert (config.parts > 1) == (config.way == "parts")
            assert config.parts == 1 or config.parts * config.tiles(m, n) <= PROCESSORS


@pytest.mark.parametrize(
    ("tiles", "steps", "found"),
    [
        (1, 1000, (MOST_PARTS, MOST_PARTS // 2)),
        (30, 1000, (4, 2)),
        (44, 1000, (3,)),
        (66, 1000, (2,)),
        (67, 1000, ()),
        (1, 2 * LEAST_STEPS, (2,)),
        (1, 2 * LEAST_STEPS - 1, ()),
        (1000, 1000, ()),
    ],
)
def test_parts_fill_the_processors_and_keep_some_steps(
    tiles: int, steps: int, found: tuple[int, ...]
) -> None:
    assert parts_for(tiles, steps, PROCESSORS) == found


def test_tiles_cover_the_result() -> None:
    assert Config("tiles", 128, 256, 64, 3, 8).tiles(129, 256) == 2
    assert Config("tiles", 128, 256, 64, 3, 8).tiles(128, 257) == 2
    assert str(Config("parts", 64, 32, 128, 4, 4, 5)) == "parts 64x32x128, 4 stages, 4 warps, 5 parts"
