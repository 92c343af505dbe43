"""The loops over K of a workgroup of waves that read LDS ahead of their products, with what they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from xdsl.ir import SSAValue

from imbrex.config.block_plan import WavesBlock
from imbrex.index.map import Dim
from imbrex.ir.element import element_bytes
from imbrex.ir.passes.gridwise_ahead import Ahead
from imbrex.ir.passes.gridwise_schedule import Part
from imbrex.ir.passes.gridwise_staged_ahead import StagedAhead
from imbrex.ir.passes.gridwise_steps import Operand
from imbrex.ir.passes.gridwise_taps_ahead import TapsAhead
from imbrex.ir.passes.gridwise_workgroup import Workgroup
from imbrex.ir.passes.threadwise_waves import Fragments, Scales, fragments_of
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import element_of, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.view.gemm import sliding_tile
from imbrex.view.gemm.sliding_tile import SlidingTile
from imbrex.view.mma import wave
from imbrex.view.mma.wave import Side, WaveTiles
from imbrex.view.work.taps import PIECES

__all__ = ["SIDES", "ReadingAhead"]

SIDES: Final[Mapping[str, Side]] = {"a": "m", "b": "n"}


@dataclass(frozen=True)
class ReadingAhead:
    """What the waves of a workgroup multiply, and the registers of their sums."""

    given: Workgroup
    plan: WavesBlock
    cut: WaveTiles
    operands: Sequence[Operand]
    c: SSAValue

    def ahead(self, part: Part, run: Run) -> None:
        """The loop that reads LDS ahead of its products."""
        plan, cut = self.plan, self.cut
        halves = plan.k_per_block // cut.k_step
        parts = wave.parts_of(halves)
        views, registers = self._fragments(run), self._registers(halves // parts, run)
        loads = sum(
            prod(size or 0 for size in shape_of(o.lds[0])) // (given.source_data_per_read * plan.block_size)
            for given, o in zip((plan.a, plan.b), self.operands, strict=True)
        )
        scales = self._scales("even", run), self._scales("odd", run)
        wider_first = sorted(self.operands, key=lambda o: -element_bytes(element_of(o.window)))
        Ahead(
            part, plan.k_copied, wider_first, views, cut, self.given.item, self.c, loads,
            registers, parts, halves // parts, scales,
        ).emit(run)  # fmt: skip

    def staged_ahead(self, part: Part, run: Run) -> None:
        """The same through registers."""
        plan, cut, (a, b) = self.plan, self.cut, self.operands
        halves = plan.k_per_block // cut.k_step
        parts = wave.parts_of(halves)
        if parts == 1:
            message = f"a step that is read ahead through registers has two parts of {cut.k_step} of k"
            raise InvalidOp(self.given.op, f"{message}; got {plan.k_per_block}", "k_per_block")
        if plan.register_tiles not in (1, 2):
            message = "registers hold one tile or two on their way, one fewer than 'lds_buffers'"
            raise InvalidOp(self.given.op, f"{message}; got {plan.lds_buffers}", "lds_buffers")
        StagedAhead(
            part, plan.k_copied, (a, b), self._fragments(run), cut, self.given.item, self.c,
            self._registers(halves // parts, run), parts, halves // parts,
        ).emit(run)  # fmt: skip

    def _fragments(self, run: Run) -> list[tuple[SSAValue, SSAValue]]:
        """A's and B's tile in each buffer as fragments."""
        buffers = zip(*(o.tiles for o in self.operands), strict=True)
        return [
            (fragments_of(a, "m", self.cut, run), fragments_of(b, "n", self.cut, run)) for a, b in buffers
        ]

    def _registers(self, outers: int, run: Run) -> tuple[Fragments, Fragments]:
        """Registers of a part of a step, and of the next."""
        op, turned = self.given.op, self.plan.multiply.turned
        elements = element_of(op.a), element_of(op.b)
        even, odd = (Fragments.of(elements, self.cut, outers, turned, name, run) for name in ("even", "odd"))
        return even, odd

    def taps_ahead(self, part: Part, run: Run) -> None:
        """The same where pixels come once for the taps of a step."""
        plan, cut, (count, _) = self.plan, self.cut, self.plan.taps
        a, b = self.operands
        outers = plan.k_copied // cut.k_step
        parts = wave.parts_of(outers)
        rows = SlidingTile(count, *plan.b.tap_rows)
        dims = [Dim(name, size or 0) for name, size in zip("kn", shape_of(b.lds[0]), strict=True)]
        of_taps = [sliding_tile.tap(dims, plan.n_per_block, rows, number) for number in range(count)]
        b_views = [
            [fragments_of(run.view(tile, layers, "tap"), "n", cut, run) for layers in of_taps]
            for tile in b.lds
        ]
        registers = self._registers(outers // parts, run)
        of_a, of_b = (
            prod(size or 0 for size in shape_of(o.lds[0])) // (given.source_data_per_read * plan.block_size)
            for given, o in ((plan.a, a), (plan.b, b))
        )
        loads = of_a, tuple(wave.piece_of(of_b, number, PIECES) for number in range(PIECES))
        TapsAhead(
            part, count, a, b, [fragments_of(seen, "m", cut, run) for seen in a.lds], b_views, cut,
            self.given.item, self.c, loads, registers, parts, outers // parts,
        ).emit(run)  # fmt: skip

    def _scales(self, name: str, run: Run) -> list[Scales]:
        return [
            Scales.of(of.value, side, self.cut, f"_{name}", run.view, run)
            for side, of in zip(SIDES.values(), self.given.tiles.scales, strict=False)
        ]
