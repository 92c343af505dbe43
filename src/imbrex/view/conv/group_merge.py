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

from imbrex.index.map import Dim, Entry, Map, layer_over, passing
from imbrex.index.rule import Merge, PassThrough, Quotient, Unmerge

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
        groups = Dim("g", dict(self.array)["g"] // self.count)
        together = passing(self.array, (Unmerge(), "g member", "g"), g=groups.size, member=self.count)
        below = [together]
        if len(channels := self._channels) == 2:
            pairs = passing(together.upper, (Quotient(self.count + 1), "pair", "member"), pair=self.count**2)
            sizes = {"of_k": self.count, "of_c": self.count}
            below = [passing(pairs.upper, (Unmerge(), "of_k of_c", "pair"), **sizes), pairs, together]
        top = below[0].upper
        members = dict(zip(channels, ("of_k", "of_c") if len(channels) == 2 else ("member",), strict=True))
        entries: list[Entry] = [(PassThrough(), "g", "g")]
        entries += [(Merge(), name, f"{member} {name}") for name, member in members.items()]
        entries += [(PassThrough(), d.name, d.name) for d in self.array if d.name not in ("g", *channels)]
        return Map((layer_over(top, *entries, order=[d.name for d in self.array]), *below))

    def ordered(self, last: str) -> tuple[tuple[Dim, ...], Map]:
        """The merged array with another dim running fastest: its dims, and the map from it to the array."""
        names = [*(d.name for d in self.array if d.name != last), last]
        turned = layer_over(self.merged, *((PassThrough(), n, n) for n in names))
        return turned.upper, Map((turned, *self.map.layers))

    @property
    def _channels(self) -> tuple[str, ...]:
        return tuple(name for name in CHANNELS if name in dict(self.array))
