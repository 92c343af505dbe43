"""Report: what a benchmark found, row by row, with what the rows come to, as JSON beside the machine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from imbrex.bench.ceiling import ceiling
from imbrex.bench.contest import contest
from imbrex.bench.peer import Call, Peer, first_line
from imbrex.kernel import CPU, Kernel, Target, compile
from imbrex.problem import Problem, problem_text
from imbrex.run.host_machine import host_machine
from imbrex.run.time import Timing
from imbrex.verify.data import random_operands

__all__ = ["Row", "geometric_mean", "measured", "report"]

OURS = "imbrex"


@dataclass(frozen=True)
class Row:
    """One problem on one number of threads.

    timings: by contender, ours first.  ceiling_gigaflops: of these threads, in the same rounds; None for
    integers.  is_right: our result against float64, element by element.  missing: peers that did not take
    part, and why.
    """

    problem: Problem
    threads: int
    kernel: Kernel
    timings: Mapping[str, Timing]
    ceiling_gigaflops: float | None
    is_right: bool
    missing: Mapping[str, str]

    @property
    def gigaflops(self) -> float:
        """Ours, of the median."""
        return self.timings[OURS].gigaflops(self.problem.flops)

    @property
    def ceiling_share(self) -> float | None:
        return None if self.ceiling_gigaflops is None else self.gigaflops / self.ceiling_gigaflops

    @property
    def speedups(self) -> dict[str, float]:
        """By peer: its median time over ours."""
        ours = self.timings[OURS].median_ns
        return {name: t.median_ns / ours for name, t in self.timings.items() if name != OURS}

    @property
    def extra_bytes(self) -> int:
        """Memory beside the three arrays, of all threads that can work at once."""
        return self.kernel.workspace_bytes * min(self.threads, max(self.kernel.grid_sizes))

    def to_json(self) -> dict[str, Any]:
        return {
            "problem": problem_text(self.problem),
            "threads": self.threads,
            "target": str(self.kernel.target),
            "configuration": self.kernel.configuration,
            "tunings": list(self.kernel.tuning_texts),
            "right": self.is_right,
            "flops": self.problem.flops,
            "timings": {name: timing.to_json() for name, timing in self.timings.items()},
            "gigaflops": self.gigaflops,
            "ceiling_gigaflops": self.ceiling_gigaflops,
            "ceiling_share": self.ceiling_share,
            "speedups": self.speedups,
            "missing": dict(self.missing),
            "operand_bytes": self.problem.bytes,
            "workspace_bytes_per_thread": self.kernel.workspace_bytes,
            "extra_bytes": self.extra_bytes,
        }


def measured(
    problem: Problem,
    peers: Sequence[Peer],
    threads: int,
    *,
    budget_s: float = 0.3,
    tuning: str | None = None,
    config: str | None = None,
    target: Target = CPU,
) -> Row:
    """One row: checked, then timed in turn with every peer that can compute the problem."""
    kernel = compile(problem, target, tuning, threads=threads, config=config)
    outcome = kernel.check(threads=threads)
    arrays = random_operands(problem, 1, "float").arrays
    calls: dict[str, Call] = {}
    missing: dict[str, str] = {}
    for peer in peers:
        peer.set_threads(threads)
        call = peer.call(problem, {role: array.copy() for role, array in arrays.items()})
        if call is None:
            missing[peer.name] = "has no way to compute it"
        elif refusal := _refusal(call):
            missing[peer.name] = refusal
        else:
            calls[peer.name] = call
    probe = ceiling(problem.dtype, threads) if target == CPU else None
    flops = [0]
    if probe is not None:
        calls["ceiling"] = lambda: flops.__setitem__(0, probe.run())
    with kernel.loaded.resident(*(arrays[o.role] for o in problem.operands), threads=threads) as ours:
        timings = contest({OURS: ours, **calls}, budget_s=budget_s, threads=threads)
    highest = timings.pop("ceiling", None)
    limit = flops[0] / highest.min_ns if highest is not None else None
    return Row(problem, threads, kernel, timings, limit, outcome.is_right, missing)


def report(rows: Iterable[Row], peers: Sequence[Peer]) -> dict[str, Any]:
    """All rows, what they come to, and where and when it was."""
    found = list(rows)
    versions = {peer.name: peer.version for peer in peers}
    return {
        "machine": host_machine().to_json(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "peers": versions,
        "summary": summary(found),
        "rows": [row.to_json() for row in found],
    }


def summary(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """For each number of threads: geometric means of the speed-ups and of the share of the ceiling."""
    told: list[dict[str, Any]] = []
    for threads in sorted({row.threads for row in rows}):
        group = [row for row in rows if row.threads == threads]
        names = sorted({name for row in group for name in row.speedups})
        shares = [row.ceiling_share for row in group if row.ceiling_share is not None]
        speedups = {n: geometric_mean(r.speedups[n] for r in group if n in r.speedups) for n in names}
        told.append(
            {
                "threads": threads,
                "rows": len(group),
                "right": sum(row.is_right for row in group),
                "speedups": speedups,
                "ceiling_share": geometric_mean(shares) if shares else None,
                "most_extra_bytes": max(row.extra_bytes for row in group),
            }
        )
    return told


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean of positive numbers, of which there is at least one."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def _refusal(call: Call) -> str | None:
    """A peer may lack a type or a form, and says so at the first call; None where it does not."""
    try:
        call()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        return first_line(error)
    return None
