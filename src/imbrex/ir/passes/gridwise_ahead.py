"""The loop over K of a workgroup of waves that reads LDS ahead of its products: `copy` is "ahead".

A step of K has two parts, or one.  While a part is multiplied, the next one goes from LDS to registers of its
own.  LDS has as many tiles as buffers: the one whose last part is being multiplied has been read by then, and
the tile that many steps ahead is loaded over it, past the registers.  So loads have whole steps to
arrive, and the barrier waits for those of the next tile only:

    load tiles 0, 1, .. -> buffers;  barrier, for tile 0;  read its first part
    for each step:
        read the second part;                                        multiply the first
        barrier, for the next tile;  load a tile -> this buffer;  read the next tile's first part;
                                                                     multiply the second

Loads, reads and products of a part touch different offsets, so that `emit` weaves them.  The loop is unrolled
until buffers and registers come round; steps that are left stand behind it, without loads.

Where the count of steps is known when it runs, all steps load: the last tile again where there is none ahead.

The scales of a microscaled product go from global memory to registers of their own, a step ahead, before the
loads of tiles: loads arrive in order, so that who waits for scales waits for no tile that is needed later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import lcm

from xdsl.ir import SSAValue

from imbrex.ir.ops.memory import LdsBarrierOp
from imbrex.ir.passes import gridwise_tiles
from imbrex.ir.passes.gridwise_schedule import Part
from imbrex.ir.passes.gridwise_steps import Operand
from imbrex.ir.passes.threadwise_waves import Fragments, Scales
from imbrex.ir.rewrite import Run, properties
from imbrex.view.mma.wave import WaveTiles

__all__ = ["MOST_IN_FLIGHT", "Ahead"]

MOST_IN_FLIGHT = 63
"""Loads that a wait can leave under way: vmcnt has six bits."""


@dataclass(frozen=True)
class Ahead:
    """The product of one part of an output tile.

    operands: in the order of their loads, wider elements first, whose rows of a tile are more of a line of
    memory.  views: of each buffer, A's and B's tile as fragments.  loads: of a work item for a tile.
    registers: of the part that is multiplied, and of the next.  parts: of a step; outers: k_outer in each.
    scales: of A and of B, of every other step; none where products have none.
    """

    part: Part
    k_per_block: int
    operands: Sequence[Operand]
    views: Sequence[tuple[SSAValue, SSAValue]]
    cut: WaveTiles
    item: SSAValue
    c: SSAValue
    loads: int
    registers: tuple[Fragments, Fragments]
    parts: int
    outers: int
    scales: tuple[Sequence[Scales], Sequence[Scales]] = ((), ())

    @property
    def depth(self) -> int:
        """Buffers."""
        return len(self.views)

    @property
    def turn(self) -> int:
        """Steps after which buffers and registers come round."""
        return lcm(self.depth, 2 if self.parts % 2 or self.scales[0] else 1)

    def emit(self, run: Run) -> None:
        if not self.part.is_alone:
            run.add(LdsBarrierOp.build())  # the part before may still be read
        if self.part.walk is not None:
            self._counted(run)
            return
        count = self.part.steps
        began = min(self.depth, count)
        if self.scales[0]:
            self._scale(run, run.index(0), 0)
        for tile in range(began):
            self._load(run, run.index(tile), 0, tile)
        self._meet(run, began - 1)
        self._read(run, 0, 0, 0)
        whole = max(0, count - self.depth) // self.turn * self.turn
        run.loop("step", 0, whole, self.turn, self._turned)
        for step in range(whole, count):
            waited = min(step + self.depth, count) - step - 2
            follows = step + self.depth < count
            load = partial(self._load, run, run.index(step), self.depth) if follows else None
            following = partial(run.index, step + 1)
            self._step(run, step, load, waited if step + 1 < count else None, following)

    def _turned(self, into: Run, step: SSAValue) -> None:
        for position in range(self.turn):
            load = partial(self._load, into, step, self.depth + position)
            self._step(into, position, load, self.depth - 2, partial(into.sum, step, position + 1))

    def _counted(self, run: Run) -> None:
        part = self.part
        first, count, least = part.counted(run)

        def load(into: Run, step: SSAValue, ahead: int, buffer: int) -> None:
            self._load(into, least(step, into, ahead), 0, buffer)

        def turned(into: Run, step: SSAValue) -> None:
            for position in range(self.turn):
                ahead = partial(load, into, step, self.depth + position)
                self._step(into, position, ahead, self.depth - 2, partial(least, step, into, position + 1))

        self._scale(run, first, 0)
        for tile in range(self.depth):
            load(run, first, tile, tile)
        self._meet(run, self.depth - 1)
        self._read(run, 0, 0, 0)
        end = part.bound(run, "turns", first, count, self.turn)
        run.loop_between("step", first, end, self.turn, turned)
        loading = max(0, self.turn - 1 - self.depth)  # steps of a rest that a later one needs to load
        for position in range(self.turn - 1):
            waited = max(0, self.depth + min(position, loading) - position - 2)

            def rest(into: Run, position: int = position, waited: int = waited) -> None:
                ahead = partial(load, into, end, self.depth + position) if position < loading else None
                self._step(into, position, ahead, waited, partial(least, end, into, position + 1))

            part.when(run, part.bound(run, "more", run.index(position), count, self.turn), rest)
        run.add(LdsBarrierOp.build())  # nothing comes to LDS after this part

    def _step(
        self,
        into: Run,
        position: int,
        load: partial[None] | None,
        waited: int | None,
        following: Callable[[], SSAValue],
    ) -> None:
        """waited: tiles that may be under way when the next one is read; None where there is no next.
        following: emits the number of the next step.
        """
        buffer, scales = position % self.depth, self.scales[position % 2]
        for part in range(self.parts):
            number = position * self.parts + part
            if part + 1 < self.parts:
                self._read(into, buffer, part + 1, number + 1)
            elif waited is not None:
                self._meet(into, waited)
                if scales:
                    self._scale(into, following(), position + 1)
                if load is not None:
                    load(buffer)
                self._read(into, (buffer + 1) % self.depth, 0, number + 1)
            self.registers[number % 2].multiply(self.cut, self.c, into, scales, part * self.outers)

    def _scale(self, into: Run, step: SSAValue, number: int) -> None:
        """The scales of a step, to the registers of every other one."""
        for of in self.scales[number % 2]:
            of.load([step, self.part.output], self.item, into)

    def _meet(self, into: Run, tiles: int) -> None:
        most = min(MOST_IN_FLIGHT, tiles * self.loads)
        into.add(LdsBarrierOp.build(properties=properties({"in_flight": most or None})))

    def _load(self, into: Run, step: SSAValue, ahead: int, buffer: int) -> None:
        """The tile so many steps ahead."""
        moved = properties({"move_source_offset": ahead * self.k_per_block or None})
        for o in self.operands:
            into.add(gridwise_tiles.copy(o.window, [step, self.part.output], o.lds[buffer], o.copy | moved))

    def _read(self, into: Run, buffer: int, part: int, number: int) -> None:
        """A part of the tile in a buffer, to the registers of every other part."""
        self.registers[number % 2].read(self.views[buffer], self.cut, self.item, part * self.outers, into)
