"""CUDA C++, as the language of NVIDIA GPUs; NVRTC and nvcc compile the same text."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import partial

from imbrex.config.general.bound import BOUNDED_ITEMS, is_bounded
from imbrex.emit import c
from imbrex.emit.cuda import launch_overlap, multiply, pipeline
from imbrex.emit.cuda.dialect import CudaDialect
from imbrex.emit.cuda.layout import launch_facts, tensor_names
from imbrex.emit.epilogue import has_epilogue
from imbrex.emit.facts import Facts
from imbrex.emit.gpu import files
from imbrex.emit.gpu.language import Extra, Language
from imbrex.emit.gpu.outer import outer_of
from imbrex.emit.gpu.work_item import WorkItem
from imbrex.lower.common_subexpressions import named_once
from imbrex.lower.hoist import hoisted
from imbrex.lower.stmt import Alloc, For, Kernel, Program, has_flags, walk
from imbrex.lower.warpgroup.pipeline import Pipeline

TENSOR_MAP = "imbrex::tensor_map"
HEADERS = ("device/cuda/shared.h", "device/cuda/product.h")
FLAGS = ("device/cuda/flag.h",)
"""Headers for workgroups that share tiles."""
EPILOGUE = ("device/cuda/epilogue.h",)

WORD = 4

ASKS = "// compiler flags: "
"""The line of a unit that says what its compiler is to be told, as NVRTC spells it."""

IN_ORDER = ("--ptxas-options=-O1",)
"""ptxas 13.0 then leaves multiply-adds and reads of shared memory in the order of their text."""

NO_SIBLINGS: Mapping[str, launch_overlap.LaunchOverlap] = {}

STATIC_BYTES = 48 * 1024
"""Shared memory that a launch may ask for without being told of it before."""


def units(program: Program, facts: Facts, chip: str) -> dict[str, list[str]]:
    """File name -> lines."""
    lets, orders = launch_overlap.lets(program), launch_overlap.launch_overlaps(program)
    statements = partial(_statements, lets=lets, orders=orders)
    language = replace(CUDA, statements=statements)
    found, flags = (
        files.units(program, facts, chip, language),
        compiler_flags(program) if facts.has_flags else (),
    )
    if flags:
        wrapper = f"{program.name}{CUDA.unit}"
        found[wrapper] = [f"{ASKS}{' '.join(flags)}", *found[wrapper]]
    return found


def compiler_flags(program: Program) -> tuple[str, ...]:
    """What a program asks of its compiler: the order in which `imbrex::multiply` has its multiply-adds keeps
    factors in the operand cache, and the rows of the next k are read a whole product ahead.
    """
    loops = (s for k in program.kernels for s in walk(k.body) if isinstance(s, For))
    return IN_ORDER if any(outer_of(loop) is not None for loop in loops) else ()


def _headers(program: Program) -> Sequence[str]:
    own = dict.fromkeys(name for one in _pipelines(program) for name in pipeline.headers(one))
    flags = FLAGS if any(map(has_flags, program.kernels)) else ()
    return (*HEADERS, *flags, *own, *(EPILOGUE if has_epilogue(program) else ()))


def _pipelines(program: Program) -> list[Pipeline]:
    return [k.pipeline for k in program.kernels if k.pipeline is not None]


def _statements(
    kernel: Kernel,
    lets: Container[str] = (),
    orders: Mapping[str, launch_overlap.LaunchOverlap] = NO_SIBLINGS,
) -> list[str]:
    """lets: kernels that let the next one begin; orders: of products that do not begin after all."""
    if kernel.pipeline is not None:
        return pipeline.body(kernel, orders.get(kernel.name, "after_all"))
    prepared = named_once(hoisted(kernel))
    opening = [launch_overlap.OPENING] if kernel.name in lets else []
    return [*opening, *WorkItem(prepared, CudaDialect(prepared)).lines()]


def _extras(kernel: Kernel) -> list[Extra]:
    """Tensor maps of a kernel."""
    names = () if kernel.pipeline is None else tensor_names(kernel.pipeline)
    const = f"const __grid_constant__ {TENSOR_MAP}"
    return [Extra(name, f"{const} {name}", f"const {TENSOR_MAP} &{name}") for name in names]


def _attributes(kernel: Kernel) -> str:
    if kernel.pipeline is not None:
        return pipeline.attributes(kernel)
    if not is_bounded(kernel.block_size, _largest_tile(kernel)):
        return f"__launch_bounds__({kernel.block_size})"
    return f"__launch_bounds__({kernel.block_size}, {BOUNDED_ITEMS // kernel.block_size})"


def _largest_tile(kernel: Kernel) -> int:
    """Registers of the largest array of a work item: its sums; 0 where strips of them come and go in a loop
    that stays one.
    """
    if any(isinstance(s, For) and s.rolled for s in walk(kernel.body)):
        return 0
    buffers = [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.space == "private"]
    return max((b.elements * -(-b.dtype.bytes // WORD) for b in buffers), default=0)


def _geometry(kernel: Kernel) -> dict[str, int]:
    facts = launch_facts(kernel)
    numbers = {"shared_bytes": facts.shared_bytes, "cluster_size": facts.cluster}
    return {**numbers, "tensor_maps": len(facts.tensors)}


def _launch(kernel: Kernel, arguments: str) -> list[str]:
    name, size = kernel.name, launch_facts(kernel).shared_bytes
    grid = kernel.grid_size if kernel.grid is None else c.index(kernel.grid)
    lines = [f"{name}<<<{grid}, {kernel.block_size}, {size}, stream>>>({arguments});"]
    if size > STATIC_BYTES:
        call = f"cudaFuncSetAttribute({name}, cudaFuncAttributeMaxDynamicSharedMemorySize, {size})"
        lines.insert(0, f"if (const cudaError_t error = {call}) return error;")
    return lines


CUDA = Language(
    api="cuda",
    unit=".cu",
    has_runtime="#ifndef __CUDACC_RTC__",
    workgroup="blockIdx.x",
    workitem="threadIdx.x",
    headers=_headers,
    preamble=lambda program: multiply.units(_pipelines(program)),
    definitions=pipeline.definitions,
    statements=_statements,
    attributes=_attributes,
    geometry=_geometry,
    launch=_launch,
    extras=_extras,
    extra_type=TENSOR_MAP,
    pointer="__restrict__ ",
)
