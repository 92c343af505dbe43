"""The README's blocks, the examples and the demo run, and say what they are there to say.

What a command of the README prints is compared with the `text` block behind it: what is measured, and
tunings, stand for any (they differ between machines), `...` for anything.
"""

from __future__ import annotations

import doctest
import re
import runpy
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from imbrex.cli import main
from imbrex.ir.opt import main as opt

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS: list[tuple[str, str]] = BLOCK.findall(README)
SHOWN = [
    (command.strip(), text)
    for (kind, command), (after, text) in pairwise(BLOCKS)
    if (kind, after) == ("sh", "text")
]
LINES = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]
SILENT = [line for line in LINES if line.startswith("imbrex") and line not in dict(SHOWN)]
COMMANDS = [*SHOWN, *((line, "...\n") for line in SILENT)]
MEASURED = re.compile(
    r"\d[\d.]* ?(?:[num]?s|[KM]?i?B|%|[KMGT]?FLOP(?:/s)?|threads?)(?!\w)|\d+\.\d+|(?<=median of )\d+"
)
TUNING = re.compile(r"v\d+:[\w:,]+")
PROGRAMS = [text for kind, text in BLOCKS if kind == "python"]


def test_the_readme_has_what_is_tested_here() -> None:
    told = {shlex.split(line)[1] for line, _ in COMMANDS}
    assert told >= {"run", "build", "explain", "bench", "doctor"} and len(SHOWN) >= 4
    assert PROGRAMS and "make demo" in README and "make test" in README


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_the_readme(program: str) -> None:
    exec(compile(program, "README.md", "exec"), {"__name__": "readme"})


def masked(text: str) -> str:
    return MEASURED.sub("#", TUNING.sub("#", text))


def says(expected: str, got: str) -> bool:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(masked(expected), masked(got), flags)


@pytest.mark.parametrize(
    ("line", "shown"), COMMANDS, ids=[" ".join(line.split()[:2]) for line, _ in COMMANDS]
)
def test_commands_of_the_readme(
    line: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "problems.txt").write_text("gemm -m 5 -n 7 -k 9\n")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    command, *words = shlex.split(line, comments=True)
    if words[0] == "bench":
        words += ["--seconds", "0.01", "--peers", "numpy"]
    if words[0] == "tune":
        monkeypatch.setenv("IMBREX_DB", str(tmp_path / "tuned.sqlite"))
        words += ["--trials", "2"]
    if command == "imbrex-opt":
        opt(words)
        return
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 0
    assert says(shown, said := capsys.readouterr().out), said


def test_control_output_of_another_shape_is_seen() -> None:
    assert says(
        "a 1.5 ms, v1:cpu:4\n...\nb 84% of 2 threads\n", "a 2 us, v1:cpu:8,9\nmore\nb 3% of 1 thread\n"
    )
    assert not says("tuning v1:cpu:4\n", "algorithm v1:cpu:4\n")
    assert not says("784*gemmM -> k\n", "784*gemmM -> c\n")
    assert not says("784*gemmM -> k\n", "785*gemmM -> k\n")


SAYS = {
    "gemm": "right: 20000 elements, on integer, float and probe values",
    "conv_nhwc_torch": "channels last: True",
    "data_tiled": "gemm: 4 launches of (12, 3, 6, 12) workgroups; right: 60000 elements, on integer, float",
    "explain_map": "address    (784*(gemmK / 9)) + (28*((gemmK / 3) % 3)) + (gemmK % 3) + gemmN - 29",
    "own_kernel": "the GPU schedule         right: ",
}


def test_every_example_is_tested() -> None:
    """That of a library by tests/unit/library."""
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == {*SAYS, "demo", "library_ctypes"}


@pytest.mark.parametrize("name", SAYS)
def test_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if "torch" in name:
        pytest.importorskip("torch", reason="torch is not installed")
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    assert SAYS[name] in capsys.readouterr().out


def test_demo(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    demo = runpy.run_path(str(ROOT / "examples" / "demo.py"))
    demo["main"].__globals__["OUT"] = tmp_path
    demo["console"].file = None
    demo["main"]()
    said = capsys.readouterr().out
    for level in ("problem", "conv-to-gemm", "unfold", "affix-tuning", "gridwise-to-blockwise", "threadwise"):
        assert re.search(rf"level \d: \S*{level}", said), level
    assert said.count("200704 of 200704") == 2 and "36864 of 36864" in said
    assert said.count("tuning of ") == 3
    folders = sorted(path.name for path in tmp_path.iterdir())
    assert folders == ["conv2d_backward_data", "conv2d_backward_weight", "conv2d_forward"]
    assert (tmp_path / "conv2d_forward" / "conv2d_forward.hpp").exists()
    assert "conv2d_forward.hpp" in said
