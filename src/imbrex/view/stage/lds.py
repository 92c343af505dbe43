"""LDS: where the element (k, d) of a tile lies, d being m or n.  `kpack` neighbours along k stay together:
what a lane takes in one access, so a fragment is several such packs where it is longer than 16 bytes.

    plain    [k / kpack][d][kpack]                  rocMLIR's
    padded   [d][k + pad]                           rows a little longer than they are
    xor      [line][pack ^ f(line)][kpack]          lines whose packs are permuted, each line differently
    tiled    [d / rows][k / kpack][d % rows][kpack] what one instruction takes, in the order of its lanes

Where `along` is "d", `kpack` neighbours along d stay together instead, for reads that transpose them:

    plain    [k][d]
    xor      [k][span][run ^ f(k)][pack][kpack]     rows in spans of so many runs of so many packs

A line of `xor` is a row, or several rows where one is short against the banks of LDS: line d / rows has the
packs of row d % rows = 0 first.
Laws: every layout is one to one; only `padded` leaves places unused.  f(line) is the xor of line / step over
`steps`, taken modulo the packs of a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never, get_args

from imbrex.chip import VECTOR_BYTES
from imbrex.index.map import Dim, Entry, Layer, Map, joined_names, layer_over, unchanged
from imbrex.index.rule import Merge, PassThrough, Slice, Unmerge, Xor

__all__ = ["LDS_KINDS", "LdsKind", "LdsLayout", "linear", "pack_of", "spaced", "stored"]

LdsKind: TypeAlias = Literal["xor", "padded", "plain", "tiled"]
LDS_KINDS: tuple[LdsKind, ...] = get_args(LdsKind)


def pack_of(fragment: int, element_bytes: int) -> int:
    """Elements that stay together, of a fragment of so many: 16 bytes."""
    return min(fragment, max(1, VECTOR_BYTES // element_bytes))


@dataclass(frozen=True)
class LdsLayout:
    """numbers: of xor, the rows of a line and then the steps; of padded, the elements of a pad; of tiled, the
    rows of a tile.  Along d: of xor, unit, span and the steps; the other kinds are along k.
    """

    kind: LdsKind
    kpack: int
    numbers: tuple[int, ...] = ()
    along: Literal["k", "d"] = "k"

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
    if layout.along == "d":
        return _rows_of_k(dims, layout)
    (_, k), (d, rows) = dims
    chunks = Dim("k_chunk", k // layout.kpack)
    slot, whole = Dim("slot", layout.kpack), Dim(d, rows)
    packs: Entry = (Merge(), "k", "k_chunk slot")
    match layout.kind:
        case "plain":
            return (layer_over((chunks, whole, slot), packs, (PassThrough(), d, d)),)
        case "xor":
            return _lines(dims[1], chunks, slot, *layout.numbers)
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


def _rows_of_k(dims: Sequence[Dim], layout: LdsLayout) -> tuple[Layer, ...]:
    """Rows of k as they are, or with runs of packs permuted in each span."""
    k, (d, width) = dims
    if layout.kind == "plain":
        cut = (Dim("chunk", width // layout.kpack), Dim("slot", layout.kpack))
        return (layer_over((k, *cut), *unchanged(["k"]), (Merge(), d, "chunk slot")),)
    assert layout.kind == "xor", f"no {layout.kind} layout keeps neighbours along {d} together"
    unit, span, *steps = layout.numbers
    spans = width // (span * unit * layout.kpack)
    parts = (Dim("span", spans), Dim("run", span), Dim("pack", unit), Dim("slot", layout.kpack))
    below = (k, *parts)
    cut = layer_over(below, *unchanged(["k"]), (Merge(), d, " ".join(p.name for p in parts)))
    kept = unchanged(["span", "pack", "slot"])
    order = [p.name for p in below]
    permuted = (layer_over(below, (Xor(step), "k run", "k run"), *kept, order=order) for step in steps)
    return (cut, *permuted)


def spaced(dims: Sequence[Dim], rows: int, gap: int) -> tuple[Layer, ...]:
    """A tile (k, d) over a buffer [k / rows][rows * d + gap]: `gap` places stay unused after `rows` rows."""
    (_, k), (d, width) = dims
    groups, row = Dim("k_group", k // rows), Dim("k_row", rows)
    apart = layer_over((groups, row, Dim(d, width)), (Merge(), "k", "k_group k_row"), *unchanged([d]))
    place = Dim("place", rows * width)
    below: Entry = (Unmerge(), f"k_row {d}", "place")
    sizes = {"k_row": rows, d: width}
    joined = layer_over((groups, place), *unchanged(["k_group"]), below, order=None, **sizes)
    cut: Entry = (Slice(0, place.size), "place", "place_spaced")
    within = layer_over((groups, Dim("place_spaced", place.size + gap)), *unchanged(["k_group"]), cut)
    return (apart, joined, within)


def linear(dims: Sequence[Dim], threads: int, vector: int, wave: int = 64) -> tuple[Layer, ...]:
    """A buffer of several dims as (workitem, repeat, element): each wave writes wave * vector neighbours at
    once, in the order of its lanes, as direct-to-LDS loads do.
    """
    size = 1
    for d in dims:
        size *= d.size
    sizes = {"repeat": size // (threads * vector), "wave": threads // wave, "lane": wave, "element": vector}
    flat = layer_over(dims, (Merge(), "place", joined_names(dims)))
    split = layer_over(flat.upper, (Unmerge(), " ".join(sizes), "place"), order=None, **sizes)
    items = layer_over(
        split.upper,
        (Merge(), "workitem", "wave lane"),
        (PassThrough(), "repeat", "repeat"),
        (PassThrough(), "element", "element"),
    )
    return (items, split, flat)


def _lines(row: Dim, chunks: Dim, slot: Dim, rows: int, *steps: int) -> tuple[Layer, ...]:
    """How a line is made up, and a layer for each step below."""
    packs: Entry = (Merge(), "k", "k_chunk slot")
    if rows == 1:
        line, pack = row, chunks
        made = (layer_over((line, pack, slot), packs, *unchanged([row.name])),)
    else:
        line, rest = Dim(f"{row.name}_line", row.size // rows), Dim(f"{row.name}_rest", rows)
        pack = Dim("pack", rows * chunks.size)
        apart = layer_over((line, rest, chunks, slot), packs, (Merge(), row.name, f"{line.name} {rest.name}"))
        joined: Entry = (Unmerge(), f"{rest.name} k_chunk", "pack")
        sizes = {rest.name: rows, "k_chunk": chunks.size}
        below = (line, pack, slot)
        made = (
            apart,
            layer_over(below, *unchanged([line.name]), joined, *unchanged(["slot"]), order=None, **sizes),
        )
    names = f"{line.name} {pack.name}"
    permuted = (
        layer_over((line, pack, slot), (Xor(step), names, names), *unchanged(["slot"])) for step in steps
    )
    return (*made, *permuted)
