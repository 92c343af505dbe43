"""Fit: parameters of a machine's model from times of configurations, by robust least squares.

    log(time) = log(the model's cycles) + what all of a series have in common

A series is one problem's: what its times have in common, the clock and what the model does not know of the
problem, ranks nothing.  Each parameter is looked for as the logarithm of its ratio to the default, as a part
of the way to its bounds; residuals over ROUGH count by their size, no longer by its square; and PRIOR holds
what the times do not tell at its default.  Levenberg's and Marquardt's steps, derivatives by differences.

Laws: nothing is drawn by lot.  Without times all parameters are the defaults; none leaves its bounds.

Sources: Marquardt, "An Algorithm for Least-Squares Estimation of Nonlinear Parameters", 1963; Huber, "Robust
Estimation of a Location Parameter", 1964; its smooth form: Hartley and Zisserman, "Multiple View Geometry",
A6.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from imbrex.chip import Machine, Parameter, parameters, with_parameters
from imbrex.config.modelled import Modelled
from imbrex.tuner.features import Floats

__all__ = ["Series", "fitted", "held_out", "regret"]

ROUGH: Final = 0.1
PRIOR: Final = 4e-4
"""Weight of each parameter at a bound, beside the mean square of residuals."""
NEAR_BEST: Final = 2.0
"""The power of its time by which one counts less than the fastest: the pick is one of the fast."""
STEPS: Final = 12
LONGEST: Final = 0.5
"""The most that a step takes of the way to a bound."""
DIFFERENCE: Final = 0.02
ENOUGH: Final = 1e-3
"""What a step must gain, in proportion, for another one to follow."""
FOLDS: Final = 5


@dataclass(frozen=True)
class Series:
    """One problem's configurations: the logarithms of their times, and the model of each."""

    log_ns: Floats
    model: Modelled

    @property
    def weights(self) -> Floats:
        """How much each counts; 1 in all."""
        found = np.exp(-NEAR_BEST * (self.log_ns - self.log_ns.min()))
        return found / found.sum()


def regret(series: Series, machine: Machine) -> float:
    """The part by which the model's pick is slower than the fastest."""
    pick = int(np.argmin(series.model(machine)))
    return float(np.expm1(series.log_ns[pick] - series.log_ns.min()))


def held_out(found: Sequence[Series], machine: Machine) -> list[float]:
    """The regret of each series by what was fitted without it, every fifth one left out at a time."""
    regrets = [0.0] * len(found)
    for fold in range(min(FOLDS, len(found))):
        there = fitted([series for index, series in enumerate(found) if index % FOLDS != fold], machine)
        for index in range(fold, len(found), FOLDS):
            regrets[index] = regret(found[index], there)
    return regrets


def fitted(found: Sequence[Series], machine: Machine) -> Machine:
    """The machine with the parameters that explain the times best."""
    free_parameters = parameters(machine)
    if not found or not free_parameters:
        return machine
    sought = _Sought(found, machine, free_parameters)
    point = np.zeros(len(free_parameters))
    best = sought.loss(point)
    for _ in range(STEPS):
        matrix, slope = sought.normal(point)
        damping, before = 1e-2, best
        while damping < 1e2:
            step = np.linalg.solve(matrix + damping * np.diag(np.diag(matrix)), slope)
            tried = np.clip(point + np.clip(step, -LONGEST, LONGEST), -1, 1)
            if (loss := sought.loss(tried)) < best:
                point, best = tried, loss
                break
            damping *= 8
        if before - best <= ENOUGH * before:
            break
    return sought.machine_at(point)


@dataclass(frozen=True)
class _Sought:
    """What is minimised, over points: a number for each parameter, 0 for the default, -1 and 1 for bounds."""

    series: Sequence[Series]
    machine: Machine
    parameters: Sequence[Parameter]

    def machine_at(self, point: Floats) -> Machine:
        values = [
            (p.name, p.default * (p.high / p.default) ** float(of))
            for p, of in zip(self.parameters, point, strict=True)
        ]
        return with_parameters(self.machine, values)

    def loss(self, point: Floats) -> float:
        off, weights = self._off(self._logs(point)), self._weights
        rough = 2 * ROUGH**2 * (np.sqrt(1 + (off / ROUGH) ** 2) - 1)
        return float(weights @ rough + PRIOR * point @ point)

    def normal(self, point: Floats) -> tuple[Floats, Floats]:
        """The matrix and the right side of a step's equations."""
        logs = self._logs(point)
        off = self._off(logs)
        moved = [self._off(self._logs(point + DIFFERENCE * unit)) for unit in np.eye(len(point))]
        slopes = (off - np.array(moved)) / DIFFERENCE
        weights = self._weights / np.sqrt(1 + (off / ROUGH) ** 2)
        matrix = slopes * weights @ slopes.T + PRIOR * np.eye(len(point))
        return matrix, slopes * weights @ off - PRIOR * point

    def _logs(self, point: Floats) -> Floats:
        machine = self.machine_at(point)
        return np.log(np.concatenate([series.model(machine) for series in self.series]))

    def _off(self, logs: Floats) -> Floats:
        """Residuals, less what those of a series have in common."""
        off = np.concatenate([series.log_ns for series in self.series]) - logs
        start = 0
        for series in self.series:
            part = off[start : start + len(series.log_ns)]
            part -= series.weights @ part
            start += len(part)
        return off

    @property
    def _weights(self) -> Floats:
        return np.concatenate([series.weights for series in self.series]) / len(self.series)
