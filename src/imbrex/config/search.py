"""search: the legal tunings of a space, best guesses first, verified, timed and handed on one by one.

The order of events for one tuning is verify, then time: a wrong kernel is never timed.  A Diagnostic from
either callback is a failed trial and the search goes on; anything else is a broken promise and ends it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from imbrex.chip import Target
from imbrex.config.choose import rank
from imbrex.config.context import GemmContext
from imbrex.config.db import Trial
from imbrex.config.legal import check
from imbrex.config.tuning import Tuning
from imbrex.diagnostic import Diagnostic

__all__ = ["SearchReport", "search"]


@dataclass(frozen=True)
class SearchReport:
    """What a search saw: tunings in the space, broken rules by name, and the trials in their order."""

    considered: int
    legal: int
    broken: Mapping[str, int]
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial | None:
        """The fastest right trial."""
        timed = [(t.nanoseconds, i) for i, t in enumerate(self.trials) if t.nanoseconds is not None]
        return self.trials[min(timed)[1]] if timed else None


def search(
    space: Iterable[Tuning],
    context: GemmContext,
    machine: Target,
    *,
    verify: Callable[[Tuning], str | None],
    time_ns: Callable[[Tuning], float],
    record: Callable[[Trial], None],
    known: Iterable[Trial] = (),
    top: int = 20,
) -> SearchReport:
    """Try the `top` legal tunings that the model ranks first.

    verify: what is wrong with the result, or None.  time_ns: nanoseconds of one run.  record: called after
    each new trial.
    known: trials of an earlier search, taken over instead of being run again.
    """
    considered, broken, legal = 0, Counter[str](), list[Tuning]()
    for tuning in space:
        considered += 1
        reasons = check(tuning, context, machine)
        broken.update({reason.rule for reason in reasons})
        if not reasons:
            legal.append(tuning)
    earlier = {trial.tuning: trial for trial in known}
    trials: list[Trial] = []
    for tuning in rank(legal, context, machine)[:top]:
        if tuning not in earlier:
            trials.append(_tried(tuning, verify, time_ns))
            record(trials[-1])
        else:
            trials.append(earlier[tuning])
    return SearchReport(considered, len(legal), dict(broken), tuple(trials))


def _tried(
    tuning: Tuning, verify: Callable[[Tuning], str | None], time_ns: Callable[[Tuning], float]
) -> Trial:
    try:
        complaint = verify(tuning)
        if complaint is not None:
            return Trial(tuning, "wrong", note=complaint)
        return Trial(tuning, "ok", time_ns(tuning))
    except Diagnostic as error:
        return Trial(tuning, "failed", note=error.message)
