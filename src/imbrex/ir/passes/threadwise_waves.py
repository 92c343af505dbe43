"""The product of a workgroup by matrix instructions, as each work item of a wave takes part in it.

of a microscaled product: load the scales of A and B
for each k_outer:
    for each m_tile: read a pack of A;  for each n_tile: read a pack of B for each instruction's part of a
    pack, each m_tile, each n_tile: C[m_tile, n_tile] += A[m_tile] * B[n_tile]

Ahead of its products, a part of a step, several k_outer, is read to registers of its own: `Fragments`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import gcd
from typing import Any, Final

from xdsl.ir import Attribute, SSAValue

from imbrex.config.block_plan import WavesMultiply
from imbrex.index.map import Dim, Layer, Map
from imbrex.ir.chain import names_of
from imbrex.ir.element import along_k, dtype_of, element_bytes
from imbrex.ir.ops.block import BlockwiseGemmOp
from imbrex.ir.ops.matrix import SCALE_WORDS, MfmaOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.passes import tiling
from imbrex.ir.passes.threadwise_slices import Viewed
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import PRIVATE, element_of, shape_of
from imbrex.view.gemm.blocks import by_row, together
from imbrex.view.mma import wave
from imbrex.view.mma.wave import Side, WaveTiles
from imbrex.view.stage import lds

OPERAND: Final[dict[Side, str]] = {"m": "a", "n": "b"}


def product(
    op: BlockwiseGemmOp, multiply: WavesMultiply, item: SSAValue, items: int, viewed: Viewed, run: Run
) -> None:
    """C's registers += A * B, both in LDS."""
    (k, m), (_, n) = ([size or 0 for size in shape_of(v)] for v in (op.a, op.b))
    cut = tiling.waves(op, multiply, (m, n), k, items, op.scale_a is not None)
    scales = [
        (Scales.of(value, side, cut, "", viewed, run), index)
        for side, (value, index) in zip(OPERAND, op.scales, strict=True)
        if value is not None
    ]
    a = _packs(op.a, "m", cut, multiply.turned, viewed, run)
    b = _packs(op.b, "n", cut, multiply.turned, viewed, run)
    whole = _Wave(op, cut, item, a, b, [of for of, _ in scales])
    if not scales:
        run.loop("k_outer", 0, k // cut.k_step, 1, partial(_step, whole, 0))
    for of, index in scales:
        of.load(index, item, run)
    for outer in range(k // cut.k_step if scales else 0):  # a scale is taken from a word that is known
        _step(whole, outer, run, run.index(outer))


@dataclass(frozen=True)
class Scales:
    """An operand's scales of tiles in global memory, (.., workitem, tile, slot), and a work item's registers,
    (tile, word, slot), for the instructions of a step.
    """

    seen: SSAValue
    registers: SSAValue
    words: SSAValue
    side: Side

    @staticmethod
    def of(value: SSAValue, side: Side, cut: WaveTiles, hint: str, viewed: Viewed, run: Run) -> Scales:
        """value: (.., k, m or n), one for each element of a tile."""
        *leading, k, rows = (Dim(n, s or 0) for n, s in zip(names_of(value), shape_of(value), strict=True))
        tile = Dim("k", k.size), Dim(side, rows.size)
        layers = Map(wave.scales(tile, cut, side)).with_leading(leading).layers
        seen = viewed(value, layers, f"scales_{OPERAND[side]}")
        shape = [cut.tiles(side), k.size // cut.instruction.k]
        registers = run.alloc(f"thread_scale_{OPERAND[side]}{hint}", element_of(value), shape, PRIVATE)
        held = (Dim(f"{side}_tile", shape[0]), Dim("slot", shape[1]))
        words = run.view(registers, wave.operand(held, gcd(shape[1], max(SCALE_WORDS))), "scale_words")
        return Scales(seen, registers, words, side)

    def load(self, index: Sequence[SSAValue], item: SSAValue, into: Run) -> None:
        """Copies the scales of a step.  index: the first coordinates."""
        tiles, count = (size or 0 for size in shape_of(self.registers))

        def one(inner: Run, tile: SSAValue) -> None:
            operands = [self.seen, [*index, item, tile], self.registers, [tile]]
            given = properties({"vector": count & -count})
            inner.add(ThreadwiseCopyOp.build(operands=operands, properties=given))

        into.loop(f"{self.side}_tile", 0, tiles, 1, one)


@dataclass(frozen=True)
class Fragments:
    """Registers of a work item for a part of a step: packs of A and of B for each k_outer in it.

    turned: operands, of "ab", that reads transpose.
    """

    packs: tuple[tuple[SSAValue, SSAValue], ...]
    turned: str

    @staticmethod
    def of(
        elements: tuple[Attribute, Attribute], cut: WaveTiles, outers: int, turned: str, hint: str, run: Run
    ) -> Fragments:
        """elements: of A and of B."""

        def held(side: Side, element: Attribute) -> SSAValue:
            name = f"thread_{OPERAND[side]}_{hint}"
            return run.alloc(name, along_k(element), [cut.tiles(side), cut.kpack], PRIVATE)

        packs = tuple((held("m", elements[0]), held("n", elements[1])) for _ in range(outers))
        return Fragments(packs, turned)

    def read(
        self, views: tuple[SSAValue, SSAValue], cut: WaveTiles, item: SSAValue, first: int, into: Run
    ) -> None:
        """The part that begins with k_outer `first` of two tiles, seen as fragments; B's packs, which all
        products of a row need, come first.
        """
        for position, (a, b) in enumerate(self.packs):
            k_outer = into.index(first + position)
            operands: tuple[tuple[SSAValue, SSAValue, Side], ...] = ((b, views[1], "n"), (a, views[0], "m"))
            for registers, view, side in operands:
                tiles, turned = shape_of(registers)[0] or 0, OPERAND[side] in self.turned
                packs = _Packs(view, registers, registers, tiles, turned)
                into.loop(f"{side}_tile", 0, packs.tiles, 1, partial(_read, cut, item, packs, k_outer))

    def multiply(
        self, cut: WaveTiles, c: SSAValue, into: Run, scales: Sequence[Scales] = (), first: int = 0
    ) -> None:
        """C's registers += A * B.  scales: of A and of B.  first: the part's first k_outer."""
        for position, registers in enumerate(self.packs, first):
            a, b = (_slots(r, side, cut, into) for r, side in zip(registers, OPERAND, strict=True))
            _multiplied(_Product(cut, c, a, b, scales, position), into)


def fragments_of(tile: SSAValue, side: Side, cut: WaveTiles, run: Run) -> SSAValue:
    """A tile of LDS as (workitem, k_outer, tile, slot)."""
    return run.view(tile, _fragment(tile, side, cut), f"fragment_{OPERAND[side]}")


def _fragment(tile: SSAValue, side: Side, cut: WaveTiles) -> tuple[Layer, ...]:
    """What a work item reads, over (k, m or n) as it lies in LDS."""
    dims = [Dim(name, size or 0) for name, size in zip(("k", side), shape_of(tile), strict=True)]
    rows = by_row(dims, together(dtype_of(element_of(tile))))
    return (*wave.fragment(dims, cut, side), *rows)


@dataclass(frozen=True)
class _Packs:
    """An operand in LDS as fragments, and a work item's registers for one k_outer of it.

    slots: the registers by instruction tile, part of a pack and register of the instruction.  turned: do
    reads transpose?
    """

    fragment: SSAValue
    registers: SSAValue
    slots: SSAValue
    tiles: int
    turned: bool


@dataclass(frozen=True)
class _Wave:
    op: BlockwiseGemmOp
    cut: WaveTiles
    item: SSAValue
    a: _Packs
    b: _Packs
    scales: Sequence[Scales]


def _packs(value: SSAValue, side: Side, cut: WaveTiles, turned: str, viewed: Viewed, run: Run) -> _Packs:
    fragment = viewed(value, _fragment(value, side, cut), f"fragment_{OPERAND[side]}")
    shape = [cut.tiles(side), cut.kpack]
    registers = run.alloc(f"thread_{OPERAND[side]}", along_k(element_of(value)), shape, PRIVATE)
    slots, is_turned = _slots(registers, side, cut, run), OPERAND[side] in turned
    return _Packs(fragment, registers, slots, cut.tiles(side), is_turned)


def _slots(registers: SSAValue, side: Side, cut: WaveTiles, run: Run) -> SSAValue:
    """Registers of packs by instruction tile, part of a pack and register of the instruction."""
    held = (Dim(f"{side}_tile", cut.tiles(side)), Dim("slot", cut.kpack))
    return run.view(registers, wave.operand(held, cut.k.registers), f"thread_{OPERAND[side]}")


def _step(w: _Wave, outer: int, into: Run, k_outer: SSAValue) -> None:
    for packs, name in ((w.a, "m_tile"), (w.b, "n_tile")):
        into.loop(name, 0, packs.tiles, 1, partial(_read, w.cut, w.item, packs, k_outer))
    _multiplied(_Product(w.cut, w.op.c, w.a.slots, w.b.slots, w.scales, outer), into)


def _read(
    cut: WaveTiles, item: SSAValue, packs: _Packs, k_outer: SSAValue, into: Run, tile: SSAValue
) -> None:
    operands = [packs.fragment, [item, k_outer, tile], packs.registers, [tile]]
    size = element_bytes(element_of(packs.fragment))
    given = properties({"vector": lds.pack_of(cut.kpack, size)})
    if packs.turned:
        given = properties({"vector": max(1, wave.TURNED_BYTES // size), "turned": True})
    into.add(ThreadwiseCopyOp.build(operands=operands, properties=given))


@dataclass(frozen=True)
class _Product:
    """C's registers += A's * B's, slot by slot.  scales: of A and of B, of which the instruction takes those
    of `outer`, the k_outer.
    """

    cut: WaveTiles
    c: SSAValue
    a: SSAValue
    b: SSAValue
    scales: Sequence[Scales]
    outer: int

    def cell(self, slot: SSAValue, m_tile: SSAValue, into: Run, n_tile: SSAValue) -> None:
        """The product of a tile of A and one of B."""
        operands = [self.a, [m_tile, slot], self.b, [n_tile, slot], self.c, [m_tile, n_tile]]
        used = properties({"instruction": self.cut.instruction.name})
        further: list[Any] = []
        for of, tile in zip(self.scales, (m_tile, n_tile), strict=False):
            word, number = divmod(self.outer, shape_of(of.words)[-1] or 1)
            further += [of.words, [tile, into.index(word)]]
            used |= properties({"scale_place": number})
        into.add(MfmaOp.build(operands=[*operands, *(further or [[]] * 4)], properties=used))


def _multiplied(product: _Product, run: Run) -> None:
    cut = product.cut

    def slots(into: Run, slot: SSAValue) -> None:
        into.loop("m_tile", 0, cut.m_tiles, 1, partial(row, slot))

    def row(slot: SSAValue, into: Run, m_tile: SSAValue) -> None:
        into.loop("n_tile", 0, cut.n_tiles, 1, partial(product.cell, slot, m_tile))

    run.loop("slot", 0, cut.kpack // cut.k.registers, 1, slots)
