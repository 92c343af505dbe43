"""Nothing outside `chip/` knows a chip by its name: whoever wants to know something asks the row.

`view/mma` lists instructions by the chips that have them, and compares no names either.  Docstrings, help
and messages may name a chip; a text that is a chip's name and nothing else is one that code looks at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

PACKAGE = Path(__file__).resolve().parents[3] / "src" / "imbrex"
NAME = re.compile(r"gfx[0-9a-f]+|sm_[0-9]+[af]?")
STARTS = ("gfx", "sm_")
HOME, LISTED = "chip", "view/mma"
BEGINS = ("startswith", "removeprefix", "endswith")


def _docstrings(tree: ast.AST) -> set[int]:
    """Texts that stand as statements."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def _compared(tree: ast.AST) -> Iterator[ast.AST]:
    """What is compared with, matched, or sought at either end of a text."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare():
                yield from (part for side in (node.left, *node.comparators) for part in ast.walk(side))
            case ast.MatchValue(value=value):
                yield value
            case ast.Call(func=ast.Attribute(attr=attr), args=args) if attr in BEGINS:
                yield from args
            case _:
                pass


def faults(path: PurePosixPath, text: str) -> list[str]:
    """One line for every name of a chip that code outside `chip/` looks at."""
    if path.parts[0] == HOME or not any(start in text for start in STARTS):
        return []
    tree = ast.parse(text)
    compared, told = set(_compared(tree)), _docstrings(tree)
    nodes = compared if path.as_posix().startswith(LISTED) else ast.walk(tree)
    return sorted(
        {
            f"{path}:{node.lineno}: '{node.value}'"
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
            if NAME.fullmatch(node.value) or (node in compared and node.value in STARTS)
        }
    )


def test_nobody_looks_at_names_of_chips() -> None:
    sources = {PurePosixPath(p.relative_to(PACKAGE).as_posix()): p.read_text() for p in PACKAGE.rglob("*.py")}
    assert PurePosixPath("chip/table.py") in sources
    assert [fault for path, text in sources.items() for fault in faults(path, text)] == []


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("ir/a.py", "x = machine.name == 'sm_90a'", ["ir/a.py:1: 'sm_90a'"]),
        ("ir/a.py", "CHIP = 'sm_90a'", ["ir/a.py:1: 'sm_90a'"]),
        ("ir/a.py", "x = name in ('gfx908', 'gfx90a')", ["ir/a.py:1: 'gfx908'", "ir/a.py:1: 'gfx90a'"]),
        ("ir/a.py", "x = {'gfx942': 4}", ["ir/a.py:1: 'gfx942'"]),
        ("ir/a.py", "x = name.startswith('gfx')", ["ir/a.py:1: 'gfx'"]),
        ("ir/a.py", "match name:\n  case 'gfx950':\n    pass", ["ir/a.py:2: 'gfx950'"]),
        ("view/mma/a.py", "x = chip == 'gfx11'", ["view/mma/a.py:1: 'gfx11'"]),
        ("view/mma/a.py", "CDNA = ('gfx908', 'gfx90a')", []),
        ("ir/a.py", "'''gfx942'''\nx = 'gfx942 has it'", []),
        ("chip/a.py", "x = name == 'gfx942'", []),
    ],
)
def test_control(path: str, text: str, found: list[str]) -> None:
    assert faults(PurePosixPath(path), text) == found
