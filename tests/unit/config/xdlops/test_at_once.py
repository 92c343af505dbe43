"""Products of the phases of a gradient in one launch: when, by which tuning, what it costs by the model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.bench.resnet import LAYERS, conv
from imbrex.chip import GPU_MACHINES, GpuMachine
from imbrex.config import choose
from imbrex.config.algorithm.product import Products
from imbrex.config.candidates import candidates
from imbrex.config.configuration import Configuration
from imbrex.config.context import GemmContext
from imbrex.config.legal import check
from imbrex.config.predicted import predicted_seconds
from imbrex.config.products import products
from imbrex.config.schedule_choice import shared_cycles
from imbrex.config.tiles import parse
from imbrex.config.xdlops.at_once import (
    MOST,
    best_at_once,
    clocks_at_once,
    clocks_together,
    in_turn,
    is_at_once,
)
from imbrex.config.xdlops.cost import closer_tile_cost, least_tile_cost, wave_cycles
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.pipeline import Request, configuration_of, lower
from imbrex.problem import Conv2d

LAYER = next(layer for layer in LAYERS if layer.name == "l4.3x3s2.512")
STRIDED = conv(LAYER, "backward_data", "nhwc", dtype="f16", batch=64)
SMALL = Conv2d(
    "backward_data", 4, 32, 13, 11, 48, 3, 3, stride=(2, 2), pad_h=(1, 1), pad_w=(1, 0), dtype="f16",
    filter_layout="KYXC", input_layout="NHWC", output_layout="NHWK",
)  # fmt: skip
TUNING = "v1:xdlops:32,32,4,16,16,8"


def request(problem: Conv2d, chip: str, target: str | None = None) -> Request:
    return Request(problem, GPU_MACHINES[chip], target or chip)


def contexts(problem: Conv2d, of: Configuration, machine: GpuMachine) -> list[GemmContext]:
    made = products(problem, of, machine)
    assert isinstance(made, Products)
    return [product.context for product in made.products]


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_phases_have_one_launch_where_that_is_faster(chip: str) -> None:
    """Fewer clocks than the best of each with a launch of its own, and no fewer than bounds say."""
    machine = GPU_MACHINES[chip]
    pick = configuration_of(request(STRIDED, chip))
    assert len(pick.products) == 4 and is_at_once(pick.products)
    found = contexts(STRIDED, pick, machine)
    tunings = [p.tuning for p in pick.products if isinstance(p.tuning, XdlopsTuning)]
    plans = [tuning.plan(of, machine) for tuning, of in zip(tunings, found, strict=True)]
    clocks = clocks_at_once(plans)
    assert best_at_once(found, machine, "xdlops") == (tunings[0], clocks)
    assert 0 < clocks_at_once(plans, least_tile_cost) <= (closer := clocks_at_once(plans, closer_tile_cost))
    assert closer <= clocks * (1 + 1e-9)
    apart = [choose.choose(of, machine, "xdlops") for of in found]
    alone = [t.plan(of, machine) for t, of in zip(apart, found, strict=True) if isinstance(t, XdlopsTuning)]
    assert clocks < 0.8 * sum(map(wave_cycles, alone))
    longest = max(wave_cycles(replace(plan, context=replace(plan.context))) for plan in plans)
    assert clocks > longest / 2


def test_the_longest_sums_come_first() -> None:
    found = contexts(SMALL, configuration_of(request(SMALL, "gfx942")), GPU_MACHINES["gfx942"])
    assert [found[turn].k for turn in in_turn(found)] == sorted((of.k for of in found), reverse=True)
    assert len({of.k for of in found}) == 3


def test_what_has_launches_of_its_own() -> None:
    pick = configuration_of(request(SMALL, "gfx942"))
    first = pick.products[0]
    assert not is_at_once((first,)) and not is_at_once((first,) * (MOST + 1))
    assert is_at_once((first,) * 2)
    shared = replace(first, schedule=parse("stream_k:4"))
    assert not is_at_once((first, shared))
    other = replace(first, tuning=replace(first.tuning, buffers=1))  # type: ignore[call-arg]
    assert not is_at_once((first, other))


def test_launches_that_follow_each_other_cost_more() -> None:
    machine = GPU_MACHINES["gfx942"]
    pick = configuration_of(request(SMALL, "gfx942"))
    found, launch = contexts(SMALL, pick, machine), 9000
    apart = [replace(p, schedule=parse(f"stream_k:{n}")) for n, p in enumerate(pick.products, 4)]
    each = [shared_cycles(p.schedule, p.tuning, of, machine) for p, of in zip(apart, found, strict=True)]
    assert clocks_together(apart, found, each, machine) == sum(each) + 3 * launch
    assert clocks_together(apart[:1], found[:1], each[:1], machine) == each[0]


def test_a_tuning_that_is_given_is_that_of_one_launch() -> None:
    """On a GPU; the lane-level build has launches one after the other."""
    given = replace(request(SMALL, "gfx942"), tuning=choose_text(TUNING))
    found = lower(given)
    assert len(found.steps) == 1
    assert len(lower(replace(given, target="emulate")).steps) == 4
    seconds = predicted_seconds(given, found.configuration)
    assert seconds is not None and seconds < 4 * 9000 / 2.1e9


def choose_text(text: str) -> XdlopsTuning:
    from imbrex.config.tuning import parse as parse_tuning

    tuning = parse_tuning(text)
    assert isinstance(tuning, XdlopsTuning)
    return tuning


def test_candidates_have_all_products_by_one_tuning() -> None:
    """Each that serves all, and the pick among them."""
    machine = GPU_MACHINES["gfx942"]
    found = candidates(request(SMALL, "gfx942"))
    together = [one for one in found.ranked if is_at_once(one.configuration.products)]
    of = contexts(SMALL, found.ranked[0].configuration, machine)
    served = [
        tuning
        for tuning in choose.candidates(of[0], machine, "xdlops")
        if not any(check(tuning, context, machine) for context in of)
    ]
    assert found.ranked[0] in together and len(together) >= len(served) / 2 > 10
    assert found.ranked[0].cycles == min(one.cycles for one in found.ranked)
