"""Replay: a search over recorded times, so that one that takes an hour is judged in a second, many times.

A record is a file of lines, compressed: what was measured, as JSON; then, in the model's order,

    CYCLES NANOSECONDS CONFIGURATION        NANOSECONDS is `-` where it failed

Each trial reads a recorded time with a trial's noise.  At the end the best FINALISTS meet the model's pick in
a duel over blocks with a duel's noise, as `imbrex tune` ends; the pick stays unless one of them has proven
itself.  What is told is the regret: by what part the outcome is slower than the fastest of the record.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args

import numpy as np

from imbrex.cached import cached_property
from imbrex.config.candidates import Candidate
from imbrex.config.configuration import parse, text
from imbrex.tuner.duel import FEWEST_PAIRS, duels, winner
from imbrex.tuner.features import Floats, features
from imbrex.tuner.search import Search

__all__ = ["STRATEGIES", "Record", "Strategy", "read", "regrets", "write"]

Strategy: TypeAlias = Literal["search", "model", "random"]
STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)
TRIAL_NOISE: Final = 0.02
DUEL_NOISE: Final = 0.01
FINALISTS: Final = 8
BATCH: Final = 8


@dataclass(frozen=True)
class Record:
    """Candidates in the model's order, and the time of each, None where it failed.  about: the problem, the
    machine, how it was timed, and what was left out.
    """

    about: Mapping[str, Any]
    candidates: tuple[Candidate, ...]
    times_ns: tuple[float | None, ...]

    @cached_property
    def features(self) -> Floats:
        return features(self.candidates)

    @cached_property
    def regret(self) -> Floats:
        """Time over the best one, less 1, of each candidate; infinite where it failed."""
        times = np.array([np.inf if ns is None else ns for ns in self.times_ns])
        return times / times.min() - 1

    def ranked_by(self, cycles: Sequence[float]) -> Record:
        """The same times, as another model would rank the candidates."""
        order = sorted(range(len(cycles)), key=cycles.__getitem__)
        ranked = tuple(Candidate(self.candidates[i].configuration, cycles[i]) for i in order)
        return Record(self.about, ranked, tuple(self.times_ns[i] for i in order))


class _Proposing(Protocol):
    """What a replay asks of a strategy."""

    def propose(self, count: int) -> list[int]: ...
    def tell(self, index: int, ns: float | None) -> None: ...


class _Listed:
    """A strategy that goes through a list."""

    def __init__(self, order: Sequence[int]) -> None:
        self._left = list(order)

    def propose(self, count: int) -> list[int]:
        found, self._left = self._left[:count], self._left[count:]
        return found

    def tell(self, index: int, ns: float | None) -> None:
        """Nothing is learnt."""


def regrets(record: Record, strategy: Strategy, trials: Sequence[int], seed: int) -> list[float]:
    """The outcome's regret after each of these numbers of trials, which ascend, of one run."""
    rng = np.random.default_rng(seed)
    search, seen = _begun(record, strategy, rng), dict[int, float]()
    tried, found = 0, list[float]()
    for most in trials:
        while tried < most and (batch := search.propose(min(BATCH, most - tried))):
            for index in batch:
                tried += 1
                ns = record.times_ns[index]
                if ns is not None:
                    ns = seen[index] = ns * float(np.exp(TRIAL_NOISE * rng.normal()))
                search.tell(index, ns)
        found.append(float(record.regret[_outcome(record, seen, rng)]))
    return found


def _begun(record: Record, strategy: Strategy, rng: np.random.Generator) -> _Proposing:
    match strategy:
        case "search":
            return Search(record.candidates, record.features)
        case "model":
            return _Listed(range(len(record.candidates)))
        case "random":
            return _Listed([int(i) for i in rng.permutation(len(record.candidates))])


def _outcome(record: Record, seen: Mapping[int, float], rng: np.random.Generator) -> int:
    """The winner of the final duel, or the model's pick."""
    finalists = [index for index in sorted(seen, key=seen.__getitem__) if index][:FINALISTS]
    if record.times_ns[0] is None:
        return finalists[0]
    logs = np.log([float(record.times_ns[index] or np.inf) for index in (0, *finalists)])
    noise = DUEL_NOISE * rng.normal(size=(2 * FEWEST_PAIRS, len(logs)))
    won = winner(duels(np.exp(logs + noise)))
    return 0 if won is None else finalists[won]


def write(record: Record, path: Path) -> None:
    """A record as a file; equal records are equal files."""
    lines = [json.dumps(record.about)]
    for candidate, ns in zip(record.candidates, record.times_ns, strict=True):
        time = "-" if ns is None else f"{ns:.6g}"
        lines.append(f"{candidate.cycles:.7g} {time} {text(candidate.configuration)}")
    path.write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), mtime=0))


def read(path: Path) -> Record:
    """The record of a file."""
    head, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    rows = [line.split(maxsplit=2) for line in lines]
    candidates = tuple(Candidate(parse(line), float(cycles)) for cycles, _, line in rows)
    return Record(json.loads(head), candidates, tuple(None if ns == "-" else float(ns) for _, ns, _ in rows))
