"""A study: its JSON holds what the library says, at random points; every panel says something."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from tests.pairs import one_in
from tests.unit.explore.studied import BACKWARD, DEPTHWISE, FORWARD, PRODUCT, WEIGHT, studied

from imbrex.diagnostic import Diagnostic
from imbrex.explore import PANELS, Study
from imbrex.explore.axes import links
from imbrex.explore.expression import tree
from imbrex.index.expr import Lin, select, var, xor

CASES = {
    "cpu": ("avx512", FORWARD),
    "gfx908": ("gfx908", WEIGHT),
    "gfx942": ("gfx942", FORWARD),
    "gfx942 backward": ("gfx942", BACKWARD),
    "gfx950 f16": ("gfx950", PRODUCT),
    "sm_90a": ("sm_90a", FORWARD),
    "sm_90a f16": ("sm_90a", PRODUCT),
    "lanes": ("gfx942", DEPTHWISE),
}


@pytest.fixture(scope="module", params=one_in(2, list(CASES)))
def told(request: pytest.FixtureRequest) -> tuple[Study, dict[str, Any]]:
    found = studied(*CASES[request.param])
    return found, json.loads(json.dumps(found.to_json()))


def evaluated(expression: Any, env: dict[str, int]) -> int:
    """What a page does with an expression, in Python: the contract's words alone."""
    match expression:
        case int():
            return expression
        case str():
            return env[expression]
        case ["+", *parts]:
            return sum(evaluated(part, env) for part in parts)
    return _combined(expression[0], [evaluated(part, env) for part in expression[1:]])


def _combined(word: str, parts: list[int]) -> int:
    match word, parts:
        case "*", [a, b]:
            return a * b
        case "/", [a, b]:
            return a // b
        case "%", [a, b]:
            return a % b
        case "^", [a, b]:
            return a ^ b
        case "?", [condition, then, other]:
            return then if condition >= 0 else other
        case _:
            raise AssertionError(word)


def agree(index: Lin, sizes: dict[str, int], dice: random.Random) -> None:
    expression = json.loads(json.dumps(tree(index)))
    for _ in range(25):
        env = {name: dice.randrange(size) for name, size in sizes.items()}
        assert evaluated(expression, env) == index.eval(env)


