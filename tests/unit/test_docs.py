"""The pages of docs/ say what the code does: every example runs, and every printed result is compared.

    ```python           run; lines with >>> are compared with what they print
    ```python gpu       only compiled: it needs a GPU and torch
    ```python torch     run where torch is installed, else only compiled; jax likewise
    ```mlir             parsed and verified; `mlir NAME` also becomes the file NAME for the page's commands
    ```mlir error       refused; the next block is the message
    ```shell            lines that call imbrex-opt are run; the next `text` block is the last one's output
    | problem | message |   or `tuning`, `call`: each row's first cell is refused with that message

`...` in an expected text stands for anything.  Blocks of a page share their names.
"""

from __future__ import annotations

import doctest
import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import imbrex
from imbrex.config import legal, tuning
from imbrex.config.algorithm.table import ALGORITHMS
from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import Miopen, load
from imbrex.ir.opt import BORROWED, main
from imbrex.ir.passes import PASSES
from imbrex.problem import parse_problem

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block; `line` is where its text starts."""

    words: tuple[str, ...]
    text: str
    line: int


def blocks_of(text: str) -> Iterator[Block]:
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start("text")) + 1
        yield Block(tuple(found["info"].split()), found["text"], line)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_examples_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IMBREX_DB", str(tmp_path / "imbrex.db"))
    check(page.read_text(encoding="utf-8"), page.name)


def check(text: str, name: str) -> None:
    """Run the blocks and the tables of a page."""
    names: dict[str, Any] = {"__name__": "docs"}
    said: str | None = None
    for block in blocks_of(text):
        place = f"{name}:{block.line}"
        match block.words:
            case ("python",):
                python(block, names, place)
            case ("python", ("torch" | "jax") as package) if find_spec(package):
                python(block, names, place)
            case ("python", "gpu" | "torch" | "jax"):
                compile(block.text, place, "exec")
            case ("mlir", "error"):
                said = refused(block.text, place)
            case ("mlir", *file):
                load(block.text, place)
                if file:
                    Path(file[0]).write_text(block.text, encoding="utf-8")
            case ("shell",):
                said = shell(block.text)
            case ("text",) if said is not None:
                assert matches(block.text, said), f"{place}: expected\n{block.text}\ngot\n{said}"
                said = None
            case ("text",):
                pass
            case _:
                raise AssertionError(f"{place}: a block of an unknown kind {block.words}")
    assert said is None, f"{name}: nothing follows the last block whose output is known"
    tables(text, name, names)


def python(block: Block, names: dict[str, Any], place: str) -> None:
    if ">>>" not in block.text:
        exec(compile(block.text, place, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, names, place, place, 0)
    out = io.StringIO()
    failed = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=out.write, clear_globs=False).failed
    names |= test.globs
    assert not failed, f"{place}\n{out.getvalue()}"


def refused(text: str, place: str) -> str:
    try:
        load(text, "example.mlir")
    except Diagnostic as error:
        return str(error)
    raise AssertionError(f"{place}: this text should be refused")


def shell(text: str) -> str | None:
    """What the last imbrex-opt line printed; None where there is none."""
    said = None
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[:1] == ["imbrex-opt"]:
            out = io.StringIO()
            with redirect_stdout(out), redirect_stderr(out):
                try:
                    main(words[1:])
                except SystemExit as end:
                    assert end.code == 1, line
            said = out.getvalue()
    return said


def matches(expected: str, got: str) -> bool:
    return doctest.OutputChecker().check_output(expected.strip() + "\n", got.strip() + "\n", FLAGS)


def tables(text: str, name: str, names: dict[str, Any]) -> None:
    """Each row of a table of bad inputs is refused with its message."""
    kind = ""
    for number, line in enumerate(text.splitlines(), 1):
        cells = [c.strip() for c in line.strip().strip("|").split(" | ")] if line.startswith("|") else []
        if not cells or cells[1] == "message":
            kind = cells[0] if cells else ""
        elif kind and set(cells[0]) != {"-"}:
            given, want = cells[0].strip("`"), cells[1].strip("`")
            assert want in row(kind, given, names), f"{name}:{number}: got {row(kind, given, names)}"


def row(kind: str, given: str, names: dict[str, Any]) -> str:
    try:
        match kind:
            case "problem":
                parse_problem(given)
            case "tuning":
                tuning.parse(given)
            case _:
                eval(given, names)
    except (Diagnostic, TypeError, ValueError) as error:
        return error.message if isinstance(error, Diagnostic) else str(error)
    return "nothing: it was accepted"


@pytest.mark.parametrize(
    "text",
    [
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nassert False\n```\n",
        "```mlir error\nfunc.func @f() {\n  func.return\n}\n```\n",
        "```shell\nimbrex-opt nothing.mlir\n```\n```text\nerror: cannot read 'something.mlir'\n```\n",
        "```rust\n```\n",
        "| tuning | message |\n| --- | --- |\n| `v1:general:64,32,32,4,2,2` | `unknown` |\n",
        "| problem | message |\n| --- | --- |\n| `` | `no problems in the text` |\n",
    ],
)
def test_control_a_wrong_page_fails(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        check(text, "wrong.md")


def test_control_text_of_the_dialect_that_is_wrong_fails() -> None:
    with pytest.raises(Diagnostic):
        check("```mlir\nfunc.func @f() {\n  miopen.nothing()\n  func.return\n}\n```\n", "wrong.md")


def anchors_of(text: str) -> set[str]:
    """What `#...` may name: the headings, in lower case, letters, digits, `_` and dashes only."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def dead_links(source: Path) -> list[str]:
    """Links of a page that lead to no file, or to no heading of one."""
    found = re.findall(
        r"\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)", FENCE.sub("", source.read_text(encoding="utf-8"))
    )
    dead: list[str] = []
    for name, anchor in found:
        target = source.parent / name if name else source
        if not target.exists() or (anchor and anchor not in anchors_of(target.read_text(encoding="utf-8"))):
            dead.append(f"{name}#{anchor}")
    return dead


