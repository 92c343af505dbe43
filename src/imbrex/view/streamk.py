"""Who computes which (m, n, k) tile when workgroups share the work evenly: Stream-K and its relatives, as
values.

The tiles of a product, k fastest, then n, then m, form one line of `outputs * k` global tiles. A section of
the line is cut into shares of equal length, one a workgroup; where a share's border falls inside an output
tile, the workgroup that has k = 0 owns the tile, and the others send it their partial sums.

    data_parallel      shares are whole output tiles: nothing is sent
    split_k            every output tile is cut into the same number of pieces, as many as workgroups allow
    stream_k           one section, cut evenly
    two_tile           a Stream-K section of one to two output tiles a workgroup, then whole output tiles
    two_tile_dp_first  the same sections, the whole tiles first in time

Laws: every global tile belongs to one segment; each output tile is stored once, by its owner; an owner adds
partial sums in the order of k, so that a result does not depend on timing; a segment that sends is the first
of its workgroup's share, so that nobody waits before sending.

Workgroup numbers here are logical. Owners wait for higher numbers only; `started` numbers workgroups against
hardware's order, so that those are the ones that hardware started earlier, and a launch makes progress with
any number of resident workgroups.

Source: rocRoller's AddStreamK (three modes, many partial sums a tile); Osama et al., Stream-K, PPoPP 2023.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias, get_args

from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.index.map import Dim, Layer, Map, layer_over
from imbrex.index.rule import Embed, Fixed, Merge, Pad, PassThrough, Rule, Sunder, Unmerge

Mode: TypeAlias = Literal["data_parallel", "split_k", "stream_k", "two_tile", "two_tile_dp_first"]
MODES: Final = get_args(Mode)

FLAG_BYTES = 4


@dataclass(frozen=True)
class Tiles:
    """Tiles of a product along each gemm dimension."""

    m: int
    n: int
    k: int

    def __post_init__(self) -> None:
        assert min(self.m, self.n, self.k) >= 1, f"a product has tiles in each dimension: {self}"

    @property
    def outputs(self) -> int:
        return self.m * self.n

    @property
    def total(self) -> int:
        """Global tiles."""
        return self.outputs * self.k


@dataclass(frozen=True)
class Section:
    """`tiles` global tiles from `start` on, in shares of `share`; the last shares may be short or empty.

    k_span: places that each output tile takes in this section's line; more than its tiles where pieces of
    equal length do not divide k, and the rest of the last piece does not exist.
    """

    start: int
    tiles: int
    share: int
    k_span: int


@dataclass(frozen=True)
class Segment:
    """Consecutive k tiles, from `first` up to `end`, of one output tile, summed by one workgroup."""

    workgroup: int
    output: int
    first: int
    end: int

    @property
    def sends(self) -> bool:
        """Does another workgroup own the output tile?"""
        return self.first > 0


@dataclass(frozen=True)
class Plan:
    """A mode applied to the tiles of a product and a number of workgroups."""

    tiles: Tiles
    workgroups: int
    mode: Mode

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            hint = did_you_mean(self.mode, MODES) or f"known: {', '.join(MODES)}"
            raise Diagnostic(f"unknown schedule of tiles '{self.mode}'", hint=hint)
        if self.workgroups < 1:
            raise Diagnostic(f"a schedule of tiles needs at least 1 workgroup, got {self.workgroups}")

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """In the order of time."""
        t, w = self.tiles, self.workgroups
        match self.mode:
            case "data_parallel":
                return (Section(0, t.total, -(-t.outputs // w) * t.k, t.k),)
            case "split_k":
                pieces = max(1, min(t.k, w // t.outputs))
                if pieces == 1:
                    return (Section(0, t.total, -(-t.outputs // w) * t.k, t.k),)
                piece = -(-t.k // pieces)
                span = -(-t.k // piece) * piece
                return (Section(0, t.outputs * span, piece, span),)
            case "stream_k":
                return (Section(0, t.total, -(-t.total // w), t.k),)
            case "two_tile" | "two_tile_dp_first":
                streamed = t.total if t.outputs < w else t.k * (t.outputs % w + w)
                parts = [Section(0, streamed, -(-streamed // w), t.k)]
                if rest := t.total - streamed:
                    parts.append(Section(streamed, rest, rest // w, t.k))
                return tuple(parts if self.mode == "two_tile" else reversed(parts))

    def segments(self, workgroup: int) -> Iterator[Segment]:
        """What one workgroup does, in order."""
        k = self.tiles.k
        for s in self.sections:
            at, end = s.start + workgroup * s.share, s.start + min(s.tiles, (workgroup + 1) * s.share)
            while at < end:
                output, first = divmod(at, s.k_span)
                at = min(end, (output + 1) * s.k_span)
                if first < k:
                    yield Segment(workgroup, output, first, min(k, at - output * s.k_span))

    @cached_property
    def shared(self) -> dict[int, tuple[Segment, ...]]:
        """Output tile -> the segments that its owner receives, in the order of k."""
        found: dict[int, list[Segment]] = {}
        for workgroup in range(self.workgroups):
            for segment in self.segments(workgroup):
                if segment.sends:
                    found.setdefault(segment.output, []).append(segment)
        return {output: tuple(sorted(parts, key=lambda s: s.first)) for output, parts in found.items()}

    def iterations(self, workgroup: int) -> int:
        """Global tiles that a workgroup computes."""
        return sum(s.end - s.first for s in self.segments(workgroup))

    @cached_property
    def longest(self) -> int:
        """Global tiles of the workgroup that has most."""
        return max(self.iterations(w) for w in range(self.workgroups))

    @property
    def efficiency(self) -> float:
        """Useful over issued iterations: all workgroups run as long as the one that has most."""
        return self.tiles.total / (self.workgroups * self.longest)

    def ways(self, dies: int) -> int:
        """Output tiles that so many neighbouring workgroups compute at a time: where hardware deals
        workgroups to dies, tiles this far apart are on one die.  Of the section that has most tiles.
        """
        longest = max(self.sections, key=lambda section: section.tiles)
        return max(1, round(dies * longest.share / longest.k_span))

    def workspace_bytes(self, tile_bytes: int) -> int:
        """Partial tiles, one a workgroup, and a flag for each; 0 where nothing is sent."""
        return self.workgroups * (tile_bytes + FLAG_BYTES) if self.shared else 0

    def section_map(self, number: int) -> Map:
        """(workgroup, local) -> (m_tile, n_tile, k_tile) of a section; guarded where a share ends early."""
        section, t = self.sections[number], self.tiles
        dims = (Dim("m_tile", t.m), Dim("n_tile", t.n), Dim("k_tile", t.k))
        layers: list[Layer] = [_spaced(dims, section.k_span)]
        layers.insert(0, layer_over(layers[0].upper, (Merge(), "tile", "m_tile n_tile k_tile")))
        if section.tiles < t.outputs * section.k_span:
            layers[:0] = _sundered(section, layers[0].upper[0])
        return Map((*_shared_out(section, self.workgroups), *layers))


def started(workgroups: int) -> Map:
    """Hardware's workgroup number -> the logical one: the last first."""
    dims = (Dim("workgroup", workgroups),)
    entry: Rule = Embed((-1,), workgroups - 1) if workgroups > 1 else PassThrough()
    return Map((layer_over(dims, (entry, "started", "workgroup"), started=workgroups),))


