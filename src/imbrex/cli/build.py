"""imbrex build: the source files that a user owns, with the library that they make and a report."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from imbrex.build.nvidia.cubin import LOG
from imbrex.build.nvidia.disassembly import find_disassembler, sass
from imbrex.cli.options import Choices, choices, format_option, sources
from imbrex.cli.text import bytes_text, facts, json_text
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel
from imbrex.limit import expect_path
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
    the library, code object or cubin that the compiler makes of them, and a report of what it needs.

    Several problems go into a folder each, and so do several targets (--target gfx90a,gfx942).  Files appear
    whole or not at all.
    """
    expect_path(output)
    asked = chosen.problems(sources)
    kernels = [chosen.kernel(problem, name, goal) for problem in asked for goal in chosen.goals]
    reports: list[dict[str, Any]] = []
    for kernel in kernels:
        folder = Path(output)
        folder = folder / kernel.problem.key() if len(asked) > 1 else folder
        folder = folder / kernel.target if len(chosen.goals) > 1 else folder
        write_files(kernel, folder)
        reports.append({**kernel.report, "folder": str(folder)})
        if form == "table":
            click.echo(_told(kernel, folder))
    if form == "json":
        click.echo(json_text(reports))


def write_files(kernel: Kernel, folder: Path) -> None:
    """The sources, what the compiler made with its text, and the report; all of them or none."""
    with _staged(folder) as staging:
        for file, text in kernel.files.items():
            (staging / file).parent.mkdir(parents=True, exist_ok=True)
            (staging / file).write_text(text, encoding="utf-8")
        for built, name in _built(kernel).items():
            shutil.copyfile(built, staging / name)
        if kernel.goal.is_cuda and (text := sass(kernel.library.path)) is not None:
            (staging / f"{kernel.name}.sass").write_text(text, encoding="utf-8")
        told = json_text(kernel.report)
        (staging / f"{kernel.name}.json").write_text(f"{told}\n", encoding="utf-8")


def _built(kernel: Kernel) -> dict[Path, str]:
    """What the compiler made, and under which name it goes to the user."""
    path = kernel.library.path
    if kernel.goal.is_native:
        return {path: f"{kernel.name}.so"}
    if kernel.goal.is_cuda:
        return {path: f"{kernel.name}.cubin", path.parent / LOG: f"{kernel.name}.log"}
    return {path: f"{kernel.name}.hsaco", path.with_suffix(".s"): f"{kernel.name}.s"}


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


def _words(kernel: Kernel) -> tuple[str, ...]:
    """What the files of `_built` are."""
    if kernel.goal.is_native:
        return ("library",)
    return ("cubin", "compiler log") if kernel.goal.is_cuda else ("code object", "disassembly")


def _told(kernel: Kernel, folder: Path) -> str:
    what = ("solver", "wrapper", "algorithm")
    rows = [(word, str(folder / unit)) for word, unit in zip(what, kernel.bundle.units, strict=True)]
    rows.append(("headers", str(folder / "device")))
    rows += [
        (word, str(folder / name)) for word, name in zip(_words(kernel), _built(kernel).values(), strict=True)
    ]
    if kernel.goal.is_cuda:
        none = "neither nvdisasm nor cuobjdump is here"
        rows.append(("disassembly", str(folder / f"{kernel.name}.sass") if find_disassembler() else none))
    rows += [
        ("report", str(folder / f"{kernel.name}.json")),
        ("target", str(kernel.goal)),
        *([("algorithm", kernel.algorithm)] if kernel.algorithm else []),
        ("tuning", " ".join(dict.fromkeys(kernel.tuning_texts))),
    ]
    if kernel.goal.is_native:
        rows.append(("extra memory", f"{bytes_text(kernel.workspace_bytes)} a thread"))
    for of_one, count in zip(kernel.resources, kernel.grid_sizes, strict=False):
        groups = "1 workgroup" if count == 1 else f"{count} workgroups"
        rows += [("kernel", f"{of_one.usage.kernel}, {groups}"), *of_one.rows()]
    return facts(problem_text(kernel.problem), rows)
