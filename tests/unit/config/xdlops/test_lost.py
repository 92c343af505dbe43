"""Where clocks go by the model: the parts are those of the whole, whatever the schedule."""

from __future__ import annotations

import pytest

from imbrex.bench.resnet import LAYERS, conv
from imbrex.chip import GPU_MACHINES
from imbrex.config.algorithm.product import Products
from imbrex.config.products import products
from imbrex.config.schedule_choice import shared_cycles
from imbrex.config.xdlops.at_once import clocks_together
from imbrex.config.xdlops.lost import lost_of
from imbrex.pipeline import Request, configuration_of
from imbrex.problem.conv import DIRECTIONS, Direction

NAMES = ("l1.3x3.64", "l3.1x1.256-1024", "l4.3x3s2.512", "l1.1x1.64-64")
CHIPS = ("gfx942", "gfx950")


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_parts_are_those_of_the_whole(name: str, direction: Direction, chip: str) -> None:
    machine = GPU_MACHINES[chip]
    layer = next(layer for layer in LAYERS if layer.name == name)
    problem = conv(layer, direction, "nhwc", dtype="f16", batch=64)
    found = configuration_of(Request(problem, machine, chip))
    made = products(problem, found, machine)
    assert isinstance(made, Products)
    contexts = [product.context for product in made.products]
    lost = lost_of(found.products, contexts, machine)
    pairs = zip(found.products, contexts, strict=True)
    each = [shared_cycles(one.schedule, one.tuning, of, machine) for one, of in pairs]
    assert lost.clocks == pytest.approx(clocks_together(found.products, contexts, each, machine))
    assert all(clocks >= -0.02 * lost.clocks for clocks in lost.parts.values()), lost
    assert 0 < lost.useful < lost.clocks and 0 < lost.in_loop <= 1 and lost.held in ("loads", "LDS")
    flops = 2 * sum(of.multiplies for of in contexts)
    peak = {"gfx942": 1307e12 / 2.1e9, "gfx950": 2516e12 / 2.4e9}[chip]
    assert flops / lost.useful == pytest.approx(peak, rel=0.01)
