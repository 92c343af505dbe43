"""Make: a library of kernels, compiled, linked, timed and packed into a folder.

Law: names of kernels and all that they declare begin with the library's, and nothing else is exported: so
several libraries, and several versions of one, may be in one process.
"""

from __future__ import annotations

import ctypes
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from imbrex.build.cache import Cache, digest, source_parts
from imbrex.build.isa import Isa
from imbrex.build.precompiled import compiled_with, precompiled
from imbrex.build.toolchain import compile_options, compiler_of, put_sources, run_all
from imbrex.diagnostic import Diagnostic
from imbrex.kernel.decided import decided
from imbrex.kernel.options import CompileOptions
from imbrex.kernel.sizes import sizes_of
from imbrex.kernel.target import Target
from imbrex.library.checking import program
from imbrex.library.dispatch import HOST, Interface, Part, header, source
from imbrex.library.family import Family, Member, families
from imbrex.problem import Problem, problem_text
from imbrex.run.cpu import Parameter
from imbrex.run.host_machine import host_machine
from imbrex.run.time import measure
from imbrex.symbol import symbol_of
from imbrex.version import __version__

__all__ = ["Built", "Source", "Unit", "companions", "library", "linked", "row_of", "sourced"]

Unit: TypeAlias = tuple[str, tuple[str, ...]]
"""A file that is compiled, and the flags that are its own."""
OBJECT = "unit.o"
"""A compiled unit in the cache."""
TEST_S = 0.05
"""Seconds for the time of one kernel."""


@dataclass(frozen=True)
class Source:
    """A problem's kernel as source, by its name in the library; flags: of its units."""

    problem: Problem
    times: int
    part: Part
    configuration: str
    files: Mapping[str, str]
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Built:
    """A library in its folder, and its report."""

    families: tuple[Family, ...]
    report: dict[str, Any]


def sourced(requested: CompileOptions, times: int, name: str, number: int) -> Source:
    """The source of a library's kernel; a Diagnostic where there is none."""
    options = replace(requested, name=f"{name}_k{number}")
    lowered, _ = decided(options.request(), options.advice)
    workspace = tuple(
        Parameter(b.name, (b.elements,), b.dtype.numpy, True, b.name in lowered.zeroed)
        for b in lowered.workspace
    )
    files = {file: text for file, text in lowered.bundle.files.items() if not file.endswith("_solver.cpp")}
    part = Part(options.name, workspace)
    return Source(
        options.problem, times, part, str(lowered.configuration), files, tuple(lowered.bundle.flags)
    )


def library(
    name: str,
    sources: Sequence[Source],
    folder: Path,
    target: Target,
    threads: int,
    report: Callable[[str], None] = lambda _: None,
) -> Built:
    """Writes the library of these kernels and all that goes with it into a folder, and times them where they
    run here.  report: what is done next.
    """
    sizes = {s.problem: sizes_of(s.problem, s.configuration) for s in sources if s.problem.run_time}
    found = families(((one.problem, one.times) for one in sources), sizes)
    parts = [one.part for one in sources]
    table = source(name, found, parts)
    texts = {"library.cpp": table, f"{name}.h": header(name, found, str(target))}
    for one in sources:
        texts |= one.files
    at = folder / "source"
    given = precompiled(texts, (), compiler_of(target.isa), target.isa, Cache())

    def compile_some(some: Mapping[str, str], further: tuple[str, ...]) -> None:
        put_sources(some, at)
        linked(name, _units(sources, further), folder, target.isa, report, _keys(sources, target.isa))

    put_sources(compiled_with(given, texts, at, compile_some), at)
    for file, text in companions(name, found).items():
        (folder / file).write_text(text, encoding="utf-8")
    (at / f"{name}.h").rename(folder / f"{name}.h")
    (at / "library.cpp").write_text(table.replace(f'"{name}.h"', f'"../{name}.h"'), "utf-8")
    times_ns = _timed(name, found, folder, target, threads, report)
    return Built(found, _report(name, sources, found, times_ns, target, threads))


def _units(sources: Sequence[Source], further: tuple[str, ...]) -> list[Unit]:
    units: list[Unit] = [("library.cpp", ())]
    for one in sources:
        flags = (*one.flags, *further)
        units += [(file, flags) for file in one.files if file.endswith(".cpp") and "/" not in file]
    return units


def _keys(sources: Sequence[Source], isa: Isa) -> dict[str, str]:
    """The cache's key of each unit of a kernel: of all that it is compiled of.

    What is precompiled for it is no part, since the object is the same without.
    """
    compiler, found = compiler_of(isa), dict[str, str]()
    for one in sources:
        options = compile_options(isa, one.flags)
        parts = [*source_parts(one.files), "|", *options, "|", compiler.version, isa.fingerprint]
        for unit, _ in _units([one], ())[1:]:
            found[unit] = digest([*parts, "|", unit])
    return found


