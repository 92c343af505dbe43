"""HIP, as the language of AMD GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from imbrex.emit.epilogue import has_epilogue
from imbrex.emit.facts import Facts
from imbrex.emit.gpu import files
from imbrex.emit.gpu.language import Language
from imbrex.emit.gpu.solver import shared_buffers
from imbrex.emit.gpu.work_item import WorkItem
from imbrex.emit.hip.dialect import HipDialect
from imbrex.emit.hip.matrix import wrappers
from imbrex.emit.hip.waves import by_wave
from imbrex.lower.common_subexpressions import named_once
from imbrex.lower.hoist import hoisted
from imbrex.lower.stmt import Kernel, Program, has_flags

HEADERS = ("device/hip/lds.h", "device/hip/schedule.h")
FLAGS = ("device/hip/flag.h",)
"""Headers for workgroups that share tiles."""
EPILOGUE = ("device/hip/epilogue.h",)


def units(program: Program, facts: Facts, chip: str) -> dict[str, list[str]]:
    """File name -> lines."""
    return files.units(program, facts, chip, HIP)


def _headers(program: Program) -> Sequence[str]:
    flags = FLAGS if any(map(has_flags, program.kernels)) else ()
    return (*HEADERS, *flags, *(EPILOGUE if has_epilogue(program) else ()))


def _statements(kernel: Kernel) -> list[str]:
    """Lines as waves run them: first what loops need not compute, what waves share apart from lanes."""
    prepared = named_once(by_wave(hoisted(kernel)))
    return WorkItem(prepared, HipDialect(prepared)).lines()


def _geometry(kernel: Kernel) -> dict[str, int]:
    return {"lds_bytes": sum(shared_buffers(kernel).values())}


def _attributes(kernel: Kernel) -> str:
    bounds = f"__launch_bounds__({kernel.block_size})"
    kept = kernel.kept_waves
    return bounds if kept is None else f"{bounds} __attribute__((amdgpu_waves_per_eu({kept})))"


def _launch(kernel: Kernel, arguments: str) -> list[str]:
    return [f"{kernel.name}<<<{kernel.grid_size}, {kernel.block_size}, 0, stream>>>({arguments});"]


HIP = Language(
    api="hip",
    unit=".cpp",
    has_runtime="#ifdef IMBREX_HAS_HIP_RUNTIME",
    workgroup="__builtin_amdgcn_workgroup_id_x()",
    workitem="__builtin_amdgcn_workitem_id_x()",
    headers=_headers,
    preamble=wrappers,
    statements=_statements,
    attributes=_attributes,
    geometry=_geometry,
    launch=_launch,
    definitions=lambda kernel: (),
    knows_workitem=True,
)
