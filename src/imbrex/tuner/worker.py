"""Worker: what processes of their own do for a tuning: build, check, and time, alone or in turn.

`answer` takes a task; a Diagnostic where its configuration cannot be built.
Law: nothing is timed before its result is right.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Final, assert_never

from imbrex.database import device_of
from imbrex.kernel import Kernel, compile
from imbrex.kernel.built import built as facts_of
from imbrex.problem import Problem, parse_problem
from imbrex.run.arrays import in_memory
from imbrex.run.host_machine import host_machine
from imbrex.tuner.stopwatch import Block, blocks, is_cold
from imbrex.tuner.task import (
    Build,
    Built,
    Contest,
    Contested,
    Here,
    Identify,
    Probe,
    Probed,
    Proof,
    Task,
    Work,
)
from imbrex.verify.compare import compare_results
from imbrex.verify.data import Operands, random_operands
from imbrex.verify.device.check import has_device
from imbrex.verify.device.guarded import checked
from imbrex.verify.reference import Reference, reference
from imbrex.verify.unit import unit_of
from imbrex.verify.verdict import Verdict

__all__ = ["answer", "wrong_on_gpu"]

FEW_SAMPLES: Final = 3
"""Samples after which a hopeless candidate is left."""
SAMPLES: Final = 10
MOST_LOOKED_AT: Final = 3


def answer(task: Task) -> Built | Probed | Contested | Here:
    """What a task asks for."""
    match task:
        case Build():
            return _built(task)
        case Probe():
            return _probed(task)
        case Proof():
            verdict = _kernel(task.work, task.configuration).check()
            return Probed(None if verdict.is_right else str(verdict))
        case Contest():
            return _contested(task)
        case Identify():
            return Here(device_of(task.target), host_machine(), is_cold(task.target))
        case _:
            assert_never(task)


def _built(task: Build) -> Built:
    """Compiles into the cache."""
    kernel = _kernel(task.work, task.configuration)
    compiler = str(facts_of(kernel.library)["compiler"])
    return Built(kernel.source_digest, compiler, kernel.compile_s or 0.0)


def _probed(task: Probe) -> Probed:
    """Checks a result of whole numbers, to the last bit where sums can be exact; then times."""
    kernel = _kernel(task.work, task.configuration)
    if wrong := _wrong(kernel):
        return Probed(wrong)
    timed = blocks([kernel])
    samples = _samples(timed, FEW_SAMPLES)
    if task.hopeless_ns is None or min(samples) <= task.hopeless_ns:
        samples += _samples(timed, SAMPLES - FEW_SAMPLES)
    timed.close()
    return Probed(None, tuple(samples))


def _samples(timed: Iterator[Block], count: int) -> list[float]:
    """So many that nobody disturbed; of MOST_LOOKED_AT times as many, where that is too few, the first."""
    found, calm = list[float](), list[float]()
    for (ns,), is_disturbed in islice(timed, MOST_LOOKED_AT * count):
        found.append(ns)
        calm += [] if is_disturbed else [ns]
        if len(calm) == count:
            return calm
    return [*calm, *found][:count]


def _contested(task: Contest) -> Contested:
    """Times kernels in turn."""
    kernels = [_kernel(task.work, text) for text in task.configurations]
    timed = blocks(kernels, task.blocks)
    found = list(islice(timed, task.blocks))
    timed.close()
    return Contested(tuple(times for times, _ in found), tuple(is_disturbed for _, is_disturbed in found))


def _kernel(work: Work, configuration: str) -> Kernel:
    """Compiled, or from the cache; kept, so that it is opened once."""
    if work.device is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(work.device)
    return _opened(work, configuration)


@lru_cache(maxsize=16)
def _opened(work: Work, configuration: str) -> Kernel:
    return compile(_problem(work.problem), work.target, threads=work.threads, config=configuration)


@lru_cache(maxsize=4)
def _problem(text: str) -> Problem:
    (found,) = parse_problem(text)
    return found


def _wrong(kernel: Kernel) -> str | None:
    """What is wrong with its result on whole numbers; None where it is right."""
    if not kernel.target.is_native:
        return wrong_on_gpu(kernel)
    operands, truth = _operands_and_reference(kernel.problem)
    fresh = random_operands(kernel.problem, 0, "integer").arrays
    kernel(*(fresh[o.role] for o in kernel.problem.operands))
    for operand in kernel.problem.operands:
        role = operand.role
        if not operand.is_written and not _is_same(fresh[role], operands.arrays[role]):
            return f"it writes into its input '{role}'"
    results = [fresh[o.role] for o in kernel.problem.operands if o.is_written]
    found = compare_results(kernel.problem, results, truth, operands)
    return None if found.is_right else str(found)


def wrong_on_gpu(kernel: Kernel) -> str | None:
    """What is wrong with its result on whole numbers on a GPU, by what the GPU computes in float64 where it
    can: NumPy would take longer than all else of a trial.
    """
    if kernel.target.is_cuda and has_device():
        unit = unit_of(kernel.target.chip, kernel.problem.dtype)
        found = Verdict((checked(kernel.problem, kernel, 0, "integer", unit),))
    else:
        found = kernel.check(values="integer")
    return None if found.is_right else str(found)


@lru_cache(maxsize=1)
def _operands_and_reference(problem: Problem) -> tuple[Operands, Reference]:
    """Operands, and what is right on them: once for all configurations."""
    operands = random_operands(problem, 0, "integer")
    return operands, reference(problem, operands.arrays, magnitude=operands.data == "any")


def _is_same(one: Any, other: Any) -> bool:
    return in_memory(one).tobytes() == in_memory(other).tobytes()
