"""A docstring's first line stands by itself: it does not begin with a genitive or a pronoun."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "imbrex"
LEANS = re.compile(
    r"(Of|Those|These|Its?|Their|That (?:a|an|the)|Whose|With|By|At|In|For|To|Until|Or|And|As (?!many|few))\b"
)


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    """(line, text) of the docstrings of modules, classes, functions and names."""
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        for i, line in enumerate(body if isinstance(body, list) else []):
            if not isinstance(line, ast.Expr) or not isinstance(line.value, ast.Constant):
                continue
            before = body[i - 1] if i else node
            if isinstance(line.value.value, str) and not isinstance(before, ast.Expr):
                yield line.value.lineno, line.value.value


def faults(text: str) -> list[str]:
    return [f"{line}: {said.splitlines()[0]}" for line, said in docstrings(text) if LEANS.match(said)]


def test_docstrings_stand_by_themselves() -> None:
    files = {str(p.relative_to(PACKAGE)): p.read_text(encoding="utf-8") for p in PACKAGE.rglob("*.py")}
    found = [f"{path}:{fault}" for path, text in files.items() for fault in faults(text)]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        '"""Of a."""\n',
        'def f():\n    """Those of b."""\n',
        'A = 1\n"""Whose c is d."""\n',
        'class A:\n    """Its."""\n',
        '"""As a call knows it."""\n',
    ],
)
def test_control_a_leaning_docstring_is_seen(text: str) -> None:
    assert len(faults(text)) == 1


def test_what_stands_by_itself_is_no_fault() -> None:
    assert faults('"""Bytes of a."""\nA = 1\n"""Often b."""\n') == []
