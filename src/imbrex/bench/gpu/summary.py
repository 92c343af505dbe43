"""Summary: what the rows of a benchmark on a GPU come to, set by set, and its lines for a terminal and a
page.

Law: only rows that are right and have a peer count in a mean; how many those are stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from imbrex.bench.gpu.sets import SETS
from imbrex.bench.report import geometric_mean

__all__ = [
    "COLUMNS",
    "PAGE_COLUMNS",
    "UNRUN",
    "cells",
    "markdown",
    "row_line",
    "set_cells",
    "summary",
    "was_not_run",
]

Row = Mapping[str, Any]
OURS = "imbrex"
UNRUN = "not run:"
"""What the refusal of a row that was never started begins with."""


def was_not_run(row: Row) -> bool:
    """Was it never started, for want of time?"""
    return (row["refused"] or "").startswith(UNRUN)


def summary(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One object a set, in the order of the first rows: counts, geometric means by peer and of the best,
    totals over a network's layers.
    """
    names = list(dict.fromkeys(row["set"] for row in rows))
    return [_set(name, [row for row in rows if row["set"] == name]) for name in names]


def _set(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    counted = [row for row in rows if row.get("right") and row.get("ratio") is not None]
    ratios = [row["ratio"] for row in counted]
    peers = sorted({peer for row in counted for peer in row["ratios"]})
    goal = SETS[name].goal if name in SETS else None
    return {
        "set": name,
        "about": SETS[name].about if name in SETS else name,
        "rows": len(rows),
        "timed": sum("timings" in row for row in rows),
        "refused": sum(row["refused"] is not None and not was_not_run(row) for row in rows),
        "wrong": sum(row.get("right") is False for row in rows),
        "counted": len(counted),
        "ratio": geometric_mean(ratios) if ratios else None,
        "least": min(ratios, default=None),
        "at_least_1": sum(ratio >= 1.0 for ratio in ratios),
        "under_0.95": sum(ratio < 0.95 for ratio in ratios),
        "by_peer": {p: geometric_mean(r["ratios"][p] for r in counted if p in r["ratios"]) for p in peers},
        "goal": goal,
        "totals_ns": _totals(counted),
    }


def _totals(rows: Sequence[Row]) -> dict[str, float]:
    """Times by contender that every row has: its time for all layers, each as often as the network has it."""
    everywhere = set[str].intersection(*(set(row["timings"]) for row in rows)) if rows else set[str]()
    return {
        name: sum(row["times"] * row["timings"][name]["median_ns"] for row in rows)
        for name in sorted(everywhere)
    }


COLUMNS = (
    "set",
    "rows",
    "refused",
    "wrong",
    "ratio",
    "least",
    ">= 1",
    "< 0.95",
    "by peer",
    "goal",
    "ours ms",
    "peer ms",
)


def set_cells(one: Mapping[str, Any]) -> list[str]:
    """A line of the table that is printed last."""
    by_peer = " ".join(f"{name} {ratio:.2f}" for name, ratio in one["by_peer"].items())
    totals = one["totals_ns"]
    peer = min((value for name, value in totals.items() if name in one["by_peer"]), default=None)
    return [
        one["set"],
        f"{one['timed']}/{one['rows']}",
        str(one["refused"] or ""),
        str(one["wrong"] or ""),
        _number(one["ratio"]),
        _number(one["least"]),
        f"{one['at_least_1']}/{one['counted']}" if one["counted"] else "",
        str(one["under_0.95"] or ""),
        by_peer if len(one["by_peer"]) > 1 else "",
        "" if one["goal"] is None else f"{one['goal'][0]:g}",
        "" if OURS not in totals else f"{totals[OURS] / 1e6:.3f}",
        "" if peer is None else f"{peer / 1e6:.3f}",
    ]


def row_line(row: Row) -> str:
    """One row as it comes."""
    head = f"{row['set']:26s} {row['name']:36s}"
    if row["refused"] is not None:
        return f"{head} REFUSED {' '.join(row['refused'].split())[:110]}"
    speeds = " ".join(f"{name} {value:.4g}" for name, value in row["tflops"].items())
    wrong = "" if row["right"] is not False else f"  WRONG {row['check'][:90]}"
    time_us = row["timings"][OURS]["median_ns"] / 1e3
    ratio = "" if row["ratio"] is None else f"  x {row['ratio']:.3f}"
    missing = "".join(f"  no {name}: {why[:60]}" for name, why in row.get("missing", {}).items())
    tunings = " ".join(row["kernel"]["tunings"])
    return f"{head} {time_us:9.1f} us  TFLOP/s {speeds}{ratio}{wrong}{missing}  {tunings}"


def cells(row: Row) -> list[str]:
    """A line of the table that `imbrex bench` prints."""
    if row["refused"] is not None:
        return [row["name"], "", "", "", " ".join(row["refused"].split())]
    time_us = row["timings"][OURS]["median_ns"] / 1e3
    ratios = "  ".join(f"{name} {ratio:.2f}" for name, ratio in row["ratios"].items())
    title = f"WRONG {row['name']}" if row["right"] is False else row["name"]
    return [title, f"{time_us:.1f} us", f"{row['tflops'][OURS]:.1f}", ratios, ""]


PAGE_COLUMNS = ("set", "problems", "ratio", "least", "at least 1.0", "under 0.95", "goal", "aim")


def markdown(document: Mapping[str, Any]) -> Iterator[str]:
    """The table of a page, with where and when it was measured."""
    gpu = document["gpu"]
    versions = ", ".join(f"{name} {version}" for name, version in gpu.get("versions", {}).items())
    yield f"Measured on an {gpu.get('name', 'unknown GPU')}, {document['date'][:10]}, driver"
    limit = gpu.get("power.limit", "unknown")
    yield f"{gpu.get('driver_version', 'unknown')}, power limit {limit}; {versions}."
    yield ""
    yield f"| {' | '.join(PAGE_COLUMNS)} |"
    yield "| --- |" + " --- |" * (len(PAGE_COLUMNS) - 1)
    for row in document["summary"]:
        goal, aim = row["goal"] or ("", "")
        yield (
            f"| {row['about']} | {row['counted']} of {row['rows']} | {_number(row['ratio'])} | "
            f"{_number(row['least'])} | {row['at_least_1']} | {row['under_0.95']} | {goal} | {aim} |"
        )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
