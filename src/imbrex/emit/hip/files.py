"""The files of a kernel for an AMD GPU.

NAME_solver.cpp   for any C++ compiler of the host: may this kernel run, its launches and their geometry
NAME.cpp          the kernels that a host launches; with hipcc also NAME(arrays, stream), which launches them
NAME.hpp          the algorithm: one function a kernel, run by each work item
"""

from __future__ import annotations

from imbrex.emit import c
from imbrex.emit.facts import Facts, described, parameter, solver, table, workspace
from imbrex.emit.hip.matrix import wrappers
from imbrex.emit.hip.waves import by_wave
from imbrex.emit.hip.work_item import WorkItem
from imbrex.lower.hoist import hoisted
from imbrex.lower.share import shared
from imbrex.lower.stmt import Alloc, Kernel, Program, ZeroFill, has_flags, walk

CHIPS = ("gfx908", "gfx90a", "gfx942", "gfx950")
HEADERS = ("device/hip/lds.h", "device/hip/schedule.h")
FLAGS = ("device/hip/flag.h",)
"""For workgroups that share tiles."""


def units(program: Program, facts: Facts, chip: str) -> dict[str, list[str]]:
    """File name -> lines."""
    name = program.name
    return {
        f"{name}_solver.cpp": _solver(program, facts, chip),
        f"{name}.cpp": _wrapper(program),
        f"{name}.hpp": _algorithm(program),
    }


def _algorithm(program: Program) -> list[str]:
    headers = (*HEADERS, *(FLAGS if has_flags(program) else ()))
    lines = ["#pragma once", *(f'#include "{h}"' for h in headers)]
    lines += wrappers(program)
    lines += ["", f"namespace {program.name}_kernels {{"]
    for kernel in map(_prepared, program.kernels):
        ids = {kernel.workgroup: "workgroup", kernel.workitem: "workitem"}
        lines += ["", *c.comment(described(kernel))]
        lines += [
            f"IMBREX_INLINE void {kernel.name}({_parameters(kernel, program)}) {{",
            *(f"  const int32_t {name} = int32_t(__builtin_amdgcn_{id}_id_x());" for name, id in ids.items()),
            f"  __builtin_assume(0 <= {kernel.workgroup} && {kernel.workgroup} < {kernel.grid_size});",
            *c.indented(WorkItem(kernel).lines()),
            "}",
        ]
    return [*lines, "", f"}} // namespace {program.name}_kernels"]


def _prepared(kernel: Kernel) -> Kernel:
    """As waves run it: what its loops need not compute before them, what waves share apart from lanes."""
    return shared(by_wave(hoisted(kernel)))


def _wrapper(program: Program) -> list[str]:
    lines = [f'#include "{program.name}.hpp"']
    for kernel in program.kernels:
        names = ", ".join(b.name for b in kernel.arguments)
        lines += [
            "",
            f"// {kernel.grid_size} workgroups.",
            f'extern "C" __global__ void __launch_bounds__({kernel.block_size})',
            f"{kernel.name}({_parameters(kernel, program)}) {{",
            f"  {program.name}_kernels::{kernel.name}({names});",
            "}",
        ]
    return [*lines, "", *_launcher(program)]


def _launcher(program: Program) -> list[str]:
    """The function of the host that launches the kernels."""
    declared = ", ".join(parameter(b, program.outputs) for b in program.arguments)
    lines: list[str] = []
    for launch in program.launches:
        if isinstance(launch, ZeroFill):
            b = launch.buffer
            call = f"hipMemsetAsync({b.name}, 0, size_t({b.elements}) * sizeof(*{b.name}), stream)"
            lines.append(f"if (const hipError_t error = {call}) return error;")
        else:
            names = ", ".join(b.name for b in launch.arguments)
            lines.append(f"{launch.name}<<<{launch.grid_size}, {launch.block_size}, 0, stream>>>({names});")
    return [
        "#ifdef IMBREX_HAS_HIP_RUNTIME",
        "// Runs every launch in order.",
        f'extern "C" hipError_t {program.name}({declared}, hipStream_t stream) {{',
        *c.indented([*lines, "return hipGetLastError();"]),
        "}",
        "#endif",
    ]


def _solver(program: Program, facts: Facts, chip: str) -> list[str]:
    name, kernels = program.name, program.kernels
    return [
        "#include <stdint.h>",
        "",
        'extern "C" {',
        *solver(name, facts, chip),
        "// Launches in order, and the geometry of each.",
        f"int {name}_launch_count() {{ return {len(kernels)}; }}",
        *table(f"const char *{name}_kernel_name", [f'"{k.name}"' for k in kernels], "const char *const"),
        *table(f"int64_t {name}_grid_size", [str(k.grid_size) for k in kernels]),
        *table(f"int64_t {name}_block_size", [str(k.block_size) for k in kernels]),
        *table(f"int64_t {name}_lds_bytes", [str(lds_bytes(k)) for k in kernels]),
        "// Bytes of global memory that a launch needs besides the arrays.",
        *table(f"int64_t {name}_workspace_bytes", ["0"] * len(kernels)),
        *workspace(program),
        "// Arrays that are set to zero before the first launch, by their number.",
        *_zeroed(program),
        "}",
    ]


def _zeroed(program: Program) -> list[str]:
    names = [b.name for b in program.arguments]
    zeroed = [names.index(s.buffer.name) for s in program.launches if isinstance(s, ZeroFill)]
    zeroed += [names.index(b.name) for b in program.workspace if b.name in program.zeroed]
    answer = " || ".join(f"argument == {i}" for i in zeroed)
    head = f"int {program.name}_is_zeroed(int argument) {{"
    return [head, f"  return {answer};", "}"] if zeroed else [head, "  (void)argument;", "  return 0;", "}"]


def lds_bytes(kernel: Kernel) -> int:
    """LDS of one workgroup."""
    allocated = [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)]
    return sum(b.elements * b.dtype.bytes for b in allocated if b.space == "lds")


def _parameters(kernel: Kernel, program: Program) -> str:
    return ", ".join(parameter(b, program.outputs) for b in kernel.arguments)
