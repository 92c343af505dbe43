"""A `Map` answers one question: given upper coordinates, which lower coordinates, and do they exist?

A map is a chain of layers, topmost first; a layer connects named upper dims to named lower dims by
rules.  Neighbouring layers agree in sizes and order; names are local to a layer.  How a convolution
becomes a matrix product, which workgroup computes which tile and how a tile lies in memory are all maps.
The way back is derived (`inverse`), never written a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from imbrex.cached import cached_property
from imbrex.index import rule as rules
from imbrex.index.expr import Index, Lin, lin, select, var
from imbrex.index.rule import Guard, Merge, PassThrough, Rule

Coordinate: TypeAlias = "int | npt.NDArray[np.int64]"
Entry: TypeAlias = tuple[Rule, str, str]
"""A step as `layer_over` takes it: rule, upper names, lower names, names separated by spaces."""


class Dim(NamedTuple):
    """A named dimension and the number of its coordinates."""

    name: str
    size: int

    def __str__(self) -> str:
        return f"{self.name}={self.size}"


class Point(NamedTuple):
    """Lower coordinates, and the guards under which they exist."""

    coords: tuple[Lin, ...]
    guards: tuple[Guard, ...]


class Step(NamedTuple):
    """One rule between named dims of a layer."""

    rule: Rule
    upper: tuple[str, ...]
    lower: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.upper)} -> {_rule_text(self.rule)} -> {', '.join(self.lower)}"


@dataclass(frozen=True)
class Layer:
    """Rules side by side: each upper dim is used once, each lower dim is made once."""

    upper: tuple[Dim, ...]
    lower: tuple[Dim, ...]
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        for side, dims, used in (
            ("upper", self.upper, [n for s in self.steps for n in s.upper]),
            ("lower", self.lower, [n for s in self.steps for n in s.lower]),
        ):
            names = [d.name for d in dims]
            if doubled := sorted({n for n in names if names.count(n) > 1}):
                raise ValueError(f"{side} dimension '{doubled[0]}' is named twice in {names}")
            if empty := [d for d in dims if d.size < 1]:
                raise ValueError(
                    f"{side} dimension '{empty[0].name}' needs a positive size, got {empty[0].size}"
                )
            if sorted(names) != sorted(used):
                raise ValueError(
                    f"the steps connect {side} dimensions {sorted(used)}, the layer has {sorted(names)}"
                )
        for step in self.steps:
            if flaw := rules.flaw(step.rule, self.upper_sizes(step), self.lower_sizes(step)):
                raise ValueError(f"'{type(step.rule).__name__.lower()}' of {_where(step)} {flaw}")

    def upper_sizes(self, step: Step) -> tuple[int, ...]:
        return tuple([self._upper[n] for n in step.upper])

    def lower_sizes(self, step: Step) -> tuple[int, ...]:
        return tuple([self._lower[n] for n in step.lower])

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        """Without what was worked out: hashes of text differ from process to process."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _hash(self) -> int:
        return hash((self.upper, self.lower, self.steps))

    @cached_property
    def _sized(self) -> tuple[tuple[Step, tuple[int, ...], tuple[int, ...]], ...]:
        """The steps, each with the sizes of its upper and lower dims."""
        return tuple((step, self.upper_sizes(step), self.lower_sizes(step)) for step in self.steps)

    @cached_property
    def _upper(self) -> dict[str, int]:
        return dict(self.upper)

    @cached_property
    def _lower(self) -> dict[str, int]:
        return dict(self.lower)

    def at(self, coords: Sequence[Lin]) -> Point:
        given = dict(zip((d.name for d in self.upper), coords, strict=True))
        made: dict[str, Lin] = {}
        guards: list[Guard] = []
        for (rule, upper, lower), upper_sizes, lower_sizes in self._sized:
            if isinstance(rule, PassThrough):  # most steps
                made[lower[0]] = given[upper[0]]
                continue
            out = rules.lower(rule, [given[n] for n in upper], upper_sizes, lower_sizes)
            made.update(zip(lower, out.coords, strict=True))
            guards += out.guards
        return Point(tuple(made[d.name] for d in self.lower), tuple(guards))

    def inverse(self) -> Layer:
        """The layer back; ValueError where a rule is not one to one."""
        steps: list[Step] = []
        for step in self.steps:
            back = rules.inverse(step.rule, self.upper_sizes(step), self.lower_sizes(step))
            if back is None:
                raise ValueError(f"'{type(step.rule).__name__.lower()}' of {_where(step)} has no inverse")
            steps.append(Step(back, step.lower, step.upper))
        return Layer(self.lower, self.upper, tuple(steps))


