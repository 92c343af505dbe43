"""Rules of legality: a broken one is a value with its name and a reason with numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from imbrex.schedule.cpu.plan import CpuPlan
from imbrex.schedule.general.plan import GeneralPlan
from imbrex.schedule.halo.lines import LinesPlan
from imbrex.schedule.halo.plan import HaloPlan
from imbrex.schedule.halo_weight.plan import HaloWeightPlan
from imbrex.schedule.target import Target
from imbrex.schedule.warpgroup.plan import WarpgroupPlan
from imbrex.schedule.xdlops.plan import XdlopsPlan

__all__ = ["Illegal", "Reasons", "Rules", "listed"]


@dataclass(frozen=True)
class Illegal:
    """A broken rule: its name, by which a search counts, and the reason, with numbers."""

    rule: str
    reason: str

    def __str__(self) -> str:
        return self.reason


P = TypeVar("P", GeneralPlan, XdlopsPlan, WarpgroupPlan, HaloPlan, LinesPlan, HaloWeightPlan, CpuPlan)
G = TypeVar("G", bound=Target)
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


def listed(values: tuple[object, ...]) -> str:
    return ", ".join(map(str, values))
