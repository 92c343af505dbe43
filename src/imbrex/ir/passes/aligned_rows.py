"""aligned-rows: a product that asks for it reads copies of the operands that a tensor map cannot show.

    miopen.gemm(%a, %b, %c) { aligned = true }                       f16, %a: 100x77, %b: 77x64
    ->  %packed_a = workspace : 100x80      launch: %packed_a = %a, with zeros from 77 on
        %b_k_n = transform(%b) pad k to 80
        miopen.gemm(%packed_a, %b_k_n, %c)

What is together in memory is rounded up to 16 bytes, k, m or n of all arrays with it: those that are not
copied are seen with so much more that does not exist, reads as zero and is not stored.  Where elements are
not 16 bits wide, the copy also turns an operand whose k is not together.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from imbrex.config.algorithm.aligned import ALREADY, aligned
from imbrex.ir.attrs import Bool
from imbrex.ir.ops.problem import GemmOp
from imbrex.ir.passes.copies import copied
from imbrex.ir.rewrite import Run, rewrite_each
from imbrex.ir.source import InvalidOp
from imbrex.ir.task import gemm_task_of
from imbrex.view.mma import OPERANDS

__all__ = ["AlignedRows"]


@dataclass(frozen=True)
class AlignedRows(ModulePass):
    """See the module's first lines."""

    name = "aligned-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        products = [o for o in op.walk() if isinstance(o, GemmOp)]
        rewrite_each([o for o in products if o.aligned is not None and o.aligned.data], _align)


def _align(op: GemmOp, run: Run) -> None:
    """The copies, then the product of them."""
    made = aligned(gemm_task_of(op))
    if made is None:
        raise InvalidOp(op, f"there is nothing to align: {ALREADY}; leave the key out", "aligned")
    arrays: dict[str, SSAValue] = dict(zip(OPERANDS, op.operands, strict=True))
    arrays |= copied(arrays, {str(role): how for role, how in made.copied.items()}, run)
    operands = [run.view(arrays[role], made.grown[role], role) for role in OPERANDS]
    turned = {f"{role}_transposed": is_turned for role, is_turned in made.task.turned.items()}
    properties = {k: p for k, p in op.properties.items() if k != "aligned" and k not in turned}
    properties |= {key: Bool(True) for key, is_turned in turned.items() if is_turned}
    run.add(GemmOp.build(operands=[*operands, []], properties=properties))