def linked(
    name: str,
    units: Sequence[Unit],
    folder: Path,
    isa: Isa,
    report: Callable[[str], None] = lambda _: None,
    keys: Mapping[str, str] | None = None,
) -> None:
    """Compiles the units, as many at once as there are cores, and links them.  keys: the cache's, of units
    that are kept there.
    """
    at, compiler, cache, known = folder / "source", compiler_of(isa), Cache(), keys or {}
    jobs = host_machine().cores
    missing = [unit for unit in units if not _is_fetched(cache, known.get(unit[0]), at / f"{unit[0]}.o")]
    for first in range(0, len(missing), jobs):
        some = missing[first : first + jobs]
        report(f"compiling {min(first + jobs, len(missing))} of {len(missing)}")
        commands = [
            (*compiler.compile, *compile_options(isa, flags), "-I.", "-c", unit, "-o", f"{unit}.o")
            for unit, flags in some
        ]
        run_all(compiler, commands, [unit for unit, _ in some], at, is_kept=False)
        for unit, _ in some:
            if unit in known:
                _keep(cache, known[unit], at / f"{unit}.o")
    script, made = f"{name}.map", f"lib{name}.so"
    (at / script).write_text(f"{{ global: {symbol_of(name)}_*; local: *; }};\n", encoding="utf-8")
    before = "" if compiler.link[1:2] == ("ld.lld",) else "-Wl,"
    options = (f"{before}--version-script={script}", f"{before}-soname={made}")
    objects = [f"{unit}.o" for unit, _ in units]
    command = (*compiler.link, *options, "-o", f"../{made}", *objects, *compiler.link_libraries)
    run_all(compiler, [command], [made], at, is_kept=False)
    for leftover in (*objects, script):
        (at / leftover).unlink()


def _is_fetched(cache: Cache, key: str | None, to: Path) -> bool:
    """Was the object in the cache?  It lies at `to` then."""
    stored = None if key is None else cache.find(key, (OBJECT,))
    if stored is not None:
        shutil.copyfile(stored.directory / OBJECT, to)
    return stored is not None


def _keep(cache: Cache, key: str, made: Path) -> None:
    """Puts an object that was compiled into the cache."""

    def copied(directory: Path) -> None:
        shutil.copyfile(made, directory / OBJECT)

    cache.object(key, copied, (OBJECT,))


def companions(name: str, found: Sequence[Family], interface: Interface = HOST) -> dict[str, str]:
    """The test, and the package for CMake."""
    test = program(name, found, interface)
    return {f"{name}_test.c": test, f"{name}Config.cmake": CMAKE.replace("NAME", name)}


CMAKE = """# find_package(NAME CONFIG PATHS this/folder) gives imbrex::NAME.
if(NOT TARGET imbrex::NAME)
  find_package(Threads REQUIRED)
  add_library(imbrex::NAME SHARED IMPORTED)
  set_target_properties(imbrex::NAME PROPERTIES
    IMPORTED_LOCATION "${CMAKE_CURRENT_LIST_DIR}/libNAME.so"
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
"""


def _timed(
    name: str,
    found: Sequence[Family],
    folder: Path,
    target: Target,
    threads: int,
    report: Callable[[str], None],
) -> dict[int, float]:
    """Nanoseconds of a call by kernel, through the table; none where the library does not run here."""
    if not target.runs_here:
        return {}
    try:
        loaded = ctypes.CDLL(str(folder / f"lib{name}.so"))
    except OSError as error:
        raise Diagnostic(f"the library cannot be loaded: {error}") from None
    run = loaded[f"{symbol_of(name)}_run"]
    run.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int]
    times: dict[int, float] = {}
    for number, family in enumerate(found):
        for member in family.members:
            report(f"timing {problem_text(member.problem)}")
            rows = member.sizes[-1]
            times[member.kernel] = _time_of(run, number, member.problem.at(rows), rows, threads)
    return times


def _time_of(run: Any, family: int, problem: Problem, rows: int, threads: int) -> float:
    from imbrex.verify.data import random_operands

    operands = random_operands(problem, 0, "float").arrays
    arrays = [operands[operand.role] for operand in problem.operands]
    places = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    status = run(family, rows, places, threads)
    if status != 0:
        raise Diagnostic(f"'{problem_text(problem)}' ended with code {status}")
    return measure(lambda: run(family, rows, places, threads), budget_s=TEST_S, warmup_s=TEST_S / 4).median_ns


def row_of(problem: Problem, times: int, family: int, member: Member) -> dict[str, Any]:
    """What a report says of a problem: where it is, and its work at the rows that are timed."""
    timed = member.sizes[-1]
    facts = {"problem": problem_text(problem), "times": times, "family": family, "rows": member.rows}
    return {**facts, "least_rows": member.least, "timed_rows": timed, "flops": problem.at(timed).flops}


def _report(
    name: str,
    sources: Sequence[Source],
    found: Sequence[Family],
    times_ns: Mapping[int, float],
    target: Target,
    threads: int,
) -> dict[str, Any]:
    """Plain JSON."""
    where = {m.kernel: (number, m) for number, family in enumerate(found) for m in family.members}
    rows = [
        {
            **row_of(one.problem, one.times, *where[number]), "kernel": symbol_of(one.part.name),
            "configuration": one.configuration,
            "workspace_bytes": sum(array.bytes for array in one.part.workspace),
            "median_ns": times_ns.get(number),
        }
        for number, one in enumerate(sources)
    ]  # fmt: skip
    total = math.fsum(one.times * times_ns[i] for i, one in enumerate(sources)) if times_ns else None
    return {
        "name": name, "version": __version__, "target": str(target), "threads": threads,
        "machine": host_machine().to_json(), "instruction_set": target.isa.level,
        "compiler": compiler_of(target.isa).version, "families": [family.text for family in found],
        "calls": sum(one.times for one in sources), "total_ns": total, "problems": rows,
    }  # fmt: skip
