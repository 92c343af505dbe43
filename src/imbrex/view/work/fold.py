"""Fold: how the work items of a workgroup add up what each of them has, through shared memory.

    C[cell] = sum over value of P[value, cell]          all P's in registers of one work item each

A level adds up as many values of a cell as leave enough to do for all work items, in the order of the values:
the result does not depend on who comes first.  Shared memory is one stretch, values outermost:

    read      (workitem, turn, value)     sum number turn * workitems + workitem, parts before cells
    written   (workitem, turn)            the sums of the level before

Work items beyond the last sum read what means nothing, and nobody stores it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from imbrex.index.map import Dim, Entry, Layer, unchanged
from imbrex.index.rule import Embed, Merge, Pad, PassThrough, Unmerge
from imbrex.index.stack import Stack, over

__all__ = ["Level", "Total", "levels"]

LANES = 32
"""Neighbouring cells that a wave reads together."""
MOST_VALUES = 16
"""Most values that a work item adds up at once, where there are work items for more parts."""


@dataclass(frozen=True)
class Level:
    """A level: from `count` values of each cell to `parts`."""

    count: int
    parts: int
    cells: int
    workitems: int

    @property
    def values(self) -> int:
        return self.count // self.parts

    @property
    def turns(self) -> int:
        """Sums of a work item."""
        return -(-self.parts * self.cells // self.workitems)

    @property
    def elements(self) -> int:
        """Elements of shared memory."""
        return (self.values - 1) * self.parts * self.cells + self.turns * self.workitems

    @property
    def _memory(self) -> tuple[Dim, ...]:
        return (Dim("element", self.elements),)

    def first(self, lanes: int, places: int) -> tuple[Layer, ...]:
        """(workitem, place): where the first level finds what work items have, `lanes` of them side by side
        with different cells of a place.
        """
        assert places * lanes == self.cells and self.count * lanes == self.workitems, self
        sizes = {"value": self.count, "place": places, "lane": lanes}
        spaced: Entry = (Embed((self.cells, lanes, 1)), " ".join(sizes), "element")
        own = over(self._memory).layer(spaced, order=None, **sizes)
        return own.layer((Merge(), "workitem", "value lane"), (PassThrough(), "place", "place")).layers

    def read(self) -> tuple[Layer, ...]:
        sizes = {"workitem": self.workitems, "turn": self.turns, "value": self.values}
        spaced: Entry = (Embed((1, self.workitems, self.parts * self.cells)), " ".join(sizes), "element")
        return over(self._memory).layer(spaced, order=None, **sizes).layers

    def written(self, turns: int) -> tuple[Layer, ...]:
        """turns: of the level before."""
        return self._turns(over(self._memory), "element", turns).layers

    def stored(self, below: tuple[Dim, ...]) -> tuple[Layer, ...]:
        """(.., workitem, turn): the last level's sums above dims of which the last is `cell`."""
        assert self.parts == 1 and below[-1] == ("cell", self.cells), below
        more = self.turns * self.workitems - self.cells
        padded = over(below).replacing((Pad(0, more), "cell", "cell"))
        return self._turns(padded, "cell", self.turns).layers

    def _turns(self, below: Stack, name: str, turns: int) -> Stack:
        """(.., workitem, turn) over (.., name), turn by turn."""
        spaced: Entry = (Embed((1, self.workitems)), "workitem turn", name)
        return below.replacing(spaced, workitem=self.workitems, turn=turns)


def levels(count: int, cells: int, workitems: int) -> Iterator[Level]:
    """Levels until one value is left."""
    while True:
        parts = 1
        while count // parts > MOST_VALUES and count % (parts * 2) == 0 and parts * 2 * cells <= workitems:
            parts *= 2
        yield Level(count, parts, cells, workitems)
        if parts == 1:
            return
        count = parts


@dataclass(frozen=True)
class Total:
    """The sum of what `shares` workgroups left of each cell: a workgroup has LANES cells, its work items
    parts of the shares.
    """

    shares: int
    cells: int
    workitems: int

    @property
    def level(self) -> Level:
        return Level(self.workitems // LANES, 1, LANES, self.workitems)

    @property
    def values(self) -> int:
        """Shares of a work item."""
        return -(-self.shares // self.level.count)

    @property
    def workgroups(self) -> int:
        return -(-self.cells // LANES)

    def read(self) -> tuple[Layer, ...]:
        """Map from (workgroup, workitem, value) to (share, cell)."""
        dims = (Dim("share", self.shares), Dim("cell", self.cells))
        parts = self.level.count
        shares = over(dims).replacing(
            (Pad(0, self.values * parts - self.shares), "share", "share"), self._more
        )
        sizes = {"value": self.values, "part": parts, "workgroup": self.workgroups, "lane": LANES}
        parts_of: tuple[Entry, ...] = (
            (Unmerge(), "value part", "share"),
            (Unmerge(), "workgroup lane", "cell"),
        )
        cut = shares.layer(*parts_of, order=None, **sizes)
        item, order = (Merge(), "workitem", "part lane"), ["workgroup", "workitem", "value"]
        return cut.layer(item, *unchanged(["workgroup", "value"]), order=order).layers

    def stored(self) -> tuple[Layer, ...]:
        """Map from (workgroup, workitem, turn) to the cell."""
        cells = over((Dim("cell", self.cells),)).replacing(self._more)
        cut = cells.layer((Unmerge(), "workgroup cell", "cell"), workgroup=self.workgroups, cell=LANES)
        return cut.under(*self.level.stored(cut.upper)).layers

    @property
    def _more(self) -> Entry:
        """Cells of the last workgroup that do not exist; work items may be beyond all of them, too."""
        return Pad(0, self.workgroups * LANES - self.cells), "cell", "cell"
