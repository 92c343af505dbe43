"""Batches: the kernel of a call, its own or one that serves every number of images or of rows.

    each   one kernel for each number
    any    one for the first number that is met, and one for all others, which every call tells its number

Law: a kernel that is built is taken before any other is made, that of the very number first; where a problem
cannot leave the number open, each number has its own, and the first reason is told.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal, TypeAlias, get_args

from imbrex.argument import word
from imbrex.diagnostic import Diagnostic
from imbrex.function.call_target import CallTarget
from imbrex.kernel import Kernel, Target, compile
from imbrex.kernel.make import OFFERED, NotBuilt, Offered
from imbrex.kernel.tuned import Effort, tune_first
from imbrex.numeral import counted
from imbrex.problem import Conv2d, Problem, problem_text
from imbrex.problem.run_time import MOST_IMAGES, MOST_ROWS
from imbrex.run.cpu import thread_count

__all__ = ["Batches", "expect_batches", "kernel_of", "open_problem", "refuse", "serving", "tell_once"]

Batches: TypeAlias = Literal["each", "any"]


@dataclass
class _Family:
    """Problems that differ in the number alone.  own: numbers that have a kernel of their own.  refused: why
    the number cannot be left open.
    """

    own: set[int] = field(default_factory=set[int])
    refused: str | None = None


_Key: TypeAlias = tuple[Problem, Target, int]
_families: Final[dict[_Key, _Family]] = {}
_warned: Final[set[str]] = set()


def expect_batches(value: object) -> None:
    """TypeError and ValueError for what is no word of `Batches`."""
    word("batches", value, get_args(Batches))


def open_problem(problem: Problem) -> Problem | None:
    """The problem with any number of images, or of rows; None where they cannot be left open, or are more.

    Rows of a transposed A are k, the terms of the sums.
    """
    try:
        most = MOST_IMAGES if isinstance(problem, Conv2d) else MOST_ROWS
        return problem.open(1, most) if _number(problem) <= most else None
    except Diagnostic:
        return None


def _number(problem: Problem) -> int:
    """Images, or rows as A lies."""
    return problem.outermost[1]


def kernel_of(
    problem: Problem,
    where: CallTarget,
    batches: Batches = "each",
    algorithm: str | None = None,
    tune: Effort | None = None,
) -> Kernel:
    """The kernel of a call: `compile`'s, or with "any" one that other numbers have, too.  tune: the effort
    with which the problem is tuned first.
    """
    expect_batches(batches)
    if tune is not None:
        tune_first(problem, where.target, where.threads, tune)
    make = partial(compile, target=where.target, threads=where.threads, algorithm=algorithm)
    opened = open_problem(problem) if batches == "any" else None
    if opened is None:
        return make(problem)
    family = _families.setdefault((opened, where.target, thread_count(where.threads)), _Family())
    number = _number(problem)
    if OFFERED.get() == "none":  # what an example has is worth its own kernel
        family.own.add(number)
    if family.refused is not None or OFFERED.get() == "none":
        return make(problem)
    with _offered("built"):
        for one in (problem, opened):
            try:
                found = make(one)
            except NotBuilt:
                continue
            return found if one is problem else found.at(number)
    if serving(problem, where.target, thread_count(where.threads)) is problem:
        return make(problem)
    try:
        return make(opened).at(number)
    except Diagnostic as error:
        refuse(opened, where.target, thread_count(where.threads), error.message)
        return make(problem)


def serving(problem: Problem, target: Target, threads: int) -> Problem:
    """The problem whose kernel "any" gives this one: itself, or with any number of images or rows."""
    opened = open_problem(problem)
    if opened is None:
        return problem
    family = _families.setdefault((opened, target, threads), _Family())
    number = _number(problem)
    if family.refused is not None or not family.own or number in family.own:
        family.own.add(number)
        return problem
    tell_once("any", _announced(opened, number, family))
    return opened


def refuse(opened: Problem, target: Target, threads: int, reason: str) -> None:
    """Gives every number its own kernel from now on, and tells the first such reason of a process."""
    _families.setdefault((opened, target, threads), _Family()).refused = reason
    consequence = "each number has a kernel of its own, here and where else that is so"
    tell_once("each", f"{problem_text(opened)}: {reason}; {consequence}")  # a model may have fifty of them


def _announced(opened: Problem, number: int, family: _Family) -> str:
    size = opened.run_time
    assert size is not None, opened
    of = "image" if isinstance(opened, Conv2d) else "row"
    first = ", ".join(map(str, sorted(family.own)))
    return (
        f"{counted(number, of)} after {first}: one kernel of {size.least} to {size.most} {of}s is compiled, "
        f"for all further numbers, here and wherever they change, as 'batches' says ({problem_text(opened)})"
    )


def tell_once(key: str, text: str) -> None:
    """A warning, the first one of a key in a process."""
    if key not in _warned:
        _warned.add(key)
        warnings.warn(text, stacklevel=2)


@contextmanager
def _offered(which: Offered) -> Generator[None]:
    token = OFFERED.set(which)
    try:
        yield
    finally:
        OFFERED.reset(token)
