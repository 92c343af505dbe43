"""NAME_solver.cpp of a GPU's kernels: what a host asks before it launches them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from imbrex.emit import c
from imbrex.emit.facts import Facts, solver, table, workspace
from imbrex.lower.stmt import Alloc, Kernel, Program, ZeroFill, walk
from imbrex.symbol import symbol_of


def solver_unit(
    program: Program, facts: Facts, target: str, geometry: Callable[[Kernel], Mapping[str, int]]
) -> list[str]:
    """The file's lines; geometry: of one launch, besides the grid and the block."""
    name, kernels = symbol_of(program.name), program.kernels
    launches = [{"grid_size": k.grid_size, "block_size": k.block_size, **geometry(k)} for k in kernels]
    sizes = [
        line
        for size in (launches[0] if launches else ("grid_size", "block_size"))
        for line in table(f"int64_t {name}_{size}", [str(launch[size]) for launch in launches])
    ]
    return [
        "#include <stdint.h>",
        "",
        'extern "C" {',
        *solver(name, facts, target),
        "// Launches in order, and the geometry of each.",
        f"int {name}_launch_count() {{ return {len(kernels)}; }}",
        *table(f"const char *{name}_kernel_name", [f'"{k.name}"' for k in kernels], "const char *const"),
        *sizes,
        *_sized(program),
        "// Bytes of global memory that a launch needs besides the arrays.",
        *table(f"int64_t {name}_workspace_bytes", ["0"] * len(kernels)),
        *workspace(program),
        "// Arrays that are set to zero before the first launch, by their number.",
        *_zeroed(program),
        "}",
    ]


def _sized(program: Program) -> list[str]:
    """The host's function that tells which launch serves a run-time size."""
    if program.count is None:
        return []
    name, found = program.count.name, list[str]()
    for number, kernel in enumerate(program.kernels):
        low, high = kernel.when or program.count.bounds
        grid = str(kernel.grid_size) if kernel.grid is None else c.index(kernel.grid)
        found.append(f"  if (launch == {number} && {low} <= {name} && {name} <= {high}) return {grid};")
    return [
        f"// Workgroups of a launch where the run-time size is {name}; 0: it is another launch's.",
        f"int64_t {symbol_of(program.name)}_workgroups(int launch, int64_t {name}) {{",
        *found,
        "  return 0;",
        "}",
    ]


def _zeroed(program: Program) -> list[str]:
    names = [b.name for b in program.arguments]
    zeroed = [names.index(s.buffer.name) for s in program.launches if isinstance(s, ZeroFill)]
    zeroed += [names.index(b.name) for b in program.workspace if b.name in program.zeroed]
    answer = " || ".join(f"argument == {i}" for i in zeroed)
    head = f"int {symbol_of(program.name)}_is_zeroed(int argument) {{"
    return [head, f"  return {answer};", "}"] if zeroed else [head, "  (void)argument;", "  return 0;", "}"]


def shared_buffers(kernel: Kernel) -> dict[str, int]:
    """The bytes of each buffer that the work items of a workgroup share, as they are declared."""
    allocated = [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)]
    return {b.name: b.elements * b.dtype.bytes for b in allocated if b.space == "lds"}
