"""A report of a tuning: one page without scripts, fonts or anything to load, with pictures of each problem.

time by the model's rank     where the fastest stood, and what the model is worth
the race                     the fastest so far over time, beside the model's pick
what was refused, and why    how many, by rule and by how trials failed; algorithms; messages of trials
winner beside pick           what differs between the two configurations
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from html import escape
from itertools import accumulate
from typing import Final

from imbrex.bench.picture import Line, lines_picture
from imbrex.numeral import counted
from imbrex.problem import problem_text
from imbrex.tuner.campaign import Refused
from imbrex.tuner.outcome import Tuned

__all__ = ["page"]

STYLE: Final = """
body { font-family: sans-serif; max-width: 84rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
svg { width: 36rem; max-width: 100%; vertical-align: top; }
code { overflow-wrap: anywhere; } mark { background: #ffe08a; }
table { border-collapse: collapse; } td, th { padding: 0.2rem 0.8rem; text-align: right; }
td:first-child, th:first-child { text-align: left; } tr { border-bottom: 1px solid #ddd; }
.bars div { height: 0.8rem; min-width: 1px; background: #c44e3b; }
"""
GREY: Final = "#888888"
BLUE: Final = "#1f6fb4"
RED: Final = "#c44e3b"
MICROSECONDS: Final = "microseconds"
LEAST_S: Final = 0.01
BAR_REM: Final = 20.0


def page(outcomes: Sequence[tuple[Tuned | Refused, int]]) -> str:
    """The whole page.  outcomes: each with how often its problem was asked for."""
    tuned = [(one, weight) for one, weight in outcomes if isinstance(one, Tuned)]
    refused = [one for one, _ in outcomes if isinstance(one, Refused)]
    device = tuned[0][0].unit.device.name if tuned else ""
    body = [f"<h1>imbrex tune{f' on {escape(device)}' if device else ''}</h1>", _overview(tuned)]
    body += [_problem(one, number) for number, (one, _) in enumerate(tuned)]
    if refused:
        rows = "".join(
            f"<li><code>{escape(problem_text(r.problem))}</code>: {escape(r.reason.message)}" for r in refused
        )
        body.append(f"<h2>Not tuned</h2><ul>{rows}</ul>")
    head = f'<meta charset="utf-8"><title>imbrex tune</title><style>{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def _overview(tuned: Sequence[tuple[Tuned, int]]) -> str:
    columns = "<tr><th>problem<th>times<th>pick, us<th>best, us<th>gain<th>trials<th>seconds</tr>"
    rows = [
        f'<tr><td><a href="#p{number}"><code>{escape(one.unit.problem)}</code></a><td>{weight}'
        f"<td>{_us(one.pick_ns)}<td>{_us(one.winner_ns)}<td>{one.gain:.3f}<td>{len(one.tried)}"
        f"<td>{one.seconds:.0f}</tr>"
        for number, (one, weight) in enumerate(tuned)
    ]
    return f"<table>{columns}{''.join(rows)}</table>"


def _problem(one: Tuned, number: int) -> str:
    timed = [(tried.rank, tried.ns / 1e3) for tried in one.tried if tried.ns is not None]
    title = f'<h2 id="p{number}"><code>{escape(one.unit.problem)}</code></h2>'
    verdict = f"{one.gain:.3f} times as fast as the model's pick, between {one.low:.3f} and {one.high:.3f}"
    stays = (
        "nothing was proven faster than the pick, which stays" if one.is_judged else "it was not judged yet"
    )
    said = verdict if one.winner != one.pick else stays
    parts = [title, f"<p>{said}.</p>"]
    if timed:
        parts += [_by_rank(one, timed), _race(one)]
    parts += [_difference(one), _rejected(one)]
    return "".join(parts)


def _by_rank(one: Tuned, timed: Sequence[tuple[int, float]]) -> str:
    """Time against rank by the model."""
    texts = [str(candidate.configuration) for candidate in one.found.ranked]
    special = {texts.index(one.winner): RED, 0: BLUE}
    dots = tuple((rank + 1, us) for rank, us in timed if rank not in special)
    lines = [Line("tried", GREY, dots, has_dots=True)] if dots else []
    for rank, colour in special.items():
        own = tuple((index + 1, us) for index, us in timed if index == rank)
        name = "the model's pick" if rank == 0 else "the winner"
        lines += [Line(name, colour, own, has_dots=True)] if own else []
    return lines_picture(lines, "rank by the model", MICROSECONDS)


def _race(one: Tuned) -> str:
    """The fastest so far, over time: of earlier sessions' trials, that of looking them up."""
    timed = [(max(LEAST_S, tried.seconds), tried.ns / 1e3) for tried in one.tried if tried.ns is not None]
    best = accumulate((us for _, us in timed), min)
    lines = [Line("the fastest so far", RED, tuple(zip((at for at, _ in timed), best, strict=True)))]
    if one.pick_ns is not None:
        pick = one.pick_ns / 1e3
        lines.append(Line("the model's pick", BLUE, ((timed[0][0], pick), (timed[-1][0], pick))))
    return lines_picture(lines, "seconds", MICROSECONDS)


def _difference(one: Tuned) -> str:
    """Both configurations, what differs marked."""
    pick, winner = one.pick, one.winner
    if pick == winner:
        return f"<p>pick <code>{escape(pick)}</code></p>"
    marked: tuple[list[str], list[str]] = ([], [])
    for kind, a, b, c, d in SequenceMatcher(None, pick, winner, autojunk=False).get_opcodes():
        for side, text in zip(marked, (pick[a:b], winner[c:d]), strict=True):
            side.append(escape(text) if kind == "equal" else f"<mark>{escape(text)}</mark>")
    return f"<p>pick <code>{''.join(marked[0])}</code><br>winner <code>{''.join(marked[1])}</code></p>"


def _rejected(one: Tuned) -> str:
    """What was refused or gave no time: bars as long as how many, and why."""
    failed = Counter(tried.status for tried in one.tried if tried.ns is None)
    counts = [(f"refused by the rule {rule}", count) for rule, count in one.found.refused.items()]
    counts += [(f"tried, and {status}", count) for status, count in failed.items()]
    most = max((count for _, count in counts), default=1)
    bars = "".join(
        f'<tr><td>{escape(why)}<td>{count}<td><div style="width: {BAR_REM * count / most:.2f}rem"></div>'
        for why, count in sorted(counts, key=lambda of: -of[1])
    )
    lines = "".join(f"<li>{escape(line)}" for line in _reasons(one))
    return f'<table class="bars">{bars}</table><ul>{lines}</ul>'


def _reasons(one: Tuned) -> Iterator[str]:
    yield f"{len(one.tried)} of {counted(len(one.found.ranked), 'candidate')} tried"
    yield from (f"{name} does not serve: {why}" for name, why in one.found.unserved.items())
    for tried in one.tried:
        if tried.ns is None:
            yield f"{tried.status}: {one.found.ranked[tried.rank].configuration}: {tried.note}"


def _us(ns: float | None) -> str:
    return "" if ns is None else f"{ns / 1e3:.1f}"
