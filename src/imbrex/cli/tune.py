"""imbrex tune: the fastest verified configuration of each problem, found by measuring, and kept."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from imbrex.cli.calibrate import INTERRUPTED, calibrated
from imbrex.cli.guard import FAILED
from imbrex.cli.options import Choices, emulate_option, format_option, keep_going_option, target_option
from imbrex.cli.report_file import file_path
from imbrex.cli.skipped import Skipped
from imbrex.cli.source import ProblemEntry, problems_of, weighted
from imbrex.cli.table import print_table
from imbrex.cli.text import json_text, seconds_text
from imbrex.database import Unit, open_user
from imbrex.diagnostic import Diagnostic
from imbrex.kernel.constraints import Constraints
from imbrex.kernel.tuned import EFFORTS, Effort
from imbrex.kernel.warm import builders_of
from imbrex.numeral import MOST, counted, whole
from imbrex.problem import Problem, problem_text
from imbrex.run.cpu import MOST_THREADS, thread_count
from imbrex.tuner.campaign import Plan, Refused, Tuner
from imbrex.tuner.cluster import hosts_at
from imbrex.tuner.outcome import Step, Tuned
from imbrex.tuner.report import page
from imbrex.whole_file import write_text

__all__ = ["command"]

UNITS: Final = {"s": 1, "m": 60, "h": 3600}
COLUMNS: Final = ("problem", "times", "pick", "best", "gain", "trials", "configuration")
REDRAW_S: Final = 0.2


def _budget(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Seconds: 90, 90s, 10m, 1.5h."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", value)
    seconds = float(found[1]) * UNITS[found[2] or "s"] if found else 0.0
    if not 0 < seconds < MOST:
        raise click.BadParameter(f"'{value}' is no time to spend; write 90s, 10m or 1.5h", ctx, param)
    return seconds


def _devices(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...]:
    if value is None:
        return ()
    numbers = [whole(word, 0, 1 << 10) for word in value.split(",")]
    found = tuple(number for number in numbers if number is not None)
    if len(found) != len(numbers) or len(set(found)) != len(found):
        raise click.BadParameter(f"'{value}' is no list of GPUs, such as 0,1", ctx, param)
    return found


@click.command("tune", short_help="find the fastest configuration of problems, by measuring")
@click.argument("sources", nargs=-1, metavar="PROBLEM...")
@target_option
@emulate_option
@click.option("--budget", callback=_budget, metavar="TIME", help="Time for everything: 90s, 10m, 1.5h.")
@click.option("--trials", type=click.IntRange(1, MOST), metavar="N", help="Configurations of each problem.")
@click.option(
    "--effort",
    type=click.Choice(EFFORTS),
    default="normal",
    help="8 configurations of each problem, 50 (default), or all candidates.",
)
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Processes that compile.")
@click.option("--threads", type=click.IntRange(1, MOST_THREADS), metavar="N", help="Threads of CPU kernels.")
@click.option(
    "--devices", callback=_devices, metavar="LIST", help="GPUs by number, such as 0,1; 0 by default."
)
@click.option(
    "--ray", metavar="ADDRESS", help="Build and time on a Ray cluster's nodes: auto, local, HOST:PORT."
)
@click.option("--layout", metavar="ORDER", help="Order of the images' dimensions, such as NHWC.")
@keep_going_option
@click.option("--report", type=file_path, metavar="FILE", help="A page with pictures of each problem.")
@click.option(
    "--calibrate", is_flag=True, help="Instead: fit the model's parameters to this machine, in 5 minutes."
)
@format_option
def command(
    sources: tuple[str, ...],
    target: str | None,
    emulate: Any,
    budget: float | None,
    trials: int | None,
    effort: Effort,
    jobs: int | None,
    threads: int | None,
    devices: tuple[int, ...],
    ray: str | None,
    layout: str | None,
    skipped: Skipped,
    report: Path | None,
    calibrate: bool,
    form: str,
) -> int:
    """Measure configurations of each problem on this machine, and keep the fastest one, which every later
    call uses.  The model's pick is tried first, and stays unless another one is proven faster.

    Trials are kept as they are made: after Ctrl-C, or when time is up, the same command goes on from there.
    """
    chosen = Choices(target, emulate, thread_count(threads), layout, Constraints())
    wanted = chosen.target
    if calibrate:
        others = (sources, trials, devices, ray, report, layout, threads)
        return calibrated(wanted, budget, jobs or builders_of(wanted), form, others)
    if not sources:
        raise click.UsageError("Missing argument 'PROBLEM...'.")
    entries = problems_of(sources, layout, {wanted.chip}, skipped)
    found = _expect_some(weighted(entries))
    plan = Plan(found, wanted, chosen.threads, effort, trials, budget, devices, jobs or builders_of(wanted))
    shown = Shown(plan, sys.stderr.isatty(), skipped, _locations(entries))
    with open_user() as database:
        path = str(database.path)
    is_interrupted = _interrupted(plan, shown, ray, jobs)
    shown.show(form, path)
    if report is not None:
        write_text(page(shown.outcomes), report)
    if is_interrupted:
        return INTERRUPTED
    refused = any(isinstance(one, Refused) for one, _ in shown.outcomes)
    return FAILED if refused and not skipped.keeps_going else 0


def _locations(entries: Sequence[ProblemEntry]) -> dict[Problem, str]:
    """Where each problem stands first."""
    return {entry.problem: entry.location for entry in reversed(entries)}


def _expect_some(found: dict[Problem, int]) -> dict[Problem, int]:
    if not found:
        raise Diagnostic("there is no problem to tune")
    return found


def _interrupted(plan: Plan, shown: Shown, ray: str | None, jobs: int | None) -> bool:
    """Tunes; did the user end it?"""
    try:
        with hosts_at(ray, plan, jobs) as hosts:
            Tuner(plan, open_user, shown.progressed, shown.finished, shown.waiting, hosts).run()
    except KeyboardInterrupt:
        return True
    finally:
        shown.end()
    return False


@dataclass
class Shown:
    """What a user sees: a line that changes, and a table at the end."""

    plan: Plan
    is_watched: bool
    skipped: Skipped
    locations: Mapping[Problem, str]
    outcomes: list[tuple[Tuned | Refused, int]] = field(default_factory=list[tuple[Tuned | Refused, int]])
    started: float = field(default_factory=time.monotonic)
    trials: int = 0
    has_waited: bool = False
    _drawn: float = 0.0

    def progressed(self, unit: Unit, weight: int, step: Step) -> None:
        """One step of a session."""
        if not self.is_watched or time.monotonic() - self._drawn < REDRAW_S:
            return
        self._drawn = time.monotonic()
        done, every = len(self.outcomes), len(self.plan.problems)
        rate = (self.trials + step.trials) / max(1e-9, self._drawn - self.started)
        gain = f", {step.pick_ns / step.best_ns:.2f}x the pick" if step.best_ns and step.pick_ns else ""
        best = "" if step.best_ns is None else f"best {seconds_text(step.best_ns / 1e9)}{gain}; "
        left = self._left(step, rate)
        where = f"{done}/{every} {unit.problem}: {step.trials}/{step.wanted} {step.doing}"
        line = f"{where}; {best}{rate:.1f}/s{left}"
        sys.stderr.write(f"\r\x1b[2K{line[: _width()]}")
        sys.stderr.flush()

    def _left(self, step: Step, rate: float) -> str:
        if self.plan.budget_s is not None:
            left = self.plan.budget_s - (time.monotonic() - self.started)
            return f"; {seconds_text(max(0.0, left))} left"
        others = len(self.plan.problems) - len(self.outcomes) - 1
        trials = step.wanted - step.trials + others * step.wanted
        return f"; about {seconds_text(trials / rate)} left" if rate and step.trials else ""

    def finished(self, outcome: Tuned | Refused, weight: int) -> None:
        """One problem is done."""
        self.outcomes.append((outcome, weight))
        self.end()
        if isinstance(outcome, Refused):
            said = self.skipped if self.skipped.keeps_going else Skipped()
            location = self.locations.get(outcome.problem, "")
            said.add(problem_text(outcome.problem), outcome.reason.message, location, weight)
            if said is not self.skipped:
                said.show(on_errors=True)
            return
        self.trials += sum(outcome.counts.values())
        if self.is_watched:
            click.echo(f"{outcome.unit.problem}: {outcome.gain:.2f}x the pick", err=True)

    def waiting(self) -> None:
        """Another tuning times on the device."""
        if not self.has_waited:
            self.has_waited = True
            self.end()
            click.echo("another tuning times on this device; they take turns", err=True)

    def end(self) -> None:
        """Takes the line away."""
        if self.is_watched:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()

    def show(self, form: str, path: str) -> None:
        """All that came of it, as plain JSON or as a table."""
        if form == "json":
            click.echo(json_text(self.document(path)))
        else:
            self.summary(path)

    def summary(self, path: str) -> None:
        """The table, and what else there is to say."""
        tuned = [(one, weight) for one, weight in self.outcomes if isinstance(one, Tuned)]
        if tuned:
            print_table(COLUMNS, [_row(one, weight) for one, weight in tuned])
        fresh = sum(one.fresh for one, _ in tuned)
        refused = _counts(tuned)
        seconds = time.monotonic() - self.started
        made = f"{counted(fresh, 'trial')} in {seconds_text(seconds)}"
        sentences = [f"{made}, kept in {path}"]
        if tuned and not fresh and all(one.is_done for one, _ in tuned):
            sentences = [f"nothing to do: all that was asked for was measured before, in {path}"]
        if refused:
            why = ", ".join(f"{count} {status}" for status, count in refused.items())
            sentences.append(f"{sum(refused.values())} rejected: {why}")
        names = {one.unit.device.key: one.unit.device.name for one, _ in tuned}
        if len(names) > 1:
            sentences.append(
                f"timed on devices that differ, each problem on one: {', '.join(names.values())}"
            )
        left = len(self.plan.problems) - len(self.outcomes)
        begun = f"{left} of {counted(len(self.plan.problems), 'problem')} not begun"
        sentences += [f"{begun}; the same command goes on with them"] * (left > 0)
        sentences += [f"skipped {line}" for line in self.skipped.lines]
        click.echo("\n".join(sentences))

    def document(self, path: str) -> dict[str, Any]:
        """The same as plain JSON."""
        return {
            "database": path,
            "seconds": time.monotonic() - self.started,
            "skipped": self.skipped.lines,
            "results": [
                {"problem": problem_text(one.problem), "refused": one.reason.message}
                if isinstance(one, Refused)
                else _json(one, weight)
                for one, weight in self.outcomes
            ],
        }


def _row(one: Tuned, weight: int) -> tuple[str, ...]:
    times = [seconds_text(ns / 1e9) if ns else "" for ns in (one.pick_ns, one.winner_ns)]
    stays = "the model's pick stays" if one.is_judged else "not judged yet; the same command goes on"
    what = one.winner if one.winner != one.pick else stays
    return one.unit.problem, str(weight), *times, f"{one.gain:.2f}x", str(sum(one.counts.values())), what


def _json(one: Tuned, weight: int) -> dict[str, Any]:
    return {
        "problem": one.unit.problem,
        "device": one.unit.device.name,
        "times": weight,
        "pick": one.pick,
        "winner": one.winner,
        "gain": one.gain,
        "gain_low": one.low,
        "gain_high": one.high,
        "pick_ns": one.pick_ns,
        "winner_ns": one.winner_ns,
        "trials": one.counts,
        "fresh_trials": one.fresh,
        "candidates": len(one.found.ranked),
        "seconds": one.seconds,
        "compile_seconds": one.build_s,
        "is_done": one.is_done,
        "is_judged": one.is_judged,
    }


def _counts(tuned: list[tuple[Tuned, int]]) -> dict[str, int]:
    """Trials that gave no time, by what went wrong."""
    found: dict[str, int] = {}
    for one, _ in tuned:
        for status, count in one.counts.items():
            if status != "ok":
                found[status] = found.get(status, 0) + count
    return found


def _width() -> int:
    import shutil

    return shutil.get_terminal_size().columns - 1
