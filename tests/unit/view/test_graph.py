"""Coordinate graphs: each edge in each direction, the seed's graphs, and maps drawn as graphs."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.index.expr import var
from imbrex.index.map import Dim, Map
from imbrex.index.rule import Xor
from imbrex.view.conv.implicit_gemm import Convolution, forward
from imbrex.view.graph import Direction, Edge, EdgeKind, Graph, Node, graph_of
from imbrex.view.work import streamk_graph, workgroup
from imbrex.view.work.streamk import MODES, Mode, Plan, Tiles

SEED = Tiles(10, 12, 512)


def pair(kind: EdgeKind, sources: str, destinations: str, *, strides: tuple[int, ...] = ()) -> Graph:
    """One edge; names end in their sizes."""
    names = [*sources.split(), *destinations.split()]
    steps = dict(zip(names, strides, strict=False)) if strides else {}
    nodes = tuple(Node(n, "Linear", int(n[1:]), stride=steps.get(n, 1)) for n in names)
    return Graph(nodes, (Edge(kind, tuple(sources.split()), tuple(destinations.split())),))


def values(graph: Graph, direction: Direction, **given: int) -> dict[str, int]:
    return {n: x.const for n, x in graph.evaluate(given, direction).coords.items() if n not in given}


def test_each_edge_in_its_directions() -> None:
    tile = pair("Tile", "x12", "a3 b4")
    assert values(tile, "reverse", a3=2, b4=1) == {"x12": 9}
    assert values(tile, "forward", x12=9) == {"a3": 2, "b4": 1}
    flatten = pair("Flatten", "a3 b4", "x12")
    assert values(flatten, "forward", a3=2, b4=1) == {"x12": 9}
    assert values(flatten, "reverse", x12=9) == {"a3": 2, "b4": 1}
    split = pair("Split", "x20", "a3 b4", strides=(1, 5, 2))
    assert values(split, "reverse", a3=2, b4=3) == {"x20": 16}
    assert values(pair("Split", "x20", "a4", strides=(1, 5)), "forward", x20=15) == {"a4": 3}
    join = pair("Join", "a3 b4", "x20", strides=(5, 2, 1))
    assert values(join, "forward", a3=2, b4=3) == {"x20": 16}
    assert values(pair("PassThrough", "a4", "b4"), "forward", a4=3) == {"b4": 3}
    sunder = pair("Sunder", "x7", "a3 b4 s2")
    assert values(sunder, "reverse", a3=2, b4=1, s2=1) == {"x7": 4}
    assert values(pair("Sunder", "a3 b4 s2", "x7"), "forward", a3=2, b4=1, s2=0) == {"x7": 2}


def test_a_direction_that_is_not_defined_says_so() -> None:
    with pytest.raises(Diagnostic, match=r"'Split' from \['x20'\] to \['a3', 'b4'\] is not defined forward"):
        pair("Split", "x20", "a3 b4").evaluate({"x20": 3}, "forward")
    with pytest.raises(Diagnostic, match=r"'Sunder' .* is not defined forward"):
        pair("Sunder", "x7", "a3 b4 s2").evaluate({"x7": 3}, "forward")


def test_two_ways_to_a_node_must_agree() -> None:
    nodes = tuple(Node(n, "Linear", 6) for n in "abc")
    same = Graph(nodes, (Edge("PassThrough", ("a",), ("b",)), Edge("PassThrough", ("a",), ("c",))))
    assert str(same.evaluate({"b": 4, "c": 4}).coords["a"]) == "4"
    with pytest.raises(Diagnostic, match="two ways to 'a' differ: 4 and 5"):
        same.evaluate({"b": 4, "c": 5})


def test_broken_graphs() -> None:
    with pytest.raises(Diagnostic, match="makes lower size 12"):
        pair("Tile", "x13", "a3 b4")
    with pytest.raises(Diagnostic, match="add up to 8"):
        pair("Sunder", "x8", "a3 b4 s2")
    with pytest.raises(Diagnostic, match="an edge names a node 'z' that is not there"):
        Graph((Node("a", "Linear", 2),), (Edge("PassThrough", ("a",), ("z",)),))
    with pytest.raises(Diagnostic, match="two nodes are named 'a'"):
        Graph((Node("a", "Linear", 2), Node("a", "User", 2)), ())
    with pytest.raises(Diagnostic, match="unknown kind of node 'Workgroups'") as error:
        Graph((Node("a", "Workgroups", 2),), ())
    assert error.value.hint is not None and "Workgroup" in error.value.hint


def test_the_seeds_stream_k_graph() -> None:
    graph = streamk_graph.of_plan(Plan(SEED, 32, "stream_k"))
    assert set(graph.dangling) == {"workgroup", "for_tile", "for_k"}
    for w, tile, k in ((0, 0, 0), (3, 700, 20), (31, 1500, 111)):
        at = 1920 * w + tile + k
        want = {"m": at // 512 // 12, "n": at // 512 % 12, "k": at % 512}
        found = values(graph, "reverse", workgroup=w, for_tile=tile, for_k=k)
        assert {n: found[n] for n in "mnk"} == want
    symbols = {name: var(name, graph.node(name).size) for name in graph.dangling}
    assert graph.evaluate(symbols).coords["k"].mentions("for_k"), "and with symbols"


@pytest.mark.parametrize("part", [0, 1])
def test_the_seeds_two_tile_graph(part: int) -> None:
    graph = streamk_graph.of_plan(Plan(SEED, 32, "two_tile"))
    assert [graph.node(n).size for n in ("global", "streamed", "whole")] == [61440, 28672, 32768]
    w, tile, k = 5, 512, 40
    at = (896 * w, 28672 + 1024 * w)[part] + tile + k
    found = values(graph, "reverse", workgroup=w, for_tile=tile, for_k=k, selector=part)
    assert (found["m"], found["n"], found["k"]) == (at // 512 // 12, at // 512 % 12, at % 512)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("m", "n", "k", "workgroups"), [(2, 3, 4, 5), (2, 2, 7, 3), (1, 2, 5, 9), (3, 3, 2, 4)]
)
def test_the_graph_of_any_plan_has_its_segments(mode: Mode, m: int, n: int, k: int, workgroups: int) -> None:
    """More workgroups than tiles, shares and pieces of K that end early: each workgroup's own tiles."""
    plan = Plan(Tiles(m, n, k), workgroups, mode)
    graph = streamk_graph.of_plan(plan)
    starts = sorted(s.start for s in plan.sections)
    for w in range(workgroups):
        found: list[tuple[int, ...]] = []
        for section in plan.sections:
            part = {"selector": starts.index(section.start)} if len(starts) > 1 else {}
            for local in range(section.share):
                at = graph.evaluate({"workgroup": w, "for_tile": local, "for_k": 0, **part})
                if all(0 <= g.index.const < g.size for g in at.guards):
                    found.append(tuple(at.coords[x].const for x in "mnk"))
        want = [(s.output // n, s.output % n, at) for s in plan.segments(w) for at in range(s.first, s.end)]
        assert found == want, w


def test_a_coordinate_that_a_node_has_not_is_refused() -> None:
    graph = streamk_graph.of_plan(Plan(SEED, 32, "two_tile"))
    with pytest.raises(Diagnostic, match="'selector' is 2, outside of its 2 coordinates"):
        graph.evaluate({"workgroup": 0, "for_tile": 0, "for_k": 0, "selector": 2})
    with pytest.raises(Diagnostic, match="there is no node 'selecter'") as error:
        graph.evaluate({"selecter": 1})
    assert error.value.hint == "did you mean 'selector'?"


def test_the_seeds_other_graphs() -> None:
    before = streamk_graph.matrices(SEED, 64, 32, 16)
    assert set(before.dangling) == {
        "A0_number",
        "A0_index",
        "A1_index",
        "B0_index",
        "B1_number",
        "B1_index",
        "k",
    }
    found = values(
        before, "reverse", A0_number=3, A0_index=5, A1_index=7, k=2, B0_index=0, B1_number=1, B1_index=2
    )
    assert found["A"] == (3 * 64 + 5) * 512 * 16 + 2 * 16 + 7 and found["B"] == 2 * 16 * 12 * 32 + 34
    assert values(streamk_graph.flattened(SEED), "reverse", line=25) == {"m": 2, "n": 1}
    assert values(streamk_graph.flattened(SEED, swapped=True), "reverse", line=25) == {"m": 5, "n": 2}
    turned = [values(streamk_graph.reordered(12, 4), "forward", before=x)["after"] for x in range(12)]
    assert turned == np.arange(12).reshape(4, 3).T.ravel().tolist()


def test_a_map_is_a_graph() -> None:
    layer = Convolution(
        filter=(Dim("k", 4), Dim("c", 3), Dim("y", 3), Dim("x", 3)),
        input=(Dim("n", 2), Dim("c", 3), Dim("hi", 6), Dim("wi", 5)),
        output=(Dim("n", 2), Dim("k", 4), Dim("ho", 4), Dim("wo", 3)),
        strides=(1, 1),
        dilations=(1, 1),
        padding=((0, 0), (0, 0)),
    )
    for map in (workgroup.raster_order(6, 8, 4, xcds=3), forward(layer).b):
        graph = graph_of(map, {"workgroup": "Workgroup"})
        point = [d.size - 1 for d in map.upper]
        coords, _ = map.evaluate(point)
        found = graph.evaluate({f"{d.name}_0": x for d, x in zip(map.upper, point, strict=True)}).coords
        depth = len(map.layers)
        assert [found[f"{d.name}_{depth}"].const for d in map.lower] == list(coords)
        assert {n.name for n in graph.nodes} >= {f"{d.name}_0" for d in map.upper}


def test_a_rule_forward_is_its_inverse() -> None:
    nodes = tuple(Node(n, "Linear", s) for n, s in (("r", 4), ("c", 8), ("row", 4), ("column", 8)))
    graph = Graph(nodes, (Edge(Xor(), ("r", "c"), ("row", "column")),))
    down = values(graph, "reverse", row=3, column=5)
    assert down == {"r": 3, "c": 6} and values(graph, "forward", **down) == {"row": 3, "column": 5}
    assert isinstance(workgroup.linear(2, 3), Map)
