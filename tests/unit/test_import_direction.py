"""The source keeps one direction and one size: every import points to an earlier entry of ORDER, only `ir`
knows xDSL, a file reads in one sitting, a function on one screen.  Read from the text, so nothing has to be
importable.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "imbrex"

ORDER = (
    "version", "cached", "diagnostic", "numeral", "argument", "limit", "whole_file", "symbol", "dtype",
    "chip", "timing", "index", "problem",
    "view", "config", "ir", "lower", "emit", "build", "cdna", "run", "database", "verify", "pipeline",
    "explore", "kernel", "library", "function", "bench", "kit", "tuner", "torch", "jax", "capture", "cli",
    "__main__", "__init__",
)  # fmt: skip

# What these may import of the package, where that is less than all that stands before them.
NARROWER = {
    "index": {"cached"},
    "problem": {"cached", "diagnostic", "numeral", "argument", "limit", "dtype"},
    "chip": {"cached", "diagnostic", "numeral", "dtype"},
    "timing": {"cached", "chip"},
    "view": {"cached", "diagnostic", "numeral", "dtype", "chip", "index"},
    "cdna": {"cached", "diagnostic", "chip", "build"},
    "capture": {"cached", "diagnostic", "dtype", "numeral", "problem"},
    "database": {
        "cached",
        "version",
        "diagnostic",
        "numeral",
        "limit",
        "dtype",
        "chip",
        "problem",
        "build",
        "run",
    },
}
TOGETHER = {"index/atom": {"index/expr"}}
"""What a module may import in a circle: an atom holds sums, as a sum holds atoms."""
NUMPY_ONLY = {"index"}
XDSL_ONLY_IN = "ir"

FILE_LINES = 350
FUNCTION_LINES = 45
NO_IDEA = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}

Sources = Mapping[PurePosixPath, str]


def _sources() -> dict[PurePosixPath, str]:
    files = (p for p in PACKAGE.rglob("*") if p.suffix in (".py", ".h", ".hpp"))
    return {PurePosixPath(p.relative_to(PACKAGE).as_posix()): p.read_text(encoding="utf-8") for p in files}


@cache
def _statements(text: str) -> tuple[ast.AST, ...]:
    """All statements of a source, wherever in it; expressions hold none, and are five sixths of its tree."""
    found: list[ast.AST] = [ast.parse(text)]
    for node in found:  # which grows
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            if isinstance(below := getattr(node, name, None), list):
                found += below
    return tuple(found)


def _functions(text: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in _statements(text) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def _imports(path: PurePosixPath, text: str) -> Sequence[tuple[int, str]]:
    """(line, dotted name) of all that a file of the package imports, wherever in the file; relative names
    made full.
    """
    return tuple(_imported(path, text))


def _imported(path: PurePosixPath, text: str) -> Iterator[tuple[int, str]]:
    for node in _statements(text):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = ("imbrex", *path.parts[:-1])[: len(path.parts) - level + 1] if level else ()
                start = ".".join([*above, *([module] if module else [])])
                yield from ((node.lineno, f"{start}.{alias.name}") for alias in names)
            case _:
                pass


def _unit(path: PurePosixPath) -> str:
    return PurePosixPath(path.parts[0]).stem


def direction_faults(sources: Sources) -> list[str]:
    """One line for every import that points the wrong way, and for every file that has no place in ORDER."""
    faults: list[str] = []
    for path, text in sources.items():
        unit = _unit(path)
        if path.suffix != ".py":
            continue
        if unit not in ORDER:
            faults.append(f"{path}: '{unit}' has no place in ORDER")
            continue
        earlier = NARROWER.get(unit, set(ORDER[: ORDER.index(unit)])) | {unit}
        for line, name in _imports(path, text):
            top, _, rest = name.partition(".")
            if top == "imbrex":
                target = rest.partition(".")[0]
                target = target if target in ORDER else "__init__"
                if target not in earlier:
                    faults.append(f"{path}:{line}: '{unit}' imports '{target}'")
            elif top == "xdsl" and unit != XDSL_ONLY_IN:
                faults.append(f"{path}:{line}: '{unit}' imports 'xdsl'")
            elif unit in NUMPY_ONLY and top != "numpy" and top not in sys.stdlib_module_names:
                faults.append(f"{path}:{line}: '{unit}' imports '{top}'")
    return faults


def _told(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a docstring behind its first: what callers are told does not make code long."""
    return len((ast.get_docstring(node, clean=False) or "").splitlines()[1:])


def _told_of_functions(text: str) -> int:
    return sum(map(_told, _functions(text)))


def size_faults(sources: Sources) -> list[str]:
    """One line for every file or function that is too long, and for every file whose name says no idea."""
    faults: list[str] = []
    for path, text in sources.items():
        lines = len(text.splitlines()) - (_told_of_functions(text) if path.suffix == ".py" else 0)
        if lines > FILE_LINES:
            faults.append(f"{path}: {lines} lines > {FILE_LINES}")
        if path.stem in NO_IDEA:
            faults.append(f"{path}: the name says no idea")
        if path.suffix != ".py":
            continue
        for node in _functions(text):
            length = (node.end_lineno or node.lineno) - node.lineno + 1 - _told(node)
            if length > FUNCTION_LINES:
                faults.append(f"{path}:{node.lineno}: {node.name} has {length} lines > {FUNCTION_LINES}")
    return faults


