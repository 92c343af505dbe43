"""Axes: what can be pointed at, and how one thing leads to another through the Maps.

A point is a value for some axes.  A `Link` binds dims of a map's first and last rungs to axes: where the
point has those of the first, and all guards hold, it gets those of the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from imbrex.explore.ladder import Ladder
from imbrex.explore.panel import Panel
from imbrex.explore.subject import Subject
from imbrex.explore.tiling import Tiling
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Merge, PassThrough, Slice

__all__ = ["FILLED", "Link", "axes_of", "links"]

K: Final = "gemmK"
MOST_STEPS, MOST_TAPS = 1 << 16, 128
GEMM: Final = {"gemmG": "g", "gemmM": "m", "gemmN": "n", "gemmK": "k"}
FILLED: Final = {"tm": "m_tile", "tn": "n_tile", "tk": "step"}
"""Which tile, or which step, a position that is pointed at is inside of: the kept one, or 0."""
SAID: Final = {
    "g": "batch of the product", "m": "row of C", "n": "column of C", "k": "what is summed",
    "m_tile": "tile along m", "n_tile": "tile along n", "tm": "position along m inside of a tile",
    "tn": "position along n inside of a tile", "tk": "position along k inside of a step",
    "workgroup": "workgroup, as hardware numbers it",
    "unit": "tiles of one cluster, as they are begun", "wave": "wave, warpgroup or register tile",
    "lane": "lane of a wave", "register": "sum of a lane", "time": "frame of the animation",
    "step": "step over K",
    "xcd": "die", "map": "map",
    "configuration": "rank of a configuration", "rule": "rule of legality", "stage": "stage of a ring",
    "rung": "rung of a ladder", "access": "access of shared memory",
}  # fmt: skip


@dataclass(frozen=True)
class Link:
    """A map by its name, and axes by the dims of its first and of its last rung.  over: axes of the first
    that may be missing, with the values that are tried for them then.
    """

    name: str
    ladder: Ladder
    upper: Mapping[str, str]
    lower: Mapping[str, str]
    over: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])

    def follow(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"map": self.name, "from": dict(self.upper), "to": dict(self.lower), "over": dict(self.over)}

    @property
    def back(self) -> Link | None:
        """The inverse; None where there is none."""
        try:
            inverse = self.ladder.map.inverse()
        except ValueError:
            return None
        ladder = replace(
            self.ladder, title=f"{self.ladder.title}, backwards", map=inverse, array=None, is_memory=False
        )
        return Link(f"{self.name}'", ladder, self.lower, self.upper)


def links(subject: Subject) -> Sequence[Link]:
    """Every map of a subject, and the way back where there is one."""
    found: list[Link] = []
    for link in _links(subject):
        back = link.back
        found += [link] if back is None else [link, back]
    return found


def _links(subject: Subject) -> Iterator[Link]:
    over = _taps(subject.ladders)
    for name, ladder in subject.ladders.items():
        upper = {d.name: GEMM.get(d.name, d.name) for d in ladder.map.upper}
        lower = {d.name: f"{ladder.array}.{d.name}" for d in ladder.map.lower}
        yield Link(name, ladder, upper, lower, over if K in upper else {})
    cut = subject.tiling
    if cut is None:
        return
    down, across = cut.axes
    tile = {"m_tile": f"{down}_tile", "tm": f"t{down}", "n_tile": f"{across}_tile", "tn": f"t{across}"}
    for dim, axis, map in zip(("row", "column"), cut.axes, cut.cuts, strict=True):
        lower = {d.name: tile[d.name] for d in map.lower}
        title = f"A {dim} of C: its tile, and its position there"
        yield Link(f"{dim}s", _of(title, map), {dim: axis}, lower)
    if steps := _steps(cut, subject):
        yield steps
    yield from _order(cut, tile)
    if isinstance(subject.held, Ladder):
        axes = {"row": tile["tm"], "column": tile["tn"]}
        held = replace(subject.held, is_memory=False)
        yield Link("held", held, {n: n for n in ("wave", "lane", "register")}, axes)


def _taps(ladders: Mapping[str, Ladder]) -> Mapping[str, Sequence[int]]:
    """The k of a window's taps in the first channel; none where there is no window, or too many taps."""
    for ladder in ladders.values():
        values, steps = ladder.values[-1], dict(ladder.map.upper).get(K, 1)
        if steps <= MOST_STEPS and any(x.mentions(K) and len(x.variables) > 1 for x in values):
            channels = [x for x in values if x.variables == frozenset((K,))]
            first = sum(np.broadcast_to(x.eval({K: np.arange(steps)}), steps) for x in channels) == 0
            taps = np.flatnonzero(np.broadcast_to(first, steps)).tolist()
            return {GEMM[K]: taps} if 1 < len(taps) <= MOST_TAPS else {}
    return {}


