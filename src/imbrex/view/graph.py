"""Coordinate graphs: rocRoller's way to draw maps, evaluated with the same rules.

A node is a coordinate: where it lives (User memory, a Workgroup, a ForLoop ...), a name, a size.  An edge
ties source nodes to destination nodes.  In the graph of a load sources are nearer to memory: its address is
found in reverse, from the destinations that hardware and loops give; a store's is found forward.

    edge          forward: destinations from sources    reverse: sources from destinations
    Tile          digits, the last fastest              row-major sum
    Flatten       row-major sum                         digits, the last fastest
    Split         not defined for several               sum of destinations * strides
    Join          sum of sources * strides              not defined for several
    PassThrough   the same                              the same
    Sunder        the whole from pieces and selector where the whole is the destination, or the source; the
                  other way is not defined: the whole does not tell which piece was meant
    a Rule        its inverse, where it has one         its law (destinations are the rule's upper dims)

Law: every edge that can be applied is, and two ways to one node must give one value.
Source: rocRoller's CoordinateEdgeVisitor; see `imbrex.index.rule` for the laws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.index import rule as rules
from imbrex.index.expr import Index, Lin, lin
from imbrex.index.map import Map
from imbrex.index.rule import Guard, Rule

EdgeKind: TypeAlias = Literal["Tile", "Flatten", "Split", "Join", "PassThrough", "Sunder"]
Direction: TypeAlias = Literal["forward", "reverse"]
NODE_KINDS: Final = (
    "User", "SubDimension", "Linear", "Adhoc", "MacroTile", "MacroTileNumber", "MacroTileIndex", "WaveTile",
    "WaveTileNumber", "WaveTileIndex", "JammedWaveTileNumber", "ThreadTile", "ThreadTileNumber",
    "ThreadTileIndex", "ElementNumber", "Workgroup", "Workitem", "Wavefront", "Lane", "VGPR",
    "VGPRBlockNumber", "VGPRBlockIndex", "LDS", "ForLoop", "Unroll",
)  # fmt: skip


@dataclass(frozen=True)
class Node:
    """A coordinate; stride is what a Split or a Join multiplies it by."""

    name: str
    kind: str
    size: int
    label: str = ""
    stride: int = 1

    def __str__(self) -> str:
        return f"{self.kind}({self.label or self.name}; {self.size})"


@dataclass(frozen=True)
class Edge:
    """Sources and destinations by name, in order."""

    kind: EdgeKind | Rule
    sources: tuple[str, ...]
    destinations: tuple[str, ...]

    @property
    def title(self) -> str:
        return self.kind if isinstance(self.kind, str) else type(self.kind).__name__


@dataclass(frozen=True)
class Values:
    """The coordinates that an evaluation found, and the guards under which they exist."""

    coords: Mapping[str, Lin]
    guards: tuple[Guard, ...]


@dataclass(frozen=True)
class Graph:
    """Nodes and edges; a Diagnostic where an edge breaks its law at these sizes."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        names = [n.name for n in self.nodes]
        if doubled := sorted({n for n in names if names.count(n) > 1}):
            raise Diagnostic(f"two nodes are named '{doubled[0]}'")
        for node in self.nodes:
            if node.kind not in NODE_KINDS:
                hint = did_you_mean(node.kind, NODE_KINDS)
                raise Diagnostic(f"unknown kind of node '{node.kind}' for '{node.name}'", hint=hint)
        for edge in self.edges:
            for name in (*edge.sources, *edge.destinations):
                if name not in names:
                    raise Diagnostic(f"an edge names a node '{name}' that is not there")
            self._check(edge)

    def node(self, name: str) -> Node:
        return next(n for n in self.nodes if n.name == name)

    def _known_node(self, name: str) -> Node:
        """A node that a user names."""
        found = next((n for n in self.nodes if n.name == name), None)
        if found is None:
            hint = did_you_mean(name, [n.name for n in self.nodes])
            raise Diagnostic(f"there is no node '{name}'", hint=hint)
        return found

    @property
    def dangling(self) -> tuple[str, ...]:
        """Destinations that are nobody's source, in the order of the nodes: what a load is asked with."""
        ends = {d for e in self.edges for d in e.destinations} - {s for e in self.edges for s in e.sources}
        return tuple(n.name for n in self.nodes if n.name in ends)

    def evaluate(self, given: Mapping[str, Index], direction: Direction = "reverse") -> Values:
        """All coordinates that follow from the given ones; a Diagnostic where two ways differ."""
        coords = {name: lin(x) for name, x in given.items()}
        for name, x in coords.items():
            low, high = x.bounds
            if low < 0 or high >= self._known_node(name).size:
                raise Diagnostic(f"'{name}' is {x}, outside of its {self.node(name).size} coordinates")
        needs = {name: dict[Guard, None]() for name in coords}
        waiting = list(self.edges)
        while ready := [e for e in waiting if all(n in coords for n in self._known(e, direction))]:
            for edge in ready:
                waiting.remove(edge)
                found = self._applied(edge, direction, coords)
                used = self._used(edge, direction, coords)
                guards = dict.fromkeys([*(g for n in used for g in needs[n]), *found.guards])
                for name, x in zip(self._sought(edge, direction), found.coords, strict=True):
                    if (coords.setdefault(name, x) - x).bounds != (0, 0):
                        raise Diagnostic(f"two ways to '{name}' differ: {coords[name]} and {x}")
                    needs.setdefault(name, {}).update(guards)
        applied = [e for e in self.edges if e not in waiting]
        passed = {n for e in applied for n in self._known(e, direction)}
        ends = [name for name in coords if name not in passed]
        return Values(coords, tuple(dict.fromkeys(g for name in ends for g in needs[name])))

    def _used(self, edge: Edge, direction: Direction, coords: Mapping[str, Lin]) -> Sequence[str]:
        """The nodes that a value comes from: of the pieces of a Sunder the one that a number selects."""
        known = self._known(edge, direction)
        if edge.kind == "Sunder" and coords[known[-1]].is_constant:
            return known[coords[known[-1]].const], known[-1]
        return known

    @staticmethod
    def _known(edge: Edge, direction: Direction) -> tuple[str, ...]:
        return edge.sources if direction == "forward" else edge.destinations

    @staticmethod
    def _sought(edge: Edge, direction: Direction) -> tuple[str, ...]:
        return edge.destinations if direction == "forward" else edge.sources

    def _applied(self, edge: Edge, direction: Direction, coords: Mapping[str, Lin]) -> rules.Lowered:
        rule = self._rule(edge, direction)
        upper, lower = self._known(edge, direction), self._sought(edge, direction)
        if rule is None:
            ends = f"from {list(edge.sources)} to {list(edge.destinations)}"
            raise Diagnostic(f"'{edge.title}' {ends} is not defined {direction}")
        return rules.lower(rule, [coords[n] for n in upper], self._sizes(upper), self._sizes(lower))

    def _rule(self, edge: Edge, direction: Direction) -> Rule | None:
        """The rule whose upper dims are known and whose lower dims are asked; None where there is none."""
        match edge.kind, direction:
            case ("Tile", "reverse") | ("Flatten", "forward"):
                return rules.Unmerge()
            case ("Tile", "forward") | ("Flatten", "reverse"):
                return rules.Merge()
            case "PassThrough", _:
                return rules.PassThrough()
            case ("Split", "reverse") | ("Join", "forward"):
                return rules.Embed(tuple(self.node(n).stride for n in self._known(edge, direction)))
            case (("Split" | "Join"), _):
                (*others, only) = self._sought(edge, direction)
                return None if others else rules.Quotient(self.node(only).stride)
            case "Sunder", _:
                return rules.Sunder() if len(self._sought(edge, direction)) == 1 else None
            case rule, "reverse":
                return rule if not isinstance(rule, str) else None
            case rule, _:
                if isinstance(rule, str):
                    return None
                return rules.inverse(rule, self._sizes(edge.destinations), self._sizes(edge.sources))

    def _check(self, edge: Edge) -> None:
        """The law of one defined direction holds at the nodes' sizes."""
        for direction in ("reverse", "forward"):
            rule = self._rule(edge, direction)
            if isinstance(rule, rules.Embed):
                return  # loops keep a Split's sum inside, not the sizes of its parts
            if rule is not None:
                upper, lower = (self._sizes(side(edge, direction)) for side in (self._known, self._sought))
                if flaw := rules.flaw(rule, upper, lower):
                    raise Diagnostic(f"'{edge.title}' of {[*edge.sources, *edge.destinations]} {flaw}")
                return
        raise Diagnostic(f"'{edge.title}' of {[*edge.sources, *edge.destinations]} is not defined either way")

    def _sizes(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.node(n).size for n in names)