def test_imports_point_one_way() -> None:
    sources = _sources()
    assert PurePosixPath("index/map.py") in sources
    assert direction_faults(sources) == []


def circle(sources: Sources) -> list[str]:
    """Modules of which each imports the next, and the last the first; none where there are none."""
    homes = {"/".join(path.with_suffix("").parts).removesuffix("/__init__"): path for path in sources}
    imported: dict[str, set[str]] = {}
    for module, path in homes.items():
        names = (name for _, name in _imports(path, sources[path]))
        places = (name.removeprefix("imbrex.").replace(".", "/") for name in names)
        found = {p if p in homes else p.rpartition("/")[0] for p in places} & set(homes)
        imported[module] = found - {module} - TOGETHER.get(module, set())
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_the_list_of_folders_is_the_order() -> None:
    """What docs/index.md says of every folder stands in the order of imports."""
    page = (PACKAGE.parents[1] / "docs/index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE)
    assert listed == [name for name in ORDER if (PACKAGE / name).is_dir()]


def test_no_module_imports_what_imports_it() -> None:
    """Within functions and for the types alone, too."""
    assert circle({path: text for path, text in _sources().items() if path.suffix == ".py"}) == []


def test_control_a_circle_is_seen() -> None:
    first, last = PurePosixPath("run/a.py"), PurePosixPath("run/b/__init__.py")
    sources = {first: "from imbrex.run.b import x", last: "def f():\n    from imbrex.run import a"}
    assert sorted(circle(sources)[1:]) == ["run/a", "run/b"]
    assert circle(sources | {last: "from imbrex.run.b import x"}) == []


def test_files_and_functions_are_short() -> None:
    assert size_faults(_sources()) == []


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        ("index/a.py", "import imbrex.diagnostic", "index/a.py:1: 'index' imports 'diagnostic'"),
        ("index/a.py", "\nimport ml_dtypes", "index/a.py:2: 'index' imports 'ml_dtypes'"),
        ("view/a.py", "from imbrex.problem import Gemm", "view/a.py:1: 'view' imports 'problem'"),
        ("problem/a.py", "from imbrex import index", "problem/a.py:1: 'problem' imports 'index'"),
        ("build/a.py", "from imbrex.run.cpu import load", "build/a.py:1: 'build' imports 'run'"),
        ("build/a.py", "def f():\n    from imbrex import cli", "build/a.py:2: 'build' imports 'cli'"),
        ("build/a.py", "from ..run import cpu", "build/a.py:1: 'build' imports 'run'"),
        ("build/a.py", "from .. import run", "build/a.py:1: 'build' imports 'run'"),
        ("ir/passes/a.py", "from ...emit import c", "ir/passes/a.py:1: 'ir' imports 'emit'"),
        ("dtype.py", "from .index import expr", "dtype.py:1: 'dtype' imports 'index'"),
        ("run/a.py", "from imbrex import conv2d", "run/a.py:1: 'run' imports '__init__'"),
        ("run/a.py", "import imbrex", "run/a.py:1: 'run' imports '__init__'"),
        ("lower/a.py", "from xdsl.ir import Operation", "lower/a.py:1: 'lower' imports 'xdsl'"),
        ("extra/a.py", "", "extra/a.py: 'extra' has no place in ORDER"),
    ],
)
def test_control_a_wrong_import_is_seen(path: str, text: str, fault: str) -> None:
    assert direction_faults({PurePosixPath(path): text}) == [fault]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "index/a.py",
            "import math\nimport numpy as np\nfrom .expr import Lin\nfrom imbrex.index.map import Map",
        ),
        ("ir/passes/a.py", "import xdsl\nfrom ..ops import conv\nfrom imbrex.view import conv as view"),
        ("run/a.py", "from imbrex.build import cache\nfrom imbrex import diagnostic"),
        ("__init__.py", "from imbrex.run.cpu import load\nfrom .cli import main"),
        ("emit/device/a.hpp", "#include <imbrex>"),
    ],
)
def test_control_a_right_import_is_let_through(path: str, text: str) -> None:
    assert direction_faults({PurePosixPath(path): text}) == []


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        ("run/a.py", "x = 1\n" * 351, "run/a.py: 351 lines > 350"),
        ("emit/device/a.h", "\n" * 351, "emit/device/a.h: 351 lines > 350"),
        ("run/a.py", "\ndef f():\n" + "    x = 1\n" * 45, "run/a.py:2: f has 46 lines > 45"),
        ("run/a.py", "class A:\n  def f(self):\n" + "    x = 1\n" * 45, "run/a.py:2: f has 46 lines > 45"),
        ("run/utils.py", "", "run/utils.py: the name says no idea"),
    ],
)
def test_control_what_is_too_long_is_seen(path: str, text: str, fault: str) -> None:
    assert size_faults({PurePosixPath(path): text}) == [fault]


def test_control_the_longest_that_is_allowed() -> None:
    text = "def f():\n" + "    x = 1\n" * 44
    assert size_faults({PurePosixPath("run/a.py"): text + "\n" * 305}) == []
