"""Stack: layers of a map while it is written down from memory upward, each over the dims of the one before.

    over(array).padded(hi=2).passing((Unmerge(), "block near", "hi"), block=3, near=4).map

A `Map` has its layers topmost first; here they stand in the order in which they are thought of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from imbrex.index.map import Dim, Entry, Layer, Map, identity, layer_over, merging, passing, replacing
from imbrex.index.rule import Pad

__all__ = ["Stack", "over"]


def over(lower: Sequence[Dim] | Map) -> Stack:
    """The stack that has no layer yet, or those of a map."""
    return Stack(lower.lower, lower.layers) if isinstance(lower, Map) else Stack(tuple(lower))


@dataclass(frozen=True)
class Stack:
    """lower: the dims that the lowest layer makes.  layers: topmost first.

    Each method gives the stack with one layer more, where `index.map` has a namesake the layer of that.
    """

    lower: tuple[Dim, ...]
    layers: tuple[Layer, ...] = ()

    @property
    def upper(self) -> tuple[Dim, ...]:
        return self.layers[0].upper if self.layers else self.lower

    @property
    def map(self) -> Map:
        return Map(self.layers) if self.layers else identity(self.lower)

    def under(self, *above: Layer) -> Stack:
        """The stack with these layers on top, topmost first."""
        return Stack(self.lower, (*above, *self.layers))

    def layer(self, *entries: Entry, order: Sequence[str] | None = None, **sizes: int) -> Stack:
        """One of nothing but these entries: `layer_over`."""
        return self.under(layer_over(self.upper, *entries, order=order, **sizes))

    def passing(self, *entries: Entry, **sizes: int) -> Stack:
        return self.under(passing(self.upper, *entries, **sizes))

    def replacing(self, *entries: Entry, order: Sequence[str] | None = None, **sizes: int) -> Stack:
        return self.under(replacing(self.upper, *entries, order=order, **sizes))

    def merging(self, **digits: str) -> Stack:
        return self.under(merging(self.upper, **digits))

    def padded(self, **counts: int) -> Stack:
        """Dims longer by so many, which do not exist; no layer where there are none."""
        pads = [(Pad(0, count), name, name) for name, count in counts.items() if count]
        return self.passing(*pads) if pads else self
