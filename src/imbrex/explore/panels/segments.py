"""Who computes which part of K of which tile, over time: segments, partial sums, and flags.

A frame is one step over K of all workgroups that run; a workgroup that owns a tile which others have parts of
waits for their flags after its own steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Final, TypeAlias, assert_never

from imbrex.cached import cached_property
from imbrex.config.l2 import plan_traffic
from imbrex.explore.panel import Frames, Panel, Row, Table, absent
from imbrex.explore.panels.maps import NO_PRODUCT
from imbrex.explore.subject import Subject
from imbrex.explore.svg import box, drawing, label
from imbrex.explore.tiling import Tiling
from imbrex.numeral import counted
from imbrex.view.work.streamk import Plan, Segment, Tiles

__all__ = ["segments"]

TITLE: Final = "Segments over time"
MOST_OUTPUTS: Final = 1 << 18
"""Tiles that are followed: each is looked at, which takes some microseconds."""
MOST: Final = 32
"""Workgroups that are drawn."""
MOST_FRAMES: Final = 96
MOST_SEGMENTS: Final = 24
MOST_FOLLOWED: Final = 1 << 16
"""Steps that the model of caches follows."""
WIDTH, ROW, LEFT, TOP = 720.0, 20, 90, 40


@dataclass(frozen=True)
class Turns:
    """Whole tiles, which lines of time have in turn: line i those at the positions i, i + `workgroups`, ..

    is_dealt: a line is a workgroup; else each tile has its own, which begins when the one before it ends.
    """

    tiles: Tiles
    workgroups: int
    is_dealt: bool
    shared: Mapping[int, tuple[Segment, ...]] = field(default_factory=dict[int, tuple[Segment, ...]])

    def segments(self, line: int) -> Iterator[Segment]:
        """What stands in a line, in order."""
        for position in range(line, self.tiles.outputs, self.workgroups):
            yield Segment(line if self.is_dealt else position, position, 0, self.tiles.k)

    def iterations(self, line: int) -> int:
        """Steps over K of a line."""
        return len(range(line, self.tiles.outputs, self.workgroups)) * self.tiles.k

    @cached_property
    def longest(self) -> int:
        """Steps of the line that has most."""
        return self.iterations(0)

    @property
    def efficiency(self) -> float:
        """Useful over issued steps: all lines are held as long as the longest."""
        return self.tiles.total / (self.workgroups * self.longest)


Timed: TypeAlias = Plan | Turns


def segments(subject: Subject) -> Panel:
    """A line of time for each workgroup."""
    cut = subject.tiling
    if cut is None:
        return absent(
            "segments", TITLE, NO_PRODUCT if subject.product is None else "no plan of tiles is one map"
        )
    if prod(d.size for d in cut.order.lower) > MOST_OUTPUTS:
        reason = f"there are too many tiles to follow, more than {MOST_OUTPUTS:,}"
        return absent("segments", TITLE, reason)
    plan = cut.plan or _turns(cut)
    shown = _chosen(plan)
    longest = max(1, plan.longest)
    scale = WIDTH / longest
    frames = min(longest, MOST_FRAMES)
    word = "cluster" if cut.cluster != (1, 1) else "workgroup"
    line_word = "position" if cut.is_one_each else word
    parts = [
        label(8, 18, f"{line_word}s down, steps over K to the right; a tile's colour is its number's", "head")
    ]
    found: list[Row] = []
    is_cut = False
    for line, workgroup in enumerate(shown):
        y, at = TOP + line * ROW, 0
        parts.append(label(LEFT - 8, y + 14, f"{line_word} {workgroup}", "end soft"))
        own = list(plan.segments(workgroup))
        for segment in own[:MOST_SEGMENTS]:
            tokens = f"{'workgroup' if cut.is_one_each else 'unit'}:{segment.output}"
            parts += _segment(_Drawing(plan, scale, frames), segment, tokens, at, y)
            found.append(Row(_row(plan, segment), tokens))
            at += segment.end - segment.first
        if rest := own[MOST_SEGMENTS:]:
            wide = scale * sum(segment.end - segment.first for segment in rest)
            more = f"{counted(len(rest), 'segment')} more"
            parts.append(box(LEFT + at * scale, y, wide, ROW - 3, "plain", "", more))
            is_cut = True
    left = (
        [f"{len(shown)} of {plan.workgroups} {line_word}s are drawn"] if len(shown) < plan.workgroups else []
    )
    left += [f"the first {MOST_SEGMENTS} segments of each"] if is_cut else []
    svg = drawing(TITLE, parts, LEFT + WIDTH + 16, TOP + len(shown) * ROW + 12)
    table = Table((word, "tile", "steps", "then"), tuple(found[:200]))
    frames_said = Frames("time", _frames(plan, frames))
    said = (*_said(plan), *_found(subject, plan, cut))
    return Panel("segments", TITLE, said, svg, table, frames=frames_said, sampled=", ".join(left) or None)


def _turns(cut: Tiling) -> Turns:
    """Whole tiles, as many at a time as run."""
    (units,) = (d.size for d in cut.order.upper)
    return Turns(Tiles(units, 1, cut.steps), max(1, min(units, cut.at_a_time)), cut.is_dealt)


def _chosen(plan: Timed) -> list[int]:
    """The first workgroups, and the last."""
    count = plan.workgroups
    return list(range(count)) if count <= MOST else [*range(MOST - 2), count - 2, count - 1]


@dataclass(frozen=True)
class _Drawing:
    """plan: of all lines.  scale: of a step.  frames: of the animation."""

    plan: Timed
    scale: float
    frames: int


def _segment(of: _Drawing, segment: Segment, tokens: str, at: int, y: float) -> list[str]:
    """A segment, with a flag where it sends, and who is waited for where others have parts of the tile."""
    plan, scale, frames, longest = of.plan, of.scale, of.frames, max(1, of.plan.longest)
    count = segment.end - segment.first
    first, last = at * frames // longest, max(at, at + count - 1) * frames // longest
    x, wide = LEFT + at * scale, count * scale
    tooltip = ", ".join(
        f"{name} {value}"
        for name, value in zip(("workgroup", "tile", "steps", "then"), _row(plan, segment), strict=True)
    )
    kind = f"g{segment.output % 8}" + (" sent" if segment.sends else "")
    parts = [box(x, y, wide, ROW - 3, kind, tokens, tooltip, when=f"time:{first}-{last}")]
    if wide > 22:
        parts.append(label(x + wide / 2, y + 13, segment.output, "mid tiny"))
    if segment.sends:
        parts.append(label(x + wide, y + 13, "⚑", "end", tokens, f"time:{last}"))
    return parts


def _row(plan: Timed, segment: Segment) -> tuple[str, str, str, str]:
    sent = plan.shared.get(segment.output, ())
    then = "stores the tile"
    if segment.sends:
        then = "leaves its sums in the workspace, raises its flag"
    elif sent:
        then = (
            f"waits for the flags of {', '.join(str(s.workgroup) for s in sent[:6])}, adds their sums, stores"
        )
    elif isinstance(plan, Plan) and plan.pieces > 1:
        adds = "a second launch adds" if plan.mode == "reduce_k" else "those of the tile meet to add"
        then = f"leaves its sums in the workspace, which {adds}"
    elif isinstance(plan, Plan) and plan.mode == "cluster_k":
        then = "passes sums on inside of the cluster, stores its part"
    return str(segment.workgroup), str(segment.output), f"{segment.first} to {segment.end - 1}", then


def _said(plan: Timed) -> tuple[str, ...]:
    sent = sum(len(parts) for parts in plan.shared.values())
    match plan:
        case Plan():
            how = plan.mode
        case Turns(is_dealt=True):
            how = "data_parallel, whole tiles, which workgroups have in turn"
        case Turns():
            how = "data_parallel, a workgroup for each tile, which begins when one before it has ended"
        case _:
            assert_never(plan)
    tiles, each = counted(plan.tiles.outputs, "tile"), counted(plan.tiles.k, "step")
    longest = counted(plan.longest, "step")
    return (
        f"{how}: {tiles} of {each} for {plan.workgroups}; "
        f"the longest has {longest}, {plan.efficiency:.1%} of what is issued is useful.",
        f"{counted(sent, 'partial sum passes', 'partial sums pass')} through memory (dashed edges, flags)."
        if sent
        else "No partial sums.",
    )


def _found(subject: Subject, plan: Timed, cut: Tiling) -> Iterator[str]:
    """How many of the tiles of A and B these workgroups find in L2, by the model, where it is known."""
    cache, product = subject.request.machine.l2, subject.product
    if not isinstance(plan, Plan) or cache is None or product is None or plan.tiles.total > MOST_FOLLOWED:
        return
    of_a, of_b = (product.context.exchanged if cut.swapped else product.context).element_bytes
    sizes = cut.tile[0] * of_a * cut.depth, cut.tile[1] * of_b * cut.depth
    found = plan_traffic(plan, cut.order, cache, sizes)
    yield f"{found.hit_rate:.1%} of the tiles of A and B that they ask for are found in L2, by the model."


def _frames(plan: Timed, count: int) -> tuple[str, ...]:
    """What happens in each frame."""
    longest = max(1, plan.longest)
    ends = [plan.iterations(w) for w in range(plan.workgroups)]
    senders: dict[int, list[int]] = defaultdict(list)
    for part in (part for parts in plan.shared.values() for part in parts):
        senders[(part.end - part.first - 1) * count // longest].append(part.workgroup)
    said: list[str] = []
    for frame in range(count):
        first, last = -(-frame * longest // count), (frame + 1) * longest // count
        busy = sum(end > first for end in ends)
        sentence = f"steps {first} to {max(first, last - 1)}: {busy} of {plan.workgroups} work"
        if sent := sorted(senders[frame]):
            names = ", ".join(map(str, sent[:8])) + (" .." if len(sent) > 8 else "")
            sentence += f"; {names} {'send their' if len(sent) > 1 else 'sends its'} sums"
        said.append(sentence)
    return tuple(said)
