"""Waves of a SIMD, their workgroups and their turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

__all__ = ["Group", "Step", "Turn", "Wave", "trip_alone"]

Turn: TypeAlias = tuple[float, int, float, int]
"""A wave that is to issue: when, at the earliest; its rank; when it issued last; its number.  Of two turns
the lesser goes first.
"""


class Step(Protocol):
    """An operation as its units see it.  Times are clocks."""

    def may_issue(self, wave: Wave, when: float) -> float:
        """When it may issue, not before `when`, if no other wave issues before."""
        ...

    def issue(self, wave: Wave, now: float) -> float:
        """When its wave may issue the next one; infinite where another wave says when."""
        ...


Call: TypeAlias = tuple[Callable[["Wave", float], float], Callable[["Wave", float], float]]
"""What a step says and does: `may_issue` and `issue`."""


class Group:
    """The waves of a workgroup, and how many of them are not yet at the barrier."""

    __slots__ = ("missing", "waves")

    def __init__(self) -> None:
        self.waves, self.missing = list[Wave](), 0


class Wave:
    """rank: its priority, negative.  at: how many steps of the loop it has done; the one before it is -1.
    vm, lgkm: when the results of its accesses come; before the first one some that are there.
    """

    __slots__ = ("at", "group", "issued", "lgkm", "number", "rank", "step", "steps", "vm")

    def __init__(self, number: int, group: Group, looks_back: int) -> None:
        self.number, self.group, self.rank, self.issued = number, group, 0, -1.0
        self.vm, self.lgkm = [0.0] * looks_back, [0.0] * looks_back
        group.waves.append(self)
        group.missing += 1

    def begin(self, steps: Sequence[Step], before: Step | None) -> None:
        """before: a step before the loop."""
        self.steps, self.step, self.at = steps, before or steps[0], -1 if before else 0

    def advance(self) -> None:
        self.at += 1
        self.step = self.steps[self.at % len(self.steps)]


def trip_alone(wave: Wave, calls: Sequence[Call], ready: float) -> tuple[float, float]:
    """A trip of a wave that shares its SIMD with no other: when its last operation issues, and when it may go
    on.  calls: of its steps.  ready: when it may begin.
    """
    now = ready
    for may_issue, issue in calls:
        now = may_issue(wave, ready)
        ready = issue(wave, now)
    return now, ready
