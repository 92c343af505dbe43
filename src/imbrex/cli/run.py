"""imbrex run: compile, run, verify and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from imbrex.cli.guard import FAILED
from imbrex.cli.options import Choices, choices, format_option, keep_going_option, sources
from imbrex.cli.options import seconds as in_seconds
from imbrex.cli.progress import progress
from imbrex.cli.skipped import Skipped
from imbrex.cli.source import ProblemEntry
from imbrex.cli.text import bytes_text, facts, flops_text, json_text, seconds_text
from imbrex.cli.useful import useful_rows
from imbrex.kernel import Kernel
from imbrex.numeral import MOST, counted
from imbrex.problem import Gemm, problem_text
from imbrex.run.host_machine import host_machine
from imbrex.run.time import Timing, measure
from imbrex.verify.verdict import Verdict

if TYPE_CHECKING:
    from imbrex.bench.ceiling import Peak
    from imbrex.verify.data import Values

__all__ = ["command"]


@dataclass(frozen=True)
class Outcome:
    """What came of one problem, or of one size of one.  timing: None where the result was wrong, or nobody
    asked.  sizes: of a run-time size, what came of each that was tried.
    """

    entry: ProblemEntry
    kernel: Kernel
    verdict: Verdict
    timing: Timing | None
    peak: Peak | None
    sizes: tuple[Outcome, ...] = ()


@click.command("run", short_help="compile, run, verify and time problems")
@sources
@choices
@format_option
@keep_going_option
@click.option("--seed", type=click.IntRange(min=0, max=MOST), default=0, help="Seed of the random operands.")
@click.option(
    "--values",
    type=click.Choice(["integer", "float", "probe"]),
    help="What the operands hold; each kind in turn by default.",
)
@click.option(
    "--seconds", type=float, callback=in_seconds, default=0.12, help="Time spent on timing; 0 for none."
)
def command(
    chosen: Choices,
    sources: tuple[str, ...],
    form: str,
    skipped: Skipped,
    seed: int,
    values: Values | None,
    seconds: float,
) -> int:
    """Compile each problem, run it on random operands, compare the result with a float64 reference element
    by element, and time it.  Exit code 1 when a result is wrong.  A problem of a run-time size, `-m ?`, is
    run with several: the ends of its range and of its tunings', an odd one, a tile's edge.
    """
    outcomes: list[Outcome] = []
    for entry in chosen.problems(sources, skipped):
        with entry.unless_served(skipped):
            outcomes.append(_ran(chosen, entry, seed, values, seconds))
            if form == "table":
                click.echo(_text(outcomes[-1]))
    if form == "json":
        results = [_json(outcome) for outcome in outcomes]
        document = {"machine": host_machine().to_json(), "results": results, "skipped": skipped.lines}
        click.echo(json_text(document))
    else:
        skipped.show()
    is_right = all(outcome.verdict.is_right for outcome in outcomes)
    return skipped.code(len(outcomes)) if is_right else FAILED


def _ran(chosen: Choices, entry: ProblemEntry, seed: int, values: Values | None, seconds: float) -> Outcome:
    kernel = chosen.kernel(entry)
    if kernel.problem.run_time is None:
        return _of_size(entry, kernel, seed, values, seconds)
    each = seconds / len(kernel.sizes)
    sizes = tuple(_of_size(entry, kernel.at(size), seed, values, each) for size in kernel.sizes)
    verdict = Verdict(tuple(one for outcome in sizes for one in outcome.verdict.passes))
    return Outcome(entry, kernel, verdict, None, None, sizes)


def _of_size(
    entry: ProblemEntry, kernel: Kernel, seed: int, values: Values | None, seconds: float
) -> Outcome:
    line = problem_text(kernel.problem)
    with progress(f"checking {line}"):
        verdict = kernel.check(seed, values=values)
    if not verdict.is_right or seconds <= 0 or kernel.target.is_emulated:
        return Outcome(entry, kernel, verdict, None, None)
    with progress(f"timing {line}"):
        before, timing, after = _peak(kernel), _timed(kernel, seed, seconds), _peak(kernel)
    return Outcome(entry, kernel, verdict, timing, max(before, after, key=_gigaflops))


def _gigaflops(peak: Peak | None) -> float:
    return peak.gigaflops if peak else 0.0


def _timed(kernel: Kernel, seed: int, seconds: float) -> Timing:
    from imbrex.verify.data import random_operands

    operands = random_operands(kernel.problem, seed, "float").arrays
    arrays = [operands[o.role] for o in kernel.problem.operands]
    if kernel.target.is_cuda:
        from imbrex.run.cuda.kernel import CudaKernel
        from imbrex.run.cuda.time import measure_on_gpu

        assert isinstance(kernel.loaded, CudaKernel)
        return measure_on_gpu(kernel.loaded, *arrays, budget_s=seconds, warmup_s=seconds / 4)
    with kernel.loaded.resident(*arrays, threads=kernel.threads) as call:
        return measure(call, budget_s=seconds, warmup_s=seconds / 4)


def _peak(kernel: Kernel) -> Peak | None:
    """Ceiling of a CPU's unit; measured before and after what is timed, for other work comes and goes."""
    if kernel.target.kind != "cpu":
        return None
    from imbrex.bench.ceiling import ceiling

    return ceiling(kernel.problem.dtype, kernel.threads).peak()


