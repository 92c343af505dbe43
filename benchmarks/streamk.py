"""Workgroups that share output tiles against one workgroup a tile, in the same run, on this machine's CPU.

    python benchmarks/streamk.py [--threads 2] [--rounds 5] [--json FILE]

For each problem kernels take turns: data_parallel with the tuning that the model chooses for it, `auto`, and
stream_k with one and with four workgroups a thread. A ratio is data_parallel's time over the other's, each
the best of its rounds. Kinds of problems: few output tiles with a long K, where sharing pays; one output
tile, by the tuning that is given; tiles that leave the last wave nearly empty, likewise; and problems where
nothing is to be had, for which `auto` must stay at data_parallel. By the model's own tuning 256 x 256 x 65536
is one of the last kind on two threads, which have a tile each.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from imbrex.kernel import Kernel, compile
from imbrex.problem import Conv2d, Gemm, Problem, problem_text
from imbrex.run.host_machine import host_machine
from imbrex.verify.data import random_operands

CALLS = 5


def weights(c: int, size: int, k: int, window: int = 1) -> Conv2d:
    """A weight gradient of ResNet-50 at batch 8."""
    return Conv2d(
        "backward_weight", 8, c, size, size, k, window, window, pad_h=window // 2, pad_w=window // 2
    )


WAVES = "v1:cpu:6,64,96,128,512,16,k_blocked,b,straight"
WHOLE = "v1:cpu:6,64,258,256,512,16,k_blocked,b,straight"
"""A tile of all of 256 x 256."""
KINDS: dict[str, list[tuple[Problem, str | None]]] = {
    "few tiles, long K": [
        (Gemm(256, 256, 65536), None),
        (Gemm(64, 64, 65536), None),
        (Gemm(32, 48, 131072), None),
        (weights(64, 56, 64), None),
        (weights(64, 56, 256), None),
        (weights(64, 56, 64, 3), None),
        (weights(512, 7, 512, 3), None),
    ],
    "one output tile, as given": [(Gemm(256, 256, 65536), WHOLE), (weights(256, 14, 256), WHOLE)],
    "a nearly empty last wave": [
        (Gemm(96, 128 * 3, 8192), WAVES),
        (Gemm(96, 128 * 5, 8192), WAVES),
        (Gemm(96, 128 * 9, 8192), WAVES),
    ],
    "nothing to be had": [(Gemm(1024, 1024, 1024), None), (Gemm(4096, 512, 512), None)],
}


@dataclass(frozen=True)
class Line:
    """One problem; ratios by schedule, above 1 where sharing is faster."""

    kind: str
    problem: str
    data_parallel_ms: float
    chosen: str
    ratios: dict[str, float]


def main() -> None:
    os.environ.setdefault("IMBREX_DB", "off")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    lines: list[Line] = []
    for kind, problems in KINDS.items():
        print(f"\n{kind}: {given.threads} threads")
        for problem, tuning in problems:
            lines.append(measured(kind, problem, tuning, given.threads, given.rounds))
            print(_text(lines[-1]), flush=True)
    if given.json is not None:
        told = {"machine": str(host_machine()), "threads": given.threads, "lines": [asdict(x) for x in lines]}
        given.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def measured(kind: str, problem: Problem, tuning: str | None, threads: int, rounds: int) -> Line:
    """The kernels of one problem, turn by turn."""
    schedules = ("data_parallel", "auto", f"stream_k:{threads}", f"stream_k:{4 * threads}")
    kernels = [compile(problem, tuning=tuning, schedule=s, threads=threads) for s in schedules]
    seconds = _best(kernels, problem, threads, rounds)
    ratios = {s: round(seconds[0] / t, 3) for s, t in zip(schedules[1:], seconds[1:], strict=True)}
    return Line(kind, problem_text(problem), round(seconds[0] * 1e3, 3), kernels[1].schedules[0], ratios)


def _best(kernels: Sequence[Kernel], problem: Problem, threads: int, rounds: int) -> list[float]:
    found = random_operands(problem, 0, "float").arrays
    arrays: list[Any] = [found[o.role] for o in problem.operands]
    best = [float("inf")] * len(kernels)
    with ExitStack() as stack:
        calls = [stack.enter_context(k.loaded.resident(*arrays, threads=threads)) for k in kernels]
        for call in calls:
            call()
        for _ in range(rounds):
            best = [min(b, _timed(call)) for b, call in zip(best, calls, strict=True)]
    return best


def _timed(call: Callable[[], None]) -> float:
    best = float("inf")
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def _text(line: Line) -> str:
    ratios = "  ".join(f"{name} {ratio:.2f}" for name, ratio in line.ratios.items())
    return f"  {line.problem:90s} {line.data_parallel_ms:9.2f} ms  {ratios}  (auto: {line.chosen})"


if __name__ == "__main__":
    main()