def test_expressions_have_the_value_of_the_sums() -> None:
    a, b = var("a", 100), var("b", 64)
    sums = [a - b * 3, (a * 7 - b) // 5, (a - b) % 9, xor(a % 16, b), select(a - b, a * 2, b + 1), a * 0 + 4]
    for one in sums:
        agree(one, {"a": 100, "b": 64}, random.Random(1))


def test_control_rounding_to_zero_is_seen() -> None:
    below = (var("a", 4) - 3) // 2
    assert below.eval({"a": 0}) == -2 != int(-3 / 2)


def test_maps_have_the_values_of_the_library(told: tuple[Study, dict[str, Any]]) -> None:
    """Rungs, address and guards of the JSON against the map itself."""
    found, data = told
    dice = random.Random(7)
    ladders = {link.name: link.ladder for link in links(found.subject)}
    assert data["maps"].keys() == ladders.keys()
    for name, ladder in ladders.items():
        given = data["maps"][name]
        for _ in range(12):
            env = {d.name: dice.randrange(d.size) for d in ladder.map.upper}
            coords, exists = ladder.map.evaluate(list(env.values()))
            last = given["rungs"][-1]["dims"]
            assert [evaluated(d["value"], env) for d in last] == [int(c) for c in coords]
            holds = (0 <= evaluated(g["index"], env) < g["size"] for g in given["guards"])
            assert all(holds) == bool(exists)
            offset = 0
            for c, d in zip(coords, ladder.map.lower, strict=True):
                offset = offset * d.size + int(c)
            assert evaluated(given["address"], env) == offset


def followed(data: dict[str, Any], point: dict[str, int]) -> dict[str, int]:
    """What a page does with a point: every map whose axes it has, until nothing is new."""
    point, before = dict(point), -1
    while before != len(point):
        before = len(point)
        for follow in data["follows"]:
            if not all(axis in point for axis in follow["from"].values()):
                continue
            given = data["maps"][follow["map"]]
            env = {d["name"]: 0 for d in given["rungs"][0]["dims"]}
            env |= {dim: point[axis] for dim, axis in follow["from"].items()}
            if all(0 <= evaluated(g["index"], env) < g["size"] for g in given["guards"]):
                dims = {d["name"]: d for d in given["rungs"][-1]["dims"]}
                for dim, axis in follow["to"].items():
                    point.setdefault(axis, evaluated(dims[dim]["value"], env))
    return point


def test_an_element_of_c_leads_to_who_keeps_it_and_back(told: tuple[Study, dict[str, Any]]) -> None:
    found, data = told
    if found.subject.product is None:
        return
    c, dice = found.subject.ladders["C"].map, random.Random(3)
    for _ in range(5):
        values = [dice.randrange(d.size) for d in c.upper]
        names = [{"gemmG": "g", "gemmM": "m", "gemmN": "n"}[d.name] for d in c.upper]
        point = dict(zip(names, values, strict=True))
        whole = followed(data, point)
        coords, _ = c.evaluate(values)
        array = found.subject.ladders["C"].array
        assert [whole[f"{array}.{d.name}"] for d in c.lower] == [int(x) for x in coords]
        kept = {axis: whole[axis] for axis in ("wave", "lane", "register")}
        tiles = {axis: whole[axis] for axis in ("m_tile", "n_tile")}
        back = followed(data, kept | tiles | ({"g": point["g"]} if "g" in point else {}))
        assert (back["m"], back["n"]) == (point["m"], point["n"])


def test_what_is_drawn_is_on_an_axis_and_in_its_range(told: tuple[Study, dict[str, Any]]) -> None:
    _, data = told
    axes = {axis["name"]: axis["size"] for axis in data["axes"]}
    drawn = 0
    for panel in data["panels"]:
        texts = [panel["svg"] or "", *(variant["svg"] for variant in panel["variants"])]
        for word in re.findall(r'data-(?:is|when|also|rows|columns)="([^"]+)"', " ".join(texts)):
            for token in word.split():
                axis, _, value = token.partition(":")
                drawn += 1
                assert axis in axes
                for one in value.split(",") if value[0].isdigit() else ():
                    first, _, last = one.partition("-")
                    assert int(first) <= int(last or first) < axes[axis], token
    assert drawn < 9000, "a page has to light up at once"


def test_every_panel_shows_something_or_says_why(told: tuple[Study, dict[str, Any]]) -> None:
    _, data = told
    assert [panel["name"] for panel in data["panels"]] == list(PANELS)
    for panel in data["panels"]:
        shown = panel["svg"] or panel["table"] or panel["texts"]
        assert bool(shown) != bool(panel["absent"]), panel["name"]
        assert "<style" not in (panel["svg"] or "")


def test_a_width_says_what_limits_it(told: tuple[Study, dict[str, Any]]) -> None:
    _, data = told
    assert all(width["why"] for ladder in data["maps"].values() for width in ladder["widths"])


def test_an_unknown_panel_is_told() -> None:
    with pytest.raises(Diagnostic, match="unknown panel 'bank'"):
        studied("gfx942", FORWARD).panel("bank")


def test_the_data_has_the_keys_that_the_page_of_documentation_names(
    told: tuple[Study, dict[str, Any]],
) -> None:
    _, data = told
    assert set(data) == {
        "version", "generator", "problem", "target", "machine", "configuration", "axes", "maps", "follows",
        "filled", "style", "panels",
    }  # fmt: skip
    for panel in data["panels"]:
        assert set(panel) == {
            "name", "title", "sentences", "svg", "variants", "table", "texts", "frames", "absent", "sampled",
        }  # fmt: skip
    names = {axis["name"] for axis in data["axes"]}
    for follow in data["follows"]:
        assert set(follow) == {"map", "from", "to", "over"} and follow["map"] in data["maps"]
        assert {*follow["from"].values(), *follow["to"].values()} <= names
