"""Drawings of coordinate graphs: every node and edge is there, in each form."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest

from imbrex.emit.graph import FORMATS
from imbrex.view.graph import Graph, graph_of
from imbrex.view.work import streamk_graph, workgroup
from imbrex.view.work.streamk import Plan, Tiles

SEED = Tiles(10, 12, 512)
GRAPHS = {
    "matrices": streamk_graph.matrices(SEED, 64, 32, 16),
    "stream_k": streamk_graph.of_plan(Plan(SEED, 32, "stream_k")),
    "two_tile": streamk_graph.of_plan(Plan(SEED, 32, "two_tile")),
    "flattened": streamk_graph.flattened(SEED, swapped=True),
    "reordered": streamk_graph.reordered(120, 12),
    "of a map": graph_of(workgroup.raster_order(6, 8, 4, xcds=8), {"workgroup": "Workgroup"}),
}
each_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def ends(graph: Graph) -> int:
    return sum(len(e.sources) + len(e.destinations) for e in graph.edges)


@each_graph
def test_texts(graph: Graph) -> None:
    mermaid, dot = FORMATS["mermaid"](graph), FORMATS["dot"](graph)
    assert mermaid.count("-->") == ends(graph) and dot.count(" -> ") == ends(graph)
    for node in graph.nodes:
        assert f"  {node.name}([" in mermaid and f'  "{node.name}" [label="{node}"' in dot
    assert set(re.findall(r"style (\w+) stroke", mermaid)) == set(graph.dangling)


@each_graph
def test_json_names_everything(graph: Graph) -> None:
    told = json.loads(FORMATS["json"](graph))
    assert [n["name"] for n in told["nodes"]] == [n.name for n in graph.nodes]
    assert [e["kind"] for e in told["edges"]] == [e.title for e in graph.edges]


@each_graph
def test_the_picture_has_a_box_for_each_node_and_edge(graph: Graph) -> None:
    picture = ElementTree.fromstring(FORMATS["svg"](graph))
    tags = [element.tag.rpartition("}")[2] for element in picture]
    assert tags.count("rect") == len(graph.nodes) + len(graph.edges)
    assert tags.count("line") == ends(graph)
    wide, high = (float(picture.attrib[x]) for x in ("width", "height"))
    boxes = [e.attrib for e in picture if e.tag.endswith("rect")]
    assert all(float(b["x"]) >= 0 and float(b["x"]) + float(b["width"]) <= wide for b in boxes)
    assert all(0 <= float(b["y"]) <= high - float(b["height"]) for b in boxes)


def test_the_parameters_of_a_rule_are_in_json() -> None:
    told = json.loads(FORMATS["json"](GRAPHS["of a map"]))
    assert {e["kind"]: e["parameters"] for e in told["edges"]} == {
        "Group": {"rows": "4"},
        "Deal": {"ways": "8"},
    }
