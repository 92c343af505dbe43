"""A pipelined product as CUDA: the struct that the headers of device/cuda run, printed part by part.

The headers know how warpgroups pass stages to each other; the struct knows sizes, where everything lies and
what each workgroup computes.
"""

from __future__ import annotations

from math import prod

from imbrex.emit import c
from imbrex.emit.cuda import drain, multiply, stage, sums, team, work
from imbrex.emit.cuda.launch_overlap import LaunchOverlap
from imbrex.emit.cuda.layout import offsets, tensor_names
from imbrex.lower.stmt import Kernel
from imbrex.lower.warpgroup.pipeline import Pipeline

__all__ = ["attributes", "body", "definitions", "headers"]


def definitions(kernel: Kernel) -> list[str]:
    """The struct of a kernel, nothing where its body is of another kind."""
    pipeline = kernel.pipeline
    if pipeline is None:
        return []
    struct = f"{kernel.name}_gemm"
    members = [
        *_tile(pipeline),
        *team.constants(pipeline, struct),
        *offsets(pipeline),
        *stage.constants(pipeline),
        *drain.constants(pipeline),
        *_arguments(kernel, pipeline),
        *multiply.functions(pipeline),
        *sums.functions(pipeline),
        *work.functions(pipeline),
        *stage.functions(pipeline),
        *drain.functions(pipeline),
        *_prefetch(pipeline),
    ]
    return [f"struct {struct} {{", *c.indented(members), "};"]


def headers(pipeline: Pipeline) -> tuple[str, ...]:
    """What a kernel's struct is for."""
    return (f"device/cuda/{team.policy(pipeline).header}",)


def body(kernel: Kernel, order: LaunchOverlap = "after_all") -> list[str]:
    """What the kernel's function does with its parameters."""
    pipeline = kernel.pipeline
    assert pipeline is not None
    maps = [f"&{name}" for name in tensor_names(pipeline)]
    given = ", ".join([*maps, *(b.name for b in kernel.arguments), *_count(pipeline)])
    run = "run" + (f"<imbrex::launch_order::{order}>" if order != "after_all" else "")
    return [f"imbrex::{run}({kernel.name}_gemm{{{given}}});"]


def attributes(kernel: Kernel) -> str:
    """What stands after `__global__ void`: one workgroup a multiprocessor, so that lanes trade registers."""
    pipeline = kernel.pipeline
    assert pipeline is not None, kernel.name
    size = prod(pipeline.tiles.cluster) * pipeline.parts
    bounds = f"__launch_bounds__({kernel.block_size}, 1)"
    return f"__cluster_dims__({size}, 1, 1) {bounds}" if size > 1 else bounds


def _tile(pipeline: Pipeline) -> list[str]:
    tiles, depth = pipeline.tiles, pipeline.multiply.depth
    return [
        f"typedef {multiply.sum_type(pipeline.sums.layout).c_name} sum;",
        f"typedef {pipeline.c.buffer.dtype.c_name} c_type;",
        f"static constexpr int rows = {tiles.rows}, columns = {pipeline.own_columns}, depth = {depth};",
        f"static constexpr int cluster_rows = {tiles.cluster[0]}, cluster_columns = {tiles.cluster[1]};",
        f"static constexpr int parts = {pipeline.parts};",
    ]


def _arguments(kernel: Kernel, pipeline: Pipeline) -> list[str]:
    operands = (("a", pipeline.a.buffer), ("b", pipeline.b.buffer), ("c", pipeline.c.buffer))
    roles = {buffer.name: role for role, buffer in operands}
    if pipeline.workspace is not None:
        refs = (("partials", pipeline.workspace.partials), ("flags", pipeline.workspace.flags))
        roles |= {ref.buffer.name: name for name, ref in refs}
    finish = pipeline.c.finish
    roles |= {ref.buffer.name: name for name, ref in (finish.arrays if finish else ())}
    roles |= {} if pipeline.c.kept is None else {pipeline.c.kept.ref.buffer.name: "kept"}
    lines = [f"const imbrex::tensor_map *{name};" for name in tensor_names(pipeline)]
    for b in kernel.arguments:
        const = "" if b.name in kernel.outputs or roles.get(b.name) in ("partials", "flags") else "const "
        lines.append(f"{const}{b.dtype.c_name} *{roles.get(b.name, f'unused_{b.name}')};")
    return [*lines, *(f"int32_t {name};" for name in _count(pipeline))]


def _count(pipeline: Pipeline) -> list[str]:
    """The name of the run-time size, which is the struct's last member."""
    count = pipeline.tiles.count
    return [] if count is None else [count.name]


def _prefetch(pipeline: Pipeline) -> list[str]:
    calls = [f"  imbrex::prefetch({name});" for name in tensor_names(pipeline)]
    return ["IMBREX_MEMBER void prefetch_maps() const {", *calls, "}"]
