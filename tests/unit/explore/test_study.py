"""A study: its JSON holds what the library says, at random points; every panel says something."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from imbrex.chip import target
from imbrex.config.request import Request
from imbrex.diagnostic import Diagnostic
from imbrex.explore import PANELS, Study, study
from imbrex.explore.expression import tree
from imbrex.index.expr import Lin, select, var, xor
from imbrex.problem.text import parse_problems

FORWARD = "conv -n 2 -c 64 -H 14 -W 14 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
BACKWARD = "conv -n 1 -c 32 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F 2"
WEIGHT = "conv -n 2 -c 16 -H 9 -W 9 -k 24 -y 3 -x 3 -p 1 -q 1 -F 4"
PRODUCT = "gemm -t f16 -m 128 -n 256 -k 64"
DEPTHWISE = "conv -n 1 -c 32 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -g 32 -F 1"
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


def studied(chip: str, line: str) -> Study:
    (found,) = parse_problems(line, None)
    (problem,) = found.problems
    machine = target(chip)
    return study(Request(problem, machine, "cpu" if chip.startswith("avx") else chip))


@pytest.fixture(scope="module", params=list(CASES))
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


def test_ladders_have_the_values_of_their_maps(told: tuple[Study, dict[str, Any]]) -> None:
    """Rungs, address and guards of the JSON against the map itself."""
    found, data = told
    dice = random.Random(7)
    assert data["maps"].keys() == found.subject.ladders.keys()
    for name, ladder in found.subject.ladders.items():
        given = data["maps"][name]
        for _ in range(20):
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
