"""A matrix product as the GEMM that all levels below share.

    C[gemmG, gemmM, gemmN] = sum over gemmK of A[gemmG, gemmK, gemmM] * B[gemmG, gemmK, gemmN]

gemmG is there only for batched and grouped problems.  A and B have the same form, so exchanging them
transposes C: a backend that wants its vector lanes along M swaps the operands and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from imbrex.dtype import SCALED
from imbrex.index.map import Dim, Entry, Layer, Map, layer_over, replacing
from imbrex.index.rule import Broadcast, Merge, Pad, PassThrough


@dataclass(frozen=True)
class GemmView:
    """The three operands as maps from gemm coordinates to array coordinates.

    phases: columns of C for each of B, see `view.conv.phase_tiles`.
    """

    a: Map
    b: Map
    c: Map
    phases: int = 1

    def __post_init__(self) -> None:
        columns = self.sizes_of(self.b)
        columns["gemmN"] *= self.phases
        for x, y, what in (
            (self.sizes_of(self.a), self.sizes_of(self.b), "gemmG gemmK"),
            (self.sizes_of(self.a), self.sizes_of(self.c), "gemmG gemmM"),
            (columns, self.sizes_of(self.c), "gemmG gemmN"),
        ):
            for name in what.split():
                assert x.get(name) == y.get(name), f"{name} differs: {x.get(name)} and {y.get(name)}"

    @staticmethod
    def sizes_of(map: Map) -> dict[str, int]:
        return dict(map.upper)

    @property
    def g(self) -> int:
        return dict(self.c.upper).get("gemmG", 1)

    @property
    def m(self) -> int:
        return dict(self.c.upper)["gemmM"]

    @property
    def n(self) -> int:
        return dict(self.b.upper)["gemmN"]

    @property
    def k(self) -> int:
        return dict(self.a.upper)["gemmK"]


def plain(
    m: int, n: int, k: int, batch: int | None = None, transpose_a: bool = False, transpose_b: bool = False
) -> GemmView:
    """Row-major A [m, k], B [k, n], C [m, n]; a transposed operand is stored as [k, m] or [n, k].

    With a batch, every array has a leading dim of that size.
    """
    g = [] if batch is None else [("g", batch)]
    dims_a = [("k", k), ("m", m)] if transpose_a else [("m", m), ("k", k)]
    dims_b = [("n", n), ("k", k)] if transpose_b else [("k", k), ("n", n)]

    def view(dims: list[tuple[str, int]], order: str) -> Map:
        lower = [Dim(*d) for d in (*g, *dims)]
        names = [*(name for name, _ in g), *order]
        return Map((layer_over(lower, *((PassThrough(), f"gemm{n.upper()}", n) for n in names)),))

    return GemmView(view(dims_a, "km"), view(dims_b, "kn"), view([("m", m), ("n", n)], "mn"))


def scales(view: GemmView, pack: int = 1) -> tuple[Map, Map]:
    """The scales of A and of B, arrays [g?, m, k / 32] and [g?, n, k / 32], as one of each element.  pack:
    elements that count as one along k.
    """
    scaled = SCALED // pack

    def of(elements: Map, name: str) -> Map:
        sizes = dict(elements.upper)
        dims = [Dim(n, sizes[n]) for n in ("gemmG", f"gemm{name.upper()}") if n in sizes]
        runs = [*dims, Dim("run", sizes["gemmK"] // scaled)]
        kept: list[Entry] = [(PassThrough(), d.name, d.name) for d in dims]
        order = [d.name for d in elements.upper]
        repeated = layer_over(
            runs, *kept, (PassThrough(), "run", "run"), (Broadcast(), "neighbour", ""), neighbour=scaled
        )
        entry = (Merge(), "gemmK", "run neighbour")
        return Map((layer_over(repeated.upper, *kept, entry, order=order), repeated))

    return of(view.a, "m"), of(view.b, "n")


def overlap(dims: Sequence[Dim], name: str, count: int) -> tuple[Layer, ...]:
    """Grow a dim by so many, which do not exist: what the last of overlapping tiles has beyond it."""
    return (replacing(dims, (Pad(0, count), name, name)),)


def overhang(dims: Sequence[Dim], **multiples: int) -> tuple[Layer, ...]:
    """Grow dims to multiples of the given tile sizes; what overhangs does not exist.

    No layer where nothing overhangs.
    """
    extra = {d.name: -d.size % multiples.get(d.name, 1) for d in dims}
    pads = [(Pad(0, count), name, name) for name, count in extra.items() if count]
    return (replacing(dims, *pads),) if pads else ()
