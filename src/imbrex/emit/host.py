"""The files of a kernel that runs on this machine: as the `cpu` target, or lane by lane.

NAME_solver.cpp   may this kernel run, with which tuning, over which grid: facts, compiled without the kernel
NAME.cpp          the entry point: int imbrex_NAME(const void *, const void *, void *, int threads), and how
                  much memory a thread needs
NAME.hpp          the algorithm: one function a launch, run by each workgroup
"""

from __future__ import annotations

from collections.abc import Iterator

from imbrex.emit import c, epilogue
from imbrex.emit.cpu import panels
from imbrex.emit.emulate import lanes, tiles
from imbrex.emit.facts import Facts, described, parameter, solver, table, workspace
from imbrex.index.atom import Param
from imbrex.lower.stmt import Buffer, FilterSums, Kernel, Program, Windows, ZeroFill, has_flags, walk
from imbrex.symbol import symbol_of

HEADERS = ("device/cpu/extent.h", "device/cpu/operand.h", "device/cpu/threads.h")
LANES = ("device/emulate/lane.h", "device/cpu/threads.h")

FLAGS = ("device/cpu/flag.h",)
"""Headers for workgroups that share tiles."""
EPILOGUE = "device/cpu/epilogue.h"
WINDOWS = "device/cpu/windows.h"
FILTER_SUMS = "device/cpu/filter_sums.h"
SHORT_RUNS = "device/cpu/short_runs.h"
TILES = "device/cpu/tile_rows.h"
"""A header for registers that are tiles, and what they read."""


def units(program: Program, facts: Facts, target: str) -> dict[str, list[str]]:
    """File name -> lines."""
    name = program.name
    return {
        f"{name}_solver.cpp": _solver(program, facts, target),
        f"{name}.cpp": _wrapper(program, target),
        f"{name}.hpp": _algorithm(program, facts, target),
    }


def _algorithm(program: Program, facts: Facts, target: str) -> list[str]:
    is_of_lanes = target == "emulate"
    lines = [
        "#pragma once",
        *(f'#include "{h}"' for h in (*(LANES if is_of_lanes else HEADERS), *_further(program))),
        "",
        f"namespace {symbol_of(program.name)}_kernels {{",
    ]
    form = lanes if is_of_lanes else panels
    lines += lanes.models(program, facts.flushes_halves)
    for kernel in program.kernels:
        lines += ["", f"// Memory of one workgroup of {kernel.name}.", f"struct {kernel.name}_scratch {{"]
        lines += [*c.indented(form.scratch_members(kernel)), "};", ""]
        lines += c.comment(described(kernel))
        own = (*(parameter(b, program.outputs) for b in kernel.arguments), *_sized(program))
        arguments = ", ".join(own)
        lines += [
            f"static inline void {kernel.name}(",
            f"    int64_t {kernel.workgroup}_, {arguments}, {kernel.name}_scratch &scratch) {{",
            f"  const int32_t {kernel.workgroup} = int32_t({kernel.workgroup}_);",
            *(f"  (void){name};" for name in (kernel.workgroup, *(b.name for b in kernel.arguments))),
            *c.indented(form.function_body(kernel)),
            "}",
        ]
    return [*lines, "", f"}} // namespace {symbol_of(program.name)}_kernels"]


def _sized(program: Program) -> list[str]:
    """The run-time size, as a kernel's argument."""
    return [] if program.count is None else [f"int32_t {program.count.name}"]


def _further(program: Program) -> Iterator[str]:
    """Headers that some programs need."""
    if any(map(has_flags, program.kernels)):
        yield from FLAGS
    if epilogue.has_epilogue(program):
        yield EPILOGUE
    if _has_tiles(program):
        yield TILES
    if any(isinstance(s, Windows) for kernel in program.kernels for s in walk(kernel.body)):
        yield WINDOWS
    if any(isinstance(s, FilterSums) for kernel in program.kernels for s in walk(kernel.body)):
        yield FILTER_SUMS
    if any(map(panels.has_short_runs, program.kernels)):
        yield SHORT_RUNS


def _has_tiles(program: Program) -> bool:
    return any(map(panels.has_tiles, program.kernels))


