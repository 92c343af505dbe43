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
    cluster_k          every output tile is cut into as many pieces as it has workgroups, which are a cluster
    reduce_k           pieces as of split_k; nobody owns a tile: a second launch adds the partial sums of all
    scatter_k          the same in one launch: the workgroups of a tile meet, and each adds up a part of it

Laws: every global tile belongs to one segment; each output tile is stored once, by its owner; an owner adds
partial sums in the order of k, so that a result does not depend on timing; a segment that sends is the first
of its workgroup's share, so that nobody waits before sending.

Workgroup numbers here are logical. Owners wait for higher numbers only; `started` numbers workgroups against
hardware's order, so that those are the ones that hardware started earlier, and a launch makes progress with
any number of resident workgroups. The workgroups of cluster_k run together: nobody owns their tile, each
stores a part of it, and sums pass between them without a workspace. Those of reduce_k leave their sums in the
workspace and wait for nobody. Those of scatter_k wait for all of their tile, which are neighbours, so that
as many have to be resident: fewer than a die has compute units, whatever part of a GPU a process is given.

Source: rocRoller's AddStreamK (three modes, many partial sums a tile); Osama et al., Stream-K, PPoPP 2023.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from imbrex.cached import cached_property
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Embed, Merge, PassThrough, Rule, Unmerge

Mode: TypeAlias = Literal[
    "data_parallel", "split_k", "stream_k", "two_tile", "two_tile_dp_first", "cluster_k", "reduce_k",
    "scatter_k",
]  # fmt: skip
Added: TypeAlias = Literal["reduce_k", "scatter_k"]
WORDS: Final = get_args(Mode)
ADDED: Final = ("reduce_k", "scatter_k")
"""Modes in which nobody owns a tile: the sums of all its pieces are added when all are there."""
MODES: Final = WORDS[:-3]
"""Modes over any number of workgroups, on any machine."""
CLUSTERED: Final = WORDS[:-2]
"""Modes of warpgroups."""
SPLIT: Final = (*MODES, *ADDED)
"""Modes whose parts of tiles meet in a workspace."""

