"""The report of a kernel: what it was made of and what it asks of a machine, as plain JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from imbrex.build.amd.code_object import AMD_FLAGS, CodeObject
from imbrex.build.isa import host_isa
from imbrex.build.nvidia.cubin import Cubin, compiler_version
from imbrex.build.shared import Shared
from imbrex.build.toolchain import FLAGS, find_compiler
from imbrex.problem import problem_text

if TYPE_CHECKING:
    from imbrex.kernel.compiled import Kernel

__all__ = ["report"]


def report(kernel: Kernel) -> dict[str, Any]:
    """The problem, the schedule, the compiler; then what only a CPU, or only a GPU, has to tell."""
    return {
        "problem": problem_text(kernel.problem),
        "name": kernel.name,
        "target": kernel.target,
        "chip": kernel.goal.chip,
        "algorithm": kernel.algorithm,
        "tunings": list(kernel.tuning_texts),
        "grid_sizes": list(kernel.grid_sizes),
        "flops": kernel.problem.flops,
        "operand_bytes": kernel.problem.bytes,
        **_of_library(kernel),
    }


def _of_library(kernel: Kernel) -> dict[str, Any]:
    match kernel.library:
        case Shared():
            return _of_cpu(kernel)
        case CodeObject():
            return _of_amd(kernel, kernel.library)
        case Cubin():
            return _of_nvidia(kernel, kernel.library)
        case _:
            assert_never(kernel.library)


def _of_cpu(kernel: Kernel) -> dict[str, Any]:
    isa = host_isa()
    return {
        "workspace_bytes_per_thread": kernel.workspace_bytes,
        "compiler": find_compiler().version,
        "flags": [*FLAGS, *isa.flags],
        "instruction_set": isa.level,
        "files": [*kernel.bundle.units, f"{kernel.name}.so"],
    }


def _of_amd(kernel: Kernel, code: CodeObject) -> dict[str, Any]:
    return {
        "workspace_bytes": kernel.workspace_bytes,
        "compiler": find_compiler("zig").version,
        "flags": [*AMD_FLAGS, f"-mcpu={code.chip}"],
        "kernels": [of_one.to_json() for of_one in kernel.resources],
        "files": [*kernel.bundle.units, f"{kernel.name}.hsaco", f"{kernel.name}.s"],
    }


def _of_nvidia(kernel: Kernel, cubin: Cubin) -> dict[str, Any]:
    return {
        "workspace_bytes": kernel.workspace_bytes,
        "compiler": compiler_version(),
        "flags": list(cubin.flags),
        "kernels": [of_one.to_json() for of_one in kernel.resources],
        "files": [*kernel.bundle.units, f"{kernel.name}.cubin", f"{kernel.name}.log"],
    }