@dataclass(frozen=True)
class Map:
    """Layers from upper to lower; see the module's first lines."""

    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        if not self.layers:
            raise ValueError("a map needs at least one layer; 'identity' makes one that changes nothing")
        for above, below in zip(self.layers, self.layers[1:], strict=False):
            made, wanted = [d.size for d in above.lower], [d.size for d in below.upper]
            if made != wanted:
                raise ValueError(f"a layer makes sizes {made} for a layer that takes {wanted}")

    @property
    def upper(self) -> tuple[Dim, ...]:
        return self.layers[0].upper

    @property
    def lower(self) -> tuple[Dim, ...]:
        return self.layers[-1].lower

    def at(self, coords: Sequence[Index]) -> Point:
        """Lower coordinates and guards of an upper point, simplified; pads over pads leave one guard."""
        point = tuple(lin(c) for c in coords)
        spans: dict[Lin, tuple[int, Index]] = {}
        for layer in self.layers:
            point, guards = layer.at(point)
            for g in guards:
                x, low = g.index - g.index.const, -g.index.const
                start, stop = spans.get(x, (low, g.size + low))
                spans[x] = max(low, start), _least(g.size + low, stop)
        return Point(point, tuple(Guard(x - start, _size(start, stop)) for x, (start, stop) in spans.items()))

    @cached_property
    def symbolic(self) -> Point:
        """The map at its own dims' names."""
        return self.at([var(n, d.size) for n, d in zip(self.variables, self.upper, strict=True)])

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The variable of each upper dim, as `symbolic` uses them."""
        return tuple(d.name for d in self.upper)

    def then(self, below: Map) -> Map:
        """First this map, then `below`."""
        return Map((*self.layers, *below.layers))

    def with_leading(self, dims: Sequence[Dim]) -> Map:
        """This map, with further dims before its own that pass through."""
        steps = tuple(Step(PassThrough(), (d.name,), (d.name,)) for d in dims)
        more = tuple(dims)
        return Map(
            tuple(
                Layer((*more, *layer.upper), (*more, *layer.lower), (*steps, *layer.steps))
                for layer in self.layers
            )
        )

    def inverse(self) -> Map:
        """The map from lower to upper; ValueError where it is not one to one."""
        return Map(tuple(layer.inverse() for layer in reversed(self.layers)))

    def evaluate(self, coords: Sequence[Coordinate], count: int | None = None) -> tuple[tuple[Any, ...], Any]:
        """Numeric lower coordinates, and whether they exist; arrays of coordinates broadcast.

        count: the run-time size, where there is one; the greatest where none is given.
        """
        env = dict(zip(self.variables, coords, strict=True))
        valid: Any = np.True_
        for guard in self.symbolic.guards:
            x = guard.index.eval(env)
            size = lin(guard.size)
            end = size.bounds[1] if count is None else size.eval({rules.COUNT: count})
            valid = valid & (x >= 0) & (x < end)
        return tuple(c.eval(env) for c in self.symbolic.coords), valid

    def _repr_html_(self) -> str:
        """The rungs as a table, for notebooks: dims, and the rules that lead to the next."""
        rungs = [(layer.upper, [s for s in layer.steps if s.rule != PassThrough()]) for layer in self.layers]
        rows = [
            f"<tr><td>{escape(', '.join(map(str, dims)))}</td>"
            f"<td>{'<br>'.join(escape(str(step)) for step in steps)}</td></tr>"
            for dims, steps in (*rungs, (self.lower, []))
        ]
        point = ", ".join(f"{d.name} = {c}" for d, c in zip(self.lower, self.symbolic.coords, strict=True))
        caption = "; ".join([point, *(f"where {guard}" for guard in self.symbolic.guards)])
        return f"<table>{''.join(rows)}</table><p>{escape(caption)}</p>"

    def __str__(self) -> str:
        rows = [
            f"({', '.join(map(str, layer.upper))})\n  {'; '.join(map(str, layer.steps))}"
            for layer in self.layers
        ]
        return "\n".join((*rows, f"({', '.join(map(str, self.lower))})"))


def _least(a: Index, b: Index) -> Index:
    """The lesser of two ends, where it is known which one that is."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    (low, high), (other_low, other_high) = lin(a).bounds, lin(b).bounds
    if high <= other_low:
        return a
    return b if other_high <= low else select(lin(b) - a, lin(a), lin(b))


