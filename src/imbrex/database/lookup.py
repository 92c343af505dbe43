"""What the databases know of a call: the configuration that was measured, or those of the nearest problems,
and what the model of its target was calibrated to.

Law: the user's database goes before the shipped one.  An answer is kept until the user's file changes, which
two looks at its times and sizes tell; where nothing was tuned for a target no device is asked what it is.
What cannot be read is said once, and nothing is known then: a call never fails for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from imbrex.database.device import Aim, device_of, threads_of
from imbrex.database.location import shipped_text, user_path
from imbrex.database.near import MOST, nearest, shape_of
from imbrex.database.record import Calibration, Device, Winner
from imbrex.diagnostic import Diagnostic

__all__ = ["Advice", "Found", "advice", "calibration"]


@dataclass(frozen=True)
class Found:
    """A winner, the problem that it is of, and the database that told it: `user` or `shipped`."""

    problem: str
    winner: Winner
    database: str


@dataclass(frozen=True)
class Advice:
    """measured: of the very problem; where there is none, near: of the nearest ones, the nearest first."""

    measured: Found | None
    near: tuple[Found, ...] = ()

    @property
    def text(self) -> str:
        """All of it that decides what is built."""
        found = ((self.measured,) if self.measured else ()) + self.near
        return " ".join(f"{f.winner.configuration} of {f.problem} from {f.winner.source};" for f in found)


Question: TypeAlias = tuple[str, str, int]
State: TypeAlias = tuple[object, ...]

_answers: dict[Question, Advice | None] = {}
_calibrations: dict[str, Calibration | None] = {}
_state: State | None = None


def advice(problem: str, where: Aim, threads: int) -> Advice | None:
    """What is known of a problem's canonical text; None where nothing is, or IMBREX_DB is off."""
    target = str(where)
    if (path := _known(target)) is None:
        return None
    question = (problem, target, threads_of(where, threads))
    if question not in _answers:
        _answers[question] = _found(*question, where, path)
    return _answers[question]


def calibration(where: Aim) -> Calibration | None:
    """What a target's model was calibrated to on this device; None where it was not, or IMBREX_DB is off."""
    target = str(where)
    if (path := _known(target)) is None:
        return None
    if target not in _calibrations:
        _calibrations[target] = _calibrated(target, where, path)
    return _calibrations[target]


def _known(target: str) -> Path | None:
    """The user's file, where it or the shipped text may know something; what was read before is forgotten
    where the file has changed.
    """
    global _state
    path = user_path()
    if path is None:
        return None
    state = (path, *_looks(path))
    if state != _state:
        _answers.clear()
        _calibrations.clear()
        _state = state
    return None if state[1] is None and shipped_text(target) is None else path


def _looks(path: Path) -> Iterator[tuple[int, int] | None]:
    """When the file and its log were written, and their lengths."""
    for file in (path, f"{path}-wal"):
        try:
            facts = os.stat(file)
        except OSError:
            facts = None
        yield (facts.st_mtime_ns, facts.st_size) if facts is not None and facts.st_size else None


def _found(problem: str, target: str, threads: int, where: Aim, path: Path) -> Advice | None:
    from imbrex.database.shelf import shelves

    near: list[Found] = []
    shape = shape_of(problem)
    with shelves(path) as found:
        known = [shelf for shelf in found if shelf.has(target)]
        device = _device(where) if known else None
        for shelf in known if device is not None else ():
            winner = shelf.winner(problem, target, threads, device)
            if winner is not None:
                return Advice(Found(problem, winner, shelf.name))
        for shelf in known:
            for other in nearest(shape, shelf.problems(target, shape.kind)):
                winner = shelf.winner(other, target, threads, device)
                near += [] if winner is None else [Found(other, winner, shelf.name)]
    return Advice(None, tuple(near[:MOST])) if near else None


def _calibrated(target: str, where: Aim, path: Path) -> Calibration | None:
    from imbrex.database.shelf import shelves

    with shelves(path) as found:
        known = [shelf for shelf in found if shelf.has(target)]
        device = _device(where) if known else None
        calibrations = (shelf.calibration(target, device) for shelf in known if device is not None)
        return next((of for of in calibrations if of is not None), None)


def _device(where: Aim) -> Device | None:
    """None where the target's GPU is not here."""
    try:
        return device_of(where)
    except Diagnostic:
        return None
