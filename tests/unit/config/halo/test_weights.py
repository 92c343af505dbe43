"""Tunings of halo weights: what follows from one, why one is refused, and what the model takes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.unit.config.convs import grouped

from imbrex.chip import GPU_MACHINES
from imbrex.config import legal, tuning
from imbrex.config.access import context_of
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.config.halo.choice import WeightWindows
from imbrex.config.halo.cost import HaloWeightCost
from imbrex.config.halo.plan import HaloWeightPlan, HaloWeightTuning
from imbrex.config.request import Request
from imbrex.dtype import DType, dtype
from imbrex.problem import Conv2d

HOPPER, AMD = GPU_MACHINES["sm_90a"], GPU_MACHINES["gfx942"]
F16 = dtype("f16")
RESNEXT = "v1:halo_weight:1,4,6,60,9,64,1,33,2,3"


def windows(
    size: int = 56, c: int = 64, k: int = 64, g: int = 4, n: int = 128, of: DType = F16, taps: int = 3
) -> WeightWindows:
    conv = grouped(n=n, g=g, c=c, size=size, k=k, taps=taps)
    return WeightWindows(conv, of, HOPPER, 1)


def chosen(text: str) -> HaloWeightTuning:
    found = tuning.parse(text)
    assert isinstance(found, HaloWeightTuning)
    return found


def plan(text: str = RESNEXT, of: WeightWindows | None = None) -> HaloWeightPlan:
    of = of or windows()
    return chosen(text).plan(context_of(of.view(chosen(text)), of.dtype), HOPPER)


def test_text() -> None:
    found = chosen(RESNEXT)
    assert tuning.text(found) == RESNEXT
    assert (found.tile, found.own_columns, found.block_size) == ((64, 576, 240), 192, 512)


def test_what_follows() -> None:
    found = plan()
    assert (found.units, found.workgroups, found.k_iterations, found.accumulators) == (132, 132, 55, 96)
    assert (
        found.layout.a_bytes == 240 * 128
        and found.tuning.loaded_pixels == 360
        and found.layout.b_bytes >= 368 * 128
    )
    assert found.block.tuning == found.tuning and found.tuning.n_per_block == 576
    assert legal.check(found.tuning, found.context, HOPPER) == ()


REASONS = {
    "1,4,6,60,9,64,1,33,3,3": r"lds_bytes \d+ > 232448",
    "1,4,6,60,9,64,1,33,1,3": "stages 1 is outside 2..16",
    "1,4,6,60,9,64,1,33,2,4": "consumers 4 > 3",
    "1,4,6,60,9,64,1,33,2,2": "9 taps are not shared by 2 consumers",
    "1,3,5,60,9,64,1,33,2,3": "3 lines of 60 pixels are not a multiple of 16",
    "1,4,3,60,9,64,1,33,2,3": "a box of 3 lines of 60 pixels is not one of 4 to 256 lines",
    "1,4,6,60,9,48,1,33,2,3": "channels 48 are not one of 16, 32, 64",
    "1,4,6,60,3,64,1,33,2,3": "3 taps of 64 channels are not the 576 of gemmN",
    "1,4,6,60,9,64,1,32,2,3": "132 products are not 32 shares",
    "1,4,6,64,9,64,1,33,2,3": "13200 pixels of a share are not whole steps of 256",
    "1,2,4,64,9,64,4,33,4,3": "stages 4 are not as many, 2 at least, of each of 3 consumers in turn",
    "1,2,2,64,9,64,4,33,4,2": "2 lines are without a halo, which warps keep of planes alone",
    "1,2,4,64,9,64,4,33,2,2": "stages 2 are not as many, 2 at least, of each of 2 consumers in turn",
    "1,4,6,60,9,64,4,33,4,2": "lines of 60 pixels are not a multiple of 16",
    "1,4,6,60,9,64,2,33,4,2": "2 blocks of 64 channels are not 4 of 16",
    "1,4,6,60,9,64,1,33,2,1": "576 columns of a consumer are not wgmma's",
}


@pytest.mark.parametrize(("text", "reason"), REASONS.items(), ids=REASONS)
def test_reasons(text: str, reason: str) -> None:
    found = legal.check(chosen(f"v1:halo_weight:{text}"), plan().context, HOPPER)
    assert any(re.search(reason, broken.reason) for broken in found), found


def test_it_is_for_hopper_and_16_bits() -> None:
    found = plan()
    (reason,) = legal.check(found.tuning, found.context, AMD)
    assert reason.reason == "gfx942 has no warpgroup instructions, sm_90a has"
    told = legal.check(found.tuning, replace(found.context, dtype=dtype("tf32")), HOPPER)
    assert told[0].reason == "wgmma multiplies rows of pixels of f16 and bf16, not tf32"


@pytest.mark.parametrize(
    "of",
    [
        windows(),
        windows(28, g=8),
        windows(14, 128, 128, 1),
        windows(7, 256, 64, 2, 5),
        windows(13, 32, 64, 1),
    ],
    ids=lambda of: str(of.conv.input),
)
def test_what_the_model_takes_is_legal(of: WeightWindows) -> None:
    found = of.best()
    assert isinstance(found, HaloWeightTuning)
    made = found.plan(context_of(of.view(found), F16), HOPPER)
    assert legal.check(found, made.context, HOPPER) == ()
    assert made.units <= 2 * HOPPER.compute_units or found.shares == 1


def test_the_model_knows_the_context_of_a_tuning() -> None:
    """Without asking how the arrays of each lie in memory."""
    of = windows(28, g=2)
    for made in list(of.legal())[::7]:
        exact = context_of(of.view(made.tuning), F16)
        assert (made.context.g, made.context.m, made.context.n, made.context.k) == (
            exact.g, exact.m, exact.n, exact.k,
        )  # fmt: skip


def test_more_pixels_take_longer() -> None:
    few, many = plan(of=windows(n=64)), plan(of=windows(n=128))
    assert HaloWeightCost(few).cycles < HaloWeightCost(many).cycles


@pytest.mark.parametrize(
    ("of", "reason"),
    [
        (windows(k=96), "96 filters of a group are not a multiple of 64"),
        (windows(c=48), "48 channels of a group are not whole rows of shared memory"),
        (windows(taps=1), "a window of one tap is read once anyway"),
        (windows(taps=5), "no step of it fits in shared memory and registers"),
    ],
    ids=str,
)
def test_what_has_no_tuning(of: WeightWindows, reason: str) -> None:
    assert of.best() == reason


LAYERS = {
    "halo:8": {"c": 256, "k": 256, "h": 56, "w": 56, "groups": 32},
    "halo:4": {"c": 512, "k": 512, "h": 28, "w": 28, "groups": 32},
    "halo:1": {"c": 64, "k": 64, "h": 56, "w": 56},
    "v4r4": {"c": 512, "k": 512, "h": 7, "w": 7},
}
"""What was fastest of a layer of ResNeXt and ResNet on an H200, by a third at least."""


@pytest.mark.parametrize(("algorithm", "shape"), LAYERS.items(), ids=LAYERS)
def test_the_model_takes_what_was_fastest(algorithm: str, shape: dict[str, int]) -> None:
    last = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
    problem = Conv2d("backward_weight", 128, y=3, x=3, pad_h=1, pad_w=1, dtype="f16", **shape, **last)  # type: ignore[arg-type]
    assert algorithm_of(Request(problem, HOPPER, "sm_90a")) == algorithm