def _size(start: int, stop: Index) -> Index:
    return max(0, stop - start) if isinstance(stop, int) else stop - start


def identity(dims: Sequence[Dim]) -> Map:
    """The map that changes nothing."""
    return Map((layer_over(dims, *((PassThrough(), d.name, d.name) for d in dims)),))


def layer_over(
    lower: Sequence[Dim], *entries: Entry, order: Sequence[str] | None = None, **sizes: int
) -> Layer:
    """A layer above `lower` from its entries.

    Upper dims come in the order of the entries, or in `order`.  Sizes that the rule does not settle
    (Embed, Quotient, Unmerge, Broadcast, Sunder) are given by name; ValueError where one is missing.
    """
    below = dict(lower)
    steps: list[Step] = []
    upper: dict[str, int] = {}
    for rule, up, low in entries:
        step = Step(rule, tuple(up.split()), tuple(low.split()))
        if unknown := [n for n in step.lower if n not in below]:
            raise ValueError(f"there is no dimension '{unknown[0]}' below, only {list(below)}")
        implied = rules.upper_sizes(rule, [below[n] for n in step.lower])
        if implied is None and (unsized := [n for n in step.upper if n not in sizes]):
            raise ValueError(f"'{_rule_text(rule)}' does not settle the size of '{unsized[0]}': give it")
        found = [sizes[n] for n in step.upper] if implied is None else implied
        upper.update(zip(step.upper, found, strict=True))
        steps.append(step)
    names = list(order) if order is not None else list(upper)
    return Layer(tuple(Dim(n, upper[n]) for n in names), tuple(lower), tuple(steps))


def merging(lower: Sequence[Dim], **digits: str) -> Layer:
    """A layer whose dims, by their names, are each one dim below, or a merge of several."""
    entries = ((Merge() if " " in names else PassThrough(), dim, names) for dim, names in digits.items())
    return layer_over(lower, *entries)


def joined_names(dims: Iterable[Dim]) -> str:
    """The names of dims, as an entry has them."""
    return " ".join(d.name for d in dims)


def unchanged(names: Iterable[str]) -> list[Entry]:
    """The entries by which dims pass as they are."""
    return [(PassThrough(), name, name) for name in names]


def passing(lower: Sequence[Dim], *entries: Entry, **sizes: int) -> Layer:
    """A layer with these entries, in which all other dims pass; they come after those of the entries."""
    return layer_over(lower, *entries, *_others(lower, entries), order=None, **sizes)


def replacing(
    lower: Sequence[Dim], *entries: Entry, order: Sequence[str] | None = None, **sizes: int
) -> Layer:
    """A layer with these entries, each where the first dim that it makes is; all other dims pass."""
    names = [d.name for d in lower]

    def position(entry: Entry) -> int:
        return min((names.index(n) for n in entry[2].split()), default=len(names))

    placed = sorted([*_others(lower, entries), *entries], key=position)
    return layer_over(lower, *placed, order=order, **sizes)


def _others(lower: Sequence[Dim], entries: Sequence[Entry]) -> list[Entry]:
    """Entries by which those dims pass that no entry makes."""
    made = {name for _, _, names in entries for name in names.split()}
    return unchanged(d.name for d in lower if d.name not in made)


def _rule_text(rule: Rule) -> str:
    name = type(rule).__name__.lower()
    values = ", ".join(str(v) for v in vars(rule).values())
    return f"{name}({values})" if values else name


def _where(step: Step) -> str:
    return "'" + "', '".join(step.upper or step.lower) + "'"
