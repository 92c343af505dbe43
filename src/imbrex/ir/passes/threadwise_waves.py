"""The product of a workgroup by matrix instructions, as each work item of a wave takes part in it.

for each k_outer:
    for each m_tile: read a pack of A;  for each n_tile: read a pack of B for each instruction's part of a
    pack, each m_tile, each n_tile: C[m_tile, n_tile] += A[m_tile] * B[n_tile]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.ir import SSAValue

from imbrex.config.block_plan import WavesMultiply
from imbrex.index.map import Dim
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.block import BlockwiseGemmOp
from imbrex.ir.ops.matrix import MfmaOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.passes import tiling
from imbrex.ir.passes.threadwise_slices import Viewed
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import PRIVATE, element_of, shape_of
from imbrex.view.mma import wave
from imbrex.view.mma.wave import Side, WaveTiles
from imbrex.view.stage import lds


def product(
    op: BlockwiseGemmOp, multiply: WavesMultiply, item: SSAValue, items: int, viewed: Viewed, run: Run
) -> None:
    """C's registers += A * B, both in LDS."""
    (k, m), (_, n) = ([size or 0 for size in shape_of(v)] for v in (op.a, op.b))
    cut = tiling.waves(op, multiply, (m, n), k, items)
    a = _packs(op.a, "m", (k, m), cut, viewed, run)
    b = _packs(op.b, "n", (k, n), cut, viewed, run)
    run.loop("k_outer", 0, k // cut.k_step, 1, partial(_step, _Wave(op, cut, item, a, b)))


@dataclass(frozen=True)
class _Packs:
    """An operand in LDS as fragments, and a work item's registers for one k_outer of it.

    slots: the registers by instruction tile, part of a pack and register of the instruction.
    """

    fragment: SSAValue
    registers: SSAValue
    slots: SSAValue
    tiles: int


@dataclass(frozen=True)
class _Wave:
    op: BlockwiseGemmOp
    cut: WaveTiles
    item: SSAValue
    a: _Packs
    b: _Packs


def _packs(
    value: SSAValue, side: Side, sizes: Sequence[int], cut: WaveTiles, viewed: Viewed, run: Run
) -> _Packs:
    dims = [Dim(name, size) for name, size in zip(("k", side), sizes, strict=True)]
    operand = {"m": "a", "n": "b"}[side]
    fragment = viewed(value, wave.fragment(dims, cut, side), f"fragment_{operand}")
    held = (Dim(f"{side}_tile", cut.tiles(side)), Dim("slot", cut.kpack))
    registers = run.alloc(f"thread_{operand}", element_of(value), [d.size for d in held], PRIVATE)
    slots = run.view(registers, wave.operand(held, cut.k.registers), f"thread_{operand}")
    return _Packs(fragment, registers, slots, cut.tiles(side))


def _step(w: _Wave, into: Run, k_outer: SSAValue) -> None:
    for packs, name in ((w.a, "m_tile"), (w.b, "n_tile")):
        into.loop(name, 0, packs.tiles, 1, partial(_read, w, packs, k_outer))
    into.loop("slot", 0, w.cut.kpack // w.cut.k.registers, 1, partial(_multiply, w))


def _read(w: _Wave, packs: _Packs, k_outer: SSAValue, into: Run, tile: SSAValue) -> None:
    operands = [packs.fragment, [w.item, k_outer, tile], packs.registers, [tile]]
    pack = lds.pack_of(w.cut.kpack, element_bytes(element_of(packs.registers)))
    into.add(ThreadwiseCopyOp.build(operands=operands, properties=properties({"vector": pack})))


def _multiply(w: _Wave, into: Run, slot: SSAValue) -> None:
    def row(inner: Run, m_tile: SSAValue) -> None:
        inner.loop("n_tile", 0, w.b.tiles, 1, partial(cell, m_tile))

    def cell(m_tile: SSAValue, inner: Run, n_tile: SSAValue) -> None:
        operands = [w.a.slots, [m_tile, slot], w.b.slots, [n_tile, slot], w.op.c, [m_tile, n_tile]]
        used = properties({"instruction": w.cut.instruction.name})
        inner.add(MfmaOp.build(operands=operands, properties=used))

    into.loop("m_tile", 0, w.a.tiles, 1, row)
