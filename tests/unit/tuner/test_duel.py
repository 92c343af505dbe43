"""Duels: equal kernels do not replace each other, faster ones do, and what blocks share does not matter."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from imbrex.tuner import duel
from imbrex.tuner.duel import FEWEST_PAIRS, MOST_PAIRS, duels, pairs_needed, undisturbed, winner


def blocks(seed: int, pairs: int, gains: list[float], spread: float, kind: str = "normal") -> np.ndarray:
    """Times of an incumbent and of finalists that are faster by `gains`, with a drift that all share."""
    rng = np.random.default_rng(seed)
    shape = (pairs, 1 + len(gains))
    noise = rng.normal(size=shape) if kind == "normal" else rng.exponential(size=shape)
    drift = np.cumsum(0.05 * rng.normal(size=(pairs, 1)), axis=0)
    return np.exp(np.log1p(-np.array([0.0, *gains])) + spread * noise + drift) * 1e5


@pytest.mark.parametrize(("kind", "finalists"), [("normal", 1), ("normal", 8), ("exponential", 8)])
@pytest.mark.parametrize("pairs", [FEWEST_PAIRS, 40])
def test_equal_kernels_do_not_replace_the_incumbent(kind: str, finalists: int, pairs: int) -> None:
    """With no margin, too: what Holm and the ranks promise."""
    runs = 200
    found = [duels(undisturbed(blocks(s, pairs, [0.0] * finalists, 0.05, kind))) for s in range(runs)]
    assert sum(winner(f) is not None for f in found) <= 0.05 * runs


def test_the_level_is_held_at_the_margin_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duel, "LEAST_GAIN", 0.0)
    runs = 400
    found = [winner(duels(blocks(seed, 20, [0.0] * 4, 0.02))) for seed in range(runs)]
    false = sum(place is not None for place in found)
    assert 0 < false <= 0.065 * runs  # three standard deviations over 5 % would be 0.083


def test_a_faster_kernel_replaces_it() -> None:
    found = [winner(duels(blocks(seed, 20, [0.0, 0.03, 0.01], 0.01))) for seed in range(50)]
    assert found == [1] * 50


def test_pairs_needed_give_the_power_that_they_promise() -> None:
    seen = 0
    for seed in range(60):
        first = blocks(seed, FEWEST_PAIRS, [0.015], 0.01)
        times = blocks(seed + 1000, pairs_needed(first), [0.015], 0.01)
        seen += winner(duels(times)) == 0
    assert seen >= 51  # of 54 expected


def test_pairs_needed_grow_with_the_noise_within_bounds() -> None:
    counts = [pairs_needed(blocks(0, 40, [0.0, 0.0], spread)) for spread in (0.001, 0.01, 0.012, 1.0)]
    assert counts == sorted(counts)
    assert counts[0] == FEWEST_PAIRS < counts[1] < MOST_PAIRS == counts[-1]
    assert pairs_needed(blocks(0, 1, [0.0], 0.1)) == FEWEST_PAIRS
    assert pairs_needed(blocks(0, 5, [], 0.1)) == FEWEST_PAIRS


def test_drift_cancels() -> None:
    steady = blocks(1, 20, [0.02], 0.002)
    drifting = steady * np.linspace(1, 5, 20)[:, None]
    assert duels(drifting)[0].gain == pytest.approx(duels(steady)[0].gain)
    control = np.concatenate([steady[:, :1] * np.linspace(1, 5, 20)[:, None], steady[:, 1:]], axis=1)
    assert duels(control)[0].gain > 0.5


def test_bounds_hold_the_gain_and_too_few_pairs_bound_nothing() -> None:
    (one,) = duels(blocks(3, 30, [0.04], 0.01))
    assert one.lower < one.gain < one.upper and one.pairs == 30
    assert one.lower == pytest.approx(0.04, abs=0.01) and one.upper == pytest.approx(0.04, abs=0.01)
    (few,) = duels(blocks(3, 3, [0.5], 0.01))
    assert not few.replaces and few.lower == -np.inf and few.upper == 1.0
    assert duels(blocks(3, 30, [], 0.01)) == []


def test_proven_is_a_lower_bound_over_the_margin() -> None:
    for seed, gain in product(range(40), (0.0, 0.006, 0.01)):
        (one,) = duels(blocks(seed, 20, [gain], 0.006))
        assert one.replaces == (one.lower > 0.005)


def test_many_finalists_make_it_harder() -> None:
    alone = blocks(7, 12, [0.012], 0.008)
    crowd = np.concatenate([alone, blocks(8, 12, [0.0] * 8, 0.008)[:, 1:]], axis=1)
    assert duels(crowd)[0].lower <= duels(alone)[0].lower
    assert duels(crowd)[0].gain == duels(alone)[0].gain


def test_ranks_are_wilcoxons() -> None:
    """Every choice of signs, by brute force."""
    sums = [sum(rank for rank, sign in enumerate(signs, 1) if sign) for signs in product((0, 1), repeat=7)]
    np.testing.assert_allclose(duel._ranks(7), np.bincount(sums) / 2**7)


def test_disturbed_blocks_are_left_out_whoever_is_slow() -> None:
    times = blocks(4, 30, [0.0, 0.0], 0.003)
    times = times / times.mean(axis=1, keepdims=True)
    slow = times.copy()
    slow[5] *= 2.0
    slow[9, 2] *= 1.5  # of one contender alone
    kept = undisturbed(slow)
    assert len(kept) == 28
    assert len(undisturbed(times)) == 30
    marked = np.zeros(30, dtype=np.bool_)
    marked[:3] = True
    np.testing.assert_array_equal(undisturbed(times, marked), times[3:])
    assert len(undisturbed(times[:2])) == 2


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 1000), st.permutations(range(15)), st.floats(0.1, 10))
@example(713, list(range(15)), 1.0)  # two are as likely to be equal to the incumbent
def test_orders_and_units_do_not_matter(seed: int, order: list[int], unit: float) -> None:
    times = blocks(seed, 15, [0.02, -0.01, 0.0], 0.01)
    (one, two, three), turned = duels(times), duels(unit * times[order][:, [0, 3, 1, 2]])
    for a, b in zip((three, one, two), turned, strict=True):
        assert a.gain == pytest.approx(b.gain, abs=1e-9)
        assert a.lower == pytest.approx(b.lower, abs=1e-9)
        assert a.replaces == b.replaces
    swapped = duels(times[:, [1, 0]])[0]
    assert np.log1p(-swapped.gain) == pytest.approx(-np.log1p(-one.gain)), "whoever is called the incumbent"


@pytest.mark.parametrize("pairs", [FEWEST_PAIRS, 11, 30])
def test_bounds_are_those_of_the_other_one_turned(pairs: int) -> None:
    """Who is faster by so much is slower by as much in the other's place, and so are the bounds."""
    times = blocks(7, pairs, [0.02], 0.01)
    (one,), (other,) = duels(times), duels(times[:, ::-1])
    assert (1 - one.lower) * (1 - other.upper) == pytest.approx(1)
    assert (1 - one.upper) * (1 - other.lower) == pytest.approx(1)
    assert (1 - one.gain) * (1 - other.gain) == pytest.approx(1)


def test_a_bound_is_the_mean_of_pairs_that_wilcoxons_table_names() -> None:
    """Of 10 pairs, sums of ranks up to 10 have 4.2 % of the chance, up to 11 5.3 %: at 5 % the bound is the
    eleventh of the means of pairs from either end.
    """
    gains = np.array([0.01, 0.02, 0.04, 0.08, 0.16, -0.02, 0.03, 0.05, 0.11, 0.07])
    (one,) = duels(np.exp(np.stack([np.zeros(10), -gains], axis=1)))
    first, second = np.triu_indices(10)
    means = np.sort((gains[first] + gains[second]) / 2)
    assert duel.ERROR == 0.05
    assert (one.lower, one.upper) == pytest.approx((1 - np.exp(-means[10]), 1 - np.exp(-means[-11])))
    assert one.gain == pytest.approx(1 - np.exp(-np.median(means)))