def _text(outcome: Outcome) -> str:
    kernel, problem = outcome.kernel, outcome.kernel.problem
    state = "from the cache" if kernel.was_cached else f"compiled in {seconds_text(kernel.compile_s)}"
    rows = [("kernel", f"{kernel.name}, target {kernel.target}, {state}")]
    rows += [("asked for", f"{outcome.entry.count} times")] if outcome.entry.count > 1 else []
    rows += [("algorithm", kernel.algorithm)] if kernel.algorithm else []
    rows += [("tuning", text) for text in dict.fromkeys(kernel.tuning_texts)]
    rows += [("config", kernel.configuration), ("chosen", str(kernel.choice)), *useful_rows(kernel)]
    rows += [(_size_text(one), _size_outcome(one)) for one in outcome.sizes]
    rows += [] if outcome.sizes else [("check", _verdict(outcome.verdict))]
    if outcome.sizes:
        rows += _left_out(kernel)
    elif outcome.timing is not None:
        rows += [
            ("time", _time_text(outcome.timing, kernel)),
            ("speed", _speed_text(outcome, outcome.timing)),
        ]
    elif kernel.target.is_emulated:
        rows.append(("time", "emulated, not timed"))
    per = " a thread" if kernel.target.is_native else ""
    extra = f"{bytes_text(kernel.workspace_bytes)}{per}, beside {bytes_text(problem.bytes)} of operands"
    rows += [("extra memory", extra), ("source", _source_text(kernel))]
    if outcome.entry.ignored:
        rows.append(("ignored", " ".join(outcome.entry.ignored)))
    return facts(problem_text(problem), rows)


def _size_text(outcome: Outcome) -> str:
    """`m = 7`."""
    problem = outcome.kernel.problem
    return f"m = {problem.m}" if isinstance(problem, Gemm) else f"n = {problem.n}"


def _size_outcome(outcome: Outcome) -> str:
    if outcome.timing is None:
        return _verdict(outcome.verdict)
    median, speed = seconds_text(outcome.timing.median_ns / 1e9), _speed_text(outcome, outcome.timing)
    return f"{_verdict(outcome.verdict)}; {median}, {speed}"


def _left_out(kernel: Kernel) -> list[tuple[str, str]]:
    """Sizes that nobody would wait for."""
    from imbrex.kernel.sizes import left_out

    sizes = left_out(kernel.problem, kernel.configuration)
    return [("not checked", f"{', '.join(map(str, sizes))}: the reference would take long")] if sizes else []


def _source_text(kernel: Kernel) -> str:
    if kernel.is_kept:
        return str(kernel.directory / f"{kernel.name}.hpp")
    return "not kept, for no cache took it; 'imbrex build -o FOLDER' writes it"


def _verdict(verdict: Verdict) -> str:
    ratio = verdict.max_error_ratio if verdict.is_right and len(verdict.passes) > 1 else 0.0
    text = f"{verdict}; largest error {ratio:.2g} of its bound" if ratio else str(verdict)
    return click.style(text, fg="green" if verdict.is_right else "red")


def _time_text(timing: Timing, kernel: Kernel) -> str:
    median, deviation = seconds_text(timing.median_ns / 1e9), seconds_text(timing.mad_ns / 1e9)
    threads = counted(kernel.threads, "thread")
    where = threads if kernel.target.is_native else f"a {kernel.target}"
    return f"{median} (median of {len(timing.samples_ns)}, deviation {deviation}) on {where}"


def _speed_text(outcome: Outcome, timing: Timing) -> str:
    flops = outcome.kernel.problem.flops
    speed = f"{timing.gigaflops(flops):.1f} GFLOP/s for {flops_text(flops)}"
    if outcome.peak is None:
        return speed
    unit, most = outcome.peak
    share = timing.gigaflops(flops) / most
    return f"{speed}, {share:.0%} of this machine's {unit.upper()} peak ({most:.1f})"


def _json(outcome: Outcome) -> dict[str, Any]:
    kernel, timing = outcome.kernel, outcome.timing
    speed = None if timing is None else timing.gigaflops(kernel.problem.flops)
    return {
        "problem": problem_text(kernel.problem),
        "times": outcome.entry.count,
        "name": kernel.name,
        "target": kernel.target.kind,
        "chip": kernel.target.chip,
        "threads": kernel.threads,
        "algorithm": kernel.algorithm,
        "configuration": kernel.configuration,
        "choice": kernel.choice.to_json(),
        "tunings": list(kernel.tuning_texts),
        "was_cached": kernel.was_cached,
        "compile_s": kernel.compile_s,
        "check": _check_json(outcome.verdict),
        "time": None if timing is None else timing.to_json(),
        "flops": kernel.problem.flops,
        "gigaflops": speed,
        "unit": outcome.peak and outcome.peak.unit,
        "ceiling_gigaflops": outcome.peak and outcome.peak.gigaflops,
        "workspace_bytes_per_thread": kernel.workspace_bytes,
        "operand_bytes": kernel.problem.bytes,
        "sources": str(kernel.directory) if kernel.is_kept else None,
        "ignored": list(outcome.entry.ignored),
        **({"sizes": [_json(one) for one in outcome.sizes]} if outcome.sizes else {}),
    }


def _check_json(verdict: Verdict) -> dict[str, Any]:
    """JSON of all passes together, then of each."""
    passes = [
        {"values": one.values, "right": one.is_right, "exact": one.comparison and one.comparison.is_exact}
        | {"max_error_ratio": one.comparison and one.comparison.max_error_ratio, "fault": one.fault}
        for one in verdict.passes
    ]
    return {
        "right": verdict.is_right,
        "elements": verdict.elements,
        "wrong": verdict.wrong,
        "unwritten": verdict.unwritten,
        "exact": verdict.is_exact,
        "max_error_ratio": verdict.max_error_ratio,
        "first": None if verdict.first is None else str(verdict.first),
        "failed": None if verdict.failed is None else verdict.failed.values,
        "fault": verdict.fault,
        "passes": passes,
    }