FLAG_BYTES = 4
ABREAST_SUMS: Final = 128 * 128
"""Sums of the largest tile of which it was seen to gain."""


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
    """A mode applied to the tiles of a product and a number of workgroups.

    is_abreast: of split_k, workgroups at the same piece of K start one after the other, and not those of the
    same output tile; see `abreast`.  is_open: of split_k, K is told when a kernel runs, and `tiles` has the
    most; so pieces are as many as workgroups allow, and any of them may be empty.
    """

    tiles: Tiles
    workgroups: int
    mode: Mode
    is_abreast: bool = False
    is_open: bool = False

    def __post_init__(self) -> None:
        if self.mode not in WORDS:
            hint = did_you_mean(self.mode, WORDS) or f"known: {', '.join(WORDS)}"
            raise Diagnostic(f"unknown schedule of tiles '{self.mode}'", hint=hint)
        if self.workgroups < 1:
            raise Diagnostic(f"a schedule of tiles needs at least 1 workgroup, got {self.workgroups}")
        if self.mode == "cluster_k" and self.workgroups % self.tiles.outputs:
            said = f"cluster_k has as many workgroups for each of {self.tiles.outputs} output tiles"
            raise Diagnostic(f"{said}; {self.workgroups} is no multiple")
        assert not self.is_abreast or self.workgroups % self.tiles.outputs == 0, self

    @property
    def parts(self) -> int:
        """Workgroups of a cluster that share an output tile."""
        return self.workgroups // self.tiles.outputs if self.mode == "cluster_k" else 1

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Sections in the order of time."""
        t, w = self.tiles, self.workgroups
        match self.mode:
            case "data_parallel":
                return (Section(0, t.total, -(-t.outputs // w) * t.k, t.k),)
            case "split_k" | "reduce_k" | "scatter_k":
                pieces = max(1, w // t.outputs if self.is_open else min(t.k, w // t.outputs))
                if pieces == 1:
                    return (Section(0, t.total, -(-t.outputs // w) * t.k, t.k),)
                piece = -(-t.k // pieces)
                span = piece * pieces if self.is_open else -(-t.k // piece) * piece
                return (Section(0, t.outputs * span, piece, span),)
            case "cluster_k":
                piece = -(-t.k // self.parts)
                return (Section(0, t.outputs * piece * self.parts, piece, piece * self.parts),)
            case "stream_k":
                return (Section(0, t.total, -(-t.total // w), t.k),)
            case "two_tile" | "two_tile_dp_first":
                streamed = t.total if t.outputs < w else t.k * (t.outputs % w + w)
                parts = [Section(0, streamed, -(-streamed // w), t.k)]
                if rest := t.total - streamed:
                    parts.append(Section(streamed, rest, rest // w, t.k))
                return tuple(parts if self.mode == "two_tile" else reversed(parts))

    @property
    def pieces(self) -> int:
        """Workgroups with partial sums of an output tile that nobody owns; 1 where the sums are whole."""
        return self._workgroups_of_each(self.mode) if self.mode in ADDED else 1

    @property
    def others(self) -> int:
        """Partial sums that the owner of each output tile adds in split_k; 0 in other modes."""
        return self._workgroups_of_each("split_k") - 1

    def _workgroups_of_each(self, mode: Mode) -> int:
        """How many share every output tile in a mode that cuts all alike; 1 in other modes."""
        (section,) = self.sections if self.mode == mode else (None,)
        return 1 if section is None else -(-section.k_span // section.share)

    @property
    def most_received(self) -> int:
        """A bound of the partial sums that an owner adds; 0 where shares are whole output tiles."""
        if all(s.share % s.k_span == 0 for s in self.sections):
            return 0
        return min(max(-(-s.k_span // s.share) for s in self.sections), self.workgroups - 1)

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
        """Output tile -> the segments that its owner receives, in the order of k; none where no tile has an
        owner.
        """
        if self.mode == "cluster_k" or self.mode in ADDED:
            return {}
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
        """Partial tiles, one a workgroup, and a flag for each that is awaited, or for each tile whose
        workgroups meet; 0 without partial tiles.
        """
        if self.pieces > 1:
            arrivals = FLAG_BYTES * self.tiles.outputs if self.mode == "scatter_k" else 0
            return self.workgroups * tile_bytes + arrivals
        return self.workgroups * (tile_bytes + FLAG_BYTES) if self.shared else 0

    @property
    def started(self) -> Map:
        """Hardware's workgroup number -> the logical one, equal where those of a tile start at once."""
        if self.is_abreast:
            return abreast(self.tiles.outputs, self.workgroups // self.tiles.outputs)
        if self.mode != "cluster_k":
            return started(self.workgroups)
        dims = (Dim("workgroup", self.workgroups),)
        entry = (PassThrough(), "started", "workgroup")
        return Map((layer_over(dims, entry, started=self.workgroups),))


def started(workgroups: int) -> Map:
    """Hardware's workgroup number -> the logical one: the last first."""
    dims = (Dim("workgroup", workgroups),)
    return Map((layer_over(dims, (_against(workgroups), "started", "workgroup"), started=workgroups),))


def goes_abreast(mode: Mode, outputs: Any, k: Any, workgroups: Any, sums: Any, cluster: Any) -> Any:
    """Is it faster on a GPU that workgroups at the same piece of K are neighbours, and has every one a piece?
    They load the same at about the same time, which L2 serves at once: an H200 gains where tiles are small
    and nothing is multicast, and loses elsewhere.

    outputs: units of k steps each.  sums: of a tile.  cluster: workgroups of one.  All are numbers, or
    columns of numbers, of which each is answered.
    """
    pieces = workgroups // outputs
    is_small = (sums <= ABREAST_SUMS) & (cluster == 1)
    is_even = (workgroups % outputs == 0) & (outputs > 1) & (pieces > 1)
    is_even = is_even & (even_pieces(k, pieces + (pieces < 1)) == pieces)
    return (mode == "split_k") & is_small & is_even


STAGED_BYTES: Final = 256
"""Others' sums that a work item's registers hold on their way."""


def received_at_a_time(sums_bytes: int) -> int:
    """Others' sums, of so many bytes a work item, that its registers hold on their way; one at least."""
    return max(1, STAGED_BYTES // sums_bytes)


def even_pieces(k: Any, most: Any) -> Any:
    """Pieces of K, at most so many, of which none is empty where all but the last are equal: numbers, or
    columns of them.
    """
    return -(-k // -(-k // most))


def abreast(outputs: int, pieces: int) -> Map:
    """The same where those at the same piece of K are neighbours, the last piece first, so that owners still
    wait for workgroups that start before them.
    """
    dims = (Dim("workgroup", outputs * pieces),)
    cut = layer_over(dims, (Unmerge(), "tile piece", "workgroup"), tile=outputs, piece=pieces)
    reversed_both = ((_against(d.size), d.name, d.name) for d in cut.upper)
    turned = layer_over(cut.upper, *reversed_both, tile=outputs, piece=pieces)
    return Map((layer_over(turned.upper, (Merge(), "started", "piece tile")), turned, cut))


def _against(size: int) -> Rule:
    """The last first."""
    return Embed((-1,), size - 1) if size > 1 else PassThrough()
