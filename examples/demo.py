"""A layer of ResNet-50, forward and both gradients, from its text to a verified kernel on this CPU.

What `make demo` runs.  Each direction goes down every level of the IR, becomes C++ source in out/demo/, is compiled
(or found in the cache), checked element by element against float64, and timed beside the machine's FMA ceiling.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

import imbrex
from imbrex.bench.ceiling import ceiling
from imbrex.pipeline import Request, levels, machine_for
from imbrex.problem import Conv2d
from imbrex.run.machine import machine
from imbrex.run.time import measure
from imbrex.verify.data import random_operands

LAYER = "conv -n 1 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -g 1 -F {direction}"
DIRECTIONS = {"forward": 1, "backward_data": 2, "backward_weight": 4}
OUT = Path("out/demo")

console = Console(highlight=False, width=120)


def show_levels(problem: Conv2d) -> None:
    """What the module holds after each pass."""
    here = machine()
    goal = machine_for("cpu", here.isa.level, 1, here.l2_bytes, here.l3_bytes, here.isa.fma_per_cycle)
    table = Table(title="the levels of the IR (forward)", title_justify="left")
    table.add_column("after")
    table.add_column("operations of the dialect")
    for level in levels(Request(problem, goal)):
        counts = Counter(op.name for op in level.module.walk() if op.name.startswith("miopen."))
        names = (f"{count} {name.removeprefix('miopen.')}" for name, count in counts.items())
        table.add_row(level.name, ", ".join(names))
    console.print(table)


def run(name: str, problem: Conv2d) -> list[str]:
    """Compile, write, check and time one direction; a row of the table."""
    kernel = imbrex.compile(problem, threads=1, name=f"conv_{name}")
    folder = OUT / name
    for file, text in kernel.files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
    comparison = kernel.check(seed=0, values="float")
    operands = random_operands(problem, 0, "float").arrays
    arrays = [operands[o.role] for o in problem.operands]
    timing = measure(lambda: kernel(*arrays), budget_s=0.5)
    probe = ceiling(problem.dtype, 1)
    share = "" if probe is None else f"{timing.gigaflops(problem.flops) / probe.gigaflops():.0%}"
    built = "cached" if kernel.was_cached else f"{kernel.compile_s:.1f} s"
    console.print(f"[bold]{name}[/]: tuning {', '.join(dict.fromkeys(kernel.tuning_texts))}")
    console.print(f"  {comparison}")
    console.print("  source: " + ", ".join(str(folder / unit) for unit in kernel.bundle.units))
    return [
        name,
        built,
        "right" if comparison.is_right else "WRONG",
        f"{timing.median_ns / 1e6:.2f} ms",
        f"{timing.gigaflops(problem.flops):.1f}",
        share,
        f"{kernel.workspace_bytes / 1024:.0f} KiB",
    ]


def main() -> int:
    """0 when every direction is right."""
    console.print(f"machine: {machine()}")
    problems = {
        name: imbrex.parse_problem(LAYER.format(direction=number))[0] for name, number in DIRECTIONS.items()
    }
    forward = problems["forward"]
    assert isinstance(forward, Conv2d)
    console.print(f"problem: {imbrex.problem_text(forward)}")
    sizes = forward.gemm
    console.print(f"as a GEMM: {sizes.m} x {sizes.n} x {sizes.k}, {forward.flops / 1e6:.0f} MFLOP")
    show_levels(forward)
    columns = ("direction", "compile", "check", "time", "GFLOP/s", "of the ceiling", "memory of a thread")
    rows = [run(name, problem) for name, problem in problems.items() if isinstance(problem, Conv2d)]
    table = Table(*columns, title="on one thread", title_justify="left")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    return 0 if all(row[2] == "right" for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
