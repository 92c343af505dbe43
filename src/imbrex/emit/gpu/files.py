"""The files of a kernel for a GPU, in its language.

NAME_solver.cpp   for any C++ compiler of the host: may this kernel run, its launches and their geometry
NAME.cpp, .cu     the kernels that a host launches; with the language's own compiler also
                  imbrex_NAME(arrays, stream), which launches them
NAME.hpp          the algorithm: one function a kernel, run by each work item
"""

from __future__ import annotations

from imbrex.emit import c
from imbrex.emit.facts import Facts, described, parameter
from imbrex.emit.gpu.language import Language
from imbrex.emit.gpu.solver import solver_unit
from imbrex.lower.stmt import Kernel, Program, ZeroFill
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
            *c.indented(language.statements(kernel)),
            "}",
        ]
    return [*lines, "", f"}} // namespace {symbol_of(program.name)}_kernels"]


def _wrapper(program: Program, language: Language) -> list[str]:
    lines = [f'#include "{program.name}.hpp"']
    for kernel in program.kernels:
        extras = language.extras(kernel)
        names = ", ".join([*(e.name for e in extras), *(b.name for b in kernel.arguments)])
        declared = _parameters(kernel, program, [e.kernel for e in extras], language)
        lines += [
            "",
            f"// {kernel.grid_size} workgroups.",
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
            lines += language.launch(launch, ", ".join([*extras, *(b.name for b in launch.arguments)]))
    if given:
        declared.insert(0, f"const {language.extra_type} *extras")
    return [
        language.has_runtime,
        "// Runs every launch in order.",
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
    return ", ".join([*extras, *arrays])
