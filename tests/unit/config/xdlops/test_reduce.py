"""Pieces of K of tiles that nobody owns: what they cost by the model, when they are chosen, who refuses."""

from __future__ import annotations

from itertools import product

import pytest

from imbrex.bench.resnet import LAYERS, conv
from imbrex.chip import GPU_MACHINES
from imbrex.config import schedule_choice
from imbrex.config.choose import candidates
from imbrex.config.products import products
from imbrex.config.schedule_choice import Offer
from imbrex.config.tiles import parse
from imbrex.config.xdlops.cost import closer_tile_cost, least_dealt_cycles, least_tile_cost, tile_cost
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.config.xdlops.reduce import (
    AT_ONCE,
    best_reduction,
    meeting,
    pieces_of,
    reduced,
    reductions,
    vectors_at_once,
)
from imbrex.diagnostic import Diagnostic
from imbrex.pipeline import Request, configuration_of, machine_for
from imbrex.problem import Conv2d, Gemm
from imbrex.view.work.streamk import ADDED, Added

GFX950 = GPU_MACHINES["gfx950"]
LAYER = next(layer for layer in LAYERS if layer.name == "l2.1x1.256-128")
WIDE = conv(
    next(layer for layer in LAYERS if layer.name == "l3.1x1.256-1024"),
    "backward_weight", "nhwc", dtype="f16", batch=64,
)  # fmt: skip
PROBLEM = conv(LAYER, "backward_weight", "nhwc", dtype="f16", batch=64)
LARGE = Gemm(4096, 4096, 512, dtype="bf16")


def found(problem: Conv2d | Gemm, chip: str) -> list[Offer]:
    request = Request(problem, machine_for(chip, chip, 1), "hip")
    (product,) = products(problem, configuration_of(request), request.machine).products
    return schedule_choice.offers(product.context, request.machine, "xdlops")


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_few_tiles_of_a_long_k_have_a_second_launch(chip: str) -> None:
    """Owners would add the sums of all pieces of a tile one after the other; fewer could meet."""
    costs = {offer.schedule.mode: offer.cost for offer in found(PROBLEM, chip)}
    assert min(costs, key=lambda mode: costs[mode]) == "reduce_k"
    assert costs["reduce_k"] < costs["split_k"] / 1.4


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_those_who_add_meet_where_a_die_holds_them(chip: str) -> None:
    """A launch and its prologue are saved."""
    costs = {offer.schedule.mode: offer.cost for offer in found(WIDE, chip)}
    assert costs["scatter_k"] < 0.95 * min(costs[mode] for mode in costs if mode != "scatter_k")
    machine = GPU_MACHINES[chip]
    for offer in found(WIDE, chip):
        pieces = offer.workgroups // offer.tiles.outputs
        assert offer.schedule.mode != "scatter_k" or 1 < pieces <= meeting(machine)


def test_vectors_that_are_added_at_once_divide_a_work_items() -> None:
    for vectors, pieces in product((1, 4, 12, 16, 20), range(2, 40)):
        together = vectors_at_once(vectors, pieces)
        assert vectors % together == 0 and (together == 1 or together * pieces <= AT_ONCE)
    assert vectors_at_once(16, 2) == 4 and vectors_at_once(20, 4) == 2 and vectors_at_once(16, 8) == 1


@pytest.mark.parametrize("problem", [PROBLEM, Gemm(600, 900, 3000, dtype="f16"), LARGE])
def test_no_way_to_share_undercuts_an_even_share_of_all_steps(problem: Conv2d | Gemm) -> None:
    """The bound that spares a large product the search of other schedules."""
    request = Request(problem, machine_for("gfx950", "gfx950", 1), "hip")
    (product,) = products(problem, configuration_of(request), request.machine).products
    made = found(problem, "gfx950")
    for offer in made:
        assert isinstance(offer.tuning, XdlopsTuning)
        plan = offer.tuning.plan(product.context, GFX950)
        least = [least_dealt_cycles(plan, of) for of in (least_tile_cost, closer_tile_cost, tile_cost)]
        assert 0 < least[0] <= least[1] <= 1.001 * least[2] <= 1.001 * offer.cost
        assert problem != LARGE or offer.schedule.is_shared or least[1] > 0.8 * offer.cost, "it spares none"
    assert schedule_choice.best(product.context, GFX950, "xdlops").cost <= made[0].cost


def test_many_tiles_have_none() -> None:
    assert not any(
        offer.schedule.mode == "reduce_k" for offer in found(Gemm(8192, 8192, 512, dtype="f16"), "gfx950")
    )


@pytest.mark.parametrize("mode", ADDED)
def test_bounds_are_below_what_is_simulated(mode: Added) -> None:
    request = Request(PROBLEM, machine_for("gfx950", "gfx950", 1), "hip")
    (product,) = products(PROBLEM, configuration_of(request), request.machine).products
    tunings = [t for t in candidates(product.context, GFX950, "xdlops") if isinstance(t, XdlopsTuning)]
    near = reductions(tunings, product.context, GFX950, mode)
    assert len(near) > 3 and [clocks for _, clocks in near] == sorted(clocks for _, clocks in near)
    for one, clocks in near:
        assert one.bound <= one.closer <= clocks == one.clocks
        assert one.mode == mode and pieces_of(one.plan, one.schedule) == one.pieces > 1
        assert one.steps * one.pieces >= one.plan.k_iterations > one.steps * (one.pieces - 1)
    assert best_reduction(tunings, product.context, GFX950, mode) == near[:1]
    assert pieces_of(near[0][0].plan, parse("split_k:256")) == 1
    assert reduced(near[0][0].plan, 1).sums == 0


@pytest.mark.parametrize(
    ("target", "schedule", "said"),
    [
        ("avx2", "reduce_k:8", "reduce_k:8 is for waves that multiply matrices, on AMD GPUs"),
        ("sm_90a", "reduce_k:8", "reduce_k:8 is for waves that multiply matrices, on AMD GPUs"),
        ("sm_90a", "scatter_k:8", "scatter_k:8 is for waves that multiply matrices, on AMD GPUs"),
        ("gfx942", "reduce_k:8/wgm=4", "reduce_k begins tiles in the order of their numbers"),
        (
            "gfx942",
            "scatter_k:800",
            "128 workgroups of a tile wait for each other, and a die of",
        ),
    ],
)
def test_what_is_refused(target: str, schedule: str, said: str) -> None:
    machine = machine_for("cpu" if target == "avx2" else target, target, 1)
    request = Request(Gemm(64, 64, 4096, dtype="f32"), machine, target, schedule=parse(schedule))
    with pytest.raises(Diagnostic, match=said):
        configuration_of(request)
