"""One problem on a GPU: our kernel checked, then timed in turn with its peers; the whole as plain JSON.

Law: a row always comes back.  What refuses, on our side or a peer's, is said in it by its own message, and
ratios are of medians from the same rounds, peer over ours: above 1 ours is faster.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, TypeAlias

from imbrex.bench.gpu.peer import peer_calls
from imbrex.bench.gpu.replay import Replay, host_contest, recorded, replay_contest, wait
from imbrex.bench.gpu.rotation import Rotation, rotation
from imbrex.bench.gpu.sets import Entry
from imbrex.bench.gpu.summary import OURS
from imbrex.bench.peer import Call, first_line, uninstalled
from imbrex.diagnostic import Diagnostic
from imbrex.function.gemm import gemm
from imbrex.kernel import Kernel, compile
from imbrex.problem import Gemm, problem_text
from imbrex.run.cuda.kernel import CudaKernel
from imbrex.run.cuda.time import measure_on_gpu
from imbrex.run.time import Timing, measure
from imbrex.verify.data import random_operands
from imbrex.verify.device.check import HOST_FLOPS, Tensor, poison_tensor, spoiled
from imbrex.verify.device.guarded import compared_results
from imbrex.verify.unit import unit_of

__all__ = ["OURS", "Row", "Task", "not_run", "timed_on_gpu"]

FUNCTION = "imbrex.gemm"

Row: TypeAlias = dict[str, Any]
"""set, name, problem, times, flops, bytes; refused; kernel; check, right; timings by contender; missing,
peers with what they said; ratios by peer; ratio, of the best peer; tflops.
"""


@dataclass(frozen=True)
class Task:
    """budget_s: of all contenders together.  tuning, schedule, config: texts, None for what is chosen."""

    entry: Entry
    target: str
    budget_s: float
    tuning: str | None = None
    schedule: str | None = None
    config: str | None = None


def not_run(entry: Entry, reason: str) -> Row:
    """The row of what was not even started, or did not come back."""
    return {**_about(entry), "refused": reason}


def timed_on_gpu(task: Task) -> Row:
    """Runs where torch sees a GPU; an unforeseen error is the caller's."""
    started = time.perf_counter()
    row = _about(task.entry)
    try:
        kernel = compile(
            task.entry.problem, task.target, task.tuning, schedule=task.schedule, config=task.config
        )
        kernel.loaded.prepare()
    except Diagnostic as error:
        return {**row, "refused": str(error)}
    row["kernel"] = _kernel_facts(kernel)
    if importlib.util.find_spec("torch") is None:
        return row | _alone(kernel, task)
    torch: Any = import_module("torch")
    try:
        row |= _measured(kernel, task, torch.device("cuda"))
    except (Diagnostic, ValueError) as error:
        row["refused"] = str(error)
        torch.cuda.synchronize()  # raises where the GPU's context is lost
    except TimeoutError as error:
        raise TimeoutError(f"{error}: {' '.join(kernel.tuning_texts)}") from None
    except (MemoryError, torch.cuda.OutOfMemoryError) as error:
        row["refused"] = f"out of memory: {first_line(error)}"
    torch.cuda.empty_cache()
    return {**row, "seconds": time.perf_counter() - started}


def _about(entry: Entry) -> Row:
    problem = entry.problem
    return {
        "set": entry.set,
        "name": entry.name,
        "problem": problem_text(problem),
        "times": entry.times,
        "flops": problem.flops,
        "bytes": problem.bytes,
        "refused": None,
    }


def _kernel_facts(kernel: Kernel) -> dict[str, Any]:
    return {
        "configuration": kernel.configuration,
        "tunings": list(kernel.tuning_texts),
        "algorithm": kernel.algorithm,
        "schedules": list(kernel.schedules),
        "launches": kernel.launches,
        "workspace_bytes": kernel.workspace_bytes,
        "was_cached": kernel.was_cached,
    }


def _measured(kernel: Kernel, task: Task, device: Any) -> Row:
    torch: Any = import_module("torch")
    turning = rotation(task.entry.problem, device)
    outcome = _checked(kernel, turning)
    row: Row = {"check": str(outcome), "right": outcome.is_right, "calls": turning.calls}
    ours: list[Call] = [_our_call(kernel, tensors) for tensors in turning.sets]
    found, missing = _peers(task.entry, turning)
    if task.entry.is_host:
        firsts = {OURS: ours[0], **_function(turning), **{n: c[0] for n, c in found.items()}}
        timings = host_contest(firsts, task.budget_s)
    else:
        replays, unrecorded = _recorded({OURS: ours, **found})
        missing |= unrecorded
        timings = replay_contest(replays, task.budget_s)
        del replays
    torch.cuda.synchronize()
    return row | {"missing": missing} | _compared(timings, task.entry.problem.flops)


