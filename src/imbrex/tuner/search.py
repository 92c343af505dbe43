"""Search: which candidate is compiled and timed next; it compiles nothing and reads no clock.

    search = Search(candidates, features(candidates), seeds=earlier_winners)
    for index in search.propose(8): search.tell(index, measured_ns)

The order: the model's pick; the seeds; up to OPENING candidates by the model, at most PER_FAMILY of a family
of tiles; then in turns of eight, five of the greatest expected gain by the model that the measurements have
corrected, two by the model alone, and one of the family of which least was tried.

Laws: nothing is drawn by lot, so the same calls give the same answers.  A candidate is proposed once, and
what was told of it last counts: the best so far is read off the labels, so a time that was too good is
forgotten with its label.  Only what was proposed or told is taken out of the search.  A failure is no slow
time: it lowers what is expected of its family, and says nothing about how fast its neighbours are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import erf, log, pi, sqrt
from typing import Final, Literal

import numpy as np

from imbrex.cached import cached_property
from imbrex.tuner.features import Floats, Ranked, family_of, log_cycles
from imbrex.tuner.residual import forecast

__all__ = ["UNLIKELY", "Search"]

OPENING: Final = 8
"""Half of what is usual; 16 were worse after 12 to 20 trials on recorded times, and no better after 50."""
PER_FAMILY: Final = 4
TURN: Final[tuple[Literal["corrected", "model", "family"], ...]] = (
    "corrected", "corrected", "model", "corrected", "corrected", "model", "corrected", "family",
)  # fmt: skip
LOOKED_AT: Final = 400
"""How many of the model's best are asked for the family of which least was tried."""
WORTH: Final = 0.01
"""The part of its time that a candidate must gain to be worth finding."""
UNLIKELY: Final = 0.05
"""A search ends when the chance that anything untried is worth finding is below this."""
HOPELESS: Final = 1.5
"""A candidate that takes this many times as long as the best is not timed further."""
MOST_LEARNT: Final = 128
"""How many measurements the correction is learnt from, half of them the fastest: its time is their cube."""
PENDING: Final = 2
"""How many of a family may wait for their times, where the expected gain decides."""


@dataclass(frozen=True)
class _Learnt:
    """log_ns: foretold.  gain: the logarithm by which the best is expected to fall, of each candidate.
    chance: that it is worth finding.
    """

    log_ns: Floats
    gain: Floats
    chance: Floats


def _learnt(log_ns: Floats, spread: Floats, best: float, serving: Floats) -> _Learnt:
    ahead = (best - log_ns) / spread
    density = np.exp(-0.5 * ahead * ahead) / sqrt(2 * pi)
    gain = spread * (ahead * _below(ahead) + density)
    return _Learnt(log_ns, serving * gain, serving * _below(ahead + log(1 - WORTH) / spread))


def _below(z: Floats) -> Floats:
    """The standard normal distribution."""
    return np.array([0.5 * (1 + erf(value / sqrt(2))) for value in z])


