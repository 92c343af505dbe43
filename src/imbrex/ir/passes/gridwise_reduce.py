"""Partial sums of output tiles that nobody owns, added when all are there: `reduce_k` and `scatter_k`.

    launch: each workgroup sums over a piece of K of a tile;  its sums -> its slot of the workspace
    launch: each wave, for one vector of the work items of a wave of a tile:
                sums of the pieces, added in the order of k;  store, with alpha, beta and all that belongs
                to a result

Nobody waits: the second launch begins when the first has ended.  A slot has a work item's vectors side by
side with those of its neighbours, so that both launches have wide accesses.  A workgroup of the second one is
a wave, so that few tiles still have many.

By `scatter_k` the second launch has the workgroups of the first, and begins where those of a tile meet, so
that a GPU runs both as one: each adds up and stores its part of the work items' vectors, a few in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Final

from xdsl.ir import SSAValue

from imbrex.config.block_plan import WavesBlock
from imbrex.config.xdlops.reduce import AT_ONCE, vectors_at_once
from imbrex.index.map import Dim, Entry, replacing
from imbrex.index.rule import Merge, Unmerge
from imbrex.ir.element import accumulator_type
from imbrex.ir.ops.grid import GridwiseGemmExOp
from imbrex.ir.ops.schedule import JoinOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.passes import gridwise_tiles, packing
from imbrex.ir.passes.gridwise_schedule import Scheduled
from imbrex.ir.passes.gridwise_tiles import View
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import PRIVATE, element_of
from imbrex.view.mma import wave
from imbrex.view.mma.wave import WaveTiles

__all__ = ["Reduction"]

VECTORS: Final = "m_group n_tile register_group"
"""A work item's vectors of C, as `wave.computed` numbers them."""


