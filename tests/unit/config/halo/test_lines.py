"""Tunings line by line: what follows from one, why one is refused, what there is to choose from."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from imbrex.config import legal, tuning
from imbrex.config.access import context_of
from imbrex.config.halo.cost import LinesCost
from imbrex.config.halo.plan import LinesPlan, LinesTuning
from imbrex.config.warpgroup.rates import rates_of
from imbrex.dtype import dtype

from .test_plan import AMD, HOPPER, Windows, windows

GROUPED = "v1:lines:1,28,64,3,3,32,32,1,4,2,cooperative"


def chosen(text: str) -> LinesTuning:
    found = tuning.parse(text)
    assert isinstance(found, LinesTuning)
    return found


def plan(text: str = GROUPED, of: Windows | None = None) -> LinesPlan:
    of = of or windows()
    return chosen(text).plan(context_of(of.view(chosen(text)), of.dtype), HOPPER)


def test_text() -> None:
    found = chosen(GROUPED)
    assert tuning.text(found) == GROUPED
    assert (found.m_per_block, found.k_per_block, found.block_size) == (1792, 288, 384)


def test_what_follows() -> None:
    found = plan()
    assert legal.check(found.tuning, found.context, HOPPER) == ()
    assert (found.tiles, found.units, found.filters, found.workgroups) == ((256, 1), 2048, 8, 128)
    assert (found.accumulators, found.layout.b_bytes, found.layout.stage_bytes) == (
        48,
        3 * 32 * 5 * 32 * 2,
        5 * 1024,
    )
    assert (found.streams.count, found.streams.most_lines, found.streams.most_parts) == (32, 224, 9)
    assert found.block.tuning == found.tuning and found.tuning.line == 64


def test_images_lie_between_one_another() -> None:
    found = plan("v1:lines:2,28,32,3,3,32,32,1,4,2,cooperative", windows(28))
    assert legal.check(found.tuning, found.context, HOPPER) == ()
    assert (found.tuning.line, found.units) == (64, 512)


WHY = {
    "v1:lines:1,28,64,3,3,16,32,1,4,2,cooperative": "9 taps of 16 channels are not the 288 of gemmK",
    "v1:lines:1,28,64,3,3,48,32,1,4,2,cooperative": "channels 48 are not one of 16, 32, 64",
    "v1:lines:1,28,64,3,3,32,33,1,4,2,cooperative": "n_per_block 33 is not wgmma's for f16",
    "v1:lines:1,28,64,3,3,32,96,1,4,2,cooperative": "3 times 96 filters are not the columns",
    "v1:lines:1,28,128,3,3,32,64,1,4,2,cooperative": "accumulators 192 > 128 of a thread",
    "v1:lines:1,28,64,3,3,32,32,1,1,2,cooperative": "stages 1 is outside 2..16",
    "v1:lines:1,28,64,3,3,32,32,1,4,4,cooperative": "consumers 4 > 3",
    "v1:lines:1,28,64,3,3,32,32,1,16,3,cooperative": "lds_bytes .* > 232448",
    "v1:lines:1,1,64,3,3,32,32,1,4,2,cooperative": "lines 1 < 2",
    "v1:lines:3,14,64,3,3,32,32,3,4,2,cooperative": "are not 3 blocks",
}


@pytest.mark.parametrize("text", WHY)
def test_why_one_is_refused(text: str) -> None:
    reasons = legal.check(chosen(text), plan().context, HOPPER)
    assert any(re.search(WHY[text], str(reason)) for reason in reasons), reasons


@pytest.mark.parametrize(("consumers", "is_legal"), [(1, False), (2, True), (3, True)])
def test_pingpong_takes_two_or_three(consumers: int, is_legal: bool) -> None:
    tuning = chosen(f"v1:lines:1,28,64,3,3,32,32,1,4,{consumers},pingpong")
    reasons = [str(reason) for reason in legal.check(tuning, plan().context, HOPPER)]
    assert reasons == ([] if is_legal else ["pingpong takes 2 or 3 consumers, got 1"])


def test_a_workgroup_keeps_one_part_of_the_filter() -> None:
    many = windows(7, c=32, k=32, g=256, n=8)
    (reason,) = legal.check(
        chosen(text := "v1:lines:8,7,8,3,3,32,32,1,4,2,cooperative"), plan(text, many).context, HOPPER
    )
    assert str(reason) == "256 parts of the filter > 132 workgroups, which keep one each"


def test_it_is_for_hopper() -> None:
    assert "gfx942 has no warpgroup" in str(legal.check(chosen(GROUPED), plan().context, AMD)[0])


@pytest.mark.parametrize(
    "of",
    [
        windows(),
        windows(28),
        windows(14),
        windows(7, n=9),
        windows(56, 64, 64, 0),
        windows(112, 32, 32, 0),
        windows(20, of=dtype("i8"), stored=4),
    ],
    ids=str,
)
def test_there_are_legal_ones(of: Windows) -> None:
    found = [made for made in of.legal() if isinstance(made, LinesPlan)]
    assert found
    for made in found:
        assert legal.check(made.tuning, made.context, HOPPER) == ()
        assert LinesCost(made).cycles > 0


def test_rates_are_the_row_s() -> None:
    """Each line ends later on a GPU made up to be slower at that."""
    rates, made = rates_of(HOPPER), plan()
    slower = replace(rates, line=replace(rates.line, finish=9e4))
    other = replace(made, machine=replace(HOPPER, name="sm_90b", like="sm_90a", warpgroup_rates=slower))
    assert LinesCost(other).cycles > 2 * LinesCost(made).cycles
