"""The loop over K of a workgroup of waves that reads LDS ahead of its products, through registers.

As `gridwise_ahead`, where no load goes to LDS past the registers, or only in narrow pieces: `copy` is
"staged_ahead".  LDS has two tiles.  What comes from memory waits in registers until its buffer has been read,
and these are loaded again as soon as they are written:

    load tile 0, store it -> even;  load tile 1, ..;  barrier;  read the first part of even
    for each step:
        read the second part;  store the next tile -> the other buffer;  load A's of a later one;
                                                                         multiply the first part
        barrier;  load B's of a later one;  read the first part of the other buffer;
                                                                         multiply the second part

Registers hold one tile or two on their way: of a small tile, whose step is short, the second one.  One
barrier a step does: who writes a buffer has passed that behind its last read.  A's loads stand apart from
B's, so that memory has some to bring all the time.  The loop is unrolled until buffers and registers come
round; steps that are left stand behind it, without loads.  Where the count of steps is known when it runs,
all steps load: the last tile again where there is none ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.ir import SSAValue

from imbrex.ir.ops.memory import LdsBarrierOp
from imbrex.ir.passes import gridwise_tiles
from imbrex.ir.passes.gridwise_schedule import Part
from imbrex.ir.passes.gridwise_steps import Operand
from imbrex.ir.passes.threadwise_waves import Fragments
from imbrex.ir.rewrite import Run, properties
from imbrex.view.mma.wave import WaveTiles

__all__ = ["StagedAhead"]


@dataclass(frozen=True)
class StagedAhead:
    """The product of one part of an output tile.

    operands: A and B.  views: of each buffer, A's and B's tile as fragments.  registers: of the part that is
    multiplied, and of the next.  parts: of a step, at least two; outers: k_outer in each.
    """

    part: Part
    k_per_block: int
    operands: tuple[Operand, Operand]
    views: Sequence[tuple[SSAValue, SSAValue]]
    cut: WaveTiles
    item: SSAValue
    c: SSAValue
    registers: tuple[Fragments, Fragments]
    parts: int
    outers: int

    @property
    def tiles(self) -> int:
        """On their way in registers, one or two."""
        return len(self.operands[0].staged)

    @property
    def turn(self) -> int:
        """Steps after which buffers and registers come round."""
        return len(self.views)

    def emit(self, run: Run) -> None:
        if not self.part.is_alone:
            run.add(LdsBarrierOp.build())  # the part before may still be read
        if self.part.walk is not None:
            self._counted(run)
            return
        count = self.part.steps
        self._begin(run, run.index(0), partial(self._load, run, run.index(0)), count - 1)
        ahead = self.tiles + 1
        whole = max(0, count - ahead) // self.turn * self.turn
        run.loop("step", 0, whole, self.turn, self._turned)
        for step in range(whole, count):
            load = partial(self._load, run, run.index(step), ahead)
            self._step(run, step, load if step + ahead < count else None, step + 1 < count)

    def _turned(self, into: Run, step: SSAValue) -> None:
        for position in range(self.turn):
            self._step(into, position, partial(self._load, into, step, position + self.tiles + 1), True)

    def _counted(self, run: Run) -> None:
        part = self.part
        first, count, least = part.counted(run)

        def load(into: Run, step: SSAValue, ahead: int, operand: Operand, number: int) -> None:
            self._load(into, least(step, into, ahead), 0, operand, number)

        def turned(into: Run, step: SSAValue) -> None:
            for position in range(self.turn):
                self._step(into, position, partial(load, into, step, position + self.tiles + 1), True)

        self._begin(run, first, partial(load, run, first), self.tiles)
        end = part.bound(run, "turns", first, count, self.turn)
        run.loop_between("step", first, end, self.turn, turned)
        more = part.bound(run, "more", run.index(0), count, self.turn)
        part.when(run, more, lambda into: self._step(into, 0, None, False))
        run.add(LdsBarrierOp.build())  # waits for reads of a tile that does not follow

    def _begin(
        self, run: Run, first: SSAValue, load: Callable[[int, Operand, int], None], following: int
    ) -> None:
        """The first tile in LDS, the next on their way, and the first part in registers.  following: tiles
        behind the first one.
        """
        for operand in self.operands:
            source = [first, self.part.output]
            run.add(gridwise_tiles.copy(operand.window, source, operand.lds[0], operand.copy))
        for number in range(min(following, self.tiles)):
            for operand in self.operands:
                load(number + 1, operand, number)
        run.add(LdsBarrierOp.build())
        self._read(run, 0, 0, 0)

    def _step(
        self, into: Run, position: int, load: Callable[[Operand, int], None] | None, has_next: bool
    ) -> None:
        """load: of an operand's tile to registers of a number; None where there is none so far ahead."""
        buffer, held = position % len(self.views), position % self.tiles
        first, second = self.operands
        for part in range(self.parts):
            number = position * self.parts + part
            is_last = part + 1 == self.parts
            if is_last and has_next:
                into.add(LdsBarrierOp.build())
                if load is not None:
                    load(second, held)
                self._read(into, 1 - buffer, 0, number + 1)
            elif not is_last:
                self._read(into, buffer, part + 1, number + 1)
            if part + 2 == self.parts and has_next:
                self._store(into, first, 1 - buffer, held)
                if load is not None:
                    load(first, held)
                self._store(into, second, 1 - buffer, held)
            self.registers[number % 2].multiply(self.cut, self.c, into)

    def _load(self, into: Run, step: SSAValue, ahead: int, operand: Operand, number: int) -> None:
        """The tile so many steps ahead, to registers of a number."""
        moved = properties({"move_source_offset": ahead * self.k_per_block or None})
        source = [step, self.part.output]
        into.add(gridwise_tiles.copy(operand.window, source, operand.staged[number], operand.copy | moved))

    def _store(self, into: Run, operand: Operand, buffer: int, number: int) -> None:
        into.add(gridwise_tiles.copy(operand.staged[number], [], operand.lds[buffer], operand.copy))

    def _read(self, into: Run, buffer: int, part: int, number: int) -> None:
        """A part of the tile in a buffer, to the registers of every other part."""
        self.registers[number % 2].read(self.views[buffer], self.cut, self.item, part * self.outers, into)
