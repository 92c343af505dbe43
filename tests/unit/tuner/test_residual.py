"""The regression of what the model is off by: it learns what can be learnt, and nothing where nothing can."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from imbrex.tuner.residual import forecast

RNG = np.random.default_rng(5)
FEATURES = RNG.normal(size=(200, 6))
LINEAR = FEATURES @ np.array([0.2, -0.1, 0.05, 0.0, 0.0, 0.1])
CURVED = 0.15 * FEATURES[:, 0] ** 2 - 0.1 * FEATURES[:, 1] * FEATURES[:, 2]
TRIED = np.arange(0, 200, 4)
REST = np.setdiff1d(np.arange(200), TRIED)


def left_over(truth: np.ndarray, noise: float = 0.01) -> float:
    """Of the spread of rows that were not tried, the part that the forecast leaves."""
    noisy = truth + noise * np.random.default_rng(1).normal(size=200)
    found = forecast(FEATURES, TRIED, noisy[TRIED])
    return float(np.std((truth - found.mean)[REST]) / np.std(truth[REST]))


def test_without_measurements_the_model_stands() -> None:
    found = forecast(FEATURES, np.array([], dtype=np.intp), np.array([]))
    assert not found.mean.any() and (found.spread > 0.1).all()


def test_one_measurement_moves_the_constant_alone() -> None:
    found = forecast(FEATURES, np.array([7]), np.array([3.0]))
    np.testing.assert_allclose(found.mean, 3.0)


def test_a_law_is_learnt() -> None:
    assert left_over(LINEAR) < 0.15
    assert left_over(CURVED) < 0.8


def test_what_is_no_law_is_not_learnt() -> None:
    """Noise moves the constant alone, though some kernel always explains a little of it."""
    for seed in range(2, 6):
        noise = 0.1 * np.random.default_rng(seed).normal(size=200)
        assert np.ptp(forecast(FEATURES, TRIED, noise[TRIED]).mean) == 0


def test_outliers_count_less() -> None:
    disturbed = LINEAR + 0.01 * RNG.normal(size=200)
    disturbed[TRIED[::10]] += 2.0
    found = forecast(FEATURES, TRIED, disturbed[TRIED])
    assert np.std((LINEAR - found.mean)[REST]) < 0.35 * np.std(LINEAR[REST])


def test_the_spread_covers_what_it_should() -> None:
    noisy = LINEAR + 0.05 * np.random.default_rng(3).normal(size=200)
    found = forecast(FEATURES, TRIED, noisy[TRIED])
    sized = np.abs(noisy - found.mean)[REST] / found.spread[REST]
    assert 0.85 < np.mean(sized < 2) <= 1


@settings(max_examples=15, deadline=None)
@given(st.floats(-20, 20), st.permutations(range(len(TRIED))))
def test_units_and_order_do_not_matter(unit: float, order: list[int]) -> None:
    values = LINEAR[TRIED] + 0.02 * np.random.default_rng(4).normal(size=len(TRIED))
    one = forecast(FEATURES, TRIED, values)
    two = forecast(FEATURES, TRIED[order], values[order] + unit)
    np.testing.assert_allclose(two.mean - unit, one.mean, atol=1e-6)
    np.testing.assert_allclose(two.spread, one.spread, rtol=1e-6)
