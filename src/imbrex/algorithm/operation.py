"""A problem as the one operation of the IR that it is."""

from __future__ import annotations

from imbrex.ir.ops.problem import ConvOp, GemmOp
from imbrex.ir.problem_module import problem_module
from imbrex.problem import Problem

__all__ = ["convolution_op", "product_op"]


def product_op(problem: Problem) -> GemmOp:
    """Of a product of matrices."""
    (op,) = (o for o in problem_module(problem).walk() if isinstance(o, GemmOp))
    return op


def convolution_op(problem: Problem) -> ConvOp:
    """Of a convolution, in any direction."""
    (op,) = (o for o in problem_module(problem).walk() if isinstance(o, ConvOp))
    return op
