"""Family: problems that differ only in how many rows, images or matrices they have.

Law: a member of r rows, called on the first r rows of larger arrays and then on those behind them, computes
what one call on all of them would: so sizes that are sums of members' are served, too.  A member that is told
its rows when it runs has any number of a range.  What is summed over its rows has no sums of members.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from imbrex.problem import Conv2d, Problem, problem_text

__all__ = ["Family", "Member", "families"]


@dataclass(frozen=True)
class Member:
    """A problem with the number of its kernel, how often it is asked for, and how many rows it has, at most.

    least: where it is told its rows, the least of them, else as many.  sizes: rows that are checked; the last
    ones are timed.
    """

    problem: Problem
    kernel: int
    times: int
    rows: int
    least: int
    sizes: tuple[int, ...]

    @property
    def is_open(self) -> bool:
        """Is it told its rows when it runs?"""
        return self.problem.run_time is not None

    @property
    def range_text(self) -> str:
        """How many rows it has, in words."""
        return f"{self.least} to {self.rows}" if self.is_open else str(self.rows)


@dataclass(frozen=True)
class Family:
    """text: the problem, with ? for the rows where there may be any.  members: the most rows first.

    steps: bytes from a row to the next, by array; 0 of one that is read again.  is_joined: are sums of
    members served?
    """

    text: str
    steps: tuple[int, ...]
    members: tuple[Member, ...]
    is_joined: bool = True


def families(
    problems: Iterable[tuple[Problem, int]], sizes: Mapping[Problem, tuple[int, ...]] | None = None
) -> tuple[Family, ...]:
    """Families in the order in which they are met first.  problems: each once, with how often.

    sizes: those at which one of a run-time size is checked, ascending; the greatest one where it has none.
    """
    given = list(problems)
    summed = {_opened(one, f"-{size.name}") for one, _ in given if (size := one.run_time) and size.is_summed}
    found: dict[str, list[Member]] = {}
    steps: dict[str, tuple[int, ...]] = {}
    for number, (problem, times) in enumerate(given):
        flag, rows = _summed(problem)
        moved: tuple[int, ...] | None = (0,) * len(problem.operands)
        if _opened(problem, flag) not in summed:
            flag, rows = _rows(problem)
            moved = _steps(problem, flag) if flag else None
        text = problem_text(problem) if moved is None else _opened(problem, flag)
        if moved is None:
            rows, moved = 1, (0,) * len(problem.operands)
        steps[text] = moved
        open_ = problem.run_time
        least, checked = (rows, (rows,)) if open_ is None else (open_.least, (open_.most,))
        checked = (sizes or {}).get(problem, checked)
        found.setdefault(text, []).append(Member(problem, number, times, rows, least, checked))
    return tuple(
        Family(text, steps[text], tuple(sorted(members, key=lambda one: -one.rows)), text not in summed)
        for text, members in found.items()
    )


def _opened(problem: Problem, flag: str) -> str:
    """The problem's text with ? behind that flag."""
    return re.sub(rf" {flag} \S+", f" {flag} ?", problem_text(problem), count=1)


def _summed(problem: Problem) -> tuple[str, int]:
    """The flag that says how many rows the sums are over, and how many."""
    return ("-n", problem.n) if isinstance(problem, Conv2d) else ("-k", problem.k)


def _rows(problem: Problem) -> tuple[str, int]:
    """The flag that says how many rows there are; "" where calls cannot be joined."""
    if isinstance(problem, Conv2d):
        return ("-n", problem.n) if problem.direction != "backward_weight" else ("", 1)
    if problem.gaps:
        return "", 1
    return ("-g", problem.batch) if problem.batch > 1 else ("-m", problem.m)


DIMENSIONS = {"-n": "n", "-g": "batch", "-m": "m"}


def _steps(problem: Problem, flag: str) -> tuple[int, ...] | None:
    """Bytes from a row to the next, by array; None where the rows of one do not lie behind each other."""
    name = DIMENSIONS[flag]
    steps: list[int] = []
    for operand in problem.operands:
        if name in operand.layout[1:]:
            return None
        is_moved = operand.layout[:1] == (name,)
        steps.append(math.prod(operand.shape[1:]) * operand.dtype.bytes if is_moved else 0)
    return tuple(steps)
