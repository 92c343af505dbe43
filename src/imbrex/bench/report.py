"""Report: what a benchmark found, row by row, with what the rows come to, as JSON beside the machine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from imbrex.bench.apart import Apart, Contender
from imbrex.bench.ceiling import Peak, ceiling
from imbrex.bench.contender import CALL, CEILING, COPY, OURS, CeilingProbe, Copy, Ours, Rival
from imbrex.bench.peer import Peer
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import CPU, Kernel, Target, compile
from imbrex.problem import Gemm, Problem, problem_text
from imbrex.run.host_machine import host_machine
from imbrex.run.isolated import Failed
from imbrex.run.time import Timing

__all__ = ["Row", "geometric_mean", "measured", "report"]

MOSTLY: Final = 0.5
"""Share of a call's time above which its own cost bounds it."""


@dataclass(frozen=True)
class Row:
    """One problem on one number of threads.

    timings: by contender, ours first.  ceiling: of these threads by the unit of the type, in the same rounds;
    copy_ns: of a copy that moves as many bytes as the arrays have, likewise; call_ns: of a call of a product
    of single numbers; all None where it is no CPU's.
    is_right: our result against float64, element by element.  missing: who did not take part, and why.
    times: how often the problem is asked for.
    """

    problem: Problem
    threads: int
    kernel: Kernel
    timings: Mapping[str, Timing]
    ceiling: Peak | None
    copy_ns: float | None
    call_ns: float | None
    is_right: bool
    missing: Mapping[str, str]
    times: int = 1

    @property
    def gigaflops(self) -> float:
        """Ours, of the median."""
        return self.timings[OURS].gigaflops(self.problem.flops)

    @property
    def ceiling_share(self) -> float | None:
        return None if self.ceiling is None else self.gigaflops / self.ceiling.gigaflops

    @property
    def copy_share(self) -> float | None:
        return None if self.copy_ns is None else self.copy_ns / self.timings[OURS].median_ns

    @property
    def call_share(self) -> float | None:
        """How much of the time a call takes that computes next to nothing."""
        return None if self.call_ns is None else min(1.0, self.call_ns / self.timings[OURS].median_ns)

    @property
    def is_bound_by_call(self) -> bool:
        return self.call_share is not None and self.call_share > MOSTLY

    @property
    def is_bound_by_memory(self) -> bool:
        """Does the copy take longer than the arithmetic at the ceiling, and is it not mostly a call?"""
        if self.is_bound_by_call:
            return False
        shares = self.ceiling_share, self.copy_share
        return shares[0] is not None and shares[1] is not None and shares[1] > shares[0]

    @property
    def speedups(self) -> dict[str, float]:
        """A peer's median time over ours, by peer."""
        ours = self.timings[OURS].median_ns
        return {name: t.median_ns / ours for name, t in self.timings.items() if name != OURS}

    @property
    def extra_bytes(self) -> int:
        """Memory beside the three arrays, of all threads that can work at once."""
        return self.kernel.workspace_bytes * min(self.threads, max(self.kernel.grid_sizes))

    def to_json(self) -> dict[str, Any]:
        return {
            "problem": problem_text(self.problem),
            "times": self.times,
            "threads": self.threads,
            "target": str(self.kernel.target),
            "configuration": self.kernel.configuration,
            "tunings": list(self.kernel.tuning_texts),
            "right": self.is_right,
            "flops": self.problem.flops,
            "timings": {name: timing.to_json() for name, timing in self.timings.items()},
            "gigaflops": self.gigaflops,
            "unit": self.ceiling and self.ceiling.unit,
            "ceiling_gigaflops": self.ceiling and self.ceiling.gigaflops,
            "ceiling_share": self.ceiling_share,
            "copy_ns": self.copy_ns,
            "copy_share": self.copy_share,
            "call_ns": self.call_ns,
            "call_share": self.call_share,
            "is_bound_by_memory": self.is_bound_by_memory,
            "is_bound_by_call": self.is_bound_by_call,
            "speedups": self.speedups,
            "missing": dict(self.missing),
            "operand_bytes": self.problem.bytes,
            "workspace_bytes_per_thread": self.kernel.workspace_bytes,
            "extra_bytes": self.extra_bytes,
        }


