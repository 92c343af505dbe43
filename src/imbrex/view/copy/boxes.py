"""Boxes: an array copied by work items that move a box of elements each, through their registers.

    read     (workgroup, workitem, other, slot) -> array       guarded where the copy has more than the array
    written  (workgroup, workitem, other, slot) -> the copy

`PlaneTiles`, which go through shared memory, say the same two maps: an ArrayCopy is either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from imbrex.index.map import Layer, Map
from imbrex.view.copy.data_tiled import Items
from imbrex.view.copy.plane_tiles import PlaneTiles

__all__ = ["ArrayCopy", "Boxes"]


@dataclass(frozen=True)
class Boxes:
    """placed: from the copy to the array.  items: who moves what.  below: layers from the copy to memory.

    wide: (workgroup, workitem, other, slot) -> array, where a work item reads `step` times as many neighbours
    as it moves, and keeps the first of each `step`; else None.
    """

    placed: Map
    items: Items
    wide: Map | None = None
    step: int = 1
    below: tuple[Layer, ...] = ()

    @property
    def read(self) -> Map:
        return self.wide or self.items.map.then(self.placed)

    @property
    def written(self) -> Map:
        return Map((*self.items.map.layers, *self.below))


ArrayCopy: TypeAlias = Boxes | PlaneTiles
