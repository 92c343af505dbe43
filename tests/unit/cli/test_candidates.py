"""imbrex explain --configs: the candidates of a problem."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.unit.cli.conftest import Said

from imbrex.config.configuration import parse


def test_candidates_are_listed_the_pick_first(imbrex: Callable[..., Said]) -> None:
    problem = "gemm -m 300 -n 200 -k 100"
    text = imbrex("explain", problem, "--configs", "5").out
    document = json.loads(imbrex("explain", problem, "--configs", "5", "--format", "json").out)[0]
    ranked = [one["configuration"] for one in document["ranked"]]
    chosen = json.loads(imbrex("explain", problem, "--format", "json").out)[0]["configuration"]
    assert ranked[0] == chosen and len({parse(line) for line in ranked}) == 5
    assert all(line in text for line in ranked) and "1.000" in text
    assert document["ranked"][0]["behind_by"] == ""
    assert all(one["behind_by"] in text for one in document["ranked"])
    assert document["candidates"] > 5 and f"5 of {document['candidates']} candidates" in text


def test_what_does_not_serve_is_told(imbrex: Callable[..., Said]) -> None:
    text = imbrex("explain", "gemm -t f16 -m 64 -n 64 -k 64", "--target", "sm_90a", "--configs", "2").out
    assert "aligned does not serve" in text and "nothing to copy" in text


def test_a_number_is_wanted(imbrex: Callable[..., Said]) -> None:
    assert imbrex("explain", "gemm -m 8 -n 8 -k 8", "--configs", "0").code != 0
