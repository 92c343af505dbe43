"""Axes: what can be pointed at, and how one thing leads to another through the Maps.

A point is a value for some axes.  A `Follow` binds dims of a map's first and last rungs to axes: where the
point has those of the first, and all guards hold, it gets those of the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from imbrex.explore.ladder import Ladder
from imbrex.explore.subject import Subject

__all__ = ["Axis", "Follow", "axes_of"]

GEMM: Final = {"gemmG": "g", "gemmM": "m", "gemmN": "n", "gemmK": "k"}
SAID: Final = {
    "g": "batch of the product", "m": "row of C", "n": "column of C", "k": "what is summed",
}  # fmt: skip
FEW: Final = 64
"""Values of an axis that may be tried one by one."""


@dataclass(frozen=True)
class Axis:
    """What a token names.  size: of its values; 0 of words."""

    name: str
    size: int
    said: str

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "size": self.size, "said": self.said}


@dataclass(frozen=True)
class Follow:
    """map: by its name.  upper, lower: axes by dim.  over: axes of upper that may be missing."""

    map: str
    upper: Mapping[str, str]
    lower: Mapping[str, str]
    over: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"map": self.map, "from": dict(self.upper), "to": dict(self.lower), "over": list(self.over)}


def axes_of(subject: Subject) -> tuple[Sequence[Axis], Sequence[Follow]]:
    """All axes of a subject and what follows from what."""
    axes: dict[str, Axis] = {}
    follows: list[Follow] = []
    for name, ladder in subject.ladders.items():
        upper, lower = bound(ladder)
        follows.append(Follow(name, upper, lower))
        for axis in _of_ladder(ladder, upper, lower):
            axes.setdefault(axis.name, axis)
    return list(axes.values()), follows


def bound(ladder: Ladder) -> tuple[dict[str, str], dict[str, str]]:
    """Axes of an operand's map: of the product above, of the array below."""
    upper = {d.name: GEMM.get(d.name, d.name) for d in ladder.map.upper}
    lower = {d.name: f"{ladder.array}.{d.name}" for d in ladder.map.lower}
    return upper, lower


def _of_ladder(ladder: Ladder, upper: Mapping[str, str], lower: Mapping[str, str]) -> Iterator[Axis]:
    for dim in ladder.map.upper:
        axis = upper[dim.name]
        yield Axis(axis, dim.size, SAID.get(axis, axis))
    for dim in ladder.map.lower:
        yield Axis(lower[dim.name], dim.size, f"{dim.name} of {ladder.array}")
