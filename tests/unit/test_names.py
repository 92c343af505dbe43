"""Names say what they are: a word that means several things is no part of a name of the package.

`told` was a message, a label, a row and a callback, `asked` a query, an access and an option, `place` an
index, an offset and a slot, `room` a workspace and a margin, `beside` what runs in parallel and
what else there is.  Text that users read may have such words, and so may keys of files that others wrote.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "imbrex"
OF_GPUS = ("lower/warpgroup/", "emit/cuda/", "emit/emulate/", "emit/gpu/", "emit/hip/", "view/tensor/")
VAGUE = {
    "told": ("",),
    "asked": ("",),
    "room": ("",),
    "goal": ("build/",),
    "beside": ("config/", "library/", "emit/cuda/", "lower/"),
    "place": (
        "index/",
        "ir/meaning/",
        "ir/passes/gridwise_schedule.py",
        "timing/",
        "cli/mma_answer.py",
        "config/halo/",
        "config/warpgroup/",
        "config/xdlops/",
        *OF_GPUS,
        "verify/",
    ),
    "places": (
        "index/",
        "config/",
        *OF_GPUS,
    ),
}
"""A word, and the folders and files whose names do without it."""


def names(text: str) -> Iterator[tuple[int, str]]:
    """(line, name) of what is bound: variables, attributes, parameters, functions and classes."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case _:
                pass


def faults(path: str, text: str) -> list[str]:
    found = {word for word, homes in VAGUE.items() if path.startswith(homes) and word in text.lower()}
    bound = names(text) if found else ()
    return [f"{path}:{line}: '{name}'" for line, name in bound if found & set(name.lower().split("_"))]


def test_names_say_what_they_are() -> None:
    files = {p.relative_to(PACKAGE).as_posix(): p.read_text(encoding="utf-8") for p in PACKAGE.rglob("*.py")}
    assert all(any(path.startswith(home) for path in files) for homes in VAGUE.values() for home in homes)
    assert [fault for path, text in files.items() for fault in faults(path, text)] == []


@pytest.mark.parametrize(
    ("path", "text", "count"),
    [
        ("cli/run.py", "def f(told): ...", 1),
        ("cli/run.py", "_asked_for = 1", 1),
        ("cli/run.py", "class Told: ...", 1),
        ("config/modelled.py", "told = 1", 1),
        ("cli/run.py", "place = {'told': 1}['told']", 0),
        ("timing/wave.py", "self.place = number", 1),
    ],
)
def test_control_a_vague_name_is_seen(path: str, text: str, count: int) -> None:
    assert len(faults(path, text)) == count


def listed(package: Path) -> list[str]:
    """Files and folders that the docstring of a package lists: `choose, tuned_product    what they are`."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    rows = [row[0] for line in text.splitlines() if len(row := re.split(r"\s{2,}", line.strip())) == 2]
    return [name.strip() for row in rows for name in row.split(",") if re.fullmatch(r" ?\w+/?", name)]


@pytest.mark.parametrize("package", ["config", "ir", "lower", "emit"])
def test_what_a_package_lists_is_there(package: str) -> None:
    found = listed(PACKAGE / package)
    assert len(found) > 5
    assert [n for n in found if not (PACKAGE / package / (n if "/" in n else f"{n}.py")).exists()] == []