class Search:
    """See the module's first lines.  candidates: in the model's order, its pick first, as `config.candidates`
    ranks them.  features: a row each, of `tuner.features`.  seeds: places of what won elsewhere, best first.
    until: the chance of a gain at which it ends; 0 tries everything.
    """

    def __init__(
        self,
        candidates: Sequence[Ranked],
        features: Floats,
        *,
        seeds: Sequence[int] = (),
        until: float = UNLIKELY,
    ) -> None:
        assert len(candidates) == len(features), (len(candidates), features.shape)
        self._features = features
        self._model = np.array([log_cycles(c) for c in candidates], dtype=np.float64)
        self._order = range(len(candidates))
        self._families = [family_of(c.configuration) for c in candidates]
        self._first = list(dict.fromkeys((*self._order[:1], *seeds)))
        self._until = until
        self._proposed: dict[int, None] = {}
        self._times: dict[int, float | None] = {}

    def propose(self, count: int) -> list[int]:
        """The next to compile and time, best first; none when all are tried, or too little can be gained."""
        found: list[int] = []
        while len(found) < count and (index := self._next()) is not None:
            self._proposed[index] = None
            found.append(index)
        return found

    def tell(self, index: int, ns: float | None) -> None:
        """What came of a candidate: its time, or None where it failed; what is told again replaces that."""
        assert 0 <= index < len(self._order), index
        assert ns is None or ns > 0, ns
        self._proposed.setdefault(index)
        self._times[index] = ns
        for known in ("_learnt", "_failures"):
            self.__dict__.pop(known, None)

    @property
    def incumbent(self) -> int | None:
        """The fastest of those that have a time."""
        return next(iter(self.finalists(1)), None)

    def finalists(self, count: int) -> list[int]:
        """The fastest so far, fastest first."""
        timed = sorted((ns, index) for index, ns in self._times.items() if ns is not None)
        return [index for _, index in timed[:count]]

    @property
    def may_gain(self) -> float:
        """The chance that one of those not yet proposed is worth finding: faster than the best by WORTH."""
        left = [i for i in self._order if i not in self._proposed]
        if not left:
            return 0.0
        if self.incumbent is None:
            return 1.0
        learnt = self._learnt
        misses = np.log1p(-np.minimum(learnt.chance[left], 1 - 1e-12))
        return float(-np.expm1(misses.sum()))

    @property
    def hopeless_ns(self) -> float | None:
        """Who takes longer cannot win; None while nothing has a time."""
        best = self.incumbent
        return None if best is None else HOPELESS * (self._times[best] or 0.0)

    def _next(self) -> int | None:
        index = len(self._proposed)
        left = [i for i in self._order if i not in self._proposed]
        if not left:
            return None
        if (first := next((i for i in self._first if i not in self._proposed), None)) is not None:
            return first
        if index < OPENING or self.incumbent is None:
            return self._opening(left)
        if self.may_gain < self._until:
            return None
        match TURN[index % len(TURN)]:
            case "corrected":
                return self._corrected(left)
            case "model":
                return self._likely(left)
            case "family":
                return self._least_tried(left)

    def _opening(self, left: Sequence[int]) -> int:
        """The model's next, of a family that was not proposed PER_FAMILY times."""
        taken = Counter(self._families[i] for i in self._proposed)
        return next((i for i in left if taken[self._families[i]] < PER_FAMILY), left[0])

    def _likely(self, left: Sequence[int]) -> int:
        """The model's next, of those that are more likely to serve than not."""
        return next((i for i in left if self._failing(self._families[i]) < 0.5), left[0])

    def _least_tried(self, left: Sequence[int]) -> int:
        taken = Counter(self._families[i] for i in self._proposed)
        best = set(self._order[:LOOKED_AT])
        return min([i for i in left if i in best] or left, key=lambda i: taken[self._families[i]])

    def _corrected(self, left: Sequence[int]) -> int:
        """The one of the greatest expected gain."""
        learnt = self._learnt
        waiting = Counter(self._families[i] for i in self._proposed if i not in self._times)
        fresh = [i for i in left if waiting[self._families[i]] < PENDING] or left
        return max(fresh, key=lambda i: (learnt.gain[i], -learnt.log_ns[i]))

    def _failing(self, family: str) -> float:
        """The chance that a candidate of a family fails, by the family's and by all failures."""
        fails, tried = self._failures
        rate = fails[""] / (tried[""] + OPENING)
        return (fails[family] + 2 * rate) / (tried[family] + 2)

    @cached_property
    def _failures(self) -> tuple[Counter[str], Counter[str]]:
        tried = Counter([self._families[i] for i in self._times])
        fails = Counter([self._families[i] for i, ns in self._times.items() if ns is None])
        tried[""], fails[""] = tried.total(), fails.total()
        return fails, tried

    @cached_property
    def _learnt(self) -> _Learnt:
        fastest, *others = self.finalists(len(self._times))
        others, rest = others[: MOST_LEARNT // 2], sorted(others[MOST_LEARNT // 2 :])
        spaced = rest[:: max(1, -(-2 * len(rest) // MOST_LEARNT))]
        tried = np.array([fastest, *others, *spaced], dtype=np.intp)
        log_ns = np.log([self._times[i] or 0.0 for i in tried])
        found = forecast(self._features, tried, log_ns - self._model[tried])
        failing = {family: self._failing(family) for family in set(self._families)}
        serving = np.array([1 - failing[family] for family in self._families])
        return _learnt(self._model + found.mean, found.spread, float(log_ns[0]), serving)
