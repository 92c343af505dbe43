"""The command, in this process and in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest
from tests.patience import HANG_S

from imbrex.cli import main


class Said(NamedTuple):
    """What a command printed and how it ended."""

    code: int
    out: str
    errors: str


@pytest.fixture
def imbrex(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """`imbrex(*words)`, here."""

    def run(*words: str) -> Said:
        with pytest.raises(SystemExit) as end:
            main(words)
        captured = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return Said(end.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def program() -> list[str]:
    """The words that start the command as a process."""
    return [sys.executable, "-c", "from imbrex.cli import main; main()"]


@pytest.fixture
def process(program: list[str]) -> Callable[..., Said]:
    """`process(*words, text=..., NAME=...)`: with that standard input, and those environment variables."""

    def run(*words: str, text: str | None = None, **environment: str) -> Said:
        ended = subprocess.run(
            [*program, *words],
            env={**os.environ, **environment},
            input=text,
            capture_output=True,
            text=True,
            timeout=HANG_S,
        )
        return Said(ended.returncode, ended.stdout, ended.stderr)

    return run
