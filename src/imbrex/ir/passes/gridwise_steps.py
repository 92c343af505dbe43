"""The loop over K of a workgroup of a GPU: tiles of A and B go to LDS while earlier ones are multiplied.

With two LDS buffers, even and odd, the loop is unrolled by two: while one buffer is multiplied, the next tile
travels to registers, then to the other buffer.

    copy tile 0 -> even
    for step = 0, 2, .. while two more tiles follow:
        barrier; load tile step + 1; multiply even; store it -> odd
        barrier; load tile step + 2; multiply odd;  store it -> even
    an odd number of tiles leaves one:   barrier; multiply even
    an even number leaves two:           barrier; load the last; multiply even; store it -> odd
                                         barrier; multiply odd

Direct copies need no registers: "load" then fills the other buffer, and there is no "store".

With one LDS buffer, every step has a second barrier, between its reads and the writes of the next tile:

    copy tile 0
    for each step but the last:          barrier; load tile step + 1; multiply; barrier; store it
    barrier; multiply
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, TypeAlias

from xdsl.dialects.builtin import MemRefType, i8
from xdsl.ir import Attribute, SSAValue

from imbrex.ir.attrs import Extents
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.memory import LdsBarrierOp, SubviewOp
from imbrex.ir.passes import gridwise_tiles
from imbrex.ir.passes.gridwise_schedule import Part
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import LDS, memref, shape_of


@dataclass(frozen=True)
class Operand:
    """One matrix on its way: its window, its LDS buffers and its staging registers.

    lds: a tile (k, m or n) in each buffer, as it is copied.  tiles: the same as products read it.  staged:
    registers, as many as `Steps.stages` says; none where copies are direct.
    """

    window: SSAValue
    lds: Sequence[SSAValue]
    staged: Sequence[SSAValue]
    copy: dict[str, Attribute]
    tiles: Sequence[SSAValue]


StepOf: TypeAlias = Callable[[Run], SSAValue]
"""Emits the number of a step."""


@dataclass(frozen=True)
class Steps:
    """`multiply` emits the product of two tiles in LDS, of the step that a function tells.  part: of which
    output tile, and which steps.
    """

    part: Part
    k_per_block: int
    operands: Sequence[Operand]
    multiply: Callable[[Run, SSAValue, SSAValue, StepOf], None]

    def emit(self, run: Run) -> None:
        part, count = self.part, self.part.steps
        if not part.is_alone:
            run.add(LdsBarrierOp.build())  # the part before may still be read
        first = run.index(0) if part.walk is None else part.number(run, "first")
        for o in self.operands:
            run.add(gridwise_tiles.copy(o.window, [first, part.output], o.lds[0], o.copy))
        if part.walk is not None:
            self._counted(run, first)
            return
        if len(self.operands[0].lds) == 1:
            run.loop("step", 0, count - 1, 1, self._single)
            last = 0
        else:
            run.loop("step", 0, 2 * ((count - 1) // 2), 2, self._both)
            if count % 2 == 0:
                self._half(run, run.index(count - 2), 0)
            last = 1 - count % 2
        self._ended(run, last, lambda into: into.index(count - 1))

    def _counted(self, run: Run, first: SSAValue) -> None:
        """The same where how many steps there are is known when it runs; `part.steps` at most."""
        part, count = self.part, self.part.number(run, "count")
        if len(self.operands[0].lds) == 1:
            whole = part.bound(run, "whole", first, count)
            run.loop_between("step", first, whole, 1, self._single)
            self._ended(run, 0, lambda into: whole)
            return
        if part.steps > 2:
            run.loop_between("step", first, part.bound(run, "pairs", first, count), 2, self._both)
        if part.steps > 1:
            rest = part.bound(run, "rest", first, count)

            def two_are_left(into: Run) -> None:
                self._half(into, rest, 0)
                self._ended(into, 1, lambda run: run.sum(rest, 1))

            part.when(run, part.bound(run, "even", first, count), two_are_left)
        odd = part.bound(run, "odd", first, count)
        part.when(run, odd, lambda into: self._ended(into, 0, lambda i: part.bound(i, "whole", first, count)))

    def _ended(self, run: Run, buffer: int, step: StepOf) -> None:
        run.add(LdsBarrierOp.build())
        self._product(run, buffer, step)

    def _single(self, into: Run, step: SSAValue) -> None:
        into.add(LdsBarrierOp.build())
        self._load(into, step, 0, 0)
        self._product(into, 0, lambda run: step)
        into.add(LdsBarrierOp.build())
        self._store(into, 0, 0)

    def _both(self, into: Run, step: SSAValue) -> None:
        self._half(into, step, 0)
        self._half(into, step, 1)

    def _half(self, into: Run, step: SSAValue, parity: int) -> None:
        """Multiply one buffer while the tile after it goes to the other."""
        into.add(LdsBarrierOp.build())
        self._load(into, step, parity, 1 - parity)
        self._product(into, parity, lambda run: run.sum(step, parity))
        self._store(into, parity, 1 - parity)

    def _load(self, into: Run, step: SSAValue, parity: int, buffer: int) -> None:
        moved = properties({"move_source_offset": (1 + parity) * self.k_per_block})
        for o in self.operands:
            dest = o.staged[parity] if o.staged else o.lds[buffer]
            into.add(gridwise_tiles.copy(o.window, [step, self.part.output], dest, o.copy | moved))

    def _store(self, into: Run, parity: int, buffer: int) -> None:
        for o in self.operands:
            if o.staged:
                into.add(gridwise_tiles.copy(o.staged[parity], [], o.lds[buffer], o.copy))

    def _product(self, into: Run, buffer: int, step: StepOf) -> None:
        a, b = self.operands
        self.multiply(into, a.tiles[buffer], b.tiles[buffer], step)


BUFFERS: Final = ("even", "odd", "third", "fourth")
"""Names of the buffers of a matrix in LDS."""


def stages(count: int, buffers: int) -> Sequence[str]:
    """The names of the tiles that are in registers at one time or another."""
    return BUFFERS[: min(buffers, count - 1)]


def buffers(
    run: Run, shared: SSAValue, side: str, start: int, matrix: MemRefType, count: int = 2
) -> list[SSAValue]:
    """The seeds' views of LDS: bytes of a matrix, its even and odd parts and others, each as a matrix."""
    shape = [s for s in shape_of(matrix) if s is not None]
    size = prod(shape) * element_bytes(matrix.element_type)
    whole = _part(run, shared, start, memref(i8, [count * size], LDS), f"block_{side}")
    found: list[SSAValue] = []
    for i, parity in enumerate(BUFFERS[:count]):
        half = _part(run, whole, i * size, memref(i8, [size], LDS), f"block_{side}_{parity}")
        found.append(_part(run, half, 0, matrix, f"matrix_block_{side}_{parity}", shape))
    return found


def _part(
    run: Run, of: SSAValue, at: int, ty: Attribute, hint: str, dimension: Sequence[int] | None = None
) -> SSAValue:
    """The bytes of a buffer from `at` on, as another type."""
    given: dict[str, Attribute] = {} if dimension is None else {"dimension": Extents(tuple(dimension))}
    op = SubviewOp.build(operands=[of, run.index(at), []], result_types=[ty], properties=given)
    op.result.name_hint = hint
    return run.add(op).result
