"""run-time-sizes: arrays with a size `?` are seen as views of the greatest one, of which a prefix exists.

    miopen.gemm(%a, %b, %c) : memref<?x512xf32>, memref<512x64xf32>, memref<?x64xf32>

reads and writes views `memref<65536x..>` then, made by the rule `prefix`: what overhangs is decided when the
kernel runs.  The size is m of a gemm, k of one whose A is transposed, or n of a forward conv2d, and that
of an outermost dimension: no address depends on it.  `least` and `most` are 1 and, of a gemm, 65536, of a
conv2d 1024.  What `specialise` gave a number is left as it is, and so are views.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from imbrex.argument import whole
from imbrex.index.map import Dim, Layer, layer_over
from imbrex.index.rule import PassThrough, Prefix
from imbrex.ir.ops import Conv2dOp, GemmOp
from imbrex.ir.rewrite import Run, blaming, insert
from imbrex.ir.shape import shape_of
from imbrex.ir.source import InvalidOp
from imbrex.problem.run_time import MOST_IMAGES, MOST_ROWS

__all__ = ["RunTimeSizes", "prefix"]


@dataclass(frozen=True)
class RunTimeSizes(ModulePass):
    """See the module's first lines."""

    name = "run-time-sizes"
    least: int = 1
    most: int | None = None

    def __post_init__(self) -> None:
        whole("least", self.least, 1)
        if self.most is not None:
            whole("most", self.most, self.least)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for found in list(op.walk()):
            if isinstance(found, GemmOp | Conv2dOp):
                with blaming(found):
                    self._rewrite(found)

    def _rewrite(self, op: GemmOp | Conv2dOp) -> None:
        is_gemm = isinstance(op, GemmOp)
        most = self.most or (MOST_ROWS if is_gemm else MOST_IMAGES)
        if self.least > most:
            message = f"'least' is {self.least}, and 'most' {most} where it is not said"
            raise InvalidOp(op, message, "operand", 0)
        for position, value in enumerate(op.operands):
            names = (
                _gemm_names(op, position) if isinstance(op, GemmOp) else tuple(op.layouts.values())[position]
            )
            if shape_of(value)[0] is not None or names[0] != _name(op):
                continue
            if not isinstance(value.owner, Block):
                raise InvalidOp(op, "a size '?' is of an array, not of a view of one", "type", position)
            op.operands[position] = _seen(op, value, names, self.least, most)


def _name(op: GemmOp | Conv2dOp) -> str:
    """Which size may be open."""
    if isinstance(op, Conv2dOp):
        return "n"
    return "k" if op.a_transposed is not None and op.a_transposed.data else "m"


def _seen(op: Operation, value: SSAValue, names: tuple[str, ...], least: int, most: int) -> SSAValue:
    """The array as the view of `most`; InvalidOp where another size is not known, either."""
    _, *others = shape_of(value)
    known = [size for size in others if size is not None]
    if len(known) != len(others):
        raise InvalidOp(
            op, f"only '{names[0]}' may be a run-time size: give the others numbers", "operand", 0
        )
    run = Run()
    dims = [Dim(name, size) for name, size in zip(names, (most, *known), strict=True)]
    made = run.view(value, (prefix(dims, least),), value.name_hint or "array")
    insert(run.ops, InsertPoint.before(op), op)
    return made


def prefix(dims: list[Dim], least: int) -> Layer:
    """The first coordinates of the outermost dimension, all of the others."""
    others = ((PassThrough(), d.name, d.name) for d in dims[1:])
    return layer_over(dims, (Prefix(least), dims[0].name, dims[0].name), *others)


def _gemm_names(op: GemmOp, position: int) -> tuple[str, ...]:
    flags = (op.a_transposed, op.b_transposed, None)
    names = ("mk", "kn", "mn")[position]
    is_transposed = (flag := flags[position]) is not None and flag.data
    batch = ("batch",) if len(shape_of(op.c)) > 2 else ()
    return (*batch, *(names[::-1] if is_transposed else names))
