"""Which operands of a product are copied so that a tensor map can show them; see `view.copy.aligned`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from imbrex.chip import VECTOR_BYTES
from imbrex.config.algorithm.task import GemmTask
from imbrex.index.map import Layer, Map
from imbrex.index.query import strides
from imbrex.view.copy import aligned as copies
from imbrex.view.copy.boxes import Boxes
from imbrex.view.copy.channels_last import ChannelsLast
from imbrex.view.gemm.product import overhang
from imbrex.view.mma import OPERANDS, Operand

__all__ = ["ALREADY", "Aligned", "aligned"]

ALREADY: Final = f"rows of both operands are multiples of {VECTOR_BYTES} bytes"
READ: Final[tuple[Operand, ...]] = ("a", "b")


@dataclass(frozen=True)
class Aligned:
    """task: the product of the other arrays.  copied: those of A and B that are copies, and how.  grown:
    layers over each array, or its copy, for what the copies have more.
    """

    task: GemmTask
    copied: Mapping[Operand, Boxes]
    grown: Mapping[Operand, tuple[Layer, ...]]


def aligned(task: GemmTask) -> Aligned | None:
    """None where both operands can be read where they are.

    Either operand may be the matrix unit's A, whose tf32 comes from registers and need not have k together:
    of the ways to copy something the one that moves the fewest bytes, and that copies along k where it can.
    """
    ways = [_copies(task, held) for held in (None, *READ)]
    packed = min(filter(None, ways), key=_elements, default=None)
    if packed is None:
        return None
    size, dims = task.dtype.bytes, dict(task.dims)
    rounded = {of.channel: of.packed[-1].size for of in packed.values()}
    dims |= {role: of.packed for role, of in packed.items()}
    grown: dict[Operand, tuple[Layer, ...]] = {role: overhang(dims[role], **rounded) for role in OPERANDS}
    dims |= {role: layers[0].upper for role, layers in grown.items() if layers}
    whole = {role: (*grown[role], *(() if role in packed else task.below[role])) for role in OPERANDS}
    moved: dict[Operand, Boxes] = {r: Boxes(of.placed, copies.items(of, size)) for r, of in packed.items()}
    return Aligned(replace(task, dims=dims, below=whole), moved, grown)


def _copies(task: GemmTask, held: Operand | None) -> dict[Operand, ChannelsLast]:
    """How A and B are copied where the matrix unit has one of them, or none, as it may have its A."""
    found = dict[Operand, ChannelsLast]()
    for role in READ:
        dims, below = task.dims[role], task.below[role]
        apart = strides(Map(below)) if below else None
        if of := copies.aligned(dims, task.dtype.bytes, apart, "a" if role == held else "b"):
            found[role] = of
    return found


def _elements(copied: Mapping[Operand, ChannelsLast]) -> int:
    """How much is copied, in elements."""
    return sum(prod(d.size for d in of.packed) for of in copied.values())
