"""Meaning of the product of a Hopper workgroup: the tiles that it owns, and the parts that it sends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from imbrex.index.map import Map
from imbrex.ir.meaning.memory import Array, View
from imbrex.ir.meaning.problem import multiplied, scaled
from imbrex.ir.meaning.shared import lowered
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.view.work.cluster import tiles
from imbrex.view.work.streamk import Plan, Segment


@dataclass(frozen=True)
class Workgroup:
    """One workgroup at its operation.  Partial sums lie in slots: the last cluster that hardware starts has
    the first.
    """

    op: WarpgroupGemmOp
    number: int
    a: View
    b: View
    c: View
    partials: View | None
    flags: View | None

    def run(self) -> None:
        plan = self.op.sharing
        if plan is not None and plan.parts > 1:
            self._run_part(plan)
            return
        for part in self._segments():
            sums = self._sums(part)
            if part.sends:
                assert self.partials is not None and self.flags is not None
                slot = self._slot(part.workgroup)
                self.partials.store(sums.reshape(-1), [slot])
                self.flags.store(np.ones((), np.int32), [slot])
            else:
                self._store(part.output, sums + self._received(part.output, sums.shape))

    def _run_part(self, plan: Plan) -> None:
        """The workgroup's columns of a tile, of which it adds up what all parts of K come to, two by two."""
        unit, rank = divmod(self.number // self._size, plan.parts)
        slots = range(unit * plan.parts, (unit + 1) * plan.parts)
        sums = [self._sums(part) for slot in slots for part in plan.segments(slot)]
        while len(sums) > 1:
            sums = [a + b for a, b in zip(sums[::2], sums[1::2], strict=True)]
        columns = sums[0].shape[1] // plan.parts
        self._store(unit, sums[0][:, rank * columns : (rank + 1) * columns], rank * columns)

    @property
    def _size(self) -> int:
        """Workgroups of a cluster."""
        rows, columns = self.op.cluster_
        return rows * columns

    def _slot(self, cluster: int) -> int:
        return cluster * self._size + self.number % self._size

    def _segments(self) -> list[Segment]:
        op, cluster = self.op, self.number // self._size
        plan, steps = op.sharing, op.grid_.k_steps
        if plan is None:
            return [Segment(cluster, unit, 0, steps) for unit in op.units_of(cluster)]
        (slot,), _ = plan.started.evaluate([cluster])
        return list(plan.segments(int(slot)))

    def _sums(self, part: Segment) -> Array:
        """The tile's sums over the steps of a part; what overhangs is zero."""
        op, kind = self.op, self.a.dtype.accumulator.numpy
        batch, rows, columns = self._tile(part.output)
        step = op.tuning_.k_per_block
        depth = slice(part.first * step, part.end * step)
        left, right = (_of_batch(v, batch).astype(kind)[depth] for v in (self.a, self.b))
        return multiplied(_taken(left, rows), _taken(right, columns), op.phases, batch)

    def _received(self, unit: int, shape: tuple[int, ...]) -> Array:
        """What others computed of the tile."""
        total: Array = np.zeros(shape, self.a.dtype.accumulator.numpy)
        plan = self.op.sharing
        for part in plan.shared.get(unit, ()) if plan is not None else ():
            assert self.partials is not None and self.flags is not None
            slot = self._slot(part.workgroup)
            lowered(self.flags, [slot])
            total = total + self.partials.load([slot]).reshape(shape)
        return total

    def _store(self, unit: int, sums: Array, first: int = 0) -> None:
        """first: of the tile's columns."""
        op = self.op
        batch, rows, columns = self._tile(unit)
        *_, m, n = self.c.shape
        column = columns.start * op.phase_count + first
        sums = sums[: max(0, m - rows.start), : max(0, n - column)]
        grid = np.indices(sums.shape).reshape(2, -1)
        index = [grid[0] + rows.start, grid[1] + column]
        if len(self.c.shape) == 3:
            index.insert(0, np.full(grid.shape[1], batch))
        if not sums.size:
            return
        values = sums.reshape(-1)
        old = self.c.load(index) if op.beta is not None else values
        adds = op.store_method is not None and op.store_method.data == "atomic_add"
        self.c.store(scaled(values, old, op.alpha, op.beta), index, add=adds)

    def _tile(self, unit: int) -> tuple[int, slice, slice]:
        """Batch, rows and columns of the workgroup's tile of a unit."""
        op = self.op
        map: Map = tiles(op.blocks_, op.grid_.g, op.cluster_, op.is_batch_first)
        (batch, row, column), _ = map.evaluate([unit, self.number % self._size])
        m, n = op.tuning_.m_per_block, op.tuning_.n_per_block
        return int(batch), slice(row * m, (row + 1) * m), slice(column * n, (column + 1) * n)


def _of_batch(view: View, batch: int) -> Array:
    return view.load([batch]) if len(view.shape) == 3 else view.load()


def _taken(matrix: Array, columns: slice) -> Array:
    """The columns, zeros beyond the edge."""
    found = matrix[:, columns]
    return np.pad(found, ((0, 0), (0, columns.stop - columns.start - found.shape[1])))