@dataclass(frozen=True)
class Reduction:
    """sums: (slot, workitem, m_group, n_tile, register_group, neighbour) in the workspace, and c, (workgroup,
    ..) of the same work items.  pieces: slots of a tile, neighbours.  lanes: of a wave.  arrivals: of the
    workgroups of each tile, where these meet.
    """

    op: GridwiseGemmExOp
    plan: WavesBlock
    sums: View
    c: View
    pieces: int
    lanes: int
    sharing: Scheduled
    arrivals: SSAValue | None = None

    @staticmethod
    def of(
        op: GridwiseGemmExOp, plan: WavesBlock, c: View, cut: WaveTiles, sharing: Scheduled, before: Run
    ) -> Reduction | None:
        """None where sums are whole, or passed on.  before: stands outside of the launches."""
        if sharing.plan is None or sharing.plan.pieces == 1:
            return None
        items = c.under(wave.computed(c.dims, cut), "c", before)
        lies = ("slot", *VECTORS.split(), "workitem", "neighbour")
        sizes = dict(items.dims) | {"slot": sharing.workgroups}
        dims = tuple(Dim(name, sizes[name]) for name in lies)
        made = sharing.sums(before, accumulator_type(element_of(op.a)), [d.size for d in dims[1:]])
        order = ("slot", *(d.name for d in items.dims[1:]))
        sums = View(made, dims).under([replacing(dims, order=order)], "partial_sums", before)
        arrivals = sharing.arrivals(before) if sharing.plan.mode == "scatter_k" else None
        return Reduction(op, plan, sums, items, sharing.plan.pieces, cut.instruction.wave, sharing, arrivals)

    def leave(self, held: SSAValue, slot: SSAValue, item: SSAValue) -> ThreadwiseCopyOp:
        """A work item's registers to its part of a slot."""
        return packing.copy(held, [], self.sums.value, [slot, item])

    def launch(self, run: Run) -> None:
        """What adds all slots of a tile, and stores it."""
        if self.arrivals is not None:
            body = self._scattered(self.arrivals, run)
            packing.launch(self.sharing.workgroups, self.plan.block_size, body, run)
            return
        waves = {"wave": self.plan.block_size // self.lanes, "lane": self.lanes}
        cut: Entry = (Unmerge(), "wave lane", "workitem")
        pieces = {"workgroup": dict(self.c.dims)["workgroup"], "piece": self.pieces}
        apart = replacing(
            self.sums.dims, (Unmerge(), "workgroup piece", "slot"), cut, order=None, **pieces, **waves
        )
        of_waves = replacing(self.c.dims, cut, order=None, **waves)
        vector: Entry = (Merge(), "vector", f"workgroup {VECTORS} wave")
        of_piece = replacing(apart.upper, vector, order=("vector", "piece", "lane", "neighbour"))
        of_c = replacing(of_waves.upper, vector, order=("vector", "lane", "neighbour"))
        sums = self.sums.under([of_piece, apart], "partial_sums", run)
        c = self.c.under([of_c, of_waves], "c", run)

        def added(into: Run, coords: Sequence[SSAValue]) -> None:
            vector, item = coords
            total = self._total(sums, [vector], item, into)
            into.add(gridwise_tiles.store(self.op, total, c.value, [vector, item], self._width))

        packing.launch(c.dims[0].size, self.lanes, added, run)

    def _scattered(self, arrivals: SSAValue, run: Run) -> packing.Body:
        """What adds the slots by the workgroups that left them, each some of the vectors."""
        count = prod(dict(self.c.dims)[name] for name in VECTORS.split())
        together = vectors_at_once(count, self.pieces)
        vectors: Entry = (Merge(), "vector", VECTORS)
        some: Entry = (Unmerge(), "turn one", "vector")
        each = {"turn": count // together, "one": together}
        tiles = {"workgroup": dict(self.c.dims)["workgroup"], "piece": self.pieces}
        slots = replacing(self.sums.dims, (Unmerge(), "workgroup piece", "slot"), order=None, **tiles)
        order = ("workgroup", "turn", "one", "piece", "workitem", "neighbour")
        seen = replacing(slots.upper, vectors)
        sums = self.sums.under(
            [replacing(seen.upper, some, order=order, **each), seen, slots], "partial_sums", run
        )
        of_c = replacing(self.c.dims, vectors)
        c = self.c.under(
            [replacing(of_c.upper, some, order=[n for n in order if n != "piece"], **each), of_c], "c", run
        )

        def add(tile: SSAValue, item: SSAValue, into: Run, turn: SSAValue) -> None:
            ones = [[tile, turn, into.index(one)] for one in range(together)]
            totals = [self._total(sums, at, item, into) for at in ones]
            for at, total in zip(ones, totals, strict=True):
                into.add(gridwise_tiles.store(self.op, total, c.value, [*at, item], self._width))

        def body(into: Run, coords: Sequence[SSAValue]) -> None:
            workgroup, item = coords
            slot = self.sharing.number(into, "slot", workgroup)
            tile, piece = (self.sharing.number(into, name, slot) for name in ("output", "piece"))
            joined = properties({"count": self.pieces})
            into.add(JoinOp.build(operands=[arrivals, [tile]], properties=joined))
            into.loop_between("turn", piece, into.index(each["turn"]), self.pieces, partial(add, tile, item))

        return body

    @property
    def _width(self) -> int:
        return self.plan.matrix_c_dest_data_per_write

    def _total(self, sums: View, at: Sequence[SSAValue], item: SSAValue, into: Run) -> SSAValue:
        """A vector of a work item: those of all slots, whose number follows `at` in `sums`."""
        total = into.alloc("thread_c", element_of(sums.value), [self.c.dims[-1].size], PRIVATE)
        into.zero(total)

        def add(count: int, run: Run, first: SSAValue) -> None:
            for piece in range(count):
                of_piece = [*at, run.sum(first, piece), item]
                run.add(packing.copy(sums.value, of_piece, total, [], properties({"beta": 1.0})))

        whole = self.pieces // AT_ONCE * AT_ONCE
        if whole:
            into.rolled("piece", whole, partial(add, AT_ONCE), AT_ONCE)
        add(self.pieces - whole, into, into.index(whole))
        return total
