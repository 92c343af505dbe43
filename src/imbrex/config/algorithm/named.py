"""The algorithm that a caller names: a row of the table, of its problem and its machine, or a Diagnostic."""

from __future__ import annotations

from typing import Final

from imbrex.chip import CpuMachine, Machine, gpus
from imbrex.config.algorithm.table import ALGORITHMS, Algorithm, Kind, row_of, rows_for
from imbrex.config.algorithm.task import task_of
from imbrex.config.matrix_unit import multiplies
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.problem import Conv2d, Problem
from imbrex.view.conv.implicit_gemm import windows_are_apart

__all__ = ["expected_row"]

BY_COPIES: Final = {
    "nothing": "reads in place",
    "what is read": "packs what it reads",
    "what is read, and the result": "packs the result, too",
}


def expected_row(wanted: str, problem: Problem, machine: Machine) -> Algorithm:
    """The row of `wanted`; a Diagnostic where the problem or the machine has no such algorithm."""
    row = row_of(wanted)
    if row is None:
        hint = did_you_mean(wanted, [row.name for row in ALGORITHMS]) or _there(problem, machine)
        raise Diagnostic(f"unknown algorithm '{wanted}'", hint=hint)
    if not row.takes(wanted):
        raise Diagnostic(f"unknown algorithm '{wanted}'", hint=f"write '{row.spelled}'")
    if _kind(problem) not in row.of:
        raise _elsewhere(wanted, row, problem, machine)
    if lacking := _lacking(row, problem, machine):
        reason, hint = lacking
        raise Diagnostic(f"algorithm '{wanted}' {reason}", hint=hint)
    return row


def _kind(problem: Problem) -> Kind:
    """What a problem computes."""
    return problem.direction if isinstance(problem, Conv2d) else "product"


def _overlaps(problem: Problem) -> bool:
    """Has a pixel sums of several windows?"""
    return isinstance(problem, Conv2d) and not windows_are_apart(task_of(problem).conv)


def _lacking(row: Algorithm, problem: Problem, machine: Machine) -> tuple[str, str] | None:
    """What the machine lacks, or the type; and what to do."""
    leave_out = "or leave the algorithm out"
    is_cpu, dtype, name = isinstance(machine, CpuMachine), problem.dtype, _called(machine)
    match row.machine:
        case "any" if row.phases == "added" and dtype.output != dtype.accumulator and _overlaps(problem):
            reason = f"adds products of windows that overlap in memory, each sum rounded to {dtype}"
            return reason, "v4r1 sums in registers"
        case "any":
            return None
        case "CPU":
            reason = f"is of CPUs' vectors, and {name} is no CPU"
            return None if is_cpu else (reason, f"name a CPU, {leave_out}")
        case "GPU":
            reason = f"is for GPUs, and {name} is none"
            return (reason, f"name a GPU such as gfx942, {leave_out}") if is_cpu else None
        case "warpgroups" if not machine.has_warpgroups:
            reason = f"is for warpgroups, and {name} has none"
            return reason, f"name {' or '.join(gpus('NVIDIA'))}, {leave_out}"
        case "waves" if row.is_abreast and (is_cpu or machine.has_warpgroups):
            reason = f"is for matrix instructions of AMD's waves, and {name} has none"
            return reason, f"name {' or '.join(gpus('AMD'))}, {leave_out}"
        case "waves" if machine.has_warpgroups:
            reason = f"packs tiles for AMD's matrix instructions, {name} has tensor maps"
            return reason, "leave the algorithm out, and matrices are read where they are"
        case _ if is_cpu:
            reason = f"packs for matrix instructions, and {name} has none"
            return reason, "name a GPU such as gfx942, or emulate"
        case "matrix instructions" | "warpgroups" if not multiplies(machine, dtype):
            reason = f"packs for matrix instructions, and {name} has none that multiplies {dtype}"
            hint = f"leave the algorithm out, or name a GPU that multiplies {dtype}"
            return reason, f"{hint}, see 'imbrex explain mma'"
        case _:
            return None


def _called(machine: Machine) -> str:
    """A GPU by its name; a CPU's is that of its instructions, which nobody asked for."""
    return "a CPU" if isinstance(machine, CpuMachine) else machine.name


def _elsewhere(wanted: str, row: Algorithm, problem: Problem, machine: Machine) -> Diagnostic:
    """An algorithm of other problems."""
    if not isinstance(problem, Conv2d):
        of = row.of[0].replace("_", " ") if len(row.of) == 1 else "a convolution"
        return Diagnostic(f"algorithm '{wanted}' is one of {of}, this is a product")
    if row.of == ("product",):
        return Diagnostic(f"algorithm '{wanted}' is one of a product, this is a convolution")
    words = [kind.replace("_", " ") for kind in (*row.of, problem.direction)]
    message = f"algorithm '{wanted}' is one of {' and '.join(words[:-1])}, this is {words[-1]}"
    return Diagnostic(message, hint=_there(problem, machine))


def _there(problem: Problem, machine: Machine) -> str:
    """What there is for a problem on a machine, by what it does."""
    rows, name = rows_for(_kind(problem)), _called(machine)
    rows = [row for row in rows if _lacking(row, problem, machine) is None]
    if not isinstance(problem, Conv2d):
        return f"a product on {name} has {', '.join(row.spelled for row in rows)}"
    found: list[str] = []
    for copies, what in BY_COPIES.items():
        own = [row.spelled for row in rows if row.copies == copies]
        found += [f"{what}: {', '.join(own)}"] if own else []
    return f"{problem.direction.replace('_', ' ')} on {name} has, by what it does, {'; '.join(found)}"
