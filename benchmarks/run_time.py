"""What it costs that a kernel is told its rows when it runs, beside kernels of fixed sizes, in the same run.

    python benchmarks/run_time.py "gemm -m ? -n 4096 -k 4096 -t f16" --target sm_90a --sizes 1,16,128,4096

For each size three kernels take turns: the one that is told the size, the fixed one of the same tuning, and
the fixed one that the model chooses for the size alone.  A ratio is the first one's time over another's, each
the best of its rounds; on a GPU without the host's part, as in a graph.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from imbrex.kernel import Kernel, compile
from imbrex.problem import problem_text
from imbrex.problem.text import parse_problem
from imbrex.run.cuda.kernel import CudaKernel
from imbrex.run.cuda.time import measure_on_gpu
from imbrex.run.time import measure
from imbrex.verify.data import random_operands


def main() -> None:
    os.environ.setdefault("IMBREX_DB", "off")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("problem")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--sizes", default="1,7,16,64,100,128,256,512,1000,1024,2048,4096")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    (problem,) = parse_problem(given.problem)
    told = compile(problem, given.target, threads=given.threads, untuned=True)
    print(f"{problem_text(told.problem)}\n{'size':>8} {'us':>10} {'same tuning':>12} {'fixed':>8}  tuning")
    for size in map(int, given.sizes.split(",")):
        own = told.at(size)
        same = compile(own.problem, given.target, threads=given.threads, config=own.configuration)
        fixed = compile(own.problem, given.target, threads=given.threads, untuned=True)
        best = _best((own, same, fixed), given.threads, given.rounds)
        ratios = f"{best[0] / best[1]:12.3f} {best[0] / best[2]:8.3f}"
        print(f"{size:8} {best[0] / 1e3:10.2f} {ratios}  {own.configuration}", flush=True)


def _best(kernels: tuple[Kernel, ...], threads: int, rounds: int) -> list[float]:
    """The least time of each, in ns."""
    operands = random_operands(kernels[0].problem, 1, "float").arrays
    arrays = [operands[o.role] for o in kernels[0].problem.operands]
    best = [float("inf")] * len(kernels)
    for _ in range(rounds):
        for place, kernel in enumerate(kernels):
            best[place] = min(best[place], _time_ns(kernel, arrays, threads))
    return best


def _time_ns(kernel: Kernel, arrays: list[Any], threads: int) -> float:
    if isinstance(kernel.loaded, CudaKernel):
        return measure_on_gpu(kernel.loaded, *arrays, budget_s=0.1).median_ns
    with kernel.loaded.resident(*arrays, threads=threads) as call:
        return measure(call, budget_s=0.1).median_ns


if __name__ == "__main__":
    main()