def _spaced(dims: tuple[Dim, ...], k_span: int) -> Layer:
    """k grown to the places that it takes."""
    extra = k_span - dims[-1].size
    grown: Rule = Pad(0, extra) if extra else PassThrough()
    return layer_over(dims, *((PassThrough(), d.name, d.name) for d in dims[:2]), (grown, "k_tile", "k_tile"))


def _sundered(section: Section, whole: Dim) -> tuple[Layer, Layer]:
    """The line in two pieces, of which this section is one."""
    border = section.start or section.tiles
    entry = (Sunder(), "before after piece", whole.name)
    cut = layer_over((whole,), entry, before=border, after=whole.size - border, piece=2)
    own, other = ("after", "before") if section.start else ("before", "after")
    number = 1 if section.start else 0
    held = layer_over(
        cut.upper, (PassThrough(), "tile", own), (Fixed(0), "", other), (Fixed(number), "", "piece")
    )
    return held, cut


def _shared_out(section: Section, workgroups: int) -> tuple[Layer, ...]:
    """(workgroup, local) over the section's tiles; the last shares overhang."""
    extra = workgroups * section.share - section.tiles
    dims = (Dim("tile", section.tiles),)
    grown = (layer_over(dims, (Pad(0, extra), "tile", "tile")),) if extra else ()
    over = grown[0].upper if grown else dims
    entry = (Unmerge(), "workgroup local", "tile")
    return (layer_over(over, entry, workgroup=workgroups, local=section.share), *grown)
