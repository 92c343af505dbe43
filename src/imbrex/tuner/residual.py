"""What measurements teach about a model: a regression of the logarithm of time over predicted cycles.

    r = log t - log cycles = a constant + what the features explain + noise

The constant is free, because the model's cycles and the clock have no common unit.  The rest has a prior mean
of zero: with no measurement the model stands, and each measurement moves it a little.  It is ridge regression
on the features and on their distances, that is a Gaussian process whose kernel is a linear part and a part
that falls with distance.  How much of each, a short list says; by leave-one-out the one is taken that would
have foretold each measurement best from the others.  The kernel that explains nothing is on the list, so
what cannot be learnt is not.  Outliers weigh less (Huber's weights).

Law: scaling all times, or all cycles, moves the constant and nothing else; the order of measurements does
not matter.

Sources: Rasmussen and Williams, "Gaussian Processes for Machine Learning", sections 2.2, 2.7 and 5.4.2;
Huber, "Robust Estimation of a Location Parameter", 1964.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imbrex.tuner.features import Floats

__all__ = ["Forecast", "forecast"]

PRIOR_SPREAD: Final = 0.25
"""Standard deviation of the residual before anything is known: a model that ranks is within a quarter."""
PRIOR_COUNT: Final = 4.0
"""How many measurements the prior spread is worth."""
LEAST_SPREAD: Final = 0.005
"""No time is known better than this."""
CONSTANT: Final = 1e3
"""Prior variance of the constant against the noise's: as good as free."""
HUBER: Final = 1.345
"""Residuals over this many standard deviations weigh less; 95 % efficient where noise is normal."""
SIGNALS: Final = (0.3, 1.0, 3.0, 10.0, 30.0)
"""Variance that the features explain, against that of the noise."""
SHARES: Final = ((1.0, 0.0), (0.5, 0.5), (0.0, 1.0))
"""Parts of that variance: the linear one, and the one that falls with distance."""
LENGTH: Final = 0.7
"""Distance, of feature vectors of mean length 1, at which the near part has fallen to exp(-1/2)."""
PASSES: Final = 3
LEAST_EXPLAINED: Final = 0.05
"""The part of the constant's leave-one-out loss that a kernel has to save to be taken."""


@dataclass(frozen=True)
class Forecast:
    """mean, spread: of log t - log cycles, for each row of the features."""

    mean: Floats
    spread: Floats


@dataclass(frozen=True)
class _Kernel:
    signal: float
    linear: float
    near: float

    def __call__(self, a: Floats, b: Floats) -> Floats:
        """Covariance of each row of `a` with each of `b`, against the noise's variance."""
        inner = a @ b.T
        total = np.full_like(inner, CONSTANT)
        if self.signal:
            squares = (a * a).sum(1)[:, None] + (b * b).sum(1)[None, :] - 2 * inner
            near = np.exp(-np.maximum(squares, 0.0) / (2 * LENGTH**2))
            total += self.signal * (self.linear * inner + self.near * near)
        return total

    def own(self, a: Floats) -> Floats:
        """Covariance of each row with itself."""
        return CONSTANT + self.signal * (self.linear * (a * a).sum(1) + self.near)


@dataclass(frozen=True)
class _Fit:
    """inverse: of the covariance of what was measured, noise and all.  left_out: what each measurement is off
    what the others foretell; sized: in units of what was to be expected of it.  scale: the noise's standard
    deviation.
    """

    kernel: _Kernel
    inverse: Floats
    left_out: Floats
    sized: Floats
    scale: float

    @property
    def weights(self) -> Floats:
        """Weights of the next pass."""
        return np.minimum(1.0, HUBER * self.scale / np.maximum(self.sized, LEAST_SPREAD))

    def error(self, bend: float) -> float:
        """Huber's loss, a parabola up to `bend` and a line beyond."""
        size = np.abs(self.left_out)
        return float(np.mean(np.where(size < bend, size * size, bend * (2 * size - bend))))


def forecast(features: Floats, tried: NDArray[np.intp], residuals: Floats) -> Forecast:
    """What the measured residuals of the rows `tried` say of all rows.  features: of `tuner.features`."""
    count = len(tried)
    if not count:
        return Forecast(np.zeros(len(features)), np.full(len(features), PRIOR_SPREAD))
    rows = features / np.sqrt(max(1, features.shape[1]))
    seen, middle = rows[tried], float(np.median(residuals))
    plain = _robust(_fitted(_Kernel(0.0, 0.0, 0.0), seen, residuals - middle), seen, residuals - middle)
    bend = HUBER * max(LEAST_SPREAD, 1.4826 * float(np.median(np.abs(plain.left_out))))
    fits = [_fitted(k, seen, residuals - middle, plain.weights) for k in _kernels()] if count > 2 else []
    found, loss = min(fits, key=lambda fit: fit.error(bend), default=plain), plain.error(bend)
    explained = 1 - found.error(bend) / loss if loss else 0.0
    best = _robust(found if explained > LEAST_EXPLAINED else plain, seen, residuals - middle)
    across = best.kernel(rows, seen)
    mean = middle + across @ (best.inverse @ (residuals - middle))
    unknown = np.maximum(0.0, best.kernel.own(rows) - ((across @ best.inverse) * across).sum(axis=1))
    return Forecast(mean, best.scale * np.sqrt(1.0 + unknown))


def _kernels() -> Iterator[_Kernel]:
    for signal, (linear, near) in product(SIGNALS, SHARES):
        yield _Kernel(signal, linear, near)


def _fitted(kernel: _Kernel, seen: Floats, residuals: Floats, weights: Floats | None = None) -> _Fit:
    """All measurements weigh the same unless weights are given."""
    weighing = np.ones(len(seen)) if weights is None else weights
    return _weighted(kernel, kernel(seen, seen), weighing, residuals)


def _robust(found: _Fit, seen: Floats, residuals: Floats) -> _Fit:
    """A fit in a few passes, each of which weighs less what is far off in the one before."""
    covariance = found.kernel(seen, seen)
    for _ in range(PASSES):
        found = _weighted(found.kernel, covariance, found.weights, residuals)
    return found


def _weighted(kernel: _Kernel, covariance: Floats, weights: Floats, residuals: Floats) -> _Fit:
    inverse = np.asarray(np.linalg.inv(covariance + np.diag(1 / weights)), dtype=np.float64)
    precision = np.diag(inverse)
    left_out = (inverse @ residuals) / precision
    sized = np.abs(left_out) * np.sqrt(precision)
    return _Fit(kernel, inverse, left_out, sized, _scale(sized))


def _scale(sized: Floats) -> float:
    """The noise's standard deviation: robust, and near the prior's where there are few to tell."""
    if len(sized) < 2:
        return PRIOR_SPREAD
    robust = 1.4826 * float(np.median(sized))
    total = PRIOR_COUNT * PRIOR_SPREAD**2 + len(sized) * robust**2
    return max(LEAST_SPREAD, float(np.sqrt(total / (PRIOR_COUNT + len(sized)))))
