"""What the help of every command says: claims that stand by themselves, and nothing of the project's past."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module

import click
import pytest
from tests.patience import HANG_S

from imbrex.cli import TOPICS, imbrex
from imbrex.ir.opt import ImbrexOpt

PAST = re.compile(r"\bdrafts?\b|\bthe seeds?\b|\bseeds'|\bnot yet\b|\bno longer\b", re.IGNORECASE)
GENITIVE = re.compile(r"(of|for)\b", re.IGNORECASE)


def told(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """(where, text) of a command, its options and its commands."""
    yield name, command.help or ""
    for option in command.params:
        if isinstance(option, click.Option):
            yield f"{name} {option.opts[0]}", option.help or ""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for word in command.list_commands(context):
            found = command.get_command(context, word)
            assert found is not None
            yield from told(found, f"{name} {word}")
    if command.name == "explain":
        for word, module in TOPICS.items():
            yield from told(import_module(f"imbrex.cli.{module}").command, f"{name} {word}")


def opt_told() -> Iterator[tuple[str, str]]:
    parser = argparse.ArgumentParser()
    opt = ImbrexOpt(args=["-"])
    opt.register_all_arguments(parser)
    for action in parser._actions:
        yield f"imbrex-opt {action.dest}", action.help or ""


def faults(texts: Iterator[tuple[str, str]]) -> list[str]:
    return [where for where, text in texts if PAST.search(text) or GENITIVE.match(text)]


def test_help_stands_by_itself() -> None:
    assert len(list(told(imbrex, "imbrex"))) > 40
    assert faults(told(imbrex, "imbrex")) == []
    assert faults(opt_told()) == []


@pytest.mark.parametrize("text", ["Of the files.", "Print the form of the first draft.", "the seeds' names"])
def test_control_help_that_needs_more_is_seen(text: str) -> None:
    assert faults(iter([("x", text)])) == ["x"]


@pytest.mark.parametrize(
    "words",
    [
        ("map", "6x8"),
        ("map", "6x8", "--format", "svg"),
        ("explain", "mma"),
        ("explain", "mma", "mfma_f32_32x32x8_f16", "--format", "svg"),
        ("explain", "swizzle", "f16_16x16x16_8x8_Kx2"),
        ("--help",),
    ],
)
def test_what_asks_for_no_kernel_loads_none_of_its_parts(words: tuple[str, ...]) -> None:
    heavy = ("xdsl", "imbrex.ir", "imbrex.lower", "imbrex.config.candidates", "imbrex.explore.studies")
    text = (
        "import sys\n"
        "from imbrex.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"print([m for m in sys.modules if m.startswith({heavy})], file=sys.stderr)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", text, *words], capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert (found.returncode, found.stderr.splitlines()[-1:]) == (0, ["[]"]), found.stderr
