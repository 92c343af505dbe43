"""What the launches before and after products read and write."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from imbrex.ir.chain import map_of
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.grid import LaunchOp
from imbrex.ir.ops.standard import Operation, SSAValue
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.shape import GLOBAL, element_of, shape_of, space_of

__all__ = ["moved_bytes"]


def moved_bytes(ops: Iterable[Operation]) -> int:
    """Of global memory, by the launches among these operations: all that a copy goes over, once."""
    launches = [op for op in ops if isinstance(op, LaunchOp)]
    copies = [op for launch in launches for op in launch.walk() if isinstance(op, ThreadwiseCopyOp)]
    ends = [value for copy in copies for value in (copy.source, copy.dest)]
    return sum(_elements(value) * element_bytes(element_of(value)) for value in ends if _is_global(value))


def _is_global(value: SSAValue) -> bool:
    return space_of(map_of(value)[0]) == GLOBAL


def _elements(value: SSAValue) -> int:
    """No more than any of the views has, of which those on top may go over the end of what exists."""
    base, map = map_of(value)
    layers = map.layers if map is not None else ()
    sizes = [prod(d.size for d in layer.upper) for layer in layers]
    return min([*sizes, prod(size or 1 for size in shape_of(base))])
