"""The coordinate graphs that the Stream-K design note draws, for any numbers of tiles and workgroups.

matrices       A and B as tiles, with the dangling tile numbers and the loop over K
of_plan        tile numbers and K flattened to one line, the line tiled over the workgroups; of two-tile
               Stream-K, sundered into a Stream-K and a data-parallel part first
flattened      output tiles in a line, in either order of the two inputs
reordered      a line tiled and joined again the other way round
"""

from __future__ import annotations

from imbrex.index.rule import Pad
from imbrex.view.graph import Edge, Graph, Node
from imbrex.view.work.streamk import Plan, Section, Tiles


def matrices(tiles: Tiles, m_per_tile: int, n_per_tile: int, k_per_tile: int) -> Graph:
    """A [m, k] and B [k, n], row-major, before Stream-K."""
    sizes = {
        "A": ((tiles.m, m_per_tile), (tiles.k, k_per_tile)),
        "B": ((tiles.k, k_per_tile), (tiles.n, n_per_tile)),
    }
    nodes: list[Node] = []
    edges: list[Edge] = []
    for name, dims in sizes.items():
        (rows, _), (columns, _) = ((count * per, per) for count, per in dims)
        nodes.append(Node(name, "User", rows * columns))
        strides = (columns, 1)
        for i, ((count, per), stride) in enumerate(zip(dims, strides, strict=True)):
            nodes += [
                Node(f"{name}{i}", "SubDimension", count * per, f"{name}; {i}", stride),
                Node(f"{name}{i}_number", "MacroTileNumber", count, f"{name}; {i}"),
                Node(f"{name}{i}_index", "MacroTileIndex", per, f"{name}; {i}"),
            ]
            edges.append(Edge("Tile", (f"{name}{i}",), (f"{name}{i}_number", f"{name}{i}_index")))
        edges.append(Edge("Split", (name,), (f"{name}0", f"{name}1")))
    nodes.append(Node("k", "ForLoop", tiles.k, "K"))
    edges += [Edge("PassThrough", (f"{n}_number",), ("k",)) for n in ("A1", "B0")]
    return Graph(tuple(nodes), tuple(edges))


def of_plan(plan: Plan) -> Graph:
    """Reverse gives the M, N and K tile of a workgroup at (for_tile, for_k).  Of two sections a selector says
    which one: 0 Stream-K, 1 data-parallel.  A share that ends early, and a piece of K that does, are pads.
    """
    parts = sorted(plan.sections, key=lambda s: s.start)
    nodes, edges = _line(plan.tiles, parts[0].k_span)
    nodes += _loops(plan.tiles, max(s.share for s in parts))
    nodes.append(Node("workgroup", "Workgroup", plan.workgroups))
    if len(parts) == 1:
        _shared_out("global", "local", parts[0], plan.workgroups, nodes, edges)
        return Graph(tuple(nodes), tuple(edges))
    for name, section in zip(("streamed", "whole"), parts, strict=True):
        nodes.append(Node(name, "MacroTileNumber", section.tiles))
        _shared_out(name, f"{name}_local", section, plan.workgroups, nodes, edges)
    nodes.append(Node("selector", "Linear", 2))
    edges.append(Edge("Sunder", ("global",), ("streamed", "whole", "selector")))
    return Graph(tuple(nodes), tuple(edges))


def flattened(tiles: Tiles, swapped: bool = False) -> Graph:
    """Output tiles in a line, n fastest, or m fastest where swapped."""
    nodes = (*_numbers(tiles), Node("line", "Linear", tiles.outputs))
    sources = ("n", "m") if swapped else ("m", "n")
    return Graph(nodes, (Edge("Flatten", sources, ("line",)),))


def reordered(size: int, inner: int) -> Graph:
    """A line as rows of `inner`, joined column after column."""
    rows = size // inner
    nodes = (
        Node("before", "Linear", size),
        Node("row", "Linear", rows),
        Node("column", "Linear", inner, stride=rows),
        Node("after", "Linear", size),
    )
    tiled = Edge("Tile", ("before",), ("row", "column"))
    return Graph(nodes, (tiled, Edge("Join", ("column", "row"), ("after",))))


LOOPS = ("for_tile", "for_k")


def _numbers(tiles: Tiles) -> tuple[Node, Node]:
    return Node("m", "MacroTileNumber", tiles.m, "A; 0"), Node("n", "MacroTileNumber", tiles.n, "B; 1")


def _line(tiles: Tiles, k_span: int) -> tuple[list[Node], list[Edge]]:
    """M, N and K tiles, flattened; k_span: places that the K tiles of an output tile take."""
    nodes = [*_numbers(tiles), Node("k", "Linear", tiles.k, "K tiles")]
    edges: list[Edge] = []
    last = _grown("k", k_span - tiles.k, nodes, edges)
    nodes.append(Node("global", "Linear", tiles.outputs * k_span))
    return nodes, [*edges, Edge("Flatten", ("m", "n", last), ("global",))]


def _shared_out(
    line: str, local: str, section: Section, workgroups: int, nodes: list[Node], edges: list[Edge]
) -> None:
    """A section's line tiled over the workgroups, each with two loops."""
    whole = _grown(line, workgroups * section.share - section.tiles, nodes, edges)
    nodes.append(Node(local, "Linear", section.share))
    edges += [Edge("Tile", (whole,), ("workgroup", local)), Edge("Split", (local,), LOOPS)]


def _grown(name: str, extra: int, nodes: list[Node], edges: list[Edge]) -> str:
    """The node with so many places more that do not exist; itself where there are none."""
    if not extra:
        return name
    (size,) = (n.size for n in nodes if n.name == name)
    grown = f"{name}_padded"
    nodes.append(Node(grown, "Linear", size + extra))
    edges.append(Edge(Pad(0, extra), (name,), (grown,)))
    return grown


def _loops(tiles: Tiles, share: int) -> list[Node]:
    return [Node("for_tile", "ForLoop", share, "Tile"), Node("for_k", "ForLoop", tiles.k, "K")]