def measured(
    kernel: Kernel,
    peers: Sequence[Peer],
    threads: int,
    apart: Apart,
    *,
    budget_s: float = 0.3,
    times: int = 1,
) -> Row:
    """One row: checked, then timed in turn with every peer that can compute the problem."""
    problem, target = kernel.problem, kernel.target
    outcome = kernel.check(threads=threads)
    contenders = {
        OURS: Ours(kernel, threads),
        **{peer.name: Rival(peer.name, problem, threads) for peer in peers},
        **(_of_machine(problem, threads, target) if target == CPU else {}),
    }
    answers = apart.timed(contenders, budget_s=budget_s)
    missing = {name: _failure_text(answer) for name, answer in answers.items() if isinstance(answer, Failed)}
    if OURS in missing:
        raise Diagnostic(f"the kernel cannot be timed: {missing[OURS]}")
    found = {name: answer for name, answer in answers.items() if isinstance(answer, Timing)}
    probed, copied, called = (found.pop(name, None) for name in (CEILING, COPY, CALL))
    peak = None
    if probed is not None:
        known = ceiling(problem.dtype, threads)
        peak = Peak(known.unit, known.flops / probed.min_ns)
    timings = {name: found[name] for name in contenders if name in found}
    copy_ns, call_ns = copied and copied.min_ns, called and called.median_ns
    return Row(problem, threads, kernel, timings, peak, copy_ns, call_ns, outcome.is_right, missing, times)


def _of_machine(problem: Problem, threads: int, target: Target) -> dict[str, Contender]:
    """Whom a row on this CPU is held against, beside peers."""
    least = compile(Gemm(1, 1, 1, dtype=problem.dtype), target, threads=threads)
    return {
        CEILING: CeilingProbe(problem.dtype, threads),
        COPY: Copy(problem.bytes, threads),
        CALL: Ours(least, threads),
    }


def _failure_text(failed: Failed) -> str:
    """What a contender said when it refused."""
    return (failed.message.splitlines() or [failed.kind])[0]


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
    """Geometric means for each number of threads of the speed-ups, of the share of the ceiling and, where
    memory bounds, of a copy; rows that are mostly a call are in neither share.  And the time of all calls, as
    often as each is asked for.
    """
    sections: list[dict[str, Any]] = []
    for threads in sorted({row.threads for row in rows}):
        group = [row for row in rows if row.threads == threads]
        names = sorted({name for row in group for name in row.speedups})
        worked = [row for row in group if not row.is_bound_by_call]
        shares = [r.ceiling_share for r in worked if r.ceiling_share and not r.is_bound_by_memory]
        copies = [r.copy_share for r in worked if r.copy_share and r.is_bound_by_memory]
        speedups = {n: geometric_mean(r.speedups[n] for r in group if n in r.speedups) for n in names}
        sections.append(
            {
                "threads": threads,
                "rows": len(group),
                "bound_by_call": len(group) - len(worked),
                "right": sum(row.is_right for row in group),
                "calls": sum(row.times for row in group),
                "calls_ns": sum(row.times * row.timings[OURS].median_ns for row in group),
                "speedups": speedups,
                "ceiling_share": geometric_mean(shares) if shares else None,
                "copy_share": geometric_mean(copies) if copies else None,
                "ceilings": {r.ceiling.unit: r.ceiling.gigaflops for r in group if r.ceiling is not None},
                "most_extra_bytes": max(row.extra_bytes for row in group),
            }
        )
    return sections


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean of positive numbers, of which there is at least one."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))
