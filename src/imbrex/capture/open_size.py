"""OpenSize: a size of a graph that its problems leave open, as images of convolutions or rows of products.

Law: the graph is read at two numbers of the range.  A problem that is the same at both does not depend on the
size; one that has as many images, or as many rows, for each of it is open in these; all others need a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from shlex import quote

from imbrex.diagnostic import Diagnostic
from imbrex.problem import Conv2d, Problem

__all__ = ["OpenSize"]


@dataclass(frozen=True)
class OpenSize:
    """name: as the graph has it.  least < most: of the range."""

    name: str
    least: int
    most: int

    @property
    def numbers(self) -> tuple[int, int]:
        """Where the graph is read."""
        return self.most - 1, self.most

    def problem(self, found: Sequence[Problem]) -> Problem:
        """The problem of all numbers, by that of each of `numbers`; a Diagnostic where there is none."""
        one, other = found
        if one == other:
            return one
        for opened in self._opened(other):
            size = opened.run_time
            assert size is not None, opened
            if opened.at(size.most // self.most * (self.most - 1)) == one:
                return opened
        option = f"--size {quote(self.name + '=N')}"
        message = f"'{self.name}' is more or other than the number of its images or rows; give {option}"
        raise Diagnostic(message)

    def _opened(self, problem: Problem) -> Iterator[Problem]:
        """The problem with each size open that may be, where it is a multiple of this one."""
        if isinstance(problem, Conv2d):
            if problem.n % self.most == 0:
                yield replace(problem, least_n=problem.n // self.most * self.least)
            return
        name, size = ("k", problem.k) if problem.transpose_a else ("m", problem.m)
        if size % self.most == 0:
            yield problem.open(size // self.most * self.least, size, name)
