"""Which operands of a product are copied so that a tensor map can show them; see `view.copy.aligned`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    """None where both operands can be read where they are."""
    size, dims = task.dtype.bytes, dict(task.dims)
    packed = dict[Operand, ChannelsLast]()
    for role in READ:
        below = task.below[role]
        if of := copies.aligned(dims[role], size, strides(Map(below)) if below else None):
            packed[role] = of
    if not packed:
        return None
    rounded = {of.channel: of.packed[-1].size for of in packed.values()}
    dims |= {role: of.packed for role, of in packed.items()}
    grown: dict[Operand, tuple[Layer, ...]] = {role: overhang(dims[role], **rounded) for role in OPERANDS}
    dims |= {role: layers[0].upper for role, layers in grown.items() if layers}
    whole = {role: (*grown[role], *(() if role in packed else task.below[role])) for role in OPERANDS}
    moved: dict[Operand, Boxes] = {r: Boxes(of.placed, copies.items(of, size)) for r, of in packed.items()}
    return Aligned(replace(task, dims=dims, below=whole), moved, grown)
