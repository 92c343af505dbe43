"""GroupMerge: a grouped convolution as one of fewer groups, each of `count` groups' channels side by side.

    filter   [k' = count * k, c' = count * c]     block diagonal: zero where k' and c' are of different groups
    input    c' = count * c                       the same elements
    output   k' = count * k                       the same elements

Law: the merged convolution has the elements of the one with groups, as a sum gains zeros only.  It multiplies
`count` times as much, by channels that fill the rows of matrix instructions and of the copies that feed them.

Of the filter, group and group have one number, count * (group of k') + (group of c'), which is a multiple of
count + 1 where both are the same: that is how its map says that other elements are not there.
"""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.index.map import Dim, Entry, Map, unchanged
from imbrex.index.rule import Merge, Quotient, Unmerge
from imbrex.index.stack import over

__all__ = ["GroupMerge"]

CHANNELS = ("k", "c")


@dataclass(frozen=True)
class GroupMerge:
    """array: dims in memory order, with "g"; of filter, input or output.  count: divides the groups."""

    array: tuple[Dim, ...]
    count: int

    @property
    def merged(self) -> tuple[Dim, ...]:
        """The dims of the merged array, in the same order."""
        return self.map.upper

    @property
    def map(self) -> Map:
        """Merged -> array."""
        sizes = {"g": dict(self.array)["g"] // self.count, "member": self.count}
        below, channels = over(self.array).passing((Unmerge(), "g member", "g"), **sizes), self._channels
        of: tuple[str, ...] = ("member",)
        if len(channels) == 2:
            of = ("of_k", "of_c")
            pairs = below.passing((Quotient(self.count + 1), "pair", "member"), pair=self.count**2)
            below = pairs.passing((Unmerge(), "of_k of_c", "pair"), of_k=self.count, of_c=self.count)
        members = dict(zip(channels, of, strict=True))
        merged: list[Entry] = [(Merge(), name, f"{member} {name}") for name, member in members.items()]
        kept = unchanged(d.name for d in self.array if d.name not in ("g", *channels))
        return below.layer(*unchanged("g"), *merged, *kept, order=[d.name for d in self.array]).map

    def ordered(self, last: str) -> tuple[tuple[Dim, ...], Map]:
        """The merged array with another dim running fastest: its dims, and the map from it to the array."""
        names = [*(d.name for d in self.array if d.name != last), last]
        turned = over(self.map).layer(*unchanged(names))
        return turned.upper, turned.map

    @property
    def _channels(self) -> tuple[str, ...]:
        return tuple(name for name in CHANNELS if name in dict(self.array))