def graph_of(map: Map, upper: Mapping[str, str] | None = None, lower: str = "SubDimension") -> Graph:
    """A map as a graph: its lower dims are sources at the top, each layer a row of nodes below.

    upper: kinds of the upper dims by name (Workgroup, ForLoop ...); Linear unless given.
    """
    kinds = upper or {}
    nodes = [Node(_name(d.name, len(map.layers)), lower, d.size, d.name) for d in map.lower]
    edges: list[Edge] = []
    for depth, layer in reversed(list(enumerate(map.layers))):
        below = dict(zip((d.name for d in layer.lower), _lower_names(map, depth), strict=True))
        for dim in layer.upper:
            kind = kinds.get(dim.name, "Linear") if depth == 0 else "Linear"
            nodes.append(Node(_name(dim.name, depth), kind, dim.size, dim.name))
        for step in layer.steps:
            ups = tuple(_name(n, depth) for n in step.upper)
            edges.append(Edge(step.rule, tuple(below[n] for n in step.lower), ups))
    return Graph(tuple(nodes), tuple(edges))


def _name(dim: str, depth: int) -> str:
    return f"{dim}_{depth}"


def _lower_names(map: Map, depth: int) -> list[str]:
    """The nodes of a layer's lower dims: the upper dims of the next layer, or the map's own lower dims."""
    dims = map.layers[depth + 1].upper if depth + 1 < len(map.layers) else map.lower
    return [_name(d.name, depth + 1) for d in dims]
