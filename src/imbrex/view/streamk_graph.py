"""The coordinate graphs that the Stream-K design note draws, for any numbers of tiles and workgroups.

matrices       A and B as tiles, with the dangling tile numbers and the loop over K
stream_k       tile numbers and K flattened to one line, the line tiled over the workgroups
two_tile       the line sundered into a Stream-K and a data-parallel part
flattened      output tiles in a line, in either order of the two inputs
reordered      a line tiled and joined again the other way round
"""

from __future__ import annotations

from imbrex.view.graph import Edge, Graph, Node
from imbrex.view.streamk import Plan, Tiles


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


def stream_k(plan: Plan) -> Graph:
    """Reverse gives the M, N and K tile of a workgroup at (for_tile, for_k)."""
    (section,) = plan.sections
    nodes, edges = _line(plan.tiles)
    nodes += _loops(plan.tiles, section.share)
    nodes += [Node("workgroup", "Workgroup", plan.workgroups), Node("local", "Linear", section.share)]
    edges += [Edge("Tile", ("global",), ("workgroup", "local")), Edge("Split", ("local",), LOOPS)]
    return Graph(tuple(nodes), tuple(edges))


def two_tile(plan: Plan) -> Graph:
    """The selector says which part a workgroup is in: 0 Stream-K, 1 data-parallel."""
    parts = sorted(plan.sections, key=lambda s: s.start)
    nodes, edges = _line(plan.tiles)
    nodes += [
        *_loops(plan.tiles, max(s.share for s in parts)),
        Node("workgroup", "Workgroup", plan.workgroups),
    ]
    for name, section in zip(("streamed", "whole"), parts, strict=True):
        nodes += [
            Node(name, "MacroTileNumber", section.tiles),
            Node(f"{name}_local", "Linear", section.share),
        ]
        edges += [
            Edge("Tile", (name,), ("workgroup", f"{name}_local")),
            Edge("Split", (f"{name}_local",), LOOPS),
        ]
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


def _line(tiles: Tiles) -> tuple[list[Node], list[Edge]]:
    """M, N and K tiles, flattened."""
    nodes = [*_numbers(tiles), Node("k", "Linear", tiles.k, "K tiles"), Node("global", "Linear", tiles.total)]
    return nodes, [Edge("Flatten", ("m", "n", "k"), ("global",))]


def _loops(tiles: Tiles, share: int) -> list[Node]:
    return [Node("for_tile", "ForLoop", share, "Tile"), Node("for_k", "ForLoop", tiles.k, "K")]
