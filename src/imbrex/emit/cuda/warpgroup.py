"""A product by warpgroups as CUDA: the struct that device/cuda/warpgroup_gemm.h runs, printed from maps.

The header knows how warpgroups pass stages to each other; the struct knows sizes, where everything lies and
what each workgroup computes.
"""

from __future__ import annotations

from math import prod

from imbrex.config.warpgroup.plan import instruction_of
from imbrex.emit import c
from imbrex.emit.cuda import drain, feed, lines, taps
from imbrex.emit.cuda.geometry import has_lanes, registers, tensor_names
from imbrex.emit.cuda.matrix import multiply, sum_type
from imbrex.emit.cuda.member import boolean, static
from imbrex.emit.cuda.order import Order
from imbrex.emit.cuda.phases import phases
from imbrex.emit.cuda.work import work
from imbrex.index.expr import var
from imbrex.lower.stmt import Kernel
from imbrex.lower.warpgroup import WarpgroupGemm
from imbrex.view.mma import Instruction
from imbrex.view.stage.shared_tile import Descriptor

__all__ = ["attributes", "body", "definitions", "headers"]

HEADERS = ("device/cuda/warpgroup_gemm.h",)


def definitions(kernel: Kernel) -> list[str]:
    """The struct of a kernel, nothing where its body is of another kind."""
    gemm = kernel.warpgroups
    if gemm is None:
        return []
    members = [
        *_constants(gemm),
        *drain.constants(gemm),
        *_arguments(kernel, gemm),
        *multiply(block_instruction(gemm), (gemm.a.share.major, gemm.b.share.major)),
        *(lines.functions(gemm, gemm.lines) if gemm.lines else _blocks(gemm)),
        *phases(gemm),
        *(taps.functions(gemm) if gemm.has_taps else ()),
        *work(gemm),
    ]
    for name, one in (("a", gemm.a), ("b", gemm.b)):
        members += [feed.start(name, one.share), *feed.load(name, one)]
        members += [*feed.lanes(name, one, gemm.consumers), *feed.fill(name, one)]
    members += [*drain.functions(gemm), *_prefetch(gemm)]
    return [f"struct {kernel.name}_gemm {{", *c.indented(members), "};"]


def headers(gemm: WarpgroupGemm) -> tuple[str, ...]:
    """What a kernel's struct is for."""
    if gemm.lines:
        return lines.HEADERS
    return taps.headers(gemm) if gemm.has_taps else HEADERS


def body(kernel: Kernel, order: Order = "after_all") -> list[str]:
    """What the kernel's function does with its parameters."""
    gemm = kernel.warpgroups
    assert gemm is not None
    maps = [f"&{name}" for name in tensor_names(gemm)]
    given = ", ".join([*maps, *(b.name for b in kernel.arguments)])
    run = taps.entry(gemm) if gemm.has_taps else "run_lines" if gemm.lines else "run"
    run += f"<imbrex::order::{order}>" if order != "after_all" else ""
    return [f"imbrex::{run}({kernel.name}_gemm{{{given}}});"]


def attributes(kernel: Kernel) -> str:
    """Of a kernel, after `__global__ void`: one workgroup a multiprocessor, so that lanes trade registers."""
    gemm = kernel.warpgroups
    assert gemm is not None, kernel.name
    size = prod(gemm.cluster) * gemm.parts
    bounds = f"__launch_bounds__({kernel.block_size}, 1)"
    return f"__cluster_dims__({size}, 1, 1) {bounds}" if size > 1 else bounds


