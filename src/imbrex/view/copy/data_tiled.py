"""DataTiled: a product over arrays that are packed, tile by tile, as a tile kernel wants them.

    packed A   [m_tile, k_tile, tile of A]     packed B   [n_tile, k_tile, tile of B]
    packed C   [m_tile, n_tile, tile of C]     each with a leading g where there is a batch

Three kinds of maps make a product of plain arrays:

    placed   packed array -> plain array: what packing reads, zeros where a tile overhangs the matrix; for C,
             what unpacking writes
    gemm     (gemmK, gemmM) -> packed A, and so on: the operands of the product in between, on whole tiles
    items    (workgroup, workitem, other, slot) -> packed array: who moves what when packing

gemmK of `gemm` runs over k in the order of the packed tile, so that what a lane loads at once are neighbours
in gemmK.  A and B agree on that order, and a sum does not depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Final

from imbrex.cached import cached_property
from imbrex.chip import VECTOR_BYTES
from imbrex.diagnostic import Diagnostic
from imbrex.index.expr import lin
from imbrex.index.map import Dim, Entry, Map, joined_names, layer_over, unchanged
from imbrex.index.query import linear, pointer_step
from imbrex.index.rule import Broadcast, Merge, PassThrough, Unmerge
from imbrex.index.stack import Stack, over
from imbrex.view.gemm.product import GemmView, overhang
from imbrex.view.mma import Operand
from imbrex.view.swizzle import OPERAND_DIMS, Digit, Part, Swizzle, TileKernel

__all__ = ["CHUNKS", "DataTiled", "Items", "in_chunks"]

CHUNKS: Final = 4
"""Pieces of 16 bytes that a work item of a copy moves, whose loads are under way together."""
GEMM_NAMES: Final[Mapping[str, str]] = {"m": "gemmM", "n": "gemmN", "k": "gemmK"}


@dataclass(frozen=True)
class Items:
    """How a launch moves a packed array.  map: (workgroup, workitem, other, slot) -> packed array.

    slot runs over neighbours in the packed array, `other` over neighbours of a dimension in which the plain
    array runs, or, where nothing `turns`, over pieces of any place.  Guarded where the last workgroup has
    work items to spare.
    """

    map: Map
    workgroups: int
    workitems: int
    other: int
    slots: int
    turns: bool = True


def in_chunks(pieces: Stack, workitems: int, chunks: int) -> Items:
    """Who moves (item, slot) -> array: `chunks` items each."""
    dealt = dealt_out(pieces, workitems, chunks, "other")
    sizes = dict(dealt.upper)
    return Items(dealt.map, sizes["workgroup"], workitems, chunks, sizes["slot"], turns=False)


def dealt_out(items: Stack, workitems: int, turns: int, turn: str) -> Stack:
    """(workgroup, workitem, turn, ..) over (item, ..): a work item has one in each of so many turns, in which
    those of a workgroup lie side by side.  What is left of the last workgroup does not exist.
    """
    count, each = dict(items.upper)["item"], workitems * turns
    whole = items.under(*overhang(items.upper, item=each))
    sizes = {"workgroup": -(-count // each), turn: turns, "workitem": workitems}
    order = ["workgroup", "workitem", turn, *(d.name for d in items.upper if d.name != "item")]
    return whole.replacing((Unmerge(), " ".join(sizes), "item"), order=order, **sizes)


@dataclass(frozen=True)
class DataTiled:
    """view: the product's operands as maps to its plain arrays."""

    kernel: TileKernel
    view: GemmView

    def __post_init__(self) -> None:
        if self.kernel.instruction.blocks > 1:
            name = self.kernel.instruction.name
            message = f"a data-tiled product takes instructions of one block; {name} has several"
            raise Diagnostic(message, hint="of the same types there are others, see 'imbrex explain mma'")
        if self._order_of_k("a") != self._order_of_k("b"):
            message = f"the lanes of {self.kernel.instruction.name} hold k of A and of B in different parts"
            raise Diagnostic(message, hint="a data-tiled product takes both alike, as of one type they are")

    @property
    def tiles(self) -> tuple[int, int, int]:
        """Tiles along m, n and k; the last ones may overhang the matrices."""
        sizes, tile = (self.view.m, self.view.n, self.view.k), self.kernel.tile
        m, n, k = (-(-size // t) for size, t in zip(sizes, tile, strict=True))
        return m, n, k

    def packed(self, operand: Operand) -> tuple[Dim, ...]:
        """The dims of a packed array."""
        outer = dict(zip("mnk", self.tiles, strict=True))
        batch = [d for d in self._plain(operand).upper if d.name == "gemmG"]
        rows_columns = [Dim(f"{d}_tile", outer[d]) for d in OPERAND_DIMS[operand]]
        return (*(Dim("g", d.size) for d in batch), *rows_columns, *self.kernel.swizzle(operand).packed_dims)

    def elements(self, operand: Operand) -> int:
        """Elements of a packed array, padding and all."""
        return prod(d.size for d in self.packed(operand))

    def placed(self, operand: Operand) -> Map:
        """Packed array -> plain array; guarded where a tile overhangs."""
        plain, swizzle = self._plain(operand), self.kernel.swizzle(operand)
        tile = dict(zip(GEMM_NAMES.values(), self.kernel.tile, strict=True))
        padded = over(plain).under(*overhang(plain.upper, **tile))
        entries: list[Entry] = [(PassThrough(), "g", d.name) for d in plain.upper if d.name == "gemmG"]
        entries += [(Unmerge(), _parts(swizzle, d), GEMM_NAMES[d]) for d in OPERAND_DIMS[operand]]
        dims = self.packed(operand)
        return padded.layer(*entries, order=[d.name for d in dims], **dict(dims)).map

    @cached_property
    def gemm(self) -> GemmView:
        """The product on packed arrays."""
        return GemmView(self._packed_operand("a"), self._packed_operand("b"), self._packed_operand("c"))

    def items(self, operand: Operand, element_bytes: int, workitems: int = 256) -> Items:
        """Who moves what between the packed array and the plain one, of elements of so many bytes.

        A work item moves what a lane has side by side, and, where the plain array runs along the lanes, so
        many of them that it has 16 bytes side by side there, too.
        """
        packed, dims = self.kernel.swizzle(operand).packed, self.packed(operand)
        inside = _inside_lanes(packed)
        outer, lanes, slots = dims[: -inside - 1], dims[-inside - 1], dims[len(dims) - inside :]
        other = 1
        if self._runs_along(operand, packed[-inside - 1].dim):
            other = gcd(lanes.size, max(1, VECTOR_BYTES // element_bytes))
        sizes = {"beside": lanes.size // other, "other": other}
        kept = [d.name for d in (*outer, *slots)]
        order = [*kept[: len(outer)], *sizes, *kept[len(outer) :]]
        numbered = (
            over(dims)
            .layer((Unmerge(), " ".join(sizes), lanes.name), *unchanged(kept), order=order, **sizes)
            .layer(
                (Merge(), "item", " ".join((*(d.name for d in outer), "beside"))),
                (PassThrough(), "other", "other"),
                (Merge() if slots else Broadcast(), "slot", joined_names(slots)),
                slot=1,
            )
        )
        workgroups = -(-dict(numbered.upper)["item"] // workitems)
        padded = numbered.padded(item=-dict(numbered.upper)["item"] % workitems)
        sizes = {"workgroup": workgroups, "workitem": workitems}
        map = padded.replacing((Unmerge(), " ".join(sizes), "item"), order=None, **sizes).map
        return Items(map, workgroups, workitems, other, prod(d.size for d in slots))

    def _plain(self, operand: Operand) -> Map:
        return {"a": self.view.a, "b": self.view.b, "c": self.view.c}[operand]

    def _packed_operand(self, operand: Operand) -> Map:
        """(gemmK, gemmM) and so on to the packed array."""
        swizzle, own = self.kernel.swizzle(operand), {name: d for d, name in GEMM_NAMES.items()}
        entries: list[Entry] = []
        for name, _ in self._plain(operand).upper:
            if name in own:
                parts = _parts(swizzle, own[name], in_memory_order=own[name] == "k")
                entries.append((Merge(), name, parts))
            else:
                entries.append((PassThrough(), name, "g"))
        return Map((layer_over(self.packed(operand), *entries),))

    def _order_of_k(self, operand: Operand) -> list[Digit]:
        return [p.digit for p in self.kernel.swizzle(operand).packed if p.dim == "k"]

    def _runs_along(self, operand: Operand, dim: str) -> bool:
        """Do neighbours along a dimension of the matrix lie side by side in the plain array?"""
        plain, name = self._plain(operand), GEMM_NAMES[dim]
        return pointer_step(linear(plain)[0], name, dict(plain.upper)[name]) == lin(1)


def _parts(swizzle: Swizzle, dim: str, in_memory_order: bool = False) -> str:
    """What makes a dimension of the padded matrix, outermost first: tiles, then the parts of a tile."""
    order = swizzle.permutation if in_memory_order else range(len(swizzle.parts))
    return " ".join((f"{dim}_tile", *(swizzle.names[i] for i in order if swizzle.parts[i].dim == dim)))


def _inside_lanes(parts: Sequence[Part]) -> int:
    """How many of the parts, at the end, lie inside a lane."""
    holders = [i for i, p in enumerate(parts) if p.kind in ("lane", "wave") and p.size > 1]
    return len(parts) - 1 - max(holders, default=-1)
