"""OpenSize: a size of a graph that its problems leave open, as images of convolutions or rows of products.

Law: the graph is read at two numbers of the range.  A problem that is the same at both does not depend on the
size; one that has as many images, or as many rows, for each of it is open in these; all others need a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

from imbrex.diagnostic import Diagnostic
from imbrex.problem import Problem

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
        each, rest = divmod(other.outermost[1], self.most)
        if rest == 0:
            opened = other.open(each * self.least, each * self.most)
            if opened.at(each * (self.most - 1)) == one:
                return opened
        option = f"--size {quote(self.name + '=N')}"
        message = f"'{self.name}' is more or other than the number of its images or rows; give {option}"
        raise Diagnostic(message)
