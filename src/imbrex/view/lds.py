"""LDS: where the element (k, d) of a tile lies, d being m or n.  `kpack` neighbours along k stay together.

    plain    [k / kpack][d][kpack]                  rocMLIR's
    padded   [d][k + pad]                           rows a little longer than they are
    xor      [d][(k / kpack) ^ f(d)][kpack]         rows whose packs are permuted, differently from row to row
    tiled    [d / rows][k / kpack][d % rows][kpack] what one instruction takes, in the order of its lanes

Laws: every layout is one to one; only `padded` leaves places unused.  f(d) is the xor of d / step over
`steps`, taken modulo the packs of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never, get_args

from imbrex.index.map import Dim, Layer, Map, layer_over
from imbrex.index.rule import Merge, PassThrough, Rule, Slice, Unmerge, Xor

__all__ = ["LDS_KINDS", "LdsKind", "LdsLayout", "linear", "stored"]

LdsKind: TypeAlias = Literal["xor", "padded", "plain", "tiled"]
LDS_KINDS: tuple[LdsKind, ...] = get_args(LdsKind)

Entry: TypeAlias = tuple[Rule, str, str]


@dataclass(frozen=True)
class LdsLayout:
    """numbers: of xor, the steps; of padded, the elements of a pad; of tiled, the rows of a tile."""

    kind: LdsKind
    kpack: int
    numbers: tuple[int, ...] = ()

    def elements(self, k: int, d: int) -> int:
        """Elements that a tile of k x d takes."""
        return d * (k + sum(self.numbers)) if self.kind == "padded" else d * k


def stored(dims: Sequence[Dim], layout: LdsLayout, turned: Sequence[Layer] = ()) -> Map:
    """The map of a tile (k, d) to a buffer of several dims, outermost first.

    turned: layers that put rows in another order (`wave.interleaved`); rows are stored in the upper order.
    """
    above = Map(tuple(turned)).inverse().layers if turned else ()
    return Map((*above, *_layers(above[-1].lower if above else dims, layout)))


def _layers(dims: Sequence[Dim], layout: LdsLayout) -> tuple[Layer, ...]:
    (_, k), (d, rows) = dims
    chunks = Dim("k_chunk", k // layout.kpack)
    slot, whole = Dim("slot", layout.kpack), Dim(d, rows)
    packs: Entry = (Merge(), "k", "k_chunk slot")
    match layout.kind:
        case "plain":
            return (layer_over((chunks, whole, slot), packs, (PassThrough(), d, d)),)
        case "xor":
            below = (whole, chunks, slot)
            permuted = tuple(_permuted(below, d, step) for step in layout.numbers)
            return (layer_over(below, packs, (PassThrough(), d, d)), *permuted)
        case "padded":
            (pad,) = layout.numbers
            return (
                layer_over(
                    (whole, Dim("k_padded", k + pad)), (Slice(0, k), "k", "k_padded"), (PassThrough(), d, d)
                ),
            )
        case "tiled":
            (tile,) = layout.numbers
            below = (Dim(f"{d}_tile", rows // tile), chunks, Dim(f"{d}_row", tile), slot)
            return (layer_over(below, packs, (Merge(), d, f"{d}_tile {d}_row")),)
        case _:
            assert_never(layout.kind)


def linear(dims: Sequence[Dim], threads: int, vector: int, wave: int = 64) -> tuple[Layer, ...]:
    """A buffer of several dims as (workitem, repeat, element): each wave writes wave * vector neighbours at
    once, in the order of its lanes, as direct-to-LDS loads do.
    """
    size = 1
    for d in dims:
        size *= d.size
    sizes = {"repeat": size // (threads * vector), "wave": threads // wave, "lane": wave, "element": vector}
    flat = layer_over(dims, (Merge(), "place", " ".join(d.name for d in dims)))
    split = layer_over(flat.upper, (Unmerge(), " ".join(sizes), "place"), order=None, **sizes)
    items = layer_over(
        split.upper,
        (Merge(), "workitem", "wave lane"),
        (PassThrough(), "repeat", "repeat"),
        (PassThrough(), "element", "element"),
    )
    return (items, split, flat)


def _permuted(dims: Sequence[Dim], d: str, step: int) -> Layer:
    return layer_over(dims, (Xor(step), f"{d} k_chunk", f"{d} k_chunk"), (PassThrough(), "slot", "slot"))
