"""The files of a kernel for a GPU, in its language.

NAME_solver.cpp   for any C++ compiler of the host: may this kernel run, its launches and their geometry
NAME.cpp, .cu     the kernels that a host launches; with the language's own compiler also
                  imbrex_NAME(arrays, stream), which launches them
NAME.hpp          the algorithm: one function a kernel, run by each work item
"""

from __future__ import annotations

from collections.abc import Sequence

from imbrex.emit import c
from imbrex.emit.facts import Facts, described, parameter
from imbrex.emit.gpu.language import Language
from imbrex.emit.gpu.solver import solver_unit
from imbrex.lower.stmt import Kernel, Program, ZeroFill
from imbrex.numeral import counted
from imbrex.symbol import symbol_of


def units(program: Program, facts: Facts, target: str, language: Language) -> dict[str, list[str]]:
    """File name -> lines."""
    name = program.name
    return {
        f"{name}_solver.cpp": solver_unit(program, facts, target, language.geometry),
        f"{name}{language.unit}": _wrapper(program, language),
        f"{name}.hpp": _algorithm(program, language),
    }


def _algorithm(program: Program, language: Language) -> list[str]:
    lines = ["#pragma once", *(f'#include "{h}"' for h in language.headers(program))]
    lines += language.preamble(program)
    lines += ["", f"namespace {symbol_of(program.name)}_kernels {{"]
    for kernel in program.kernels:
        extras = [e.function for e in language.extras(kernel)]
        ids = {kernel.workgroup: language.workgroup, kernel.workitem: language.workitem}
        lines += ["", *c.comment(described(kernel)), *language.definitions(kernel)]
        lines += [
            f"IMBREX_INLINE void {kernel.name}({_parameters(kernel, program, extras, language)}) {{",
            *(f"  const int32_t {name} = int32_t({number});" for name, number in ids.items()),
            *(f"  __builtin_assume(0 <= {n} && {n} < {size});" for n, size in _assumed(kernel, language)),
            *(f"  __builtin_assume(0 < {n});" for n in _count(program)),
            *c.indented(language.statements(kernel)),
            "}",
        ]
    return [*lines, "", f"}} // namespace {symbol_of(program.name)}_kernels"]


def _wrapper(program: Program, language: Language) -> list[str]:
    lines = [f'#include "{program.name}.hpp"']
    for kernel in program.kernels:
        extras = language.extras(kernel)
        names = ", ".join([*(e.name for e in extras), *(b.name for b in kernel.arguments), *_count(program)])
        declared = _parameters(kernel, program, [e.kernel for e in extras], language)
        lines += [
            "",
            f"// {_workgroups(kernel)}.",
            f'extern "C" __global__ void {language.attributes(kernel)}',
            f"{kernel.name}({declared}) {{",
            f"  {symbol_of(program.name)}_kernels::{kernel.name}({names});",
            "}",
        ]
    return [*lines, "", *_launcher(program, language)]


def _launcher(program: Program, language: Language) -> list[str]:
    """The function of the host that launches the kernels."""
    api = language.api
    declared = [parameter(b, program.outputs) for b in program.arguments]
    lines: list[str] = []
    given = 0
    for launch in program.launches:
        if isinstance(launch, ZeroFill):
            b = launch.buffer
            call = f"{api}MemsetAsync({b.name}, 0, size_t({b.elements}) * sizeof(*{b.name}), stream)"
            lines.append(f"if (const {api}Error_t error = {call}) return error;")
        else:
            extras = [f"extras[{given + i}]" for i, _ in enumerate(language.extras(launch))]
            given += len(extras)
            names = ", ".join([*extras, *(b.name for b in launch.arguments), *_count(program)])
            lines += _launched(program, launch, language.launch(launch, names))
    if given:
        declared.insert(0, f"const {language.extra_type} *extras")
    declared += [f"int32_t {name}" for name in _count(program)]
    return [
        language.has_runtime,
        "// Runs every launch in order.",
        *(f"// {name}: the outermost size of arrays whose shapes have it." for name in _count(program)),
        f'extern "C" {api}Error_t {symbol_of(program.name)}({", ".join(declared)}, {api}Stream_t stream) {{',
        *c.indented([*lines, f"return {api}GetLastError();"]),
        "}",
        "#endif",
    ]


def _assumed(kernel: Kernel, language: Language) -> list[tuple[str, int]]:
    """What the compiler is told of the numbers."""
    workitem = [(kernel.workitem, kernel.block_size)]
    return [(kernel.workgroup, kernel.grid_size), *([] if language.knows_workitem else workitem)]


def _parameters(kernel: Kernel, program: Program, extras: list[str], language: Language) -> str:
    arrays = (parameter(b, program.outputs, language.pointer) for b in kernel.arguments)
    return ", ".join([*extras, *arrays, *(f"int32_t {name}" for name in _count(program))])


def _count(program: Program) -> list[str]:
    """The name of the run-time size, the last of a kernel's parameters."""
    return [] if program.count is None else [program.count.name]


def _workgroups(kernel: Kernel) -> str:
    if kernel.grid is None:
        return counted(kernel.grid_size, "workgroup")
    return " ".join([c.index(kernel.grid), "workgroups"])


def _launched(program: Program, kernel: Kernel, lines: Sequence[str]) -> list[str]:
    """A launch, of a run-time size under the condition of its bucket."""
    if kernel.when is None or program.count is None:
        return list(lines)
    low, high = kernel.when
    return [
        f"if ({low} <= {program.count.name} && {program.count.name} <= {high}) {{",
        *c.indented(lines),
        "}",
    ]
