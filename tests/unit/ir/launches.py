"""What launches of a module read and write of memory, and what is filled: read off the IR."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from imbrex.ir.chain import map_of
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.grid import LaunchOp
from imbrex.ir.ops.memory import FillOp
from imbrex.ir.ops.standard import Operation, SSAValue
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.shape import GLOBAL, element_of, shape_of, space_of

__all__ = ["filled_elements", "launches_of", "moved_bytes"]


def launches_of(ops: Sequence[Operation]) -> list[LaunchOp]:
    return [op for op in ops if isinstance(op, LaunchOp)]


def moved_bytes(ops: Sequence[Operation]) -> int:
    """Bytes of global memory, by the launches among these operations: all that a copy goes over, once."""
    copies = [op for launch in launches_of(ops) for op in launch.walk() if isinstance(op, ThreadwiseCopyOp)]
    ends = [value for copy in copies for value in (copy.source, copy.dest)]
    return sum(_bytes(value) for value in ends if _is_global(value))


def filled_elements(ops: Sequence[Operation]) -> int:
    """Elements of memory that are filled."""
    filled = [op.buffer for op in ops if isinstance(op, FillOp) and space_of(op.buffer) == GLOBAL]
    return sum(prod(size or 1 for size in shape_of(buffer)) for buffer in filled)


def _is_global(value: SSAValue) -> bool:
    return space_of(map_of(value)[0]) == GLOBAL


def _bytes(value: SSAValue) -> int:
    """No more than any of the views has, of which those on top may go over the end of what exists."""
    base, map = map_of(value)
    layers = map.layers if map is not None else ()
    sizes = [prod(d.size for d in layer.upper) for layer in layers]
    return min([*sizes, prod(size or 1 for size in shape_of(base))]) * element_bytes(element_of(base))