@pytest.mark.parametrize("source", [*PAGES, *sorted(ROOT.glob("*.md"))], ids=lambda p: p.stem)
def test_links_lead_to_files_and_headings(source: Path) -> None:
    assert dead_links(source) == []


def test_control_links_that_lead_nowhere_are_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `b`: c\n[1](none.md) [2](#b) [3](page.md#a-b-c) [4](#a-b-c) [5](http://a/b)\n")
    assert dead_links(page) == ["none.md#", "#b"]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_index_names_every_page_and_every_folder() -> None:
    index = page("index.md")
    assert [p.name for p in PAGES if p.name != "index.md" and f"({p.name})" not in index] == []
    folders = [p.parent.name for p in (ROOT / "src" / "imbrex").glob("*/__init__.py")]
    assert folders and [f for f in folders if f"`{f}/`" not in index] == []


def test_the_glossary_has_the_words_of_pipelines() -> None:
    rows = [line.strip("|").split("|") for line in page("glossary.md").splitlines() if line.startswith("| ")]
    words = {word.strip() for first, *_ in rows for word in first.split(",")}
    assert all(len(row) in (3, 7) and row[1].strip() for row in rows)
    assert words >= {
        "halo",
        "feed",
        "drain",
        "ring",
        "stage",
        "raster",
        "tap",
        "phase box",
        "slot",
        "piece",
        "unit",
    }


def test_the_site_has_every_page() -> None:
    """Those of docs/ and of the root folder, which docs/site/pages.py adds."""
    nav = re.findall(r"(\w+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    root = {"start.md" if path.stem == "README" else path.name for path in ROOT.glob("*.md")}
    assert sorted(nav) == sorted({path.name for path in PAGES} | root)


def test_the_reference_has_every_public_name() -> None:
    assert [
        n for n in imbrex.__all__ if n != "__version__" and f"::: imbrex.{n}\n" not in page("reference.md")
    ] == []


def test_the_dialect_page_names_every_operation() -> None:
    text = page("dialect.md")
    names = [op.name.removeprefix("miopen.") for op in Miopen.operations]
    assert [name for name in names if f"`{name}`" not in text] == []


def test_the_passes_page_lists_the_passes_in_their_order_and_those_of_xdsl() -> None:
    text = page("passes.md")
    (table,) = re.findall(r"^\| pass \| does \|\n\|[ |-]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE) == list(PASSES)
    borrowed = ", ".join(f"`{name}`" for name in BORROWED[:-1])
    assert f"{borrowed} and `{BORROWED[-1]}` come from xDSL" in text


def test_the_tuning_page_names_every_rule() -> None:
    text = page("tuning.md")
    rules = {
        rule.__name__
        for rules in (legal.GENERAL_RULES, legal.XDLOPS_RULES, legal.WARPGROUP_RULES, legal.CPU_RULES)
        for rank in (rules.first, rules.second)
        for rule in rank
    }
    assert sorted(rule for rule in rules if f"`{rule}`" not in text) == []


TARGETS = {
    "any": "all",
    "CPU": "CPUs",
    "GPU": "GPUs",
    "matrix instructions": "GPUs",
    "warpgroups": "`sm_90a`",
    "waves": "AMD",
}


def algorithm_rows() -> list[str]:
    """The table of algorithms as the commands page has it."""
    rows = ["| name | of | targets | copies | when |", "| --- | --- | --- | --- | --- |"]
    for row in ALGORITHMS:
        kinds = "all directions" if len(row.of) == 3 else ", ".join(row.of).replace("_", " ")
        of = "products" if kinds == "product" else kinds
        rows.append(f"| `{row.spelled}` | {of} | {TARGETS[row.machine]} | {row.copies} | {row.when} |")
    return rows


def test_the_commands_page_has_the_table_of_algorithms() -> None:
    section = page("commands.md").split("\n## Algorithms\n")[1].split("\n## ")[0]
    assert [line for line in section.splitlines() if line[:1] == "|"] == algorithm_rows()


def missing_paths(text: str) -> list[str]:
    """Paths of the repository that a page names and that are not there."""
    named = re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w./-]*)`", text)
    return [path for path in named if not (ROOT / path).exists()]


def test_contributing_names_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert len(re.findall(r"`src/imbrex/[\w/]+\.py`", text)) > 20
    assert missing_paths(text) == []
    assert missing_paths("`src/imbrex/nothing.py` and `tests/`") == ["src/imbrex/nothing.py"]


def entries(text: str) -> list[str]:
    """The entries of a changelog, each with the lines that go on."""
    return [
        re.sub(r"\s+", " ", entry).strip() for entry in re.split(r"^(?:- |#.*$)", text, flags=re.MULTILINE)
    ]


def twice(text: str) -> set[str]:
    """The entries that stand in it more than once."""
    found = [entry for entry in entries(text) if entry]
    return {entry for entry in found if found.count(entry) > 1}


def test_no_entry_of_the_changelog_stands_twice() -> None:
    assert not twice((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert twice("# A\n\n- one\n  more\n- two\n\n# B\n\n- one more\n") == {"one more"}
