"""Compilers for CPU kernels: ziglang's clang by default, a system compiler when asked.

A kernel needs no libc header and no library (what it calls is resolved from the process at dlopen), so the
bundled route runs clang and lld themselves, past zig's driver: nothing has to be built first and no cache has
to be warm.
Laws: sources are named relative to the directory that they are compiled in, so an object names no path of the
host; a library uses its own definitions, whatever another one shows to the process under the same names.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from imbrex.build.isa import Isa, host_isa
from imbrex.diagnostic import Diagnostic

if TYPE_CHECKING:
    import subprocess  # at run time where it is needed: a kernel that comes from the cache starts without

__all__ = [
    "FLAGS",
    "LOG",
    "WARNINGS",
    "Compiler",
    "compile_options",
    "compile_shared",
    "compile_units",
    "compiler_of",
    "failure",
    "find_compiler",
    "linked",
    "put_sources",
    "run_all",
    "units_of",
    "write_sources",
]

FLAGS = (
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-asynchronous-unwind-tables",
    "-fno-stack-protector",
    "-fno-ident",
)
WARNINGS = ("-Wall", "-Wextra")

LOG = "compiler.log"
_SHOWN_LINES = 3
"""Lines of an error: what is wrong, the line of the source, and the caret below it."""
_FEW_LINES = 6
_UNIT_SUFFIXES = (".cpp", ".cc", ".c")


@dataclass(frozen=True, slots=True)
class Compiler:
    """compile: command that takes flags, `-c unit -o object`.  link: command that takes `-o library objects`.

    version: the first line of what it says of itself; part of every cache key.  headers: its folder of
    headers, where it takes those that it has parsed before.
    """

    name: str
    compile: tuple[str, ...]
    link: tuple[str, ...]
    link_libraries: tuple[str, ...]
    version: str
    headers: Path | None = None


def find_compiler(wanted: str | None = None) -> Compiler:
    """`wanted`, else the environment's IMBREX_CXX, else the bundled one.

    wanted: `zig` for ziglang's clang, or a command as a shell would read it (`g++-12`, `clang++
    -stdlib=libc++`).  A Diagnostic where there is no such command.
    """
    origin = "" if wanted else " (from IMBREX_CXX)"
    command = wanted or os.environ.get("IMBREX_CXX", "").strip()
    if command in ("", "zig"):
        return _bundled()

    import shlex
    import shutil

    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Diagnostic(f"compiler command {command!r}{origin} cannot be read: {error}".lower()) from None
    path = shutil.which(words[0]) if words else None
    if path is None:
        raise Diagnostic(
            f"compiler '{command}'{origin} is not on PATH",
            hint="name an installed C++ compiler, or leave IMBREX_CXX unset to use the bundled clang",
        )
    return _system(path, tuple(words[1:]))


def compiler_of(isa: Isa) -> Compiler:
    """The compiler of that instruction set: `find_compiler`'s, or the bundled one for other architectures."""
    return find_compiler("zig" if isa.is_foreign else None)


@functools.cache
def _bundled() -> Compiler:
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        raise Diagnostic(
            "no C++ compiler: the package 'ziglang' is not installed",
            hint="install ziglang with pip, or set IMBREX_CXX to a C++ compiler such as g++ or clang++",
        )
    if sys.platform != "linux":
        raise Diagnostic(
            f"the bundled compiler links for linux only, this is {sys.platform}",
            hint="set IMBREX_CXX to a C++ compiler such as clang++",
        )
    root = Path(spec.submodule_search_locations[0])
    zig = str(root / "zig")
    headers = root / "lib" / "include"
    # clang's <immintrin.h> takes <stdlib.h> in through <mm_malloc.h>; there is no libc here: skip that one.
    command = (zig, "clang", "-nostdinc", "-isystem", str(headers), "-D__MM_MALLOC_H", "-Qunused-arguments")
    link = (
        zig,
        "ld.lld",
        "-shared",
        "-Bsymbolic",
        "--build-id=none",
        "--strip-debug",
        "-znow",
        "-znodelete",
        "-znoexecstack",
    )
    return Compiler("zig clang", command, link, (), f"ziglang {_bundled_version(root)}", headers)


def _bundled_version(package: Path) -> str:
    """Version as the installer noted it, for zig takes milliseconds to say it."""
    noted = [path.name for path in package.parent.glob("ziglang-*.dist-info")]
    if len(noted) == 1:
        return noted[0].removeprefix("ziglang-").removesuffix(".dist-info")
    return _first_line((str(package / "zig"), "version"))


@functools.cache
def _system(path: str, extra: tuple[str, ...]) -> Compiler:
    version = _first_line((path, "--version"))
    link: tuple[str, ...] = (path, *extra, "-shared", "-nostdlib", "-Wl,-z,nodelete")
    libraries: tuple[str, ...] = ("-lgcc",)
    if sys.platform == "darwin":  # where a library keeps to its own symbols by itself
        link, libraries = (*link, "-Wl,-undefined,dynamic_lookup"), ()
    else:
        link = (*link, "-Wl,-Bsymbolic")
    return Compiler(Path(path).name, (path, *extra), link, libraries, " ".join((version, *extra)))


def _first_line(command: tuple[str, ...]) -> str:
    import subprocess

    try:
        said = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Diagnostic(f"compiler '{command[0]}' does not run: {error}") from None
    return said.stdout.partition("\n")[0].strip()


def compile_shared(
    sources: Mapping[str, str],
    directory: Path,
    *,
    name: str = "kernel.so",
    flags: Iterable[str] = (),
    compiler: Compiler | None = None,
    isa: Isa | None = None,
    compiled: Mapping[str, Path] | None = None,
) -> Path:
    """Writes the sources into `directory`, compiles each unit (`.cpp`, `.c`) side by side, links
    `directory/name`.

    sources: file name -> text; the other names are headers that the units include.  flags: after, so
    over, FLAGS.  compiled: objects of units that were compiled before.  A Diagnostic carries the compiler's
    first error; the sources and all that it said stay in `directory`.
    """
    isa, compiled = isa or host_isa(), compiled or {}
    compiler = compiler or compiler_of(isa)
    write_sources(sources, directory)
    units = units_of(sources)
    if not units:
        raise ValueError(f"no unit to compile among {sorted(sources)}; a unit ends in .cpp, .cc or .c")
    here = [unit for unit in units if unit not in compiled]
    compile_units(here, directory, compile_options(isa, flags), compiler)
    objects = [str(compiled.get(unit, f"{unit}.o")) for unit in units]
    run_all(compiler, [(*compiler.link, "-o", name, *objects, *compiler.link_libraries)], [name], directory)
    for unit in here:
        (directory / f"{unit}.o").unlink()
    return directory / name


def units_of(sources: Iterable[str]) -> list[str]:
    """Names of the files that are compiled; the others are headers."""
    return [file for file in sources if file.endswith(_UNIT_SUFFIXES)]


def compile_units(units: list[str], directory: Path, options: Sequence[str], compiler: Compiler) -> None:
    """The object `UNIT.o` beside each unit of the directory."""
    commands = [(*compiler.compile, *options, "-I.", "-c", unit, "-o", f"{unit}.o") for unit in units]
    run_all(compiler, commands, units, directory)


def compile_options(isa: Isa, flags: Iterable[str] = ()) -> tuple[str, ...]:
    """What each unit is compiled with."""
    return (*FLAGS, *isa.triple, *isa.flags, *flags)


def write_sources(sources: Mapping[str, str], directory: Path) -> None:
    """Each text into the file of its name below `directory`; a Diagnostic where that cannot be written."""
    try:
        put_sources(sources, directory)
    except OSError as error:
        message = f"the source cannot be written to {directory}: {error.strerror or error}"
        raise Diagnostic(message, hint="set TMPDIR to a directory with free space") from None


def put_sources(sources: Mapping[str, str], directory: Path) -> None:
    """The same, with the OSError as it is: of a directory that no user has seen."""
    for folder in {os.path.dirname(file) for file in sources}:
        (directory / folder).mkdir(parents=True, exist_ok=True)
    for file, text in sources.items():
        (directory / file).write_text(text, encoding="utf-8")


def linked(sources: Mapping[str, str], there: Path, directory: Path) -> dict[str, str]:
    """Links each file from where it lies already, a fraction of the time that writing it takes; those that
    are still to be written, since links do not lead to that disk.
    """
    left = dict(sources)
    for folder in {os.path.dirname(file) for file in sources}:
        (directory / folder).mkdir(parents=True, exist_ok=True)
    try:
        for file in sources:
            os.link(there / file, directory / file)
            del left[file]
    except OSError:
        pass
    return left


def run_all(
    compiler: Compiler,
    commands: list[tuple[str, ...]],
    products: list[str],
    directory: Path,
    *,
    is_kept: bool = True,
) -> None:
    """All commands at once; the first that fails, in order, becomes the Diagnostic and the others are
    ended.  is_kept: the directory stays, with what the compiler said; else an OSError is raised where that
    directory cannot be written, which is why a compiler fails on a full disk.
    """
    running: list[subprocess.Popen[str]] = []
    try:
        for command in commands:
            running.append(_start(command, directory))
        for process, product in zip(running, products, strict=True):
            said, _ = process.communicate()
            if process.returncode != 0:
                raise _failure(compiler, process.returncode, said, product, directory, is_kept)
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.communicate()


def _start(command: tuple[str, ...], directory: Path) -> subprocess.Popen[str]:
    import subprocess

    try:
        return subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise Diagnostic(f"compiler '{command[0]}' does not start: {error}") from None


def _failure(
    compiler: Compiler, status: int, said: str, product: str, directory: Path, is_kept: bool
) -> Diagnostic:
    import signal

    how = (
        f"was ended by {signal.Signals(-status).name}" if status < 0 else f"failed with exit status {status}"
    )
    found = failure(f"{compiler.name} {how} on '{product}'", said, directory, LOG)
    try:
        (directory / LOG).write_text(said, encoding="utf-8")
    except OSError as error:  # a full disk may be why the compiler failed
        if not is_kept:
            raise
        return Diagnostic(found.message, hint=f"{directory} cannot be written: {error.strerror or error}")
    return found if is_kept else Diagnostic(found.message)


def failure(what: str, said: str, directory: Path, log: str) -> Diagnostic:
    """What failed, with the first error of what a compiler said; all of that is in the file `log`."""
    lines = said.rstrip().splitlines()
    first = next((i for i, line in enumerate(lines) if re.search(r"\berror\b", line)), 0)
    shown = lines if len(lines) <= _FEW_LINES else lines[first : first + _SHOWN_LINES]
    return Diagnostic(
        "\n".join([what, *shown]),
        hint=f"the source, and all {len(lines)} lines that were said, in {log}, are kept in {directory}",
    )