def _steps(cut: Tiling, subject: Subject) -> Link | None:
    """Which step sums an element of K, and its position there; None where steps go over K in another way."""
    assert subject.product is not None
    k, whole = subject.product.context.k, cut.steps * cut.depth
    if not 0 <= whole - k < cut.depth:
        return None
    merged = layer_over((Dim("step", cut.steps), Dim("tk", cut.depth)), (Merge(), "k", "step tk"))
    first = layer_over(merged.upper, (PassThrough() if whole == k else Slice(0, k), "k", "k"), k=k)
    of = _of("A step over K, and the position there", Map((first, merged)))
    return Link("step", of, {"k": "k"}, {"step": "step", "tk": "tk"})


def _order(cut: Tiling, tile: Mapping[str, str]) -> Iterator[Link]:
    ((position, _),) = cut.order.upper
    batch, m, n = (d.name for d in cut.order.lower)
    if cut.cluster == (1, 1):
        lower = {batch: "g", m: tile["m_tile"], n: tile["n_tile"]}
        first = "workgroup" if cut.is_one_each else "unit"
        yield Link("order", _of("Which tile is begun when", cut.order), {position: first}, lower)
        return
    lower = {batch: "g", m: "cluster_m", n: "cluster_n"}
    yield Link("order", _of("Which cluster's tiles are begun when", cut.order), {position: "unit"}, lower)
    sizes = zip(("m_tile", "n_tile"), ("cluster_m", "cluster_n"), cut.blocks, cut.cluster, strict=True)
    dims = [d for of, name, count, size in sizes for d in (Dim(name, count // size), Dim(f"{of}_rank", size))]
    entries = [(Merge(), "m_tile", "cluster_m m_tile_rank"), (Merge(), "n_tile", "cluster_n n_tile_rank")]
    map = Map((layer_over(dims, *entries),))
    upper = {"m_tile": tile["m_tile"], "n_tile": tile["n_tile"]}
    yield Link(
        "cluster", _of("The cluster of a tile", map), upper, {n: n for n in ("cluster_m", "cluster_n")}
    )


def _of(title: str, map: Map) -> Ladder:
    return Ladder(title, map, is_memory=False)


def axes_of(found: Iterable[Link], panels: Iterable[Panel]) -> list[dict[str, Any]]:
    """All axes of links and of what panels draw, as plain JSON; size 0 where values are words."""
    sizes: dict[str, int] = {}
    for link in found:
        for dims, axes in ((link.ladder.map.upper, link.upper), (link.ladder.map.lower, link.lower)):
            for dim in dims:
                if dim.name in axes:
                    sizes[axes[dim.name]] = max(sizes.get(axes[dim.name], 0), dim.size)
    for token in (token for panel in panels for token in _tokens(panel)):
        axis, _, value = token.partition(":")
        for one in value.split(","):
            last = one.rpartition("-")[2]
            sizes[axis] = max(sizes.get(axis, 0), int(last) + 1 if last.isdigit() else 0)
    return [{"name": name, "size": size, "said": _said(name)} for name, size in sizes.items()]


def _said(axis: str) -> str:
    role, _, dim = axis.partition(".")
    return f"{dim} of {role}" if dim else SAID.get(axis, axis)


def _tokens(panel: Panel) -> Iterator[str]:
    """All that a panel's parts stand for."""
    drawings = [panel.svg or "", *(svg for _, svg in panel.variants)]
    for svg in drawings:
        for words in re.findall(r'data-(?:is|when|also|rows|columns)="([^"]*)"', svg):
            yield from words.split()
    for row in panel.table.rows if panel.table else ():
        yield from row.tokens.split()
    for listing in panel.listings:
        for _, tokens in listing.lines:
            yield from tokens.split()
