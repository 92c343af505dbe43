"""Partial sums of output tiles that a launch of their own adds up: the schedule `reduce_k`.

    launch: each workgroup sums over a piece of K of a tile;  its sums -> its slot of the workspace
    launch: each wave, for one vector of the work items of a wave of a tile:
                sums of the pieces, added in the order of k;  store, with alpha, beta and all that belongs
                to a result

Nobody waits: the second launch begins when the first has ended.  A slot has a work item's vectors side by
side with those of its neighbours, so that both launches have wide accesses.  A workgroup of the second one is
a wave, so that few tiles still have many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from xdsl.ir import SSAValue

from imbrex.config.block_plan import WavesBlock
from imbrex.config.xdlops.reduce import AT_ONCE
from imbrex.index.map import Dim, Entry, replacing
from imbrex.index.rule import Merge, Unmerge
from imbrex.ir.element import accumulator_type
from imbrex.ir.ops.grid import GridwiseGemmExOp
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
    ..) of the same work items.  pieces: slots of a tile, neighbours.  lanes: of a wave.
    """

    op: GridwiseGemmExOp
    plan: WavesBlock
    sums: View
    c: View
    pieces: int
    lanes: int

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
        return Reduction(op, plan, sums, items, sharing.plan.pieces, cut.instruction.wave)

    def leave(self, held: SSAValue, slot: SSAValue, item: SSAValue) -> ThreadwiseCopyOp:
        """A work item's registers to its part of a slot."""
        return packing.copy(held, [], self.sums.value, [slot, item])

    def launch(self, run: Run) -> None:
        """What adds all slots of a tile, and stores it."""
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
        packing.launch(c.dims[0].size, self.lanes, partial(self._added, sums, c), run)

    def _added(self, sums: View, c: View, into: Run, coords: Sequence[SSAValue]) -> None:
        vector, item = coords
        total = into.alloc("thread_c", element_of(sums.value), [c.dims[-1].size], PRIVATE)
        into.zero(total)

        def add(count: int, run: Run, first: SSAValue) -> None:
            for piece in range(count):
                at = [vector, run.sum(first, piece), item]
                run.add(packing.copy(sums.value, at, total, [], properties({"beta": 1.0})))

        whole = self.pieces // AT_ONCE * AT_ONCE
        if whole:
            into.rolled("piece", whole, partial(add, AT_ONCE), AT_ONCE)
        add(self.pieces - whole, into, into.index(whole))
        width = self.plan.matrix_c_dest_data_per_write
        into.add(gridwise_tiles.store(self.op, total, c.value, [vector, item], width))
