"""What times of a GPU say of warpgroup tunings beyond the model of `cost`.

    time = cycles of the model * exp(mean of what the networks say of the tuning's terms)

The model's form is at its end where several of its streams are nearly the slowest: what one set of problems
gains by other rates another one loses.  So a few small networks are fitted to how the logarithms of time over
cycles of one problem's tunings differ (benchmarks/correction.py; `correction.json` says which times).  They
know a tuning by `Terms`, numbers without a unit that the model has anyway.

Laws: a correction ranks tunings of one problem and says nothing of the problem as a whole.  It is of the
model by the machine table's own rates, so that a calibration adds to it.  What is over NEARLY behind by the
model stays behind, and what is not of PRODUCTS or WINDOWS stays as it is: there nothing was gained, or no
time was known.

Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016 (SiLU); Lakshminarayanan and others, "Simple
and Scalable Predictive Uncertainty Estimation using Deep Ensembles", 2017 (means of networks).
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import exp
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from imbrex.chip import WARPGROUPS
from imbrex.config.context import GemmContext
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule
from imbrex.config.warpgroup.cost import Scheduled
from imbrex.config.warpgroup.plan import WarpgroupPlan, WarpgroupTuning
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.terms import Terms, terms
from imbrex.config.warpgroup.tile import Tile
from imbrex.config.warpgroup.tunings import Column, Tunings
from imbrex.view.work.streamk import CLUSTERED

__all__ = [
    "Networks",
    "corrected",
    "corrects",
    "inputs",
    "is_corrected",
    "known_of",
    "log_correction",
    "networks_of",
]

NEARLY: Final = 1.4
"""Cycles over the fewest up to which candidates of a problem are corrected."""


@dataclass(frozen=True)
class Known:
    """What times tell enough of.  bits: of an element.  seconds: least and most, by the model."""

    bits: tuple[int, ...]
    seconds: tuple[float, float]


PRODUCTS: Final = Known((8, 16), (4e-6, 8e-4))
"""The same networks serve both sizes: fitted to 16 alone, they halve what picks of 8 lose.  The launch is
most of what is shorter, and times that networks were fitted to end at a millisecond."""
WINDOWS: Final = Known((16,), (2e-6, 8e-4))
"""Products that see an operand through windows."""
FARTHEST: Final = 4.0
"""Standard deviations from the mean of all times' terms up to which networks know a difference."""
FILE: Final = Path(__file__).with_name("correction.json")
MODE: Final = Terms._fields.index("mode")

Numbers: TypeAlias = npt.NDArray[np.float64]
Weights: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Networks:
    """Networks of hidden layers.  mean, scale: of each input.  hidden: weights [network, input, unit] and
    biases [network, 1, unit] of each layer; last: weights [network, unit, 1].
    """

    mean: Numbers
    scale: Numbers
    hidden: tuple[tuple[Weights, Weights], ...]
    last: Weights

    def predicted(self, rows: Numbers) -> Numbers:
        """The mean of all networks for each row of inputs."""
        clipped = np.clip((rows - self.mean) / self.scale, -FARTHEST, FARTHEST)
        known = clipped.astype(np.float32)
        for weights, biases in self.hidden:
            known = silu(known @ weights + biases)
        return np.asarray((known @ self.last)[..., 0].mean(axis=0, dtype=np.float64))


def silu(values: Weights) -> Weights:
    """x / (1 + exp(-x))."""
    return np.asarray(values / (1 + np.exp(-values)), np.float32)


def inputs(known: Terms) -> Numbers:
    """A row for each: the terms but for the mode, and for each mode whether it is the one."""
    rows = np.stack(known, axis=1, dtype=np.float64)
    modes = rows[:, [MODE]] == np.arange(len(CLUSTERED))
    return np.hstack([np.delete(rows, MODE, axis=1), modes])


def is_corrected(plan: WarpgroupPlan) -> bool:
    """Is it of a type that times tell enough of, and brought by the copy engine?"""
    return plan.context.dtype.bits in known_of(plan).bits and all(plan.copied)


def known_of(plan: WarpgroupPlan) -> Known:
    """What is known of its kind of product."""
    return WINDOWS if Tile(plan).is_walked else PRODUCTS


def corrects(some: Tunings) -> bool:
    """Do times tell of candidates of a product?  some: of them, of the same product."""
    if not len(some) or not is_corrected(some.tiles[0].plan):
        return False
    return _is_in_time(some.tiles[0].plan, Scheduled.alike(some, DATA_PARALLEL).costs.cycles.min())


def log_correction(plan: WarpgroupPlan, schedule: TileSchedule) -> float:
    """The logarithm of what the cycles of the model are to be multiplied by."""
    if not is_corrected(plan):
        return 0.0
    return _log_correction(plan.tuning, plan.context, plan.context.details, schedule)


@lru_cache(maxsize=4096)
def _log_correction(
    tuning: WarpgroupTuning, context: GemmContext, details: tuple[object, ...], schedule: TileSchedule
) -> float:
    """details: the context's."""
    plan = tuning.plan(context)
    known = terms(Scheduled.of(plan, schedule))
    return float(_networks().predicted(inputs(known))[0]) if _is_in_time(plan, 2 ** known.cycles[0]) else 0.0


def corrected(candidates: Sequence[Scheduled]) -> list[Column]:
    """Cycles of candidates of one problem, in their order."""
    cycles = [scheduled.costs.cycles for scheduled in candidates]
    several = [each for each in cycles if len(each)]
    if not several or not is_corrected(plan := candidates[0].tunings.tiles[0].plan):
        return cycles
    most = NEARLY * min(each.min() for each in several)
    is_near = [each <= most for each in cycles]
    known = [terms(of.taken(near)) for of, near in zip(candidates, is_near, strict=True) if near.any()]
    if not _is_in_time(plan, 2 ** min(of.cycles.min() for of in known)):
        return cycles
    said = _networks().predicted(np.concatenate([inputs(of) for of in known]))
    behind = exp(max(0.0, said.max()))
    found = [each * behind for each in cycles]
    first = 0
    for each, own, near in zip(found, cycles, is_near, strict=True):
        each[near] = own[near] * np.exp(said[first : (first := first + int(near.sum()))])
    return found


def _is_in_time(plan: WarpgroupPlan, cycles: float) -> bool:
    """Is a time of the model, by the table's rates, one that is corrected?"""
    least, most = known_of(plan).seconds
    return least <= cycles / rates_of(WARPGROUPS).clock_hz <= most


@cache
def _networks() -> Networks:
    return networks_of(FILE)


def networks_of(path: Path) -> Networks:
    """Read from what benchmarks/correction.py wrote."""
    read = json.loads(path.read_text(encoding="utf-8"))
    assert read["terms"] == list(Terms._fields), f"{path.name} is of other terms: make it anew"
    *hidden, last = (_array(**of) for of in read["layers"])
    pairs = tuple(zip(hidden[::2], hidden[1::2], strict=True))
    return Networks(np.array(read["mean"]), np.array(read["scale"]), pairs, last)


def _array(shape: Sequence[int], float16: str) -> Weights:
    """float16: base64 of the numbers, the last index fastest."""
    return np.frombuffer(b64decode(float16), dtype="<f2").astype(np.float32).reshape(shape)
