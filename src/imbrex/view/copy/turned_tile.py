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

from imbrex.index.map import Dim, Entry, Layer, Map, joined_names, passing, replacing
from imbrex.index.rule import Broadcast, Merge, Pad, Slice, Unmerge

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
        rows, _ = shared
        gap = self._without_gap(shared)
        split = passing(gap.upper, (Unmerge(), "piece slot", "column"), piece=self._elements, slot=self.slots)
        joined = passing(split.upper, (Merge(), "piece", "row piece"))
        count = self.read_turns * self.workitems
        cut: Entry = (Slice(0, count), "piece", "piece")
        fewer = (passing(joined.upper, cut),) if count < rows.size * self._elements else ()
        above = fewer[0].upper if fewer else joined.upper
        return Map((_items(above, "piece", self.workitems), *fewer, joined, split, gap))

    @property
    def taken(self) -> Map:
        """(workitem, turn, slot) -> shared."""
        tiles = self._tiles(self.shared, {"tile": self.tiles, "row": self.rows})
        position, round = self._rounds
        again = passing(tiles[0].upper, (Broadcast(), "again", ""), again=position)
        over = passing(again.upper, (Broadcast(), "round", ""), round=round)
        return Map((*self._spread_items(over.upper), over, again, *tiles))

    @property
    def given(self) -> Map:
        """(workitem, turn, slot) -> shared_back."""
        position, round = self._rounds
        parts = {"round": round, "again": position, "tile": self.tiles, "row": self.rows}
        tiles = self._tiles(self.shared_back, parts)
        return Map((*self._spread_items(tiles[0].upper), *tiles))

    def _tiles(self, shared: tuple[Dim, ...], parts: Mapping[str, int]) -> tuple[Layer, ...]:
        """(the parts of a row, slot, position) -> shared."""
        gap = self._without_gap(shared)
        sizes = {"slot": self.slots, **dict(self.inside)}
        split = passing(gap.upper, (Unmerge(), f"slot {joined_names(self.inside)}", "column"), **sizes)
        used = passing(split.upper, (Slice(0, prod(parts.values())), "row", "row"))
        tiled = passing(used.upper, (Unmerge(), " ".join(parts), "row"), **parts)
        part: tuple[Layer, ...] = ()
        if self.within is not None:
            own = {d.name for d in self.inside}
            part = Map((self.within,)).with_leading([d for d in tiled.upper if d.name not in own]).layers
        above = part[0].upper if part else tiled.upper
        merged = passing(above, (Merge(), "position", joined_names(self.seen)))
        return merged, *part, tiled, used, split, gap

    def stored(self, dims: tuple[Dim, ...]) -> tuple[Layer, ...]:
        """(workgroup, workitem, turn, slot) over (workgroup, tile, position, row, slot), in the order of
        `taken`; guarded beyond the last position.
        """
        beyond = self.steps * TOGETHER - self.positions
        padded = (passing(dims, (Pad(0, beyond), "position", "position")),) if beyond else ()
        spread = self._spread(padded[0].upper if padded else dims)
        items = passing(spread.upper, (Merge(), "store", "step tile beside row"))
        spare = self.written_turns * self.workitems - self.stores
        return (*launched(items.upper, "store", spare, self.workitems), items, spread, *padded)

    @property
    def _rounds(self) -> tuple[int, int]:
        """How often positions, and stores, begin again where they are rounded up, once to all of both."""
        count, items = self.steps * TOGETHER, self.written_turns * self.workitems
        return -(-count // self.positions), -(-items // self.stores)

    def _spread_items(self, dims: tuple[Dim, ...]) -> tuple[Layer, ...]:
        """(workitem, turn, slot) over (round, again, tile, row, slot, position)."""
        count, items = self.steps * TOGETHER, self.written_turns * self.workitems
        joined = passing(dims, (Merge(), "position", "again position"))
        cut = passing(joined.upper, (Slice(0, count), "position", "position"))
        spread = self._spread(cut.upper)
        stores = passing(spread.upper, (Merge(), "store", "round step tile beside row"))
        fewer = passing(stores.upper, (Slice(0, items), "store", "store"))
        return _items(fewer.upper, "store", self.workitems), fewer, stores, spread, cut, joined

    def _spread(self, dims: tuple[Dim, ...]) -> Layer:
        sizes = {"step": self.steps, "beside": TOGETHER}
        return passing(dims, (Unmerge(), "step beside", "position"), **sizes)

    def _without_gap(self, shared: tuple[Dim, ...]) -> Layer:
        used: Entry = (Slice(0, self._elements * self.slots), "column", "column")
        return passing(shared, used)

    @property
    def _elements(self) -> int:
        """Elements of a channel, which are also the pieces of a row."""
        return prod(d.size for d in self.inside)


def launched(lower: tuple[Dim, ...], name: str, spare: int, workitems: int) -> tuple[Layer, ...]:
    """(workgroup, workitem, turn, slot) over (workgroup, name, slot), guarded for work items to spare."""
    padded = (passing(lower, (Pad(0, spare), name, name)),) if spare else ()
    return _items(padded[0].upper if padded else lower, name, workitems), *padded


def _items(lower: tuple[Dim, ...], name: str, workitems: int) -> Layer:
    """(.., workitem, turn, slot) over (.., name, slot): neighbours are different work items' of one turn."""
    first = [d.name for d in lower if d.name not in (name, "slot")]
    order = [*first, "workitem", "turn", "slot"]
    sizes = {"turn": dict(lower)[name] // workitems, "workitem": workitems}
    return replacing(lower, (Unmerge(), "turn workitem", name), order=order, **sizes)
