"""Steps of an XDLOPS kernel in time: what each wave of a SIMD issues and what it waits for, as simulated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from imbrex.config.xdlops.cost import product_of
from imbrex.config.xdlops.loop import modelled
from imbrex.config.xdlops.plan import XdlopsPlan
from imbrex.explore.gantt import Gantt, Span
from imbrex.numeral import counted
from imbrex.timing.compute_unit import WARM, Issue, traced
from imbrex.timing.kernel import residents_of

__all__ = ["waves_in_time"]

MOST: Final = 4
"""Waves that are drawn."""
SHOWN: Final = 2
"""Trips of the loop that are drawn."""
SHORT: Final = 4.0
"""Clocks from one issue to the next, in which no wave waits."""
KINDS: Final = {
    "matrix": ("g0", "matrix instructions"), "read": ("g1", "reads of LDS"), "write": ("g2", "writes to LDS"),
    "load": ("g3", "loads"), "direct": ("g3", "loads"), "vector": ("g4", "vector"),
}  # fmt: skip
OTHER: Final = ("g7", "scalar")
WAITS: Final = ("none", "waits")
WAITED: Final = {"wait": "waits for what is under way", "barrier": "waits at the barrier"}


def waves_in_time(plan: XdlopsPlan, groups: int) -> Gantt:
    """Some trips in the steady state: the waves of one SIMD, and what they share."""
    product, gpu = product_of(plan), modelled(plan.machine)
    own = residents_of(product.waves, groups, gpu, product.is_ping_pong)
    found = traced(product.loop, gpu, own)
    trips = [issue for issue in found if issue.wave == 0]
    first = min(WARM, max(0, plan.k_iterations // product.steps - SHOWN))
    begin = next(i.since for i in trips if i.trip == first)
    end = next(i.since for i in trips if i.trip == first + SHOWN)
    seen = [i for i in found if i.until > begin and i.since < end]
    waves = sorted({i.wave for i in seen})[:MOST]
    rows = [(f"wave {w}", _merged(_of_wave([i for i in seen if i.wave == w], product.steps), begin, end))
            for w in waves]  # fmt: skip
    for name, units in (("matrix pipe", ["matrix"]), ("LDS under way", ["read", "write"]),
                        ("loads under way", ["load", "direct"])):  # fmt: skip
        spans = list(_joined([i for i in seen if i.operation.unit in units], begin, end))
        if spans:
            rows.append((name, spans))
    steps = f"steps {first * product.steps} to {(first + SHOWN) * product.steps - 1}"
    used = {s.kind for _, row in rows for s in row}
    signs = dict.fromkeys(sign for sign in (*KINDS.values(), OTHER, WAITS) if sign[0] in used)
    many = "the wave" if own.waves == 1 else f"{len(waves)} of {counted(own.waves, 'wave')}"
    return Gantt(f"{steps} as simulated: {many} of a SIMD, and what they share", rows, list(signs), "clocks")


def _of_wave(issues: Sequence[Issue], steps: int) -> Iterator[Span]:
    """Waits and operations of one wave, in turn.  A matrix instruction goes on while the wave has others."""
    free = 0.0
    for at, issue in enumerate(issues):
        tokens, unit = f"step:{issue.trip * steps}", issue.operation.unit
        behind = issues[at + 1].since if at + 1 < len(issues) else issue.at + SHORT
        since, done = max(issue.since, free), max(behind, issue.at + SHORT)
        if unit in WAITED:
            end = max(issue.at, behind) if unit == "barrier" else issue.at
            if end > since:
                yield Span(since, end, WAITS[0], WAITED[unit], tokens)
            free = max(free, end)
            continue
        kind, tooltip = KINDS.get(unit, OTHER)
        if issue.at - since > SHORT:
            yield Span(since, issue.at, WAITS[0], f"waits until it can issue: {tooltip}", tokens)
        start = issue.at if issue.at - since > SHORT else since
        free = max(free, issue.until if unit == "matrix" else done)
        if free > start:
            yield Span(start, free, kind, tooltip, tokens)


def _merged(spans: Iterable[Span], begin: float, end: float) -> list[Span]:
    """Neighbours of one kind as one, inside of the time that is drawn."""
    found: list[Span] = []
    for (kind, tooltip, tokens), same in groupby(spans, lambda s: (s.kind, s.tooltip, s.tokens)):
        run = list(same)
        first, last = max(begin, run[0].first), min(end, run[-1].last)
        if last > first:
            count = f"{len(run)} x {tooltip}" if kind != "none" else tooltip
            found.append(Span(first, last, kind, f"{count}, {last - first:,.0f} clocks", tokens))
    return found


def _joined(issues: Sequence[Issue], begin: float, end: float) -> Iterator[Span]:
    """Times in which at least one is under way."""
    first = last = -1.0
    kind, tooltip = KINDS[issues[0].operation.unit] if issues else OTHER
    for issue in sorted(issues, key=lambda i: i.at):
        if issue.at > last:
            if min(last, end) > max(first, begin):
                yield Span(max(first, begin), min(last, end), kind, tooltip)
            first = issue.at
        last = max(last, issue.until)
    if min(last, end) > max(first, begin):
        yield Span(max(first, begin), min(last, end), kind, tooltip)
