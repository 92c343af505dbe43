"""The algorithm that a caller names: one of the table, of the problem and of the target, or a Diagnostic."""

from __future__ import annotations

from typing import Final

from imbrex.chip import gpus
from imbrex.config.algorithm.table import ALGORITHMS, Algorithm, Kind, row_of, rows_for
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.kernel.target import Target
from imbrex.problem import Conv2d, Problem

__all__ = ["expected_algorithm", "kind_of"]

BY_COPIES: Final = {
    "nothing": "reads in place",
    "what is read": "packs what it reads",
    "what is read, and the result": "packs the result, too",
}


def expected_algorithm(problem: Problem, target: Target, wanted: str | None) -> str | None:
    """`wanted`; a Diagnostic where the problem or the target has no such algorithm."""
    if wanted is None:
        return None
    row = row_of(wanted)
    if row is None or not row.takes(wanted):
        hint = did_you_mean(wanted, [row.name for row in ALGORITHMS]) or _there(problem, target)
        raise Diagnostic(f"unknown algorithm '{wanted}'", hint=hint)
    if kind_of(problem) not in row.of:
        raise _elsewhere(problem, row, wanted, target)
    if lacking := _lacking(row, target):
        reason, hint = lacking
        raise Diagnostic(f"algorithm '{wanted}' {reason}", hint=hint)
    if row.phases == "added" and problem.dtype.output != problem.dtype.accumulator:
        message = f"adds products in memory, where every sum would be rounded to {problem.dtype}"
        raise Diagnostic(f"algorithm '{wanted}' {message}", hint="v4r1 sums in registers")
    return wanted


def kind_of(problem: Problem) -> Kind:
    """What a problem computes."""
    return problem.direction if isinstance(problem, Conv2d) else "product"


def _lacking(row: Algorithm, target: Target) -> tuple[str, str] | None:
    """What the target lacks, and what to do."""
    leave_out = "or leave the algorithm out"
    match row.machine:
        case "any":
            return None
        case "warpgroups" if not target.is_of_nvidia:
            reason = f"is for warpgroups, and target '{target}' has none"
            return reason, f"name {' or '.join(gpus('NVIDIA'))}, {leave_out}"
        case "waves" if target.is_of_nvidia:
            reason = f"packs tiles for AMD's matrix instructions, '{target}' has tensor maps"
            return reason, "leave the algorithm out, and matrices are read where they are"
        case "CPU":
            reason = f"is of CPUs' vectors, and target '{target}' is a GPU"
            return None if target.chip is None else (reason, f"name a CPU, {leave_out}")
        case "GPU" if target.chip is None:
            return f"is for GPUs, and target '{target}' is none", f"name a GPU such as gfx942, {leave_out}"
        case _ if target.chip is None:
            reason = f"packs for matrix instructions, and target '{target}' has none"
            return reason, "name a GPU such as gfx942, or emulate"
        case _:
            return None


def _elsewhere(problem: Problem, row: Algorithm, wanted: str, target: Target) -> Diagnostic:
    """An algorithm of other problems."""
    if not isinstance(problem, Conv2d):
        of = row.of[0].replace("_", " ") if len(row.of) == 1 else "a convolution"
        return Diagnostic(f"algorithm '{wanted}' is one of {of}, this is a product")
    if row.of == ("product",):
        return Diagnostic(f"algorithm '{wanted}' is one of a product, this is a convolution")
    words = [kind.replace("_", " ") for kind in (*row.of, problem.direction)]
    message = f"algorithm '{wanted}' is one of {' and '.join(words[:-1])}, this is {words[-1]}"
    return Diagnostic(message, hint=_there(problem, target))


def _there(problem: Problem, target: Target) -> str:
    """What there is for a problem on a target, by what it does."""
    rows = [row for row in rows_for(kind_of(problem)) if _lacking(row, target) is None]
    if not isinstance(problem, Conv2d):
        return f"a product on {target} has {', '.join(row.spelled for row in rows)}"
    found: list[str] = []
    for copies, what in BY_COPIES.items():
        own = [row.spelled for row in rows if row.copies == copies]
        found += [f"{what}: {', '.join(own)}"] if own else []
    return f"{problem.direction.replace('_', ' ')} on {target} has, by what it does, {'; '.join(found)}"
