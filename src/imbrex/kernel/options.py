"""CompileOptions: what `compile` is told, as texts and numbers; the request that these make of the compiler.

Law: the cache's key is made of options alone, and a text is parsed once, where a request is made.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from imbrex.argument import text
from imbrex.database.lookup import Advice, advice, calibration
from imbrex.database.record import Calibration
from imbrex.diagnostic import Diagnostic
from imbrex.kernel.constraints import Constraints
from imbrex.kernel.target import Target
from imbrex.numeral import counted
from imbrex.problem import Conv2d, Gemm, Problem, parse_problem, problem_text
from imbrex.run.cpu import thread_count
from imbrex.run.host_machine import host_machine

if TYPE_CHECKING:  # the compiler's own module; a warm start goes without
    from imbrex.pipeline import Request

__all__ = ["CompileOptions", "default_name", "options_of"]

_EXECUTED_PER_SECOND: Final = 5e7
"""Multiply-adds that the emulator of instructions executes in a second, measured with f16 and f32."""
_MOST_EXECUTED_S: Final = 600
MOST_LETTERS: Final = 160
"""Most letters of a name, to which files and kernels add some."""


@dataclass(frozen=True)
class CompileOptions:
    """constraints: what the caller says of the configuration.  advice: what was measured, where nothing is
    said.  calibration: of the model that chooses what is left to it.
    """

    problem: Problem
    target: Target
    constraints: Constraints
    threads: int
    name: str
    advice: Advice | None = None
    calibration: Calibration | None = None

    @property
    def text(self) -> str:
        """What is asked for, in a line: how source is written, for which chip, under which name."""
        said = " ".join(f"{part}={text}" for part, text in asdict(self.constraints).items())
        where = f"source={self.target.source} chip={self.target.chip} name={self.name}"
        advice = "" if self.advice is None else f" advice={self.advice.text}"
        fitted = "" if self.calibration is None else f" calibration={self.calibration.parameters}"
        return f"{where} {said}{advice}{fitted}"

    def request(self) -> Request:
        """What they ask of the compiler, on this machine."""
        from imbrex.config import configuration, tiles, tuning
        from imbrex.pipeline import Request, calibrated, machine_on

        said, target = self.constraints, self.target
        where = machine_on(host_machine(), target.chip or target.kind, self.threads)
        return Request(
            self.problem,
            where if self.calibration is None else calibrated(where, self.calibration.parameters),
            target.source,
            None if said.tuning is None else tuning.parse(said.tuning),
            said.algorithm,
            self.name,
            None if said.schedule is None else tiles.wanted(said.schedule),
            None if said.config is None else configuration.parse(said.config),
        )


def options_of(
    problem: Problem | str,
    target: Target,
    said: Constraints,
    threads: int | None,
    name: str | None,
    untuned: bool = False,
) -> CompileOptions:
    """Words as options; a Diagnostic for what cannot be.  untuned: what was measured is not used."""
    given, count = _one(problem), thread_count(threads)
    if target.is_executed:
        _expect_small(given)
    is_open = given.run_time is None and not untuned and not said.said
    return CompileOptions(
        given,
        target,
        said,
        count,
        default_name(given) if name is None else _identifier(text("name", name, "a name")),
        advice(problem_text(given), target, count) if is_open else None,
        None if untuned or said.config is not None else calibration(target),
    )


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
    found = parse_problem(text("problem", problem, "a problem or the text of one"))
    if len(found) != 1:
        raise Diagnostic(
            f"the text holds {counted(len(found), 'problem')}, and a kernel computes one",
            hint="name one direction with -F 1, -F 2 or -F 4, or compile each of parse_problem(text)",
        )
    return found[0]


def _identifier(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise Diagnostic(f"'{name}' cannot name a function of C; use letters, digits and _")
    if len(name) > MOST_LETTERS:
        message = f"a name of {len(name)} letters is too long for files; use {MOST_LETTERS} at most"
        raise Diagnostic(message)
    return name
