"""imbrex build: the source files that a user owns, with the library that they make and a report."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from imbrex.build.isa import host_isa
from imbrex.build.toolchain import FLAGS, find_compiler
from imbrex.cli.options import Choices, choices, format_option, sources
from imbrex.cli.text import bytes_text, facts, json_text
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel
from imbrex.problem import problem_text

__all__ = ["command", "write_files"]


@click.command("build", short_help="write the source files that a user owns")
@sources
@choices
@format_option
@click.option(
    "-o", "--output", default="out", metavar="FOLDER", help="Made when it is not there; out by default."
)
@click.option("--name", metavar="NAME", help="Of the entry point and the files.")
def command(chosen: Choices, sources: tuple[str, ...], form: str, output: str, name: str | None) -> None:
    """Write the solver, the kernel wrapper, the kernel algorithm and the device headers that they include,
    the library that this machine's compiler makes of them, and a report of what it needs.

    Several problems go into a folder each.  Files appear whole or not at all.
    """
    asked = chosen.problems(sources)
    kernels = [chosen.kernel(problem, name) for problem in asked]
    folders = [Path(output)] if len(kernels) == 1 else [Path(output) / k.problem.key() for k in kernels]
    reports: list[dict[str, Any]] = []
    for kernel, folder in zip(kernels, folders, strict=True):
        report = _report(kernel)
        write_files(kernel, folder, report)
        reports.append({**report, "folder": str(folder)})
        if form == "table":
            click.echo(_told(kernel, folder))
    if form == "json":
        click.echo(json_text(reports))


def _report(kernel: Kernel) -> dict[str, Any]:
    """What the library was made of and what it asks of a machine."""
    compiler, isa = find_compiler(), host_isa()
    return {
        "problem": problem_text(kernel.problem),
        "name": kernel.name,
        "target": kernel.target,
        "tunings": list(kernel.tuning_texts),
        "grid_sizes": list(kernel.grid_sizes),
        "workspace_bytes_per_thread": kernel.workspace_bytes,
        "flops": kernel.problem.flops,
        "operand_bytes": kernel.problem.bytes,
        "compiler": compiler.version,
        "flags": [*FLAGS, *isa.flags],
        "instruction_set": isa.level,
        "files": [*kernel.bundle.units, f"{kernel.name}.so"],
    }


def write_files(kernel: Kernel, folder: Path, report: Mapping[str, Any] | None = None) -> None:
    """The sources, the library and the report of `kernel`, all of them or none."""
    with _staged(folder) as staging:
        for file, text in kernel.files.items():
            (staging / file).parent.mkdir(parents=True, exist_ok=True)
            (staging / file).write_text(text, encoding="utf-8")
        shutil.copyfile(kernel.library.path, staging / f"{kernel.name}.so")
        told = json_text(report if report is not None else _report(kernel))
        (staging / f"{kernel.name}.json").write_text(f"{told}\n", encoding="utf-8")


@contextmanager
def _staged(folder: Path) -> Generator[Path]:
    """A new directory beside `folder`; when the block is done, its files take their places by renames."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise _refused(folder, error) from None
    try:
        yield staging
        if folder.exists():
            _move(staging, folder)
        else:
            staging.chmod(0o755)
            os.rename(staging, folder)
    except OSError as error:
        raise _refused(folder, error) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _move(staging: Path, folder: Path) -> None:
    """Into a folder that is there: its other files stay."""
    files = sorted(path for path in staging.rglob("*") if path.is_file())
    for parent in {path.relative_to(staging).parent for path in files}:
        (folder / parent).mkdir(parents=True, exist_ok=True)
    for path in files:
        os.replace(path, folder / path.relative_to(staging))


def _refused(folder: Path, error: OSError) -> Diagnostic:
    return Diagnostic(f"cannot write to '{folder}': {(error.strerror or str(error)).lower()}")


def _told(kernel: Kernel, folder: Path) -> str:
    what = ("solver", "wrapper", "algorithm")
    rows = [(word, str(folder / unit)) for word, unit in zip(what, kernel.bundle.units, strict=True)]
    rows += [
        ("headers", str(folder / "device")),
        ("library", str(folder / f"{kernel.name}.so")),
        ("report", str(folder / f"{kernel.name}.json")),
        ("tuning", " ".join(dict.fromkeys(kernel.tuning_texts))),
        ("extra memory", f"{bytes_text(kernel.workspace_bytes)} a thread"),
    ]
    return facts(problem_text(kernel.problem), rows)
