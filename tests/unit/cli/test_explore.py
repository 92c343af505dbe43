"""imbrex explore: the page, one drawing, and mistakes in one message."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree

import pytest

Imbrex: TypeAlias = Callable[..., Any]
GEMM = "gemm -m 64 -n 48 -k 32"


def test_a_page_of_two_configurations(imbrex: Imbrex, tmp_path: Path) -> None:
    file, second = tmp_path / "page.html", "v2:direct+product=v1:general:64,64,64,8,4,4@data_parallel"
    said = imbrex("explore", GEMM, "--target", "gfx942", "--beside", second, "-o", str(file))
    assert (said.code, said.out, said.errors) == (0, "", "")
    text = file.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and second in text
    assert "://" not in text.replace("http://www.w3.org/", ""), "a page needs no network"


def test_one_drawing_is_a_document(imbrex: Imbrex, tmp_path: Path) -> None:
    file = tmp_path / "maps.svg"
    assert imbrex("explore", GEMM, "--target", "gfx942", "--panel", "maps", "-o", str(file)).code == 0
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    assert root.tag.endswith("svg") and any(part.tag.endswith("style") for part in root)


def test_the_data(imbrex: Imbrex) -> None:
    (found,) = json.loads(imbrex("explore", GEMM, "--target", "sm_90a", "--json").out)
    assert (found["version"], found["target"]) == (1, "sm_90a")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((GEMM, "--panel", "bank"), "unknown panel 'bank'"),
        ((GEMM, "--panel", "problem"), "panel 'problem' has no drawing"),
        ((GEMM, "-o", "/proc/none/page.html"), "cannot write '/proc/none/page.html'"),
        (("gemm -m 64 -z 1",), "unknown flag"),
        ((f"{GEMM}\ngemm -m 4 -n 4 -k 4",), "a page shows one problem, got 2"),
        ((GEMM, "--config", "v2:none", "--target", "gfx942"), "unknown algorithm"),
    ],
)
def test_mistakes_are_one_message(imbrex: Imbrex, words: tuple[str, ...], told: str) -> None:
    said = imbrex("explore", *words)
    assert said.code == 1 and told in said.errors and "Traceback" not in said.errors
