"""imbrex tune --calibrate: what the model of a target asks of this machine, measured, and what that gains."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

import click

from imbrex.cli.guard import INTERRUPTED
from imbrex.cli.table import print_table
from imbrex.cli.text import bytes_text, json_text
from imbrex.database import open_user
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Target
from imbrex.numeral import counted
from imbrex.tuner.calibrate import Calibrated, Judged, calibrate
from imbrex.tuner.outcome import Step

__all__ = ["INTERRUPTED", "calibrated"]

OTHERS: Final = ("PROBLEM", "--trials", "--devices", "--ray", "--report", "--layout", "--threads")
"""Other words, which say nothing here."""
BUDGET_S: Final = 300.0
FAR: Final = 1.1
"""The factor from which on a parameter that differs from its default is shown."""


def calibrated(target: Target, budget_s: float | None, jobs: int, form: str, others: Sequence[object]) -> int:
    """Calibrates, and shows what came of it.  others: values of OTHERS."""
    if said := next((name for name, value in zip(OTHERS, others, strict=True) if value), None):
        message = f"--calibrate measures problems of its own, and '{said}' is about those that are tuned"
        raise Diagnostic(message, hint="leave out one or the other")
    with open_user() as database:
        path = str(database.path)
    try:
        found = calibrate(target, budget_s or BUDGET_S, jobs, open_user, _progressed, _waiting)
    except KeyboardInterrupt:
        _line("")
        click.echo(f"parameters are what they were; times are kept in {path}, and the same command goes on")
        return INTERRUPTED
    _line("")
    if form == "json":
        click.echo(json_text(_document(found, path)))
    else:
        _print(found, path)
    return 0


def _progressed(problem: str, step: Step) -> None:
    _line(f"{problem}: {step.trials} of {counted(step.wanted, 'configuration')}")


def _waiting() -> None:
    _line("")
    click.echo("another tuning times on this device; they take turns", err=True)


def _line(text: str) -> None:
    """A line that changes, where somebody looks at it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()


def _print(found: Calibrated, path: str) -> None:
    print_table(("problem, left out of the fit", "defaults", "fitted"), map(_judged, found.judged))
    moved = [(p, value) for p, value in found.values if not 1 / FAR < value / p.default < FAR]
    rows = [(p.name, p.unit, f"{p.default:.4g}", f"{value:.4g}") for p, value in moved]
    print_table(("parameter", "unit", "default", "here"), rows)
    for name, reported, measured in found.sizes:
        against = "as reported" if reported == measured else f"{bytes_text(reported)} by default"
        click.echo(f"{name.removesuffix('_bytes').upper()}: {bytes_text(measured)}, {against}")
    click.echo("\n".join(_conclusion(found, path)))


def _judged(one: Judged) -> tuple[str, str, str]:
    return one.problem, f"{one.before:.1%}", f"{one.after:.1%}"


def _conclusion(found: Calibrated, path: str) -> Iterable[str]:
    yield (
        f"of {found.times} times: picks are {found.before:.1%} slower than the best by default, "
        f"{found.after:.1%} with parameters that were fitted to other problems"
    )
    if found.is_kept:
        yield f"kept in {path}: every later choice on this machine uses it"
    else:
        yield "not better than what there was, so nothing is changed"


def _document(found: Calibrated, path: str) -> dict[str, Any]:
    return {
        "database": path,
        "device": found.device,
        "is_kept": found.is_kept,
        "regret_before": found.before,
        "regret_after": found.after,
        "times": found.times,
        "problems": [{"problem": o.problem, "before": o.before, "after": o.after} for o in found.judged],
        "parameters": [
            {"name": p.name, "unit": p.unit, "default": p.default, "fitted": value}
            for p, value in found.values
        ],
        "caches": [{"name": n, "default": default, "measured": size} for n, default, size in found.sizes],
    }