def _constants(gemm: WarpgroupGemm) -> list[str]:
    produces, consumes = registers(gemm)
    of_a, of_b = feed.copied_bytes(gemm.a), feed.copied_bytes(gemm.b)
    copied = of_a if gemm.b_stays else of_a + of_b
    one = gemm.instruction
    pairs = {"a": gemm.a.share, "b": gemm.b.share}
    return [
        f"typedef {sum_type(one)} sum;",
        f"typedef {c.type_name(gemm.c.buffer.dtype)} c_type;",
        f"static constexpr int rows = {gemm.rows}, columns = {gemm.own_columns}, depth = {gemm.depth};",
        f"static constexpr int stages = {gemm.stages}, consumers = {gemm.consumers};",
        f"static constexpr bool is_pingpong = {boolean(gemm.pingpong)};",
        f"static constexpr int cluster_rows = {gemm.cluster[0]}, cluster_columns = {gemm.cluster[1]};",
        f"static constexpr int parts = {gemm.parts};",
        f"static constexpr int instruction_depth = {one.k};",
        f"static constexpr int producer_registers = {produces}, consumer_registers = {consumes};",
        f"static constexpr int {', '.join(f'{n}_bytes = {t.bytes}' for n, t in pairs.items())};",
        f"static constexpr uint32_t copied_bytes = {copied}, b_copied_bytes = {of_b};",
        f"static constexpr bool b_stays = {boolean(gemm.b_stays)};",
        f"static constexpr bool copies_boxes = {boolean(copied > 0)};",
        f"static constexpr bool has_lanes = {boolean(has_lanes(gemm))};",
        *(
            f"static constexpr uint64_t {n}_descriptor = {_descriptor(t.descriptor)};"
            for n, t in pairs.items()
        ),
    ]


def block_instruction(gemm: WarpgroupGemm) -> Instruction:
    """Of one block of columns, or of one phase; line by line, of a block at all of a window's rows."""
    if gemm.lines:
        one = gemm.lines.filter
        return instruction_of(gemm.a.buffer.dtype, one.rows * one.each)
    blocks = 1 if gemm.by_warps else gemm.diagonal
    return instruction_of(gemm.a.buffer.dtype, gemm.own_columns // (blocks * gemm.phases.count))


def _blocks(gemm: WarpgroupGemm) -> list[str]:
    """The first column that a part of k is multiplied by; does a sum begin with it?"""
    depth, each = gemm.channels // gemm.diagonal, block_instruction(gemm).n
    k = var("k", gemm.depth)
    first = k % gemm.channels // depth * each
    begins = f"k < {gemm.channels} && k % {depth} == 0" if gemm.diagonal > 1 else "k == 0"
    return [
        static("int32_t", "column_of", "int32_t k", c.index(first), is_constant=True),
        static("bool", "begins", "int32_t k", begins, is_constant=True),
    ]


def _descriptor(d: Descriptor) -> str:
    """A matrix descriptor but its start address: bytes count in sixteens."""
    word = (d.leading_bytes >> 4) << 16 | (d.stride_bytes >> 4) << 32 | d.code << 62
    return f"0x{word:016x}ull"


def _arguments(kernel: Kernel, gemm: WarpgroupGemm) -> list[str]:
    roles = {b.name: r for r, b in (("a", gemm.a.buffer), ("b", gemm.b.buffer), ("c", gemm.c.buffer))}
    refs = (("partials", gemm.partials), ("flags", gemm.flags))
    roles |= {ref.buffer.name: name for name, ref in refs if ref is not None}
    roles |= {ref.buffer.name: name for name, ref in (gemm.c.finish.arrays if gemm.c.finish else ())}
    lines = [f"const imbrex::tensor_map *{name};" for name in tensor_names(gemm)]
    for b in kernel.arguments:
        const = "" if b.name in kernel.outputs or roles.get(b.name) in ("partials", "flags") else "const "
        lines.append(f"{const}{c.type_name(b.dtype)} *{roles.get(b.name, f'unused_{b.name}')};")
    return lines


def _prefetch(gemm: WarpgroupGemm) -> list[str]:
    calls = [f"  imbrex::prefetch({name});" for name in tensor_names(gemm)]
    return ["IMBREX_MEMBER void prefetch_maps() const {", *calls, "}"]
