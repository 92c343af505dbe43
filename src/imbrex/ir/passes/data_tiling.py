"""A gemm over packed arrays: launches that pack A and B, the product of packed tiles, one that unpacks C.

    miopen.gemm(%a, %b, %c) { data_tiled = "f16_16x16x16_8x8_Kx2" }
    ->  %packed_a = workspace  %packed_b = workspace  %packed_c = workspace
        launch: %packed_a = %a, with zeros where a tile overhangs    and %packed_b = %b
        miopen.gridwise_gemm(%packed_a, %packed_b, %packed_c)        seen as matrices through the tiles
        launch: %c = alpha * %packed_c + beta * %c

C stays packed in the type of its sums until it is unpacked.  A work item moves a small box: between memory
that runs one way and memory that runs the other way, it turns the box in its registers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Region, SSAValue

from imbrex.diagnostic import Diagnostic
from imbrex.index.map import Dim, layer_over
from imbrex.index.rule import PassThrough
from imbrex.ir.element import accumulator_type, element_bytes
from imbrex.ir.ops.grid import GridwiseGemmOp, LaunchOp
from imbrex.ir.ops.problem import GemmOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import PRIVATE, element_of, memref
from imbrex.ir.source import InvalidOp
from imbrex.schedule.data_tiled import data_tiled_tuning
from imbrex.schedule.tuning import text
from imbrex.view.data_tiled import VECTOR_BYTES, DataTiled
from imbrex.view.gemm import GemmView
from imbrex.view.mma import Operand
from imbrex.view.swizzle import tile_kernel

__all__ = ["product"]

Body = Callable[[Run, Sequence[SSAValue]], None]


def product(op: GemmOp, name: str, view: GemmView, run: Run) -> None:
    """The operation, whose arrays are seen through `view`, with the tile kernel of that name."""
    try:
        tiled = DataTiled(tile_kernel(name), view)
    except Diagnostic as error:
        message = f"{error.message}; {error.hint}" if error.hint else error.message
        raise InvalidOp(op, message, "data_tiled") from error
    element = element_of(op.a)
    elements: dict[Operand, Attribute] = {"a": element, "b": element, "c": accumulator_type(element)}
    packed = {
        operand: _workspace(f"packed_{operand}", of, tiled.packed(operand), run)
        for operand, of in elements.items()
    }
    _pack(tiled, "a", op.a, packed["a"], run)
    _pack(tiled, "b", op.b, packed["b"], run)
    maps = {"a": tiled.gemm.a, "b": tiled.gemm.b, "c": tiled.gemm.c}
    operands = [run.view(packed[o], maps[o].layers, f"packed_{o}", i) for i, o in enumerate(elements)]
    tuning = text(data_tiled_tuning(tiled.kernel))
    run.add(GridwiseGemmOp.build(operands=operands, properties=properties({"tuning": tuning})))
    scale = {key: p for key, p in (("alpha", op.alpha), ("beta", op.beta)) if p is not None}
    _unpack(tiled, packed["c"], op.c, scale, run)


def _pack(tiled: DataTiled, operand: Operand, array: SSAValue, packed: SSAValue, run: Run) -> None:
    """The plain array to the packed one."""
    items = tiled.items(operand, element_bytes(element_of(array)))
    source = run.view(array, items.map.then(tiled.placed(operand)).layers, operand)
    dest = run.view(packed, items.map.layers, f"packed_{operand}")
    box = _Box(items.other, items.slots, element_of(array))

    def body(into: Run, place: Sequence[SSAValue]) -> None:
        across, along = box.registers(into, operand)
        into.add(_copy(source, place, across, []))
        if across is not along:
            into.add(_copy(across, [], along, []))
        into.add(_copy(along, [], dest, place))

    _launch(items.workgroups, items.workitems, body, run)


def _unpack(
    tiled: DataTiled, packed: SSAValue, array: SSAValue, scale: Mapping[str, Attribute], run: Run
) -> None:
    """The packed array of C to the plain one, scaled and added as the product says."""
    items = tiled.items("c", element_bytes(element_of(array)))
    source = run.view(packed, items.map.layers, "packed_c")
    dest = run.view(array, items.map.then(tiled.placed("c")).layers, "c")
    box = _Box(items.other, items.slots, element_of(packed))

    def body(into: Run, place: Sequence[SSAValue]) -> None:
        across, along = box.registers(into, "c")
        into.add(_copy(source, place, along, []))
        if across is not along:
            into.add(_copy(along, [], across, []))
        into.add(_copy(across, [], dest, place, scale))

    _launch(items.workgroups, items.workitems, body, run)


@dataclass(frozen=True)
class _Box:
    """What a work item moves at once: `slots` neighbours of the packed array by `other` of the plain one."""

    other: int
    slots: int
    element: Attribute

    def registers(self, into: Run, operand: Operand) -> tuple[SSAValue, SSAValue]:
        """Registers for the box, seen as (other, slot): with neighbours along other, and along slot; one
        buffer where there is nothing to turn.
        """
        along = into.alloc(f"thread_{operand}", self.element, [self.other, self.slots], PRIVATE)
        if self.other == 1:
            return along, along
        across = into.alloc(f"thread_{operand}_turned", self.element, [self.slots, self.other], PRIVATE)
        dims = (Dim("slot", self.slots), Dim("other", self.other))
        names = ("other", "slot")
        turned = layer_over(dims, *((PassThrough(), n, n) for n in names))
        return into.view(across, [turned], f"thread_{operand}_turned"), along


def _workspace(hint: str, element: Attribute, dims: Sequence[Dim], run: Run) -> SSAValue:
    op = WorkspaceOp.build(result_types=[memref(element, [d.size for d in dims])])
    op.result.name_hint = hint
    return run.add(op).result


def _launch(workgroups: int, workitems: int, body: Body, run: Run) -> None:
    block = Block(arg_types=[IndexType(), IndexType()])
    inner = Run()
    body(inner, list(block.args))
    block.add_ops(inner.ops)
    run.add(LaunchOp.over(workgroups, workitems, Region(block)))


def _copy(
    source: SSAValue,
    source_index: Sequence[SSAValue],
    dest: SSAValue,
    dest_index: Sequence[SSAValue],
    scale: Mapping[str, Attribute] | None = None,
) -> ThreadwiseCopyOp:
    """A copy in accesses as wide as they go."""
    widest = max(1, VECTOR_BYTES // max(element_bytes(element_of(v)) for v in (source, dest)))
    return ThreadwiseCopyOp.build(
        operands=[source, source_index, dest, dest_index],
        properties={**properties({"vector": widest}), **(scale or {})},
    )
