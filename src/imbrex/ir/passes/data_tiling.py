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

from imbrex.config.algorithm.matrices import data_tiled
from imbrex.diagnostic import Diagnostic
from imbrex.ir.element import accumulator_type
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.ops.problem import GemmOp
from imbrex.ir.passes.copies import copied
from imbrex.ir.passes.packing import Registers, copy, launch, workspace
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import element_of
from imbrex.ir.source import InvalidOp
from imbrex.ir.task import gemm_task_of
from imbrex.view.copy.boxes import Boxes

__all__ = ["product"]


def product(op: GemmOp, name: str, run: Run) -> None:
    """The operation with the tile kernel of that name."""
    try:
        made = data_tiled(gemm_task_of(op), name)
    except Diagnostic as error:
        message = f"{error.message}; {error.hint}" if error.hint else error.message
        raise InvalidOp(op, message, "data_tiled") from error
    back = made.copied["c"]
    packed = copied({"a": op.a}, {"a": made.copied["a"]}, run)
    packed |= copied({"b": op.b}, {"b": made.copied["b"]}, run)
    packed["c"] = workspace("packed_c", accumulator_type(element_of(op.a)), back.written.lower, run)
    maps = zip(packed.items(), (made.view.a, made.view.b, made.view.c), strict=True)
    operands = [run.view(of, map.layers, f"packed_{role}", i) for i, ((role, of), map) in enumerate(maps)]
    given = properties({"tuning": made.tuning})
    run.add(GridwiseGemmOp.build(operands=[*operands, []], properties=given))
    scale = {key: p for key, p in (("alpha", op.alpha), ("beta", op.beta)) if p is not None}
    _unpack(back, packed["c"], op.c, scale, run)


def _unpack(how: Boxes, packed: SSAValue, array: SSAValue, scale: Mapping[str, Attribute], run: Run) -> None:
    """The packed array of C to the plain one, scaled and added as the product says."""
    items = how.items
    source = run.view(packed, how.written.layers, "packed_c")
    dest = run.view(array, how.read.layers, "c")
    box = Registers(items.other, items.slots, element_of(packed))

    def body(into: Run, indices: Sequence[SSAValue]) -> None:
        _, across, along = box.alloc(into, "c")
        into.add(copy(source, indices, along, []))
        if across is not along:
            into.add(copy(along, [], across, []))
        into.add(copy(across, [], dest, indices, scale))

    launch(items.workgroups, items.workitems, body, run)
