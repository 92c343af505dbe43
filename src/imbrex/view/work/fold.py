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

from imbrex.index.map import Dim, Layer, layer_over
from imbrex.index.rule import Embed, Merge, Pad, PassThrough, Rule, Unmerge

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
        own = layer_over(
            self._memory,
            (Embed((self.cells, lanes, 1)), "value place lane", "element"),
            value=self.count, place=places, lane=lanes,
        )  # fmt: skip
        return (
            layer_over(own.upper, (Merge(), "workitem", "value lane"), (PassThrough(), "place", "place")),
            own,
        )

    def read(self) -> tuple[Layer, ...]:
        return (
            layer_over(
                self._memory,
                (Embed((1, self.workitems, self.parts * self.cells)), "workitem turn value", "element"),
                workitem=self.workitems, turn=self.turns, value=self.values,
            ),
        )  # fmt: skip

    def written(self, turns: int) -> tuple[Layer, ...]:
        """turns: of the level before."""
        return (
            layer_over(
                self._memory, (Embed((1, self.workitems)), "workitem turn", "element"),
                workitem=self.workitems, turn=turns,
            ),
        )  # fmt: skip

    def stored(self, below: tuple[Dim, ...]) -> tuple[Layer, ...]:
        """(.., workitem, turn): the last level's sums above dims of which the last is `cell`."""
        assert self.parts == 1 and below[-1] == ("cell", self.cells), below
        more = self.turns * self.workitems - self.cells
        rest: list[tuple[Rule, str, str]] = [(PassThrough(), d.name, d.name) for d in below[:-1]]
        padded = layer_over(below, *rest, (Pad(0, more), "cell", "cell"))
        return (
            layer_over(
                padded.upper, *rest, (Embed((1, self.workitems)), "workitem turn", "cell"),
                workitem=self.workitems, turn=self.turns,
            ),
            padded,
        )  # fmt: skip


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
        padded = layer_over(
            dims, (Pad(0, self.values * parts - self.shares), "share", "share"), (self._more, "cell", "cell")
        )
        cut = layer_over(
            padded.upper, (Unmerge(), "value part", "share"), (Unmerge(), "workgroup lane", "cell"),
            value=self.values, part=parts, workgroup=self.workgroups, lane=LANES,
        )  # fmt: skip
        names = ("workgroup", "value")
        launched = layer_over(
            cut.upper, (Merge(), "workitem", "part lane"), *((PassThrough(), n, n) for n in names),
            order=["workgroup", "workitem", "value"],
        )  # fmt: skip
        return launched, cut, padded

    def stored(self) -> tuple[Layer, ...]:
        """Map from (workgroup, workitem, turn) to the cell."""
        padded = layer_over((Dim("cell", self.cells),), (self._more, "cell", "cell"))
        cut = layer_over(
            padded.upper, (Unmerge(), "workgroup cell", "cell"), workgroup=self.workgroups, cell=LANES
        )
        return (*self.level.stored(cut.upper), cut, padded)

    @property
    def _more(self) -> Pad:
        return Pad(0, self.workgroups * LANES - self.cells)
