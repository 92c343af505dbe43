"""The loop over K of `gridwise_ahead` where a step has several taps of a window's row: pixels come once.

Parts of a tap go from LDS to registers while those before them are multiplied, as there.  What a tap
multiplies of B is a view of the step's tile; behind the barrier that ends a tap stand the loads of
`view.work.taps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import gcd, lcm
from typing import TypeAlias

from xdsl.ir import SSAValue

from imbrex.ir.ops.memory import LdsBarrierOp
from imbrex.ir.passes import gridwise_tiles
from imbrex.ir.passes.gridwise_ahead import MOST_IN_FLIGHT
from imbrex.ir.passes.gridwise_schedule import Part
from imbrex.ir.passes.gridwise_steps import Operand
from imbrex.ir.passes.threadwise_waves import Fragments
from imbrex.ir.rewrite import Run, properties
from imbrex.view.mma.wave import WaveTiles
from imbrex.view.work.taps import PIECES, Load, begun, first_loads, under_way

__all__ = ["TapsAhead"]

StepAhead: TypeAlias = Callable[[Run, int], SSAValue]
"""Emits the number of the step so many behind the one that a turn begins with."""
Exists: TypeAlias = Callable[[Load], bool]
"""Is there anything to load?"""


@dataclass(frozen=True)
class TapsAhead:
    """The product of one part of an output tile.

    a_views, b_views: of each buffer, A's tile of a tap as fragments, and B's of each tap of a step.  loads:
    of a work item for a tile of A, and for each piece of one of B.  registers: of the part that is
    multiplied, and of the next.  parts: of a tap; outers: k_outer in each.
    """

    part: Part
    taps: int
    a: Operand
    b: Operand
    a_views: Sequence[SSAValue]
    b_views: Sequence[Sequence[SSAValue]]
    cut: WaveTiles
    item: SSAValue
    c: SSAValue
    loads: tuple[int, tuple[int, ...]]
    registers: tuple[Fragments, Fragments]
    parts: int
    outers: int

    @property
    def depth(self) -> int:
        """Buffers of A; no more than taps and one, so that a step loads for the next two."""
        return len(self.a_views)

    @property
    def turn(self) -> int:
        """Steps after which buffers and registers come round."""
        return lcm(self.depth // gcd(self.depth, self.taps), len(self.b_views))

    def emit(self, run: Run) -> None:
        if not self.part.is_alone:
            run.add(LdsBarrierOp.build())  # the part before may still be read
        if self.part.walk is not None:
            self._counted(run)
        else:
            self._whole(run)

    def _whole(self, run: Run) -> None:
        count = self.part.steps

        def step(base: SSAValue, into: Run, ahead: int) -> SSAValue:
            return into.sum(base, ahead)

        def at(base: int, into: Run, ahead: int) -> SSAValue:
            return into.index(base + ahead)

        def exists(base: int, load: Load) -> bool:
            return load.number < (count - base) * (self.taps if load.name == "a" else 1)

        def turned(into: Run, first: SSAValue) -> None:
            for position in range(self.turn):
                self._step(into, position, partial(step, first), self._steady)

        self._begin(run, partial(at, 0), partial(exists, 0))
        whole = max(0, count - 2) // self.turn * self.turn
        run.loop("step", 0, whole, self.turn, turned)
        for number in range(whole, count):
            base = number - number % self.turn
            there = partial(exists, base)
            waits = partial(self._left, partial(exists, 0), count * self.taps - 1, base * self.taps)
            self._step(run, number - base, partial(at, base), waits, there)

    def _counted(self, run: Run) -> None:
        """Where the count of steps is known when it runs, all steps load: the last one's where there is none
        ahead.
        """
        part = self.part
        first, count, least = part.counted(run)

        def turned(into: Run, base: SSAValue) -> None:
            for position in range(self.turn):
                self._step(into, position, partial(least, base), self._steady)

        self._begin(run, partial(least, first), _always)
        end = part.bound(run, "turns", first, count, self.turn)
        run.loop_between("step", first, end, self.turn, turned)
        for position in range(self.turn - 1):

            def rest(into: Run, position: int = position) -> None:
                self._step(into, position, partial(least, end), self._steady)

            part.when(run, part.bound(run, "more", run.index(position), count, self.turn), rest)
        run.add(LdsBarrierOp.build())  # nothing comes to LDS after this part

    def _begin(self, run: Run, step: StepAhead, exists: Exists) -> None:
        """Loads before the first tap, and the first part of it."""
        for load in filter(exists, first_loads(self.taps, self.depth)):
            self._load(run, step, load)
        self._meet(run, self._waited(-1, exists))
        self._read(run, 0, 0, 0)

    def _step(
        self,
        into: Run,
        position: int,
        step: StepAhead,
        waits: Callable[[int], int | None],
        exists: Exists | None = None,
    ) -> None:
        """The taps of a step.  position: in a turn.  waits: loads that may be under way behind a tap of it;
        None behind the last one of all.
        """
        for tap in range(position * self.taps, (position + 1) * self.taps):
            for part in range(self.parts):
                number = tap * self.parts + part
                if part + 1 < self.parts:
                    self._read(into, tap, part + 1, number + 1)
                elif (left := waits(tap)) is not None:
                    self._meet(into, left)
                    for load in filter(exists or _always, begun(tap, self.taps, self.depth)):
                        self._load(into, step, load)
                    self._read(into, tap + 1, 0, number + 1)
                self.registers[number % 2].multiply(self.cut, self.c, into)

    def _steady(self, tap: int) -> int:
        return self._waited(tap, _always)

    def _left(self, exists: Exists, last: int, first: int, tap: int) -> int | None:
        """The same of a tap that is so many behind the first of all; None of the last."""
        return None if first + tap == last else self._waited(first + tap, exists)

    def _waited(self, tap: int, exists: Exists) -> int:
        of_a, of_b = self.loads

        def count(load: Load) -> int:
            return (of_a if load.name == "a" else of_b[load.piece]) if exists(load) else 0

        return under_way(tap, self.taps, self.depth, count)

    def _meet(self, into: Run, loads: int) -> None:
        most = min(MOST_IN_FLIGHT, loads)
        into.add(LdsBarrierOp.build(properties=properties({"in_flight": most or None})))

    def _load(self, into: Run, step: StepAhead, load: Load) -> None:
        if load.name == "a":
            ahead, tap = divmod(load.number, self.taps)
            at = [step(into, ahead), into.index(tap), self.part.output]
            dest = self.a.lds[load.number % self.depth]
            into.add(gridwise_tiles.copy(self.a.window, at, dest, self.a.copy))
        else:
            at = [step(into, load.number), self.part.output]
            dest = self.b.lds[load.number % len(self.b_views)]
            piece = properties({"piece": (load.piece, PIECES)})
            into.add(gridwise_tiles.copy(self.b.window, at, dest, self.b.copy | piece))

    def _read(self, into: Run, tap: int, part: int, number: int) -> None:
        """A part of a tap, to the registers of every other part."""
        step, own = divmod(tap, self.taps)
        views = self.a_views[tap % self.depth], self.b_views[step % len(self.b_views)][own]
        self.registers[number % 2].read(views, self.cut, self.item, part * self.outers, into)


def _always(load: Load) -> bool:
    return True
