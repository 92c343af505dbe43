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

from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute, SSAValue

from imbrex.config.xdlops.data_tiled import data_tiled_tuning
from imbrex.diagnostic import Diagnostic
from imbrex.ir.element import accumulator_type, element_bytes
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.ops.problem import GemmOp
from imbrex.ir.passes.copies import copied
from imbrex.ir.passes.packing import Registers, copy, launch, workspace
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import element_of
from imbrex.ir.source import InvalidOp
from imbrex.view.copy.boxes import Boxes
from imbrex.view.copy.data_tiled import DataTiled
from imbrex.view.gemm.product import GemmView
from imbrex.view.mma import Operand
from imbrex.view.swizzle import tile_kernel

__all__ = ["product"]


def product(op: GemmOp, name: str, view: GemmView, run: Run) -> None:
    """The operation, whose arrays are seen through `view`, with the tile kernel of that name."""
    try:
        tiled = DataTiled(tile_kernel(name), view)
    except Diagnostic as error:
        message = f"{error.message}; {error.hint}" if error.hint else error.message
        raise InvalidOp(op, message, "data_tiled") from error
    packed = dict[Operand, SSAValue]()
    arrays: dict[Operand, SSAValue] = {"a": op.a, "b": op.b}
    for operand, array in arrays.items():
        items = tiled.items(operand, element_bytes(element_of(array)))
        how = Boxes(tiled.placed(operand), items)
        found = copied({operand: array}, {operand: how}, {operand: tiled.packed(operand)}, run)
        packed[operand] = found[operand]
    packed["c"] = workspace("packed_c", accumulator_type(element_of(op.a)), tiled.packed("c"), run)
    maps = {"a": tiled.gemm.a, "b": tiled.gemm.b, "c": tiled.gemm.c}
    operands = [run.view(packed[o], maps[o].layers, f"packed_{o}", i) for i, o in enumerate(packed)]
    tuning = data_tiled_tuning(tiled.kernel)
    run.add(GridwiseGemmOp.build(operands=[*operands, []], properties=properties({"tuning": tuning})))
    scale = {key: p for key, p in (("alpha", op.alpha), ("beta", op.beta)) if p is not None}
    _unpack(tiled, packed["c"], op.c, scale, run)


def _unpack(
    tiled: DataTiled, packed: SSAValue, array: SSAValue, scale: Mapping[str, Attribute], run: Run
) -> None:
    """The packed array of C to the plain one, scaled and added as the product says."""
    items = tiled.items("c", element_bytes(element_of(array)))
    source = run.view(packed, items.map.layers, "packed_c")
    dest = run.view(array, items.map.then(tiled.placed("c")).layers, "c")
    box = Registers(items.other, items.slots, element_of(packed))

    def body(into: Run, place: Sequence[SSAValue]) -> None:
        _, across, along = box.alloc(into, "c")
        into.add(copy(source, place, along, []))
        if across is not along:
            into.add(copy(along, [], across, []))
        into.add(copy(across, [], dest, place, scale))

    launch(items.workgroups, items.workitems, body, run)
