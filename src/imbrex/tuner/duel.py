"""Duel: which of two kernels is faster, from blocks in which each was timed once.

    differences = log(incumbent's time) - log(candidate's), a block each: what drifts meets both and cancels
    gain        Hodges-Lehmann's estimate: the median of the means of all pairs of differences
    bounds      the means of pairs between which Wilcoxon's signed ranks cannot tell the gain from

A finalist replaces the incumbent only if the lower bound of its gain is over LEAST_GAIN, at a confidence that
Holm's procedure keeps for all finalists together.

Laws: the order of blocks does not matter, nor does a factor that a whole block has in common.  Between
equal kernels a replacement is rarer than one in twenty whatever the distribution of noise, as long as blocks
are independent: the ranks' distribution is counted, not assumed.

Sources: Hodges and Lehmann, "Estimates of Location Based on Rank Tests", 1963; Hollander, Wolfe and Chicken,
"Nonparametric Statistical Methods", sections 3.1 to 3.3; Holm, "A Simple Sequentially Rejective Multiple Test
Procedure", 1979.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, expm1, inf, log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imbrex.tuner.features import Floats

__all__ = [
    "FEWEST_PAIRS", "MOST_PAIRS", "Duel", "duels", "pairs_needed", "undisturbed", "winner",
]  # fmt: skip

LEAST_GAIN: Final = 0.005
"""The part of the incumbent's time that a gain has to be over, to be worth a change."""
ERROR: Final = 0.05
"""How often one of equal finalists may replace the incumbent."""
FEWEST_PAIRS: Final = 12
MOST_PAIRS: Final = 60
SURE: Final = (1.96 + 1.28) ** 2 / 0.955
"""Pairs for a difference of one standard deviation: power 0.9, error 0.05, the ranks' efficiency 0.955."""
DISTURBED: Final = 4.0
"""Robust standard deviations over the other blocks at which one was disturbed."""
LEAST_DISTURBANCE: Final = 0.03
"""Slower by less than this part, a block is taken however steady the others are."""


@dataclass(frozen=True)
class Duel:
    """A finalist against the incumbent.  gain: the part of the incumbent's time that it saves, negative where
    it is slower; lower, upper: its bounds.  pairs: blocks that counted.  replaces: is the gain proven?
    """

    gain: float
    lower: float
    upper: float
    pairs: int
    replaces: bool


def duels(times_ns: Floats) -> list[Duel]:
    """Every finalist against the incumbent.  times_ns: a row a block, the incumbent first in each."""
    assert times_ns.ndim == 2 and times_ns.shape[1] > 0, times_ns.shape
    logs = np.log(times_ns)
    sums = [_means(logs[:, 0] - column) for column in logs[:, 1:].T]
    return _judged(sums, len(times_ns))


def winner(found: list[Duel]) -> int | None:
    """The place of the finalist of the greatest gain among those that replace the incumbent."""
    proven = [index for index, duel in enumerate(found) if duel.replaces]
    return max(proven, key=lambda index: (found[index].gain, -index), default=None)


def undisturbed(times_ns: Floats, marked: NDArray[np.bool_] | None = None) -> Floats:
    """The blocks that count: not marked (of a low clock, of stolen time), and not slow as a whole.

    A block's speed is the mean of all its contenders', each against its own median, so that none of them
    decides which blocks are left out.
    """
    kept = times_ns if marked is None else times_ns[~marked]
    if len(kept) < 3:
        return kept
    logs = np.log(kept)
    speed = (logs - np.median(logs, axis=0)).mean(axis=1)
    over = speed - np.median(speed)
    bound = max(log(1 + LEAST_DISTURBANCE), DISTURBED * 1.4826 * float(np.median(np.abs(over))))
    return kept[over <= bound]


def pairs_needed(times_ns: Floats, difference: float = LEAST_GAIN * 2) -> int:
    """Blocks after which a difference of this part would be seen nine times in ten, within bounds.

    times_ns: the first blocks, undisturbed; the noisiest finalist's spread counts.
    """
    logs = np.log(times_ns)
    if len(logs) < 2 or logs.shape[1] < 2:
        return FEWEST_PAIRS
    spread = float(np.std(logs[:, :1] - logs[:, 1:], axis=0, ddof=1).max())
    return min(MOST_PAIRS, max(FEWEST_PAIRS, ceil(SURE * (spread / difference) ** 2)))


def _judged(sums: list[Floats], pairs: int) -> list[Duel]:
    """Holm: the least chance first, of equal ones the greater gain, against ERROR over how many are left; the
    first that fails ends it.
    """
    least = -log(1 - LEAST_GAIN)
    chances = [_chance(int((means > least).sum()), pairs) for means in sums]
    gains = [float(np.median(means)) if pairs else 0.0 for means in sums]
    order = sorted(range(len(sums)), key=lambda i: (chances[i], -gains[i], i))
    found: dict[int, Duel] = {}
    goes_on = True
    for index, i in enumerate(order):
        error = ERROR / (len(order) - index)
        goes_on = goes_on and chances[i] <= error
        low, high = _bounds(sums[i], pairs, error)
        found[i] = Duel(-expm1(-gains[i]), 1 - exp(-low), 1 - exp(-high), pairs, goes_on)
    return [found[i] for i in range(len(sums))]


def _means(differences: Floats) -> Floats:
    """The means of all pairs, each with itself, too, in order."""
    first, second = np.triu_indices(len(differences))
    return np.sort((differences[first] + differences[second]) / 2)


def _bounds(means: Floats, pairs: int, error: float) -> tuple[float, float]:
    """The means below and above which no more than `error` of the chance lies, on either side."""
    tail = np.cumsum(_ranks(pairs))
    outside = int(np.searchsorted(tail, error, side="right"))  # ranks 0 to outside - 1 are in the tail
    if not outside:
        return -inf, inf
    return float(means[outside - 1]), float(means[-outside])


def _chance(over: int, pairs: int) -> float:
    """How often so many means of pairs are over a bound that the differences are symmetric about."""
    return float(_ranks(pairs)[over:].sum())


@lru_cache(maxsize=256)
def _ranks(pairs: int) -> Floats:
    """The chance of each sum of Wilcoxon's signed ranks, from 0 to pairs * (pairs + 1) / 2."""
    chances = np.ones(1)
    for rank in range(1, pairs + 1):
        grown = np.zeros(len(chances) + rank)
        grown[: len(chances)] += chances / 2
        grown[rank:] += chances / 2
        chances = grown
    return chances
