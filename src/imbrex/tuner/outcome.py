"""Outcome: what a session may take, what it tells while it goes on, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Event

from imbrex.config.candidates import Candidates
from imbrex.database import Status, Unit

__all__ = ["Limits", "Step", "Tried", "Tuned"]


@dataclass(frozen=True)
class Limits:
    """What a session may take.  trials: None for all candidates.  until: time.monotonic's seconds.

    ends: set where the session is to end at the next trial.
    """

    trials: int | None
    until: float
    ends: Event


@dataclass(frozen=True)
class Step:
    """What a session tells while it goes on.  best_ns, pick_ns: None where nothing was right yet."""

    trials: int
    wanted: int
    best_ns: float | None
    pick_ns: float | None
    doing: str


@dataclass(frozen=True)
class Tried:
    """A trial.  rank: by the model, from 0.  ns: None where it failed; note: why.  seconds: since its session
    began.
    """

    rank: int
    status: Status
    ns: float | None
    note: str
    seconds: float


@dataclass(frozen=True)
class Tuned:
    """What came of a unit.  gain: the pick's time over the winner's; 1 where the pick stays.

    found: what was to choose from; tried: of these, in order.
    counts: trials by their status; fresh: those that were made now.  is_done: was everything tried that was
    wanted?  is_judged: did it come to a verdict?  build_s: seconds of compiling, of all builders together, as
    far as it was not there.
    """

    unit: Unit
    pick: str
    winner: str
    gain: float
    low: float
    high: float
    pick_ns: float | None
    winner_ns: float | None
    counts: Mapping[str, int]
    seconds: float
    build_s: float
    is_done: bool
    is_judged: bool
    found: Candidates
    tried: tuple[Tried, ...]
    fresh: int
