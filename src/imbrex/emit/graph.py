"""Coordinate graphs as text: mermaid, dot and JSON, and as a picture (SVG).

Edges are nodes of the drawing, too, since an edge has several ends; their ends are numbered where the order
matters.  Dangling nodes are green, as in rocRoller's drawings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Final
from xml.sax.saxutils import escape

from imbrex.view.graph import Edge, Graph

GREEN = "#3a3"
ROW, CHARACTER, GAP, HEIGHT = 56, 7, 18, 26


def mermaid(graph: Graph) -> str:
    """A mermaid flow chart, as the design notes have them."""
    lines = ["graph TD"]
    lines += [f'  {n.name}(["{_text(graph, n.name)}"])' for n in graph.nodes]
    for i, edge in enumerate(graph.edges):
        lines.append(f'  e{i}["{edge.title}"]')
        lines += [f"  {name} --{_number(edge.sources, at)}--> e{i}" for at, name in enumerate(edge.sources)]
        ends = edge.destinations
        lines += [f"  e{i} --{_number(ends, at)}--> {name}" for at, name in enumerate(ends)]
    lines += [f"  style {name} stroke:{GREEN}" for name in graph.dangling]
    return "\n".join(lines).replace("----->", "-->") + "\n"


def dot(graph: Graph) -> str:
    """Graphviz' language."""
    lines = ["digraph coordinates {"]
    for n in graph.nodes:
        colour = f' color="{GREEN}"' if n.name in graph.dangling else ""
        lines.append(f'  "{n.name}" [label="{_text(graph, n.name)}" shape=ellipse{colour}];')
    for i, edge in enumerate(graph.edges):
        lines.append(f'  "e{i}" [label="{edge.title}" shape=box];')
        lines += [f'  "{name}" -> "e{i}" [label="{at}"];' for at, name in enumerate(edge.sources)]
        lines += [f'  "e{i}" -> "{name}" [label="{at}"];' for at, name in enumerate(edge.destinations)]
    return "\n".join([*lines, "}"]) + "\n"


def to_json(graph: Graph) -> str:
    """Nodes and edges, with the parameters of rules."""
    edges = [
        {
            "kind": e.title,
            "sources": e.sources,
            "destinations": e.destinations,
            "parameters": {} if isinstance(e.kind, str) else {k: str(v) for k, v in vars(e.kind).items()},
        }
        for e in graph.edges
    ]
    return json.dumps({"nodes": [asdict(n) for n in graph.nodes], "edges": edges}, indent=2) + "\n"


def svg(graph: Graph) -> str:
    """Rows of nodes, sources above their destinations, an edge's name on the lines that meet in it."""
    rows = _rows(graph)
    texts = {n.name: _text(graph, n.name) for n in graph.nodes}
    texts |= {f"e{i}": e.title for i, e in enumerate(graph.edges)}
    widths = {name: len(text) * CHARACTER + 16 for name, text in texts.items()}
    wide = max(sum(widths[n] + GAP for n in row) for row in rows)
    centres: dict[str, tuple[int, int]] = {}
    for y, row in enumerate(rows):
        x = (wide - sum(widths[n] + GAP for n in row)) // 2 + GAP // 2
        for name in row:
            centres[name] = x + widths[name] // 2, y * ROW + ROW // 2
            x += widths[name] + GAP
    lines = [_line(centres[a], centres[b]) for i, e in enumerate(graph.edges) for a, b in _ends(e, f"e{i}")]
    boxes = [
        _box(centres[n], widths[n], texts[n], n in graph.dangling, n not in _names(graph)) for n in centres
    ]
    size = f'width="{wide}" height="{len(rows) * ROW}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="12">'
    return "\n".join([head, *lines, *boxes, "</svg>"]) + "\n"


FORMATS: Final[dict[str, Callable[[Graph], str]]] = {
    "mermaid": mermaid,
    "dot": dot,
    "json": to_json,
    "svg": svg,
}


def _text(graph: Graph, name: str) -> str:
    return str(graph.node(name)).replace('"', "'")


def _number(ends: Sequence[str], at: int) -> str:
    return f" {at} " if len(ends) > 1 else "-"


def _names(graph: Graph) -> frozenset[str]:
    return frozenset(n.name for n in graph.nodes)


def _ends(edge: Edge, name: str) -> list[tuple[str, str]]:
    """The lines of an edge, each from above to below."""
    return [*((s, name) for s in edge.sources), *((name, d) for d in edge.destinations)]


def _rows(graph: Graph) -> list[list[str]]:
    """Each node one row below the lowest of those it comes from."""
    lines = [pair for i, e in enumerate(graph.edges) for pair in _ends(e, f"e{i}")]
    depth = dict.fromkeys((*(n.name for n in graph.nodes), *(f"e{i}" for i in range(len(graph.edges)))), 0)
    for _ in depth:  # the longest path has fewer lines than there are nodes
        before = dict(depth)
        for above, below in lines:
            depth[below] = max(depth[below], depth[above] + 1)
        if depth == before:
            break
    rows: list[list[str]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for name, row in depth.items():
        rows[row].append(name)
    return rows


def _line(start: tuple[int, int], end: tuple[int, int]) -> str:
    (x, y), (u, v) = start, end
    return f'<line x1="{x}" y1="{y}" x2="{u}" y2="{v}" stroke="#999"/>'


def _box(at: tuple[int, int], width: int, text: str, is_dangling: bool, is_edge: bool) -> str:
    x, y = at
    stroke, fill = (GREEN if is_dangling else "#555"), ("#eee" if is_edge else "#fff")
    round_ = 2 if is_edge else HEIGHT // 2
    shape = (
        f'<rect x="{x - width // 2}" y="{y - HEIGHT // 2}" width="{width}" height="{HEIGHT}" rx="{round_}"'
    )
    label = f'<text x="{x}" y="{y + 4}" text-anchor="middle">{escape(text)}</text>'
    return f'{shape} fill="{fill}" stroke="{stroke}"/>{label}'
