"""Collects `.mlir` files: each `// RUN:` line is a test, run in this process.

A line is a pipe of `imbrex-opt` and `filecheck`; `%s` is the file, `not` in front expects failure, and
`2>&1` sends messages down the pipe.
"""

from __future__ import annotations

import io
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser

from imbrex.ir.opt import main


class RunLineFailed(Exception):
    """What a failing RUN line printed."""


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".mlir":
        return MlirFile.from_parent(parent, path=file_path)
    return None


class MlirFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        lines = self.path.read_text().splitlines()
        found = [line.split("// RUN:", 1)[1].strip() for line in lines if line.startswith("// RUN:")]
        if not found:
            raise RunLineFailed(f"{self.path} has no '// RUN:' line")
        for i, line in enumerate(found):
            yield RunLine.from_parent(self, name=f"run{i}", line=line)


class RunLine(pytest.Item):
    def __init__(self, *, line: str, **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]
        self.line = line

    def runtest(self) -> None:
        text = ""
        for command in self.line.split(" | "):
            code, text, errors = run(shlex.split(command.replace("%s", str(self.path))), text)
            if code:
                raise RunLineFailed(f"{self.line}\n'{command}' failed with exit code {code}\n{errors}{text}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        if isinstance(excinfo.value, RunLineFailed):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.path.name}: {self.line}"


def run(words: list[str], text: str) -> tuple[int, str, str]:
    """Exit code, output and errors of one command of a pipe that reads `text`."""
    if words[0] == "not":
        code, out, errors = run(words[1:], text)
        return int(code == 0), out, errors
    merged = "2>&1" in words
    words = [w for w in words if w != "2>&1"]
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(out if merged else errors):
        code = {"imbrex-opt": imbrex_opt, "filecheck": filecheck}[words[0]](words, text)
    return code, out.getvalue(), errors.getvalue()


def imbrex_opt(words: list[str], text: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
        try:
            main(words[1:])
        except SystemExit as end:
            return int(end.code or 0)
    return 0


def filecheck(words: list[str], text: str) -> int:
    options = parse_argv_options(list(words))
    return Matcher(options, FInput("<pipe>", text), Parser.from_opts(options)).run()
