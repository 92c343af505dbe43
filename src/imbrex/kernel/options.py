"""Options: a problem and all that the caller may choose about its kernel, checked before it is compiled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from imbrex.database.lookup import Advice, advice, calibration
from imbrex.database.record import Parameters
from imbrex.diagnostic import Diagnostic
from imbrex.kernel.algorithm import expected_algorithm
from imbrex.kernel.target import Target
from imbrex.problem import Conv2d, Gemm, Problem, parse_problem, problem_text
from imbrex.run.cpu import thread_count

if TYPE_CHECKING:  # the compiler's own module; a warm start goes without
    from imbrex.config.configuration import Configuration
    from imbrex.config.tiles import TileSchedule
    from imbrex.config.tuning import Tuning

__all__ = ["Options", "default_name", "expect_one_say", "options_of"]

_EXECUTED_PER_SECOND: Final = 5e7
"""Multiply-adds that the emulator of instructions executes in a second, measured with f16 and f32."""
_MOST_EXECUTED_S: Final = 600
MOST_LETTERS: Final = 160
"""Most letters of a name, to which files and kernels add some."""


@dataclass(frozen=True)
class Options:
    """tuning: its text; None lets the model choose.  algorithm: None leaves it to the compiler.

    schedule: of output tiles, its text; None for one workgroup a tile.  config: the text of a configuration,
    which says all of these.  advice: what was measured, where nothing else is asked for.  calibration: of the
    model that chooses what is left to it.
    """

    problem: Problem
    target: Target
    tuning: str | None
    threads: int
    algorithm: str | None
    name: str
    schedule: str | None = None
    config: str | None = None
    advice: Advice | None = None
    calibration: Parameters = ()

    @property
    def text(self) -> str:
        """What is asked for, in a line: how source is written, for which chip, under which name."""
        chosen = f"tuning={self.tuning} algorithm={self.algorithm} schedule={self.schedule}"
        where = f"source={self.target.source} chip={self.target.chip} name={self.name}"
        advice = "" if self.advice is None else f" advice={self.advice.text}"
        calibrated = f" calibration={self.calibration}" if self.calibration else ""
        return f"{where} {chosen} config={self.config}{advice}{calibrated}"


def options_of(
    problem: Problem | str,
    target: Target,
    tuning: Tuning | str | None,
    threads: int | None,
    algorithm: str | None,
    name: str | None,
    schedule: TileSchedule | str | None = None,
    config: Configuration | str | None = None,
    untuned: bool = False,
) -> Options:
    """Words as options; a Diagnostic for what cannot be.  untuned: what was measured is not used."""
    expect_one_say(config, tuning, algorithm, schedule)
    given, count = _one(problem), thread_count(threads)
    if target.is_executed:
        _expect_small(given)
    is_open = not untuned and tuning is algorithm is schedule is config is None
    calibrated = None if untuned or config is not None else calibration(target)
    return Options(
        given, target, _text(tuning), count, expected_algorithm(given, target, algorithm),
        _identifier(name or default_name(given)), None if schedule is None else str(schedule),
        None if config is None else str(config),
        advice(problem_text(given), target, count) if is_open else None,
        () if calibrated is None else calibrated.parameters,
    )  # fmt: skip


def expect_one_say(config: object, tuning: object, algorithm: object, schedule: object) -> None:
    """A Diagnostic where a configuration is given, and a part of one beside it."""
    parts = {"tuning": tuning, "algorithm": algorithm, "schedule": schedule}
    beside = [f"--{name}" for name, given in parts.items() if given is not None]
    if config is not None and beside:
        message = f"--config says all that may be chosen, and cannot stand beside {' and '.join(beside)}"
        raise Diagnostic(message, hint=f"leave out one or the other; {beside[0]} narrows what is chosen")


def _expect_small(problem: Problem) -> None:
    """A Diagnostic where a code object would be executed for longer than anybody waits."""
    seconds = problem.flops / 2 / _EXECUTED_PER_SECOND
    if seconds > _MOST_EXECUTED_S:
        message = f"executing its instructions would take about {seconds / 60:.0f} minutes"
        hint = f"a smaller problem shows the same; {_MOST_EXECUTED_S // 60} minutes are the most"
        raise Diagnostic(message, hint=f"{hint}, and --emulate alone is faster")


def default_name(problem: Problem) -> str:
    """`conv2d_forward`, `gemm`: what a kernel is called unless told otherwise."""
    return f"conv2d_{problem.direction}" if isinstance(problem, Conv2d) else "gemm"


def _one(problem: Problem | str) -> Problem:
    if isinstance(problem, Conv2d | Gemm):
        return problem
    if not isinstance(problem, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"'problem' should be a problem or the text of one, got {type(problem).__name__}")
    found = parse_problem(problem)
    if len(found) != 1:
        raise Diagnostic(
            f"the text holds {len(found)} problems, and a kernel computes one",
            hint="name one direction with -F 1, -F 2 or -F 4, or compile each of parse_problem(text)",
        )
    return found[0]


def _text(tuning: Tuning | str | None) -> str | None:
    if tuning is None or isinstance(tuning, str):
        return tuning
    from imbrex.config.tuning import Tuning, text

    if not isinstance(tuning, Tuning):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"'tuning' should be a tuning or the text of one, got {type(tuning).__name__}")
    return text(tuning)


def _identifier(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise Diagnostic(f"'{name}' cannot name a function of C; use letters, digits and _")
    if len(name) > MOST_LETTERS:
        message = f"a name of {len(name)} letters is too long for files; use {MOST_LETTERS} at most"
        raise Diagnostic(message)
    return name
