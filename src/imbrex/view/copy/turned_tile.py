"""TurnedTile: shared memory into which lanes put pieces of 16 bytes, and from which they take other ones.

    put      (workitem, turn, slot) -> shared      pieces one after the other, as they lie in memory
    taken    (workitem, turn, slot) -> shared      neighbouring channels at one position
    given    (workitem, turn, slot) -> shared      the same places, to put there what is to be turned back

A **row** has as many channels as 16 bytes hold, `inside` of each one after the other; a tile has some rows, a
workgroup some tiles.  Rows are an odd number of pieces long, so that lanes of neighbouring rows are in
different banks.  Work items to spare put what is nothing into rows of their own, or give it to them, and take
what others take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from imbrex.index.map import Dim, Layer, Map, joined_names
from imbrex.index.rule import Broadcast, Merge, Slice, Unmerge
from imbrex.index.stack import Stack, over

__all__ = ["TurnedTile", "launched"]

TOGETHER = 4
"""Neighbouring positions that lanes take at a time, in 16 bytes or less of a row."""


@dataclass(frozen=True)
class TurnedTile:
    """rows: of a tile.  tiles: of a workgroup.  slots: channels of a row.  inside: the dims of a channel, as
    many elements as a row has pieces.  within: what is taken of these; None where it is all.
    """

    rows: int
    tiles: int
    slots: int
    inside: tuple[Dim, ...]
    workitems: int = 256
    within: Layer | None = None

    @property
    def seen(self) -> tuple[Dim, ...]:
        """The dims of a channel that are taken."""
        return self.inside if self.within is None else self.within.upper

    @property
    def positions(self) -> int:
        """Positions of a channel that are taken."""
        return prod(d.size for d in self.seen)

    @property
    def steps(self) -> int:
        """The same, so many at a time."""
        return -(-self.positions // TOGETHER)

    @property
    def pieces(self) -> int:
        """Loads of a workgroup."""
        return self.tiles * self.rows * self._elements

    @property
    def stores(self) -> int:
        """Stores of a workgroup, those of rounded positions too."""
        return self.steps * self.tiles * TOGETHER * self.rows

    @property
    def read_turns(self) -> int:
        """Loads of a work item."""
        return -(-self.pieces // self.workitems)

    @property
    def written_turns(self) -> int:
        """Stores of a work item."""
        return -(-self.stores // self.workitems)

    @property
    def shared(self) -> tuple[Dim, ...]:
        rows = -(-self.read_turns * self.workitems // self._elements)
        length = (self._elements | 1) * self.slots
        return Dim("row", max(rows, self.tiles * self.rows)), Dim("column", length)

    @property
    def shared_back(self) -> tuple[Dim, ...]:
        """Shared memory for what is turned back."""
        (_, rows), column = self.shared
        used = self.tiles * self.rows
        return Dim("row", max(rows, prod(self._rounds) * used)), column

    @property
    def put(self) -> Map:
        """(workitem, turn, slot) -> shared."""
        return self._put(self.shared)

    @property
    def taken_back(self) -> Map:
        """(workitem, turn, slot) -> shared_back: what `put` is of `shared`."""
        return self._put(self.shared_back)

    def _put(self, shared: tuple[Dim, ...]) -> Map:
        split = self._without_gap(shared).passing(
            (Unmerge(), "piece slot", "column"), piece=self._elements, slot=self.slots
        )
        pieces = split.passing((Merge(), "piece", "row piece"))
        return _items(_first(pieces, piece=self.read_turns * self.workitems), "piece", self.workitems).map

    @property
    def taken(self) -> Map:
        """(workitem, turn, slot) -> shared."""
        position, round = self._rounds
        tiles = self._tiles(self.shared, {"tile": self.tiles, "row": self.rows})
        again = tiles.passing((Broadcast(), "again", ""), again=position)
        return self._spread_items(again.passing((Broadcast(), "round", ""), round=round)).map

    @property
    def given(self) -> Map:
        """(workitem, turn, slot) -> shared_back."""
        position, round = self._rounds
        parts = {"round": round, "again": position, "tile": self.tiles, "row": self.rows}
        return self._spread_items(self._tiles(self.shared_back, parts)).map

    def _tiles(self, shared: tuple[Dim, ...], parts: Mapping[str, int]) -> Stack:
        """(the parts of a row, slot, position) -> shared."""
        sizes = {"slot": self.slots, **dict(self.inside)}
        split = self._without_gap(shared).passing((Unmerge(), " ".join(sizes), "column"), **sizes)
        used = split.passing((Slice(0, prod(parts.values())), "row", "row"))
        tiled = used.passing((Unmerge(), " ".join(parts), "row"), **parts)
        if self.within is not None:
            own = {d.name for d in self.inside}
            others = [d for d in tiled.upper if d.name not in own]
            tiled = tiled.under(*Map((self.within,)).with_leading(others).layers)
        return tiled.passing((Merge(), "position", joined_names(self.seen)))

    def stored(self, below: Stack) -> Stack:
        """(workgroup, workitem, turn, slot) over (workgroup, tile, position, row, slot), in the order of
        `taken`; guarded beyond the last position.
        """
        spread = self._spread(below.padded(position=self.steps * TOGETHER - self.positions))
        return launched(spread.passing((Merge(), "store", "step tile beside row")), "store", self.workitems)

    @property
    def _rounds(self) -> tuple[int, int]:
        """How often positions, and stores, begin again where they are rounded up, once to all of both."""
        count, items = self.steps * TOGETHER, self.written_turns * self.workitems
        return -(-count // self.positions), -(-items // self.stores)

    def _spread_items(self, below: Stack) -> Stack:
        """(workitem, turn, slot) over (round, again, tile, row, slot, position)."""
        joined = below.passing((Merge(), "position", "again position"))
        spread = self._spread(_first(joined, position=self.steps * TOGETHER))
        stores = spread.passing((Merge(), "store", "round step tile beside row"))
        return _items(_first(stores, store=self.written_turns * self.workitems), "store", self.workitems)

    def _spread(self, below: Stack) -> Stack:
        return below.passing((Unmerge(), "step beside", "position"), step=self.steps, beside=TOGETHER)

    def _without_gap(self, shared: tuple[Dim, ...]) -> Stack:
        return _first(over(shared), column=self._elements * self.slots)

    @property
    def _elements(self) -> int:
        """Elements of a channel, which are also the pieces of a row."""
        return prod(d.size for d in self.inside)


def launched(lower: Stack, name: str, workitems: int) -> Stack:
    """(workgroup, workitem, turn, slot) over (workgroup, name, slot), guarded for work items to spare."""
    return _items(lower.padded(**{name: -dict(lower.upper)[name] % workitems}), name, workitems)


def _items(lower: Stack, name: str, workitems: int) -> Stack:
    """(.., workitem, turn, slot) over (.., name, slot): neighbours are different work items' of one turn."""
    first = [d.name for d in lower.upper if d.name not in (name, "slot")]
    sizes = {"turn": dict(lower.upper)[name] // workitems, "workitem": workitems}
    order = [*first, "workitem", "turn", "slot"]
    return lower.replacing((Unmerge(), "turn workitem", name), order=order, **sizes)


def _first(lower: Stack, **counts: int) -> Stack:
    """So many of the first of these dims."""
    return lower.passing(*((Slice(0, count), name, name) for name, count in counts.items()))
