"""RunTimeSteps: the steps of K of a pipelined product that sums over a size told when the kernel runs."""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.index.atom import Param
from imbrex.index.expr import Lin, param
from imbrex.view.work.segment import greater, lesser

__all__ = ["RunTimeSteps"]


@dataclass(frozen=True)
class RunTimeSteps:
    """Steps that exist where K is told when the kernel runs.

    count: the run-time size, for each one of which K has `each` elements.  depth: of these, of a step.
    """

    count: Param
    each: int
    depth: int

    @property
    def steps(self) -> Lin:
        """Steps that exist, one at least."""
        elements = param(self.count.name, *self.count.bounds) * self.each
        return (elements + (self.depth - 1)) // self.depth

    def part(self, number: Lin, parts: int) -> tuple[Lin, Lin]:
        """The first step, and the one after the last, of a part of so many: all of them are equal but the
        last that has any.  A part that has none takes one beyond the end, of zeros.
        """
        each = (self.steps + (parts - 1)) // parts
        first = number * each
        return first, greater(lesser(first + each, self.steps), first + 1)