def _alone(kernel: Kernel, task: Task) -> Row:
    """Without torch: no peer, and one set of arrays, which may be found in L2."""
    problem = task.entry.problem
    row: Row = {
        "right": None,
        "check": "not checked: too large for NumPy",
        "missing": {"torch": "torch is not installed"},
    }
    try:
        if problem.flops <= HOST_FLOPS:
            outcome = kernel.check(values="float")
            row |= {"check": str(outcome), "right": outcome.is_right}
        operands = random_operands(problem, 1, "float").arrays
        arrays = [operands[o.role] for o in problem.operands]
        if isinstance(kernel.loaded, CudaKernel):
            timings = {OURS: measure_on_gpu(kernel.loaded, *arrays, budget_s=task.budget_s)}
        else:
            with kernel.loaded.resident(*arrays) as call:
                timings = {OURS: measure(call, budget_s=task.budget_s)}
    except Diagnostic as error:
        return row | {"refused": str(error)}
    return row | {"calls": 1} | _compared(timings, problem.flops)


def _checked(kernel: Kernel, turning: Rotation) -> Any:
    """The first set's result against float64, computed on the device."""
    problem, tensors = turning.problem, turning.sets[0]
    before = dict(tensors)
    if getattr(problem, "beta", 0.0) != 0.0:
        before[problem.written] = tensors[problem.written].clone()
    for role in (o.role for o in problem.operands if o.is_written):
        if role != problem.written or getattr(problem, "beta", 0.0) == 0.0:
            poison_tensor(tensors[role])
    _our_call(kernel, tensors)()
    wait()
    found = compared_results(
        problem,
        before,
        tensors,
        values="float",
        unit=unit_of(kernel.target.chip, problem.dtype),
    )
    return replace(found, gap_writes=spoiled(tensors[problem.written], problem.result))


def _our_call(kernel: Kernel, tensors: Mapping[str, Tensor]) -> Call:
    arrays = [tensors[o.role] for o in kernel.problem.operands]
    return lambda: kernel(*arrays)


def _function(turning: Rotation) -> dict[str, Call]:
    """The call by `imbrex.gemm`, which finds the kernel by its arguments."""
    problem, t = turning.problem, turning.sets[0]
    if not isinstance(problem, Gemm) or problem.beta != 0.0:
        return {}
    further = problem.operands[len(problem.roles) :]
    read = {o.role: t[o.role] for o in further if not o.is_written}
    keywords: dict[str, Any] = {
        "alpha": problem.alpha,
        "transpose_a": problem.transpose_a,
        "transpose_b": problem.transpose_b,
        "epilogue": problem.epilogue,
        "compute": str(problem.dtype),
        **{name: read.pop(name) for name in ("bias", "residual") if name in read},
        "scales": read,
    }
    kept = [t[o.role] for o in further if o.is_written]
    out = (t["c"], *kept) if kept else t["c"]
    return {FUNCTION: lambda: gemm(t["a"], t["b"], out=out, **keywords)}


def _peers(entry: Entry, turning: Rotation) -> tuple[dict[str, list[Call]], dict[str, str]]:
    """Peers that can compute it, and why the others do not."""
    found: dict[str, list[Call]] = {}
    missing = {name: f"{package} is not installed" for name, package in uninstalled(entry.peers).items()}
    for name in (peer for peer in entry.peers if peer not in missing):
        try:
            calls = peer_calls(name, entry.problem, turning.sets)
            if calls is None:
                missing[name] = "has no way to compute it"
                continue
            calls[0]()
            found[name] = calls
        except (RuntimeError, TypeError, ValueError, NotImplementedError, AttributeError) as error:
            missing[name] = first_line(error)
    return found, missing


def _recorded(contenders: Mapping[str, Sequence[Call]]) -> tuple[dict[str, Replay], dict[str, str]]:
    replays: dict[str, Replay] = {}
    missing: dict[str, str] = {}
    for name, calls in contenders.items():
        try:
            replays[name] = recorded(calls)
        except RuntimeError as error:
            if name == OURS:
                raise
            missing[name] = first_line(error)
    return replays, missing


def _compared(timings: Mapping[str, Timing], flops: int) -> Row:
    ours = timings[OURS].median_ns
    peers = {name: timing for name, timing in timings.items() if name not in (OURS, FUNCTION)}
    ratios = {name: timing.median_ns / ours for name, timing in peers.items()}
    return {
        "timings": {name: timing.to_json() for name, timing in timings.items()},
        "tflops": {name: flops / timing.median_ns / 1e3 for name, timing in timings.items()},
        "ratios": ratios,
        "ratio": min(ratios.values(), default=None),
    }
