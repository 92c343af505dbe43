"""Pieces of K that a second launch adds: what they cost by the model, when they are chosen, who refuses."""

from __future__ import annotations

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
from imbrex.config.xdlops.reduce import best_reduction, pieces_of, reduced, reductions
from imbrex.diagnostic import Diagnostic
from imbrex.pipeline import Request, configuration_of, machine_for
from imbrex.problem import Conv2d, Gemm

GFX950 = GPU_MACHINES["gfx950"]
LAYER = next(layer for layer in LAYERS if layer.name == "l2.1x1.256-128")
PROBLEM = conv(LAYER, "backward_weight", "nhwc", dtype="f16", batch=64)
LARGE = Gemm(4096, 4096, 512, dtype="bf16")


def found(problem: Conv2d | Gemm, chip: str) -> list[Offer]:
    request = Request(problem, machine_for(chip, chip, 1), "hip")
    (product,) = products(problem, configuration_of(request), request.machine).products
    return schedule_choice.offers(product.context, request.machine, "xdlops")


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_few_tiles_of_a_long_k_have_a_second_launch(chip: str) -> None:
    """Owners would add the sums of all pieces of a tile one after the other."""
    costs = {offer.schedule.mode: offer.cost for offer in found(PROBLEM, chip)}
    assert min(costs, key=lambda mode: costs[mode]) == "reduce_k"
    assert costs["reduce_k"] < costs["split_k"] / 1.5


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


def test_bounds_are_below_what_is_simulated() -> None:
    request = Request(PROBLEM, machine_for("gfx950", "gfx950", 1), "hip")
    (product,) = products(PROBLEM, configuration_of(request), request.machine).products
    tunings = [t for t in candidates(product.context, GFX950, "xdlops") if isinstance(t, XdlopsTuning)]
    near = reductions(tunings, product.context, GFX950)
    assert len(near) > 3 and [clocks for _, clocks in near] == sorted(clocks for _, clocks in near)
    for one, clocks in near:
        assert one.bound <= one.closer <= clocks == one.clocks
        assert pieces_of(one.plan, one.schedule) == one.pieces > 1
        assert one.steps * one.pieces >= one.plan.k_iterations > one.steps * (one.pieces - 1)
    assert best_reduction(tunings, product.context, GFX950) == near[:1]
    assert pieces_of(near[0][0].plan, parse("split_k:256")) == 1
    assert reduced(near[0][0].plan, 1).sums == 0


@pytest.mark.parametrize(
    ("target", "schedule", "said"),
    [
        ("avx2", "reduce_k:8", "reduce_k:8 is for waves that multiply matrices, on AMD GPUs"),
        ("sm_90a", "reduce_k:8", "reduce_k:8 is for waves that multiply matrices, on AMD GPUs"),
        ("gfx942", "reduce_k:8/wgm=4", "reduce_k begins tiles in the order of their numbers"),
    ],
)
def test_what_is_refused(target: str, schedule: str, said: str) -> None:
    machine = machine_for("cpu" if target == "avx2" else target, target, 1)
    request = Request(Gemm(64, 64, 4096, dtype="f32"), machine, target, schedule=parse(schedule))
    with pytest.raises(Diagnostic, match=said):
        configuration_of(request)
