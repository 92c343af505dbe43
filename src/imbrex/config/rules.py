"""Rules of legality: a broken one is a value with its name and a reason with numbers.

What a GPU asks of every plan, whatever its kind, stands here; a kind's own rules stand with its plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from imbrex.chip import GpuMachine, Machine

__all__ = ["LARGEST_GRID", "Illegal", "Reasons", "Rules", "grid", "lds_bytes", "listed"]

LARGEST_GRID: Final = 2**31 - 1
"""Workgroups of a launch."""


@dataclass(frozen=True)
class Illegal:
    """A broken rule: its name, by which a search counts, and the reason, with numbers."""

    rule: str
    reason: str

    def __str__(self) -> str:
        return self.reason


P = TypeVar("P")
G = TypeVar("G", bound=Machine)
Reasons: TypeAlias = Iterator[str]


@dataclass(frozen=True)
class Rules(Generic[P, G]):
    """Rules for one kind of plan; each yields a reason for every way in which it is broken."""

    first: tuple[Callable[[P, G], Reasons], ...]
    second: tuple[Callable[[P, G], Reasons], ...]

    def broken(self, plan: P, machine: G) -> tuple[Illegal, ...]:
        """All broken rules of the first rank, or else of the second."""
        for rank in (self.first, self.second):
            if found := tuple(
                Illegal(rule.__name__, reason) for rule in rank for reason in rule(plan, machine)
            ):
                return found
        return ()

    def is_legal(self, plan: P, machine: G) -> bool:
        """Is none broken?  It looks no further than the first that is."""
        rules = (*self.first, *self.second)
        return not any(True for rule in rules for _ in rule(plan, machine))


class Launched(Protocol):
    """A plan for a GPU."""

    @property
    def lds_bytes(self) -> int: ...
    @property
    def grid_size(self) -> int: ...


def lds_bytes(plan: Launched, machine: GpuMachine) -> Reasons:
    """All that a workgroup has in shared memory fits."""
    if plan.lds_bytes > machine.lds_bytes:
        yield f"lds_bytes {plan.lds_bytes} > {machine.lds_bytes} on {machine.name}"


def grid(plan: Launched, machine: GpuMachine) -> Reasons:
    """The grid can be launched."""
    if plan.grid_size > LARGEST_GRID:
        yield f"grid_size {plan.grid_size} > {LARGEST_GRID}"


def listed(values: tuple[object, ...]) -> str:
    """`a, b, c`."""
    return ", ".join(map(str, values))
