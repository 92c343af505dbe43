"""Nothing in the package is there for tests alone: what is defined is used by the package, a benchmark, an
example or an example of the documentation.  Told from the text, by name: one use of a name will do.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "imbrex"
USERS = [path for folder in ("src", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
PAGES = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]

FOR_TESTS = {
    "in_registers": "the instructions that models of a wave can compute",
    "NOT_INTERLEAVED": "an order of other systems, against which swizzles are tested",
    "flattened": "a graph of the Stream-K note",
    "reordered": "a graph of the Stream-K note",
    "WARNINGS": "the flags under which tests compile units that have to be free of warnings",
}
"""What may be there for tests, and why."""


def used(text: str) -> Iterator[str]:
    """Names, attributes and keywords that a source reads, and words in strings but those of `__all__`."""
    tree = ast.parse(text)
    exported = {
        id(word)
        for line in tree.body
        if isinstance(line, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == "__all__" for t in line.targets)
        for word in ast.walk(line)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name, asname=str()):
                yield name
            case ast.MatchClass(kwd_attrs=names):
                yield from names
            case ast.Constant(value=str(said)) if id(node) not in exported and re.fullmatch(
                r"[\w.:-]+", said
            ):
                yield from re.findall(r"\w+", said)
            case _:
                pass


def defined(text: str) -> Iterator[tuple[int, str]]:
    """(line, name) of functions, classes, constants and methods that no decorator or base calls."""
    for node in ast.parse(text).body:
        yield from own(node)
        if isinstance(node, ast.ClassDef) and not node.bases:
            for member in node.body:
                yield from own(member)


def own(node: ast.stmt) -> Iterator[tuple[int, str]]:
    match node:
        case ast.FunctionDef(name=name, decorator_list=by) if all(isinstance(d, ast.Name) for d in by):
            yield node.lineno, name
        case ast.ClassDef(name=name):
            yield node.lineno, name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            yield node.lineno, name
        case _:
            pass


def unused(files: dict[str, str], users: list[str], pages: list[str]) -> list[str]:
    """`file:line: name` of all that no user reads and no page shows."""
    names = {name for text in users for name in used(text)}
    for page in pages:
        names.update(re.findall(r"\w+", " ".join(re.findall(r"^```.*?^```", page, re.MULTILINE | re.DOTALL))))
    return [
        f"{file}:{line}: {name}"
        for file, text in sorted(files.items())
        for line, name in defined(text)
        if name not in names and not name.startswith("__")
    ]


def test_nothing_is_there_for_tests_alone() -> None:
    files = {p.relative_to(PACKAGE).as_posix(): p.read_text(encoding="utf-8") for p in PACKAGE.rglob("*.py")}
    pages = [p.read_text(encoding="utf-8") for p in PAGES]
    found = unused(files, [p.read_text(encoding="utf-8") for p in USERS], pages)
    assert [fault for fault in found if fault.rpartition(" ")[2] not in FOR_TESTS] == []
    assert set(FOR_TESTS) - {fault.rpartition(" ")[2] for fault in found} == set(), "these are used now"


@pytest.mark.parametrize("text", ["def f(): ...\n", "A = 1\n", "class B:\n    def c(self): ...\n\nB()\n"])
def test_control_what_nobody_uses_is_seen(text: str) -> None:
    assert len(unused({"a.py": text}, [text, '__all__ = ["f", "A", "c"]\n'], ["f A c"])) == 1
    assert unused({"a.py": text}, [text, "f, A, x.c\n"], []) == []
