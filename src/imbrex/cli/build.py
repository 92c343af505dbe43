"""imbrex build: the source files that a user owns, with the library that they make and a report."""

from __future__ import annotations

from pathlib import Path

import click

from imbrex.build.cache import entry_bytes
from imbrex.build.nvidia.cubin import LOG
from imbrex.build.nvidia.disassembly import find_disassembler, sass
from imbrex.cli.options import Choices, choices, format_option, keep_going_option, sources
from imbrex.cli.replace import replaced
from imbrex.cli.report_file import file_name
from imbrex.cli.skipped import Skipped
from imbrex.cli.source import ProblemEntry
from imbrex.cli.text import bytes_text, facts, json_text
from imbrex.cli.useful import useful_rows
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel
from imbrex.limit import expect_path
from imbrex.numeral import counted
from imbrex.problem import problem_text

__all__ = ["command", "write_files"]


@click.command("build", short_help="write the source files that a user owns")
@sources
@choices
@format_option
@keep_going_option
@click.option(
    "-o",
    "--output",
    default="out",
    metavar="FOLDER",
    type=file_name,
    help="Folder of the files, made where it is not there; out by default.",
)
@click.option("--name", metavar="NAME", help="Name of the files; the entry point is imbrex_NAME.")
@click.option(
    "--library",
    metavar="NAME",
    help="One library of all problems instead, for a CPU or sm_90a: libNAME.so, NAME.h, a test.",
)
def command(
    chosen: Choices,
    sources: tuple[str, ...],
    form: str,
    skipped: Skipped,
    output: str,
    name: str | None,
    library: str | None,
) -> int:
    """Write the solver, the kernel wrapper, the kernel algorithm and the device headers that they include,
    the library, code object or cubin that the compiler makes of them, and a report of what it needs.

    Several problems go into a folder each, and so do several targets (--target gfx90a,gfx942).  All files
    appear, or none does and what was there stays.
    """
    expect_path(output)
    entries = chosen.problems(sources, skipped)
    if library is not None:
        from imbrex.cli.library import build_library

        if name is not None:
            raise Diagnostic("--library names the files; leave out --name")
        return build_library(chosen, entries, skipped, library, output, form)
    kernels: list[tuple[ProblemEntry, Kernel, Path]] = []
    for entry in entries:
        with entry.unless_served(skipped):
            made = [(target, chosen.kernel(entry, name, target)) for target in chosen.targets]
            folder = Path(entry.problem.key() if len(entries) > 1 else "")
            several = len(made) > 1
            kernels += [(entry, kernel, folder / (target.kind if several else "")) for target, kernel in made]
    if kernels:
        with replaced(Path(output)) as staging:
            for _, kernel, folder in kernels:
                _write(kernel, staging / folder)
    built = [(entry, kernel, Path(output) / folder) for entry, kernel, folder in kernels]
    if form == "json":
        document = [{**kernel.report, "times": e.count, "folder": str(folder)} for e, kernel, folder in built]
        click.echo(json_text(document))
    else:
        for entry, kernel, folder in built:
            click.echo(_text(entry, kernel, folder))
    skipped.show(on_errors=form == "json")
    return skipped.code(len(kernels))


def write_files(kernel: Kernel, folder: Path) -> None:
    """The sources, what the compiler made with its text, and the report; all of them or none."""
    with replaced(folder) as staging:
        _write(kernel, staging)


def _write(kernel: Kernel, folder: Path) -> None:
    for file, text in kernel.files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
    for built, name in _built(kernel).items():
        (folder / name).write_bytes(entry_bytes(built))
    if kernel.target.is_cuda and (text := sass(kernel.library.path)) is not None:
        (folder / f"{kernel.name}.sass").write_text(text, encoding="utf-8")
    (folder / f"{kernel.name}.json").write_text(f"{json_text(kernel.report)}\n", encoding="utf-8")


def _built(kernel: Kernel) -> dict[Path, str]:
    """What the compiler made, and under which name it goes to the user."""
    path = kernel.library.path
    if kernel.target.is_native:
        return {path: f"{kernel.name}.so"}
    if kernel.target.is_cuda:
        return {path: f"{kernel.name}.cubin", path.parent / LOG: f"{kernel.name}.log"}
    return {path: f"{kernel.name}.hsaco", path.with_suffix(".s"): f"{kernel.name}.s"}


def _words(kernel: Kernel) -> tuple[str, ...]:
    """What the files of `_built` are."""
    if kernel.target.is_native:
        return ("library",)
    return ("cubin", "compiler log") if kernel.target.is_cuda else ("code object", "disassembly")


def _text(entry: ProblemEntry, kernel: Kernel, folder: Path) -> str:
    what = ("solver", "wrapper", "algorithm")
    rows = [(word, str(folder / unit)) for word, unit in zip(what, kernel.bundle.units, strict=True)]
    rows.append(("headers", str(folder / "device")))
    rows += [
        (word, str(folder / name)) for word, name in zip(_words(kernel), _built(kernel).values(), strict=True)
    ]
    if kernel.target.is_cuda:
        none = "neither nvdisasm nor cuobjdump is here"
        rows.append(("disassembly", str(folder / f"{kernel.name}.sass") if find_disassembler() else none))
    rows += [
        ("report", str(folder / f"{kernel.name}.json")),
        ("target", str(kernel.target)),
        *([("algorithm", kernel.algorithm)] if kernel.algorithm else []),
        ("tuning", " ".join(dict.fromkeys(kernel.tuning_texts))),
        ("config", kernel.configuration),
        ("chosen", str(kernel.choice)),
        *useful_rows(kernel),
    ]
    if kernel.target.is_native:
        rows.append(("extra memory", f"{bytes_text(kernel.workspace_bytes)} a thread"))
    for of_one, count in zip(kernel.resources, kernel.grid_sizes, strict=False):
        rows += [("kernel", f"{of_one.usage.kernel}, {counted(count, 'workgroup')}"), *of_one.rows()]
    rows += [("asked for", f"{entry.count} times")] if entry.count > 1 else []
    return facts(problem_text(kernel.problem), rows)
