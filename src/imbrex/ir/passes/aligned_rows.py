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

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from imbrex.config.algorithm.aligned import ALREADY, OPERANDS, aligned_operands
from imbrex.index.map import Dim
from imbrex.ir.attrs import Bool
from imbrex.ir.chain import map_of, strides_of
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.problem import GemmOp
from imbrex.ir.passes.copies import copied
from imbrex.ir.rewrite import Run, require_static, rewrite_each
from imbrex.ir.shape import element_of, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.view.copy.aligned import items
from imbrex.view.copy.boxes import Boxes
from imbrex.view.gemm.product import overhang
from imbrex.view.mma import Operand

__all__ = ["AlignedRows"]


@dataclass(frozen=True)
class AlignedRows(ModulePass):
    """See the module's first lines."""

    name = "aligned-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        products = [o for o in op.walk() if isinstance(o, GemmOp)]
        rewrite_each([o for o in products if o.aligned is not None and o.aligned.data], _align)


def _gaps(array: SSAValue) -> tuple[int, ...] | None:
    """The strides of an operand that is a view."""
    return None if map_of(array)[1] is None else strides_of(array)


def _dims(op: GemmOp) -> dict[Operand, tuple[Dim, ...]]:
    """The dims of each array in memory order."""
    require_static(op, (op.a, op.b, op.c))
    turned = {role: bool(p and p.data) for role, p in (("a", op.a_transposed), ("b", op.b_transposed))}
    found: dict[Operand, tuple[Dim, ...]] = {}
    arrays = zip(OPERANDS, (op.a, op.b, op.c), ("mk", "kn", "mn"), strict=True)
    for role, array, names in arrays:
        order = f"g{names[::-1] if turned.get(role) else names}"
        sizes = [s for s in shape_of(array) if s is not None]
        found[role] = tuple(Dim(n, s) for n, s in zip(order[-len(sizes) :], sizes, strict=True))
    return found


def _align(op: GemmOp, run: Run) -> None:
    """The copies, then the product of them."""
    arrays: dict[str, SSAValue] = dict(zip(OPERANDS, op.operands, strict=True))
    gaps: dict[Operand, Sequence[int] | None] = {role: _gaps(arrays[role]) for role in OPERANDS}
    packed = aligned_operands(_dims(op), element_bytes(element_of(op.a)), gaps)
    if not packed:
        raise InvalidOp(op, f"there is nothing to align: {ALREADY}; leave the key out", "aligned")
    size = element_bytes(element_of(op.a))
    copies = {str(role): Boxes(of.placed, items(of, size)) for role, of in packed.items()}
    rounded = {of.channel: of.packed[-1].size for of in packed.values()}
    seen = _dims(op) | {role: of.packed for role, of in packed.items()}
    values = arrays | copied(arrays, copies, {str(role): of.packed for role, of in packed.items()}, run)
    operands = [run.view(values[role], overhang(dims, **rounded), role) for role, dims in seen.items()]
    transposed = {
        f"{role}_transposed": seen[role][-1].name != last for role, last in (("a", "k"), ("b", "n"))
    }
    properties = {k: p for k, p in op.properties.items() if k != "aligned" and k not in transposed}
    properties |= {key: Bool(True) for key, is_so in transposed.items() if is_so}
    run.add(GemmOp.build(operands=[*operands, []], properties=properties))
