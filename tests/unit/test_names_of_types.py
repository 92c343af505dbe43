"""Nothing outside `dtype/` looks at element types by name: whoever wants to know something asks the row.

Tables of instructions and of machines name types as instruction sets do, and `cdna/` reads those names.  Code
looks at a name where it compares or matches it, or has it as a key or as a member of a table.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from imbrex.dtype import DTYPES

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "imbrex"
INSTRUCTIONS = ("dtype/", "view/mma/", "chip/", "cdna/", "build/amd/hot_loop/")
NAMES = {name for t in DTYPES.values() for name in (t.name, t.mlir_name, t.array_name)}
EXCEPTIONS = {
    "bench/gpu/sets.py": {"f16", "bf16", "f8e4m3fn", "i8", "f32", "tf32"},  # names of sets, and their types
    "bench/gpu/drawn_sets.py": {"f8e4m3fn", "i8", "f32", "tf32"},  # how long a drawn problem takes
    "bench/gpu/lot.py": {"f16", "bf16", "f8e4m3fn", "i8", "f32", "tf32"},  # types of drawn problems
    "bench/cpu_lot.py": {"bf16", "f32", "f64", "i8"},  # likewise
    "kit/cases.py": {"f16", "bf16", "i8", "f32", "f64"},  # types of the problems of a kit
}


def _members(node: ast.AST) -> Iterator[ast.AST]:
    """What is looked at: sides of a comparison, patterns, keys, and members of a table of several."""
    match node:
        case ast.Compare(left=left, comparators=comparators):
            yield from (part for side in (left, *comparators) for part in ast.walk(side))
        case ast.MatchValue(value=value):
            yield value
        case ast.Dict(keys=keys):
            yield from (key for key in keys if key is not None)
        case ast.Set(elts=members) | ast.List(elts=members) | ast.Tuple(elts=members):
            found = [m for m in members if isinstance(m, ast.Constant) and m.value in NAMES]
            yield from found if len(found) > 1 else ()
        case _:
            pass


def faults(path: PurePosixPath, text: str) -> list[str]:
    """One line for every name of an element type that code outside its homes looks at."""
    if path.as_posix().startswith(INSTRUCTIONS):
        return []
    allowed = EXCEPTIONS.get(path.as_posix(), set())
    looked_at = (member for node in ast.walk(ast.parse(text)) for member in _members(node))
    return sorted(
        {
            f"{path}:{node.lineno}: '{node.value}'"
            for node in looked_at
            if isinstance(node, ast.Constant) and node.value in NAMES - allowed
        }
    )


def test_nobody_looks_at_names_of_types() -> None:
    sources = {PurePosixPath(p.relative_to(PACKAGE).as_posix()): p.read_text() for p in PACKAGE.rglob("*.py")}
    assert PurePosixPath("dtype/row.py") in sources
    assert set(EXCEPTIONS) <= {path.as_posix() for path in sources}
    assert [fault for path, text in sources.items() for fault in faults(path, text)] == []


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("ir/a.py", "x = dtype.name == 'f64'", ["ir/a.py:1: 'f64'"]),
        ("ir/a.py", "x = dtype.name in ('f16', 'bf16')", ["ir/a.py:1: 'bf16'", "ir/a.py:1: 'f16'"]),
        ("ir/a.py", "HALVES = ('f16', 'bf16')", ["ir/a.py:1: 'bf16'", "ir/a.py:1: 'f16'"]),
        ("ir/a.py", "POISON = {'bf16': 1}", ["ir/a.py:1: 'bf16'"]),
        ("ir/a.py", "match name:\n  case 'i8':\n    pass", ["ir/a.py:2: 'i8'"]),
        ("ir/a.py", "x = array.dtype.name == 'bfloat16'", ["ir/a.py:1: 'bfloat16'"]),
        ("view/mma/a.py", "BITS = {'f16': 16}", []),
        ("ir/a.py", "x = dtype('f32')\ny = ('f16', 'tn')", []),
    ],
)
def test_control(path: str, text: str, found: list[str]) -> None:
    assert faults(PurePosixPath(path), text) == found
