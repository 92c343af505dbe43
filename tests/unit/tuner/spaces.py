"""Spaces of candidates whose times follow a law: a model that is off by what the tuning's numbers explain."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from imbrex.config.configuration import Configuration, TunedProduct
from imbrex.config.cpu.plan import CpuTuning
from imbrex.tuner.features import Floats

__all__ = ["Point", "lawful_space"]

GRID = tuple(
    product((2, 4, 6, 8, 12), (16, 32, 48, 64), (48, 96, 192, 384), (64, 128, 256), (64, 128, 256, 512))
)


@dataclass(frozen=True)
class Point:
    """A candidate."""

    configuration: Configuration
    cycles: float


def lawful_space(count: int, spread: float, seed: int, explained: float = 0.75) -> tuple[list[Point], Floats]:
    """Candidates in the model's order, and their times.

    log t = log cycles + spread * (what the numbers explain, and noise)
    """
    rng = np.random.default_rng(seed)
    chosen = [GRID[i] for i in rng.choice(len(GRID), count, replace=False)]
    log_cycles = np.sort(rng.gamma(2, 0.354, count))
    numbers = np.log2(np.array(chosen, dtype=np.float64))
    numbers = (numbers - numbers.mean(0)) / numbers.std(0)
    pairs = np.array([numbers[:, i] * numbers[:, j] for i in range(5) for j in range(i + 1)]).T
    alone, together = numbers @ rng.normal(size=5), pairs @ rng.normal(size=pairs.shape[1])
    known = alone / alone.std() + 0.6 * together / together.std()
    off = np.sqrt(explained) * known / known.std() + np.sqrt(1 - explained) * rng.normal(size=count)
    points = [
        Point(Configuration("direct", products=(TunedProduct(CpuTuning(*sizes, 16)),)), float(np.exp(model)))
        for sizes, model in zip(chosen, log_cycles, strict=True)
    ]
    return points, np.exp(log_cycles + spread * off)
