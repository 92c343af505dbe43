"""A plan in closed form: what a workgroup does with each of its output tiles, as index expressions.

`Plan.segments` says it with numbers; here a kernel gets it from its workgroup number.  A section of the plan
gives each workgroup consecutive global tiles [begin, stop), so that with `base` the place of an output tile's
first global tile

    slot       the workgroup's logical number, and the place of its partial sums  (of hardware's number)
    segments   output tiles that the workgroup meets           (of slot)
    output     the number of the s-th of them                  (of slot and of s)
    first      max(begin - base, 0)       the first k tile     (of slot and of output, from here on)
    end        min(stop - base, k tiles)  the one after its last
    count      end - first
    sends      1 where first > 0          somebody else owns the output tile
    owns       1 where first = 0
    next       the place after the workgroup's
    last       one after the place of the last partial sum that the owner adds; 0 for who does not own
    piece      the number of its piece of K, where each has one     (of slot)

Logical numbers count against hardware's (`view.work.streamk.Plan.started`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from imbrex.cached import cached_property
from imbrex.index.expr import Lin, lin, select, var
from imbrex.view.work.streamk import Plan, Section

Quantity: TypeAlias = Literal[
    "segments", "output", "first", "end", "count", "sends", "owns", "slot", "next", "last", "piece"
]
QUANTITIES: Final = get_args(Quantity)
FIRST: Final = lin(0)


@dataclass(frozen=True)
class SegmentWalk:
    """The way of the workgroups through one section of a plan."""

    plan: Plan
    number: int

    @property
    def section(self) -> Section:
        return self.plan.sections[self.number]

    @property
    def is_whole(self) -> bool:
        """Are all segments whole output tiles?"""
        return self.section.share % self.section.k_span == 0

    @property
    def pieces(self) -> int:
        """Equal pieces of K of each output tile."""
        return -(-self.section.k_span // self.section.share)

    def piece(self, workgroup: Lin) -> Lin:
        """The number of a workgroup's piece, where each has one.  workgroup: the slot."""
        return workgroup % self.pieces

    @property
    def first_output(self) -> int:
        return self.section.start // self.section.k_span

    @cached_property
    def most_segments(self) -> int:
        """Output tiles that a workgroup meets at most; 0 where nobody has one."""
        count = self.index("segments", var("slot", self.plan.workgroups))
        return max(int(count.eval({"slot": w})) for w in range(self.plan.workgroups))

    def size(self, name: Quantity) -> int:
        """One more than the greatest value."""
        k, workgroups = self.plan.tiles.k, self.plan.workgroups
        match name:
            case "segments":
                return self.most_segments + 1
            case "output":
                return self.plan.tiles.outputs
            case "first":
                return k
            case "end" | "count":
                return k + 1
            case "sends" | "owns":
                return 2
            case "slot":
                return workgroups
            case "next" | "last":
                return workgroups + 1
            case "piece":
                return self.pieces

    def index(self, name: Quantity, workgroup: Lin, number: Lin = FIRST) -> Lin:
        """The quantity.  workgroup: hardware's number for `slot`, else the slot.  number: s for `output`, the
        output tile for what depends on one.
        """
        begin, stop, span = *self._share(workgroup), self.section.k_span
        base = (number - self.first_output) * span
        match name:
            case "segments":
                count = (stop - 1) // span - begin // span + 1
                return select(stop - begin - 1, count, lin(0))
            case "output":
                return begin // span + number + self.first_output
            case "sends":
                return select(begin - base - 1, lin(1), lin(0))
            case "owns":
                return select(base - begin, lin(1), lin(0))
            case "slot":
                (logical,) = self.plan.started.at([workgroup]).coords
                return logical
            case "next":
                return workgroup + 1
            case "piece":
                return self.piece(workgroup)
            case "last":
                assert self.section.start == 0, "the section that is shared begins the line"
                return select(base - begin, (base + span - 1) // self.section.share + 1, lin(0))
            case "first" | "end" | "count":
                first, end = greater(begin - base, lin(0)), lesser(stop - base, lin(self.plan.tiles.k))
                return {"first": first, "end": end, "count": end - first}[name]

    def _share(self, workgroup: Lin) -> tuple[Lin, Lin]:
        """[begin, stop) of a workgroup, from the section's start on; begin > stop where there is nothing."""
        begin = workgroup * self.section.share
        return begin, lesser(begin + self.section.share, lin(self.section.tiles))


def greater(a: Lin, b: Lin) -> Lin:
    """The greater of two."""
    return select(a - b, a, b)


def lesser(a: Lin, b: Lin) -> Lin:
    """The lesser of two."""
    return select(b - a, a, b)
