"""A gemm whose K is cut into parts: the product of all of them, and a launch that adds them up.

    miopen.gemm(%a, %b, %c) { k_parts = 6 }
    ->  %parts = workspace : 6xMxN
        miopen.gridwise_gemm(%a, %b, %parts)        each part a matrix of the batch
        launch: %c = alpha * (sum of %parts) + beta * %c

Parts are added in the order of k: a result does not depend on timing.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from imbrex.config.algorithm.matrices import parts_of_k
from imbrex.diagnostic import Diagnostic
from imbrex.ir.element import accumulator_type
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.ops.problem import GemmOp
from imbrex.ir.passes.packing import copy, launch, workspace
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import PRIVATE, element_of
from imbrex.ir.source import InvalidOp
from imbrex.ir.task import gemm_task_of
from imbrex.view.gemm.parts_of_k import NEIGHBOURS, WORKITEMS, PartsOfK

__all__ = ["product"]


def product(op: GemmOp, parts: int, run: Run) -> None:
    """The operation with so many parts."""
    task = gemm_task_of(op)
    try:
        made = parts_of_k(task, parts)
    except Diagnostic as error:
        message = f"{error.message}; {error.hint}" if error.hint else error.message
        raise InvalidOp(op, message, "k_parts") from error
    sums = workspace("parts", accumulator_type(element_of(op.a)), made.stored, run)
    views = (("a", op.a, made.gemm.a), ("b", op.b, made.gemm.b), ("parts", sums, made.gemm.c))
    operands = [run.view(value, map.layers, hint, i) for i, (hint, value, map) in enumerate(views)]
    run.add(GridwiseGemmOp.build(operands=[*operands, []]))
    seen = run.view(sums, made.read.layers, "parts")
    c = run.view(op.c, (*made.written.layers, *task.view.c.layers), "c")
    _add(made, seen, c, op, run)


def _add(made: PartsOfK, sums: SSAValue, c: SSAValue, op: GemmOp, run: Run) -> None:
    """The launch that adds up the parts of each element, and stores it as the product says."""
    scale = {key: p for key, p in (("alpha", op.alpha), ("beta", op.beta)) if p is not None}
    one = properties({"beta": 1.0})

    def body(into: Run, indices: Sequence[SSAValue]) -> None:
        total = into.alloc("thread_total", element_of(sums), [NEIGHBOURS], PRIVATE)
        held = into.alloc("thread_parts", element_of(sums), [made.parts, NEIGHBOURS], PRIVATE)
        into.add(copy(sums, indices, held, []))
        into.zero(total)
        for part in range(made.parts):
            into.add(copy(held, [into.index(part)], total, [], one))
        into.add(copy(total, [], c, indices, scale))

    launch(made.workgroups, WORKITEMS, body, run)
