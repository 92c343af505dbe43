"""Swizzle: how a tile is packed, as an expand_shape and a transpose.

    source tile      [m, k]                                    as the matrix has it
    expanded         [m_unroll, m_lane | k_unroll, k_lane]     each dimension in its parts, outermost first
    packed tile      [m_unroll, k_lane, m_lane, k_unroll]      the parts in the order of memory

Every packing that a matrix instruction asks for is of this form, since its layout deals parts of the
dimensions to lanes and registers.  The law: `map` is a bijection from the packed tile to the source tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from imbrex.cached import cached_property
from imbrex.index.expr import Lin
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.query import linear
from imbrex.index.rule import PassThrough, Unmerge
from imbrex.view.swizzle.part import Part

__all__ = ["Swizzle"]


@dataclass(frozen=True)
class Swizzle:
    """groups: the parts of each source dimension, outermost first.  permutation: part i of the packed tile is
    part permutation[i] of all groups in a row.
    """

    groups: tuple[tuple[Part, ...], ...]
    permutation: tuple[int, ...]

    def __post_init__(self) -> None:
        assert all(self.groups), f"a dimension without parts: {self.groups}"
        assert sorted(self.permutation) == list(range(len(self.parts))), self.permutation

    @property
    def parts(self) -> tuple[Part, ...]:
        """Parts in the order of the source."""
        return tuple(part for group in self.groups for part in group)

    @property
    def packed(self) -> tuple[Part, ...]:
        """Parts in the order of memory."""
        return tuple(self.parts[i] for i in self.permutation)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The source tile."""
        return tuple(Dim(group[0].dim, prod(p.size for p in group)) for group in self.groups)

    @property
    def reassociation(self) -> tuple[tuple[int, ...], ...]:
        """The dimensions that expand_shape makes of each source dimension."""
        ends = list(accumulate(len(group) for group in self.groups))
        return tuple(
            tuple(range(end - len(group), end)) for end, group in zip(ends, self.groups, strict=True)
        )

    @property
    def source_shape(self) -> tuple[int, ...]:
        return tuple(d.size for d in self.dims)

    @property
    def expanded_shape(self) -> tuple[int, ...]:
        return tuple(p.size for p in self.parts)

    @property
    def packed_shape(self) -> tuple[int, ...]:
        return tuple(p.size for p in self.packed)

    @property
    def elements(self) -> int:
        return prod(self.source_shape)

    @property
    def lane_run(self) -> int:
        """Elements that a lane has side by side in the packed tile: all that is inside the last lane part."""
        run = 1
        for part in reversed(self.packed):
            if part.kind in ("lane", "wave") and part.size > 1:
                break
            run *= part.size
        return run

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for each part, in the order of the source: `m_lane`, and `m_lane2` for a second one."""
        return _numbered([f"{p.dim}_{p.kind}" for p in self.parts])

    @property
    def packed_names(self) -> tuple[str, ...]:
        return tuple(self.names[i] for i in self.permutation)

    @property
    def packed_dims(self) -> tuple[Dim, ...]:
        return tuple(Dim(*pair) for pair in zip(self.packed_names, self.packed_shape, strict=True))

    @cached_property
    def map(self) -> Map:
        """Packed tile -> source tile."""
        entries = [
            (
                PassThrough() if len(group) == 1 else Unmerge(),
                " ".join(self.names[i] for i in numbers),
                d.name,
            )
            for d, group, numbers in zip(self.dims, self.groups, self.reassociation, strict=True)
        ]
        sizes = dict(zip(self.names, self.expanded_shape, strict=True))
        return Map((layer_over(self.dims, *entries, order=self.packed_names, **sizes),))

    @cached_property
    def offset(self) -> Lin:
        """Where an element of the source tile lies in the packed tile, in elements."""
        return linear(self.map.inverse())[0]


def _numbered(names: Sequence[str]) -> tuple[str, ...]:
    """The names made different from each other."""
    seen: dict[str, int] = {}
    made: list[str] = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name}{seen[name]}")
    return tuple(made)
