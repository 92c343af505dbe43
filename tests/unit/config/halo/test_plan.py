"""Halo tunings: what follows from one, why one is refused, and what the model takes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.unit.config.convs import grouped

from imbrex.chip import GPU_MACHINES
from imbrex.config import legal, tuning
from imbrex.config.access import context_of
from imbrex.config.halo.choice import Windows
from imbrex.config.halo.plan import HaloPlan, HaloTuning, ImageTuning
from imbrex.config.kinds import kind_of
from imbrex.dtype import DType, dtype

HOPPER, AMD = GPU_MACHINES["sm_90a"], GPU_MACHINES["gfx942"]
F16 = dtype("f16")
RESNEXT = "v1:halo:1,7,9,64,9,32,32,1,4,2,pingpong"


def windows(
    size: int = 56, c: int = 32, k: int = 32, g: int = 8, n: int = 128, of: DType = F16, stored: int = 2
) -> Windows:
    conv = grouped(n=n, g=g, c=c, size=size, k=k)
    return Windows(conv, of, HOPPER, 1, "forward", stored)


def chosen(text: str) -> HaloTuning:
    found = tuning.parse(text)
    assert isinstance(found, HaloTuning)
    return found


def plan(text: str = RESNEXT, of: Windows | None = None) -> HaloPlan:
    of = of or windows()
    return chosen(text).plan(context_of(of.view(chosen(text)), of.dtype), HOPPER)


def test_text() -> None:
    found = chosen(RESNEXT)
    assert tuning.text(found) == RESNEXT
    assert (found.m_per_block, found.k_per_block, found.tile, found.block_size) == (
        448,
        288,
        (32, 448, 288),
        384,
    )


def test_what_follows() -> None:
    found = plan()
    assert legal.check(found.tuning, found.context, HOPPER) == ()
    assert (found.tiles, found.units, found.filters) == ((1024, 1), 8192, 8)
    assert (found.workgroups, found.keeps_filter) == (128, True), (
        "132 would change the filter from tile to tile"
    )
    assert found.layout.stage_bytes == 37 * 1024 and found.accumulators == 112
    assert found.block.tuning == found.tuning and found.tuning.loaded_pixels == 9 * 64


def test_one_filter_has_all_multiprocessors() -> None:
    found = plan("v1:halo:1,4,6,64,9,64,64,1,2,2,pingpong", windows(c=64, k=64, g=0))
    assert (found.workgroups, found.keeps_filter) == (132, True)


WHY = {
    "v1:halo:1,7,9,64,9,16,32,1,4,2,pingpong": "9 taps of 16 channels are not the 288 of gemmK",
    "v1:halo:1,7,9,64,6,48,32,1,4,2,pingpong": "channels 48 are not one of 16, 32, 64",
    "v1:halo:1,7,9,64,9,32,33,1,4,2,pingpong": "n_per_block 33 is not wgmma's for f16",
    "v1:halo:1,7,9,64,9,32,64,1,4,2,pingpong": "accumulators 224 > 128 of a thread",
    "v1:halo:1,7,9,64,9,32,32,1,4,3,cooperative": "448 pixels of a tile are not a multiple of 192",
    "v1:halo:1,7,9,64,9,32,32,1,4,3,pingpong": "pingpong takes 2 consumers, got 3",
    "v1:halo:1,7,9,64,9,32,32,1,1,2,pingpong": "stages 1 is outside 2..16",
    "v1:halo:1,7,9,64,9,32,32,1,9,2,pingpong": "lds_bytes .* > 232448",
    "v1:halo:1,7,6,64,9,32,32,1,4,2,pingpong": "a box of 6 lines of 64 pixels is not one of 7 to 256",
}  # fmt: skip


@pytest.mark.parametrize("text", WHY)
def test_why_one_is_refused(text: str) -> None:
    context = plan().context
    reasons = legal.check(chosen(text), context, HOPPER)
    assert any(re.search(WHY[text], str(reason)) for reason in reasons), reasons


def test_it_is_for_hopper() -> None:
    assert "gfx942 has no warpgroup" in str(legal.check(chosen(RESNEXT), plan().context, AMD)[0])


@pytest.mark.parametrize(
    "of",
    [
        windows(),
        windows(28),
        windows(14),
        windows(7),
        windows(56, 64, 64, 0),
        windows(30, 16, 24, 3),
        windows(20, of=dtype("i8"), stored=4),
    ],
    ids=str,
)
def test_the_model_takes_a_legal_one(of: Windows) -> None:
    best = of.best()
    assert isinstance(best, ImageTuning), best
    context = context_of(of.view(best), of.dtype)
    assert legal.check(best, context, HOPPER) == ()
    taken = kind_of(best).cost(best, context, HOPPER)
    assert taken == min(of.priced.values())
    fewer = replace(best, stages=2)
    assert taken <= kind_of(fewer).cost(fewer, context, HOPPER)


def test_results_of_four_bytes_leave_room() -> None:
    """The pieces of a result that an epilogue makes wider."""
    for made in windows(stored=4).legal():
        pieces = 2 * made.tuning.consumers
        assert made.layout.bytes + pieces * 64 * made.tuning.n_per_block * 2 <= HOPPER.lds_bytes


def test_why_there_is_none() -> None:
    assert windows(c=256, k=256, g=0).best() == "no tile of it fits in shared memory and registers"
    assert windows(c=3, g=0).best() == "3 channels are not a multiple of 16 bytes"
    assert windows(c=8).best() == "8 channels of a group are not whole rows of shared memory"
    assert windows(stored=1).best() == "warpgroups store elements of two and of four bytes"