def _wrapper(program: Program, target: str) -> list[str]:
    has_tiles = _has_tiles(program)
    declared = ", ".join(
        f"{'' if b.name in program.outputs else 'const '}void *{b.name}_" for b in program.arguments
    )
    entered = [] if program.count is None else [f"int64_t {program.count.name}_"]
    lines = [
        f'#include "{program.name}.hpp"',
        "",
        "// Runs every launch in order; returns 0, or 1 when there is no memory for the scratch of a thread.",
        *(["// It returns 3 when the system does not let this process use tiles."] if has_tiles else []),
        *_size_comment(program.count),
        f'extern "C" int {symbol_of(program.name)}({", ".join((declared, *entered))}, int threads) {{',
        *c.indented([_cast(b, program.outputs) for b in program.arguments]),
        *_count(program.count),
        *(["  if (imbrex::amx::refused()) return imbrex::no_tiles;"] if has_tiles else []),
        "  int status = imbrex::ok;",
    ]
    for launch in program.launches:
        if isinstance(launch, ZeroFill):
            lines += c.indented([_zeroed(launch.buffer, program.count)])
        else:
            lines += c.indented(_launched(program, launch))
    scratch = [f"int64_t(sizeof({_space(program)}{k.name}_scratch))" for k in program.kernels]
    return [
        *lines,
        f"  return {'imbrex::amx::ended(status)' if has_tiles else 'status'};",
        "}",
        *_fault_function(program, target),
        "",
        "// Bytes that each thread allocates while a launch runs: packing panels and the tile of C.",
        *table(f'extern "C" int64_t {symbol_of(program.name)}_workspace_bytes', scratch),
    ]


def _zeroed(buffer: Buffer, count: Param | None) -> str:
    """Zeros in all of an array that there is."""
    if count is None or buffer.of_each is None:
        elements = str(buffer.elements)
    else:
        elements = f"{count.name}) * size_t({buffer.of_each}"
    return f"__builtin_memset({buffer.name}, 0, size_t({elements}) * sizeof(*{buffer.name}));"


def _size_comment(count: Param | None) -> list[str]:
    """What a reader should know of the run-time size."""
    if count is None:
        return []
    return [
        f"// {count.name}: the outermost size of arrays whose shapes have it, {count.low} to {count.high};",
        "// 4 is returned, and nothing is written, where it is another one.",
    ]


def _count(count: Param | None) -> list[str]:
    if count is None:
        return []
    name = count.name
    return [
        f"  if ({name}_ < {count.low} || {name}_ > {count.high}) return imbrex::no_such_size;",
        f"  const int32_t {name} = int32_t({name}_);",
    ]


def _fault_function(program: Program, target: str) -> list[str]:
    """What was wrong, of tiles in software."""
    if tiles.emulated(target) is None or not _has_tiles(program):
        return []
    return [f'extern "C" const char *{symbol_of(program.name)}_fault() {{ return imbrex::amx::told; }}']


def _space(program: Program) -> str:
    """The namespace of the program's kernels, with what separates it from a name."""
    return f"{symbol_of(program.name)}_kernels::"


def _launched(program: Program, kernel: Kernel) -> list[str]:
    within = _space(program)
    names = ", ".join((*(b.name for b in kernel.arguments), *([program.count.name] if program.count else [])))
    grid = kernel.grid_size if kernel.grid is None else c.index(kernel.grid)
    most = kernel.most_threads
    has_few = most is not None and most < kernel.grid_size
    lines = [
        f"using {kernel.name}_scratch = {within}{kernel.name}_scratch;",
        f"status |= imbrex::for_each_workgroup<{kernel.name}_scratch>(",
        f"    {grid}, threads, [&](int64_t workgroup, {kernel.name}_scratch &scratch) {{",
        f"      {within}{kernel.name}(workgroup, {names}, scratch);",
        f"    }}{f', {most}' if has_few else ''});",
    ]
    if kernel.when is None or program.count is None:
        return lines
    name, (low, high) = program.count.name, kernel.when
    met = f"{low} <= {name} && {name} <= {high}"
    return [f"if ({met}) {{", *c.indented(lines), "}"]


def _solver(program: Program, facts: Facts, target: str) -> list[str]:
    name, kernels = symbol_of(program.name), program.kernels
    return [
        "#include <stdint.h>",
        "",
        'extern "C" {',
        *solver(name, facts, target),
        "// Launches in order, and the geometry of each.",
        f"int {name}_launch_count() {{ return {len(kernels)}; }}",
        *table(f"int64_t {name}_grid_size", [str(k.grid_size) for k in kernels]),
        *table(f"int64_t {name}_block_size", [str(k.block_size) for k in kernels]),
        *workspace(program),
        "}",
    ]


def _cast(buffer: Buffer, outputs: frozenset[str]) -> str:
    const = "" if buffer.name in outputs else "const "
    kind = f"{const}{buffer.dtype.c_name} *"
    return f"{kind}{buffer.name} = static_cast<{kind}>({buffer.name}_);"
