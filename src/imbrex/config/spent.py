"""What the model spends the cycles of a configuration on, and which part makes one cost more than another.

    parallel  parts of a chip that work side by side: the longest counts, others the more the nearer they are
    after     what adds up: starts, ways of results to memory, copies

Law: a configuration's parts take the cycles that rank it; what no part explains is the part `ELSE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

__all__ = ["ELSE", "Spent", "behind", "spent_of_all"]

ELSE: Final = "rest of the model"
OVERLAP: Final = 8.0
"""Exponent of the norm of parts that overlap, as of the streams of warpgroups."""
SEEN: Final = 1e-3
"""A part that makes up for less of the whole is not named."""


@dataclass(frozen=True)
class Spent:
    """Cycles by part; see the module."""

    parallel: Mapping[str, float]
    after: Mapping[str, float]

    @property
    def cycles(self) -> float:
        """Cycles of the whole."""
        most = max(self.parallel.values(), default=0.0)
        shares = sum((part / most) ** OVERLAP for part in self.parallel.values()) if most else 0.0
        return most * shares ** (1 / OVERLAP) + sum(self.after.values())

    def of(self, cycles: float) -> Spent:
        """Parts of so many cycles of the whole: what is missing is `ELSE`."""
        return self.plus({ELSE: self.after.get(ELSE, 0.0) + cycles - self.cycles})

    def plus(self, after: Mapping[str, float]) -> Spent:
        """All parts, and more that come after."""
        return replace(self, after={**self.after, **after})

    def alongside(self, parallel: Mapping[str, float]) -> Spent:
        """All parts, and more that go on in parallel."""
        return replace(self, parallel={**self.parallel, **parallel})

    def times(self, count: float) -> Spent:
        """All parts so often, one after the other."""
        return Spent(
            {name: count * part for name, part in self.parallel.items()},
            {name: count * part for name, part in self.after.items()},
        )


def spent_of_all(parts: Iterable[Spent]) -> Spent:
    """Products one after the other, part by part."""
    parallel, after = dict[str, float](), dict[str, float]()
    for one in parts:
        for whole, given in ((parallel, one.parallel), (after, one.after)):
            for name, cycles in given.items():
                whole[name] = whole.get(name, 0.0) + cycles
    return Spent(parallel, after)


def behind(pick: Spent, other: Spent) -> str:
    """`L2 +1.2%`: the part that, taken from another configuration, makes the pick cost most more, and what
    share of the pick's cycles that is; "" where none does.
    """
    costs = {name: pick.alongside({name: part}).cycles for name, part in other.parallel.items()}
    costs |= {name: pick.plus({name: part}).cycles for name, part in other.after.items()}
    name = max(costs, key=lambda part: costs[part], default="")
    more = costs.get(name, 0.0) / pick.cycles - 1
    return f"{name} +{more:.1%}" if more >= SEEN else ""
