"""imbrex map: tables, pictures, graphs, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Imbrex: TypeAlias = Callable[..., Any]


def numbers(text: str) -> list[list[int]]:
    return [[int(x) for x in line.split()[1:]] for line in text.splitlines()[1:]]


def test_the_seeds_table(imbrex: Imbrex) -> None:
    said = imbrex("map", "6x8", "--group", "4")
    assert (said.code, said.errors) == (0, "")
    assert numbers(said.out)[4] == [32, 34, 36, 38, 40, 42, 44, 46]
    assert numbers(imbrex("map", "6x8").out)[1] == [1, 7, 13, 19, 25, 31, 37, 43]


def test_csv_and_the_remap(imbrex: Imbrex) -> None:
    told = imbrex("map", "2x4", "--xcds", "2", "--format", "csv").out
    assert told == "0,4,1,5\n2,6,3,7\n", "neighbours on one die are neighbours in a column"
    assert imbrex("map", "2x4", "--xcds", "2", "--no-remap", "--format", "csv").out == "0,2,4,6\n1,3,5,7\n"


def test_pictures_and_graphs(imbrex: Imbrex, tmp_path: Path) -> None:
    file = tmp_path / "map.svg"
    assert imbrex("map", "6x8", "--format", "svg", "-o", str(file)).code == 0
    assert file.read_text(encoding="utf-8").count('<rect class="g') == 48
    assert imbrex("map", "6x8", "--group", "2", "--format", "mermaid").out.startswith("graph TD\n")


def test_the_group_may_be_a_quantity(imbrex: Imbrex) -> None:
    for group in ("1", "3", "5", "9"):
        asked = ("map", "5x6", "--group", group, "--along", "n", "--xcds", "3")
        assert imbrex(*asked, "--runtime").out == imbrex(*asked).out
    graph = imbrex("map", "5x6", "--group", "3", "--runtime", "--format", "json").out
    assert "wgm" in graph and "wgm" not in imbrex("map", "5x6", "--group", "3", "--format", "json").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["6"], "a grid of tiles looks like 6x8, got '6'"),
        (["0x4"], "a grid of tiles looks like 6x8, got '0x4'"),
        (["6x8", "--group", "0"], "--group should be at least 1, got 0"),
        (["6x8", "--runtime"], "--runtime needs a value for its tables"),
        (["6x8", "--xcds", "-1"], "--xcds should be at least 1, got -1"),
        (["9999x9999"], "a table of 99980001 tiles is too long to print"),
    ],
)
def test_bad_input(imbrex: Imbrex, arguments: list[str], message: str) -> None:
    said = imbrex("map", *arguments)
    assert said.code == 1 and message in said.errors
