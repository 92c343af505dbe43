"""A Map as a ladder: rungs of dims from what is asked down to memory, and the rules between them.

Every dim of a rung has its value as an expression in the map's own variables, so that a reader sees the value
of each rung at a point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from imbrex.cached import cached_property
from imbrex.explore.expression import tree
from imbrex.index import query
from imbrex.index import rule as rules
from imbrex.index.atom import Atom, Div, Mod, Mul, Param, Select, Xor
from imbrex.index.expr import Lin, var
from imbrex.index.map import Layer, Map
from imbrex.index.query import Obstacle
from imbrex.index.rule import Guard, Rule

__all__ = ["Ladder", "law"]

WIDEST = 16
"""Elements of the widest vector that is asked for."""


@dataclass(frozen=True)
class Ladder:
    """A map with its title.  array: what its lower dims are the coordinates of.  is_memory: is it asked how
    wide vectors are, and whether it is one to one?

    parameters: values of the runtime quantities that it mentions.
    """

    title: str
    map: Map
    array: str | None = None
    is_memory: bool = True
    parameters: Mapping[str, int] | None = None

    @cached_property
    def values(self) -> tuple[tuple[Lin, ...], ...]:
        """Value of each dim of each rung, in the variables of the first."""
        point = tuple(var(d.name, d.size) for d in self.map.upper)
        found = [point]
        for layer in self.map.layers:
            point = layer.at(point).coords
            found.append(point)
        return tuple(found)

    @property
    def address(self) -> Lin:
        """Element offset in the lower buffer."""
        return query.linear(self.map)[0]

    @property
    def guards(self) -> Sequence[Guard]:
        """What must hold for the element to exist."""
        return self.map.symbolic.guards

    @cached_property
    def widths(self) -> tuple[tuple[str, int, str], ...]:
        """Each upper dim with the elements of its widest legal vector, and what limits it."""
        found: list[tuple[str, int, str]] = []
        for dim in self.map.upper if self.is_memory else ():
            width = query.vector_width(self.map, dim.name, WIDEST)
            found.append((dim.name, width, _limit(self.map, dim.name, width)))
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        given = self.parameters or {}
        return {
            "title": self.title,
            "array": self.array,
            "rungs": list(self._rungs()),
            "address": tree(self.address),
            "address_text": str(self.address),
            "guards": [{"index": tree(g.index), "size": g.size, "text": str(g)} for g in self.guards],
            "widths": [{"dim": dim, "width": width, "why": why} for dim, width, why in self.widths],
            "is_injective": query.is_injective(self.map) if self.is_memory else None,
            "parameters": [
                {"name": p.name, "low": p.low, "high": p.high, "value": given.get(p.name, p.low)}
                for p in sorted(_parameters(self.address), key=str)
            ],
        }

    def _rungs(self) -> Iterator[dict[str, Any]]:
        layers: list[Layer | None] = [*self.map.layers, None]
        for layer, values in zip(layers, self.values, strict=True):
            dims = self.map.lower if layer is None else layer.upper
            yield {
                "dims": [
                    {"name": d.name, "size": d.size, "value": tree(x), "text": str(x)}
                    for d, x in zip(dims, values, strict=True)
                ],
                "steps": [] if layer is None else [_step(step) for step in layer.steps],
            }


def _step(step: Any) -> dict[str, Any]:
    return {
        "rule": type(step.rule).__name__.lower(),
        "text": str(step),
        "law": law(step.rule),
        "upper": list(step.upper),
        "lower": list(step.lower),
    }


def law(rule: Rule) -> str:
    """What a rule says, with u upper, l lower, U and L their sizes (`index.rule`)."""
    match rule:
        case rules.PassThrough():
            return "l = u"
        case rules.Pad(before, _):
            return f"l = u - {before}, where 0 <= l < L"
        case rules.Prefix():
            return "l = u, where u is below the size that the kernel is told"
        case rules.Slice(begin, _):
            return f"l = u + {begin}"
        case rules.Embed(coefs, offset):
            terms = " + ".join(f"{c}*u_{i}" for i, c in enumerate(coefs, 1))
            return f"l = {offset} + {terms}"
        case rules.Quotient(coef, offset):
            return f"l = (u - {offset}) / {coef}, where that is exact"
        case rules.Unmerge():
            return "l = ((u_1 U_2 + u_2) U_3 + ...) + u_n"
        case rules.Merge():
            return "l_i = digit i of u in radix (L_1 .. L_n)"
        case rules.Unfold():
            return "l_i = digit i of u, which need no carry: neighbours in memory"
        case rules.Broadcast():
            return "u is dropped"
        case rules.Fixed(value):
            return f"l = {value}"
        case rules.Sunder():
            return "l = u_s + sum(U_i for i < s), s the last u"
        case rules.Xor(rows):
            return f"(r, c) -> (r, c ^ (r / {rows}) % C)"
        case rules.Group(rows):
            return f"u walks the columns of {rows} rows, then those of the next rows"
        case rules.Ungroup(rows):
            return f"the position of (row, column) in groups of {rows} rows"
        case rules.Deal(ways):
            return f"u is dealt to {ways} hands in turn, the hands laid end to end"
        case rules.Undeal(ways):
            return f"undoes a deal to {ways} hands"
        case _:
            assert_never(rule)


def _limit(map: Map, dim: str, width: int) -> str:
    """Why a vector along a dim is no wider."""
    size = dict(map.upper)[dim]
    if width == WIDEST:
        return f"{width} is the widest that is asked for"
    if size % (2 * width):
        return f"{size} along {dim} is no multiple of {2 * width}"
    match query.obstacle(map, dim, 2 * width):
        case Guard():
            own = next((str(g) for g in map.symbolic.guards if g.index.mentions(dim)), "that of a pad")
            return f"the guard {own} does not hold or fail for {2 * width} neighbours together"
        case Obstacle.APART:
            return "neighbours do not lie together in memory"
        case Obstacle.UNALIGNED:
            return f"{2 * width} neighbours do not begin at a multiple of {2 * width} elements"
        case None:
            return ""


def _parameters(index: Lin) -> set[Param]:
    """The runtime quantities of a sum."""
    return {p for atom, _ in index.terms for p in _in_atom(atom)}


def _in_atom(atom: Atom) -> set[Param]:
    match atom:
        case Param():
            return {atom}
        case Div() | Mod():
            return _parameters(atom.num) | _parameters(atom.den)
        case Mul():
            return _in_atom(atom.left) | _in_atom(atom.right)
        case Select():
            return _parameters(atom.cond) | _parameters(atom.then) | _parameters(atom.other)
        case Xor():
            return _parameters(atom.left) | _parameters(atom.right)
        case _:
            return set()
