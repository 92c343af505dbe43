"""channel-vectors: products of many groups with a single row each, as of a depthwise convolution, by lanes.

    miopen.gridwise_gemm(%a, %b, %c)                                512 groups of 1 x 25088 x 9
    ->  launch: for each k:  %channels = %a[k, ..]  %window = %b[k, ..]  %sums += %channels * %window
                %c = %sums

A work item has 16 bytes of neighbouring groups by a few columns, and keeps their sums in registers.  Matrix
instructions would multiply such a product with zeros for the most part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from imbrex.index.map import Dim, Layer, layer_over
from imbrex.index.rule import Broadcast, PassThrough
from imbrex.ir.attrs import Names
from imbrex.ir.chain import names_of
from imbrex.ir.element import accumulator_type, element_bytes
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.ops.problem import Conv2dBwdWeightOp, ConvOp
from imbrex.ir.ops.thread import ThreadwiseGemmOp
from imbrex.ir.passes.conv_to_gemm import ROLES, convolution_of
from imbrex.ir.passes.packing import Packing, copy, launch, pack_all, workspace
from imbrex.ir.rewrite import Run, replace_with
from imbrex.ir.shape import PRIVATE, element_of, shape_of
from imbrex.view.channel_items import ChannelItems
from imbrex.view.channels_last import ChannelsLast, is_channels_last
from imbrex.view.data_tiled import VECTOR_BYTES

__all__ = ["ChannelVectors", "GroupsLast", "is_depthwise", "is_on_lanes"]

PIXELS: Final = 4
"""Columns of a work item."""
UNROLLED: Final = 7
"""Steps of k that are written out in a row, at most."""


def is_depthwise(op: ConvOp) -> bool:
    """Has each group one channel and one filter, and is it a sum over the taps of a window?"""
    sizes = op.sizes("filter")
    return not isinstance(op, Conv2dBwdWeightOp) and op.is_grouped and sizes["k"] == sizes["c"] == 1


def is_on_lanes(op: GridwiseGemmOp) -> bool:
    """Is it a product that this pass takes?"""
    return op.kernel_algorithm is not None and op.kernel_algorithm.data == "channel_vectors"


@dataclass(frozen=True)
class GroupsLast(ModulePass):
    """groups-last: what a convolution of one channel a group reads, copied so that groups run fastest."""

    name = "groups-last"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for problem in [o for o in op.walk() if isinstance(o, ConvOp)]:
            if problem.channel_vectors is None or not problem.channel_vectors.data:
                continue
            run = Run()
            shape = convolution_of(problem)
            arrays = dict(zip(ROLES, (shape.filter, shape.input, shape.output), strict=True))
            operands, copies = list[SSAValue](), list[Packing]()
            properties = dict(problem.properties)
            for place, (role, array) in enumerate(zip(ROLES, problem.operands, strict=True)):
                of = ChannelsLast(arrays[role], "g")
                if place == problem.WRITES or is_channels_last(of.array, "g"):
                    operands.append(array)
                    continue
                element = element_of(array)
                dest = workspace(f"packed_{role}", element, of.packed, run)
                copies.append(Packing(array, dest, of.placed, of.items(element_bytes(element)), role))
                operands.append(dest)
                properties[f"{role}_layout"] = Names(tuple(d.name for d in of.packed))
            if copies:
                pack_all(copies, run)
            run.add(type(problem).build(operands=operands, properties=properties))
            replace_with(problem, run.ops)


@dataclass(frozen=True)
class ChannelVectors(ModulePass):
    """See the module's first lines."""

    name = "channel-vectors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for product in [o for o in op.walk() if isinstance(o, GridwiseGemmOp)]:
            if not is_on_lanes(product):
                continue
            run = Run()
            _by_channels(product, run)
            replace_with(product, run.ops)


def _by_channels(op: GridwiseGemmOp, run: Run) -> None:
    dims = [_dims(v) for v in (op.a, op.b, op.c)]
    sizes = dict(dims[0]) | dict(dims[1])
    slots = VECTOR_BYTES // element_bytes(element_of(op.a))
    items = ChannelItems(sizes["gemmG"], sizes["gemmN"], slots, PIXELS)
    a, b, c = (
        run.view(value, items.layers(of), f"channels_{name}")
        for name, value, of in zip("abc", (op.a, op.b, op.c), dims, strict=True)
    )
    element = element_of(op.a)
    steps = max(s for s in range(1, UNROLLED + 1) if sizes["gemmK"] % s == 0)

    def body(into: Run, place: Sequence[SSAValue]) -> None:
        channels = into.alloc("thread_channels", element, [slots], PRIVATE)
        window = into.alloc("thread_window", element, [PIXELS, slots], PRIVATE)
        sums = into.alloc("thread_sums", accumulator_type(element), [PIXELS, slots], PRIVATE)
        into.zero(sums)
        seen = [
            into.view(channels, [_seen((Dim("slot", slots),), "slot k m")], "channel"),
            into.view(window, [_seen((Dim("n", PIXELS), Dim("slot", slots)), "slot k n")], "window"),
            into.view(sums, [_seen((Dim("n", PIXELS), Dim("slot", slots)), "slot m n")], "sums"),
        ]

        def step(inner: Run, k: SSAValue) -> None:
            for more in range(steps):
                at = inner.sum(k, more)
                inner.add(copy(a, [*place, at], channels, []))
                inner.add(copy(b, [*place, at], window, []))
                for slot in range(slots):
                    index = inner.index(slot)
                    operands = [x for value in seen for x in (value, [index])]
                    inner.add(ThreadwiseGemmOp.build(operands=operands))

        into.loop("k", 0, sizes["gemmK"], steps, step)
        into.add(copy(sums, [], c, place))

    launch(items.workgroups, items.workitems, body, run)


def _dims(value: SSAValue) -> tuple[Dim, ...]:
    return tuple(Dim(n, s or 0) for n, s in zip(names_of(value), shape_of(value), strict=True))


def _seen(lower: Sequence[Dim], names: str) -> Layer:
    """Registers as one matrix for each slot; dims that they do not have are of size 1."""
    have = {d.name for d in lower}
    entries = [
        (PassThrough() if n in have else Broadcast(), n, n if n in have else "") for n in names.split()
    ]
    return layer_over(lower, *entries, order=names.split(), k=1, m=1)
