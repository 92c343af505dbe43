"""CUDA C++, as the language of NVIDIA GPUs; NVRTC and nvcc compile the same text."""

from __future__ import annotations

from collections.abc import Sequence

from imbrex.emit.cuda import warpgroup
from imbrex.emit.cuda.geometry import launch_facts, tensor_names
from imbrex.emit.cuda.words import CudaWords
from imbrex.emit.facts import Facts
from imbrex.emit.gpu import files
from imbrex.emit.gpu.language import Extra, Language
from imbrex.emit.gpu.work_item import WorkItem
from imbrex.lower.hoist import hoisted
from imbrex.lower.share import shared
from imbrex.lower.stmt import Alloc, Kernel, Program, has_flags, walk

CHIPS = ("sm_90a",)
TENSOR_MAP = "imbrex::tensor_map"
HEADERS = ("device/cuda/shared.h", "device/cuda/product.h")
FLAGS = ("device/cuda/flag.h",)
"""For workgroups that share tiles."""

RESIDENT = 512
"""Work items of a multiprocessor that have 128 registers each: with 129 there would be a quarter fewer."""

SMALLEST_BOUND = 128
"""Smaller workgroups serve small products, whose work items are few anyway."""

SUMS = 64
WORD = 4

STATIC_BYTES = 48 * 1024
"""Shared memory that a launch may ask for without being told of it before."""


def units(program: Program, facts: Facts, chip: str) -> dict[str, list[str]]:
    """File name -> lines."""
    return files.units(program, facts, chip, CUDA)


def _headers(program: Program) -> Sequence[str]:
    has_warpgroups = any(k.warpgroups is not None for k in program.kernels)
    flags = FLAGS if has_flags(program) else ()
    return (*HEADERS, *flags, *(warpgroup.HEADERS if has_warpgroups else ()))


def _statements(kernel: Kernel) -> list[str]:
    if kernel.warpgroups is not None:
        return warpgroup.body(kernel)
    prepared = shared(hoisted(kernel))
    return WorkItem(prepared, CudaWords(prepared)).lines()


def _extras(kernel: Kernel) -> list[Extra]:
    """Its tensor maps."""
    names = () if kernel.warpgroups is None else tensor_names(kernel.warpgroups)
    const = f"const __grid_constant__ {TENSOR_MAP}"
    return [Extra(name, f"{const} {name}", f"const {TENSOR_MAP} &{name}") for name in names]


def _attributes(kernel: Kernel) -> str:
    if kernel.warpgroups is not None:
        return warpgroup.attributes(kernel)
    if kernel.block_size < SMALLEST_BOUND or _largest_tile(kernel) > SUMS:
        return f"__launch_bounds__({kernel.block_size})"
    return f"__launch_bounds__({kernel.block_size}, {RESIDENT // kernel.block_size})"


def _largest_tile(kernel: Kernel) -> int:
    """Registers of the largest array of a work item: its sums."""
    buffers = [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.space == "private"]
    return max((b.elements * -(-b.dtype.bytes // WORD) for b in buffers), default=0)


def _geometry(kernel: Kernel) -> dict[str, int]:
    size, cluster, tensors = launch_facts(kernel)
    return {"shared_bytes": size, "cluster_size": cluster, "tensor_maps": len(tensors)}


def _launch(kernel: Kernel, arguments: str) -> list[str]:
    name, (size, _, _) = kernel.name, launch_facts(kernel)
    lines = [f"{name}<<<{kernel.grid_size}, {kernel.block_size}, {size}, stream>>>({arguments});"]
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
    preamble=lambda program: (),
    definitions=warpgroup.definitions,
    statements=_statements,
    attributes=_attributes,
    geometry=_geometry,
    launch=_launch,
    extras=_extras,
    extra_type=TENSOR_MAP,
    pointer="__restrict__ ",
)
