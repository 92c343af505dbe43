"""Configurations: what the model says of each, what was measured of them, and what was refused, and why."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite, log10
from typing import Final

from imbrex.config import choose, legal
from imbrex.config.candidates import Candidate, candidates, reasons
from imbrex.explore.measured import measured_of
from imbrex.explore.panel import Panel, Row, Table
from imbrex.explore.subject import Subject
from imbrex.explore.svg import box, drawing, label, line
from imbrex.numeral import counted

__all__ = ["configurations", "shown_of"]

TITLE: Final = "Configurations"
WIDTH, HEIGHT, LEFT, TOP = 720.0, 280.0, 70.0, 40.0
MOST: Final = 400
"""Candidates that are drawn, evenly apart behind the first."""
LISTED: Final = 24


def configurations(subject: Subject) -> Panel:
    """Every candidate by rank and by the model's cycles, with the measured time where there is one."""
    found = candidates(replace(subject.request, config=None))
    measured, where = measured_of(subject)
    ranked = found.ranked
    chosen = str(subject.configuration)
    many = counted(len(ranked), "candidate")
    said = [f"{many} on {subject.request.machine.name}; the first is the model's pick."]
    if any(one.cycles < ranked[0].cycles for one in ranked):
        said.append("What costs less than the pick does not save enough to be sure of.")
    why = _reasons(subject) if found.refused else {}
    for rule, count in found.refused.items():
        many = counted(count, "tuning is", "tunings are")
        said.append(
            f"{many} refused by the rule {rule}" + (f", such as: {why[rule]}." if rule in why else ".")
        )
    said += [f"{name} does not serve: {text}." for name, text in found.unserved.items()]
    said.append(where)
    timed = {i for i, one in enumerate(ranked) if str(one.configuration) in measured}
    shown = sorted(timed.union(shown_of(len(ranked))))
    of_table = sorted(timed.union(shown[:LISTED]))
    behind = reasons(subject.request, ranked[0], [ranked[i] for i in of_table])
    table_rows = tuple(
        _row(i, ranked[i], ranked[0].cycles, more, measured, chosen)
        for i, more in zip(of_table, behind, strict=True)
    )
    table = Table(("rank", "of the pick's cycles", "most of it by", "measured", "configuration"), table_rows)
    svg = _drawn(ranked, shown, measured, chosen)
    sampled = (
        None
        if len(shown) == len(ranked)
        else f"{len(shown)} of {counted(len(ranked), 'candidate is', 'candidates are')} drawn"
    )
    return Panel("configurations", TITLE, tuple(said), svg, table, sampled=sampled)


def shown_of(count: int) -> list[int]:
    """The first ranks, then some evenly apart."""
    if count <= MOST:
        return list(range(count))
    first = MOST // 2
    return [*range(first), *(first + i * (count - first) // (MOST - first) for i in range(MOST - first))]


def _reasons(subject: Subject) -> dict[str, str]:
    """The first reason that is met of each rule, by the rule."""
    if subject.product is None:
        return {}
    context, machine = subject.product.context, subject.request.machine
    found: dict[str, str] = {}
    for tuning in choose.candidates(context, machine, choose.family_of(context, machine)):
        for reason in legal.check(tuning, context, machine)[:1]:
            found.setdefault(reason.rule, str(reason))
    return found


def _row(
    rank: int, one: Candidate, first: float, behind: str, measured: dict[str, float], chosen: str
) -> Row:
    text = str(one.configuration)
    cost = f"{one.cycles / first:.3f}" if isfinite(one.cycles) and 0 < first < float("inf") else ""
    time = f"{measured[text] / 1000:,.2f} us" if text in measured else ""
    mark = " (chosen)" if text == chosen else ""
    return Row((f"{rank}{mark}", cost, behind, time, text), f"configuration:{rank}")


def _drawn(ranked: tuple[Candidate, ...], shown: list[int], measured: dict[str, float], chosen: str) -> str:
    """Rank to the right, cycles upwards in powers of ten, a colour for each kind of tuning."""
    first = ranked[0].cycles
    known = [i for i in shown if isfinite(ranked[i].cycles) and ranked[i].cycles > 0]
    kinds: dict[str, int] = {}
    parts = [
        label(8, 20, "rank by the model to the right, its cycles upwards (relative to the pick)", "head")
    ]
    costs = [ranked[i].cycles / first for i in known if isfinite(first) and first > 0] or [1.0]
    low, high = log10(min(costs)) - 0.05, log10(max(costs)) + 0.05

    def y_of(cost: float) -> float:
        return TOP + (high - log10(cost)) / (high - low) * (HEIGHT - TOP - 40)

    for cost in sorted({min(costs), 1.0, max(costs)}):
        parts.append(label(LEFT - 8, y_of(cost) + 4, f"{cost:.2f}", "end soft"))
        parts.append(line(LEFT, y_of(cost), WIDTH - 10, y_of(cost)))
    for position, i in enumerate(known if isfinite(first) and first > 0 else []):
        one = ranked[i]
        text = str(one.configuration)
        name = (
            ", ".join(dict.fromkeys(p.tuning.kind for p in one.configuration.products))
            or one.configuration.algorithm
        )
        colour = kinds.setdefault(name, len(kinds))
        x = LEFT + 8 + position * (WIDTH - LEFT - 30) / max(1, len(known) - 1)
        size = 9 if text == chosen or text in measured else 6
        kind = f"g{colour % 8}" + (" sent" if text == chosen else " ink" if text in measured else "")
        tooltip = f"{one.cycles / first:.3f} of the pick: {text}"
        at = x - size / 2, y_of(one.cycles / first) - size / 2
        parts.append(box(*at, size, size, kind, f"configuration:{i}", tooltip, size // 2))
    for name, colour in kinds.items():
        x = LEFT + colour * 130
        parts.append(box(x, HEIGHT - 20, 12, 12, f"g{colour % 8}"))
        parts.append(label(x + 18, HEIGHT - 10, name))
    return drawing(TITLE, parts, WIDTH, HEIGHT)
