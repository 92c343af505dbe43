"""One layer of ResNet-50 (3x3, 64 channels, 56x56), forward and both gradients, from its text to a fast
kernel.

    make demo

Shows each level of the IR, the tuning, the check against float64, the speed beside what the machine's
multiply-adds reach, and where the three source files lie.  Takes some seconds, once everything is installed.
"""

from __future__ import annotations

import os
import time
from difflib import ndiff
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

import imbrex
from imbrex.bench.ceiling import ceiling
from imbrex.cli.build import write_files
from imbrex.ir.printed import print_compact
from imbrex.pipeline import Request, levels, machine_for
from imbrex.run.host_machine import host_machine
from imbrex.run.time import measure
from imbrex.verify.data import random_operands

LINE = "conv -n 1 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1"
OUT = Path(__file__).resolve().parent.parent / "out" / "demo"
SHOWN_LINES = 14

console = Console(highlight=False)


def main() -> None:
    started = time.perf_counter()
    console.rule("[bold]Imbrex[/]: one layer of ResNet-50, from its text to a verified kernel")
    console.print(f"{host_machine()}\n", soft_wrap=True)
    forward, backward_data, backward_weight = imbrex.parse_problem(LINE)
    show_problem(forward)
    show_levels(forward)
    kernels = [compiled(problem) for problem in (forward, backward_data, backward_weight)]
    show_results(kernels)
    show_source(kernels[0])
    write_sources(kernels)
    show_gradients()
    console.print(f"\nAll of it took {time.perf_counter() - started:.1f} s.")


def show_problem(problem: imbrex.Conv2d) -> None:
    console.print("[bold]1. The problem[/] is a line that MIOpenDriver would take:\n")
    console.print(f"   {imbrex.problem_text(problem)}\n", soft_wrap=True)


def show_levels(problem: imbrex.Conv2d) -> None:
    """What each pass makes of the IR: the lines that were not there before."""
    console.print("[bold]2. The pipeline[/] takes it down, level by level; here is what each pass writes:\n")
    here = host_machine()
    machine = machine_for(
        "cpu", here.isa.level, here.cores, here.l2_bytes, here.l3_bytes, here.isa.fma_per_cycle
    )
    before: list[str] = []
    for number, level in enumerate(levels(Request(problem, machine, name="conv2d_forward"))):
        lines = print_compact(level.module).splitlines()[2:-2]
        new = [line[2:] for line in ndiff(before, lines) if line.startswith("+ ")]
        before = lines
        shown, rest = new[:SHOWN_LINES], len(new) - SHOWN_LINES
        text = "\n".join(shorten(line[4:]) for line in shown) + (f"\n... {rest} more" if rest > 0 else "")
        body = Syntax(text, "mlir", theme="ansi_dark", background_color="default")
        console.print(
            Panel(body, title=f"level {number}: {level.name}", title_align="left", border_style="dim")
        )


def shorten(line: str) -> str:
    room = console.width - 4
    return line if len(line) <= room else f"{line[: room - 3]}..."


def compiled(problem: imbrex.Conv2d) -> imbrex.Kernel:
    with console.status(f"compiling {problem.direction.replace('_', ' ')} ..."):
        return imbrex.compile(problem)


def show_results(kernels: list[imbrex.Kernel]) -> None:
    """Check and speed of each direction, and its tuning."""
    console.print("\n[bold]3. Tuned, compiled, checked against float64, timed[/]:\n")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("direction", "compiled", "right elements", "time", "GFLOP/s", "of ceiling"):
        left = column == "direction"
        table.add_column(
            column, style="bold" if left else None, justify="left" if left else "right", no_wrap=True
        )
    for kernel in kernels:
        table.add_row(*row(kernel))
    console.print(Padding(table, (0, 0, 0, 3)))
    console.print("\n   The ceiling: multiply-adds in registers, on as many threads, measured.")
    for kernel in kernels:
        console.print(f"   tuning of {direction(kernel)}: {', '.join(dict.fromkeys(kernel.tuning_texts))}")
    extra = max(kernel.workspace_bytes for kernel in kernels)
    console.print(f"   No im2col buffer: beside the arrays a thread needs at most {extra / 1024:.0f} KiB.")


def row(kernel: imbrex.Kernel) -> list[str]:
    problem = kernel.problem
    outcome = kernel.check(values="float")
    operands = random_operands(problem, 1, "float").arrays
    arrays = [operands[o.role] for o in problem.operands]
    timing = measure(lambda: kernel(*arrays), budget_s=0.3)
    speed = timing.gigaflops(problem.flops)
    probe = ceiling(problem.dtype, kernel.threads)
    colour = "green" if outcome.is_right else "red"
    return [
        direction(kernel),
        "cached" if kernel.was_cached else f"{kernel.compile_s:.2f} s",
        f"[{colour}]{outcome.elements - outcome.wrong} of {outcome.elements}[/]",
        f"{timing.median_ns / 1e6:.2f} ms",
        f"{speed:.0f}",
        f"{speed / probe.peak().gigaflops:.0%}",
    ]


def direction(kernel: imbrex.Kernel) -> str:
    return kernel.name.removeprefix("conv2d_").replace("_", " ")


def show_source(kernel: imbrex.Kernel) -> None:
    """The heart of the algorithm's file."""
    console.print("\n[bold]4. The source[/] is yours to read; this is the heart of the forward algorithm:\n")
    text = kernel.files[f"{kernel.name}.hpp"]
    lines = text.rstrip().splitlines()
    start = next(i for i, line in enumerate(lines) if "const auto run" in line or "for (" in line)
    body = "\n".join(shorten(line) for line in lines[start : start + 16])
    console.print(Syntax(body, "cpp", theme="ansi_dark", background_color="default"))


def write_sources(kernels: list[imbrex.Kernel]) -> None:
    """What `imbrex build` does."""
    console.print("\n[bold]5. The files[/] of each direction, with the device headers that they include:\n")
    for kernel in kernels:
        folder = OUT / kernel.name
        write_files(kernel, folder)
        for what, unit in zip(("solver", "wrapper", "algorithm"), kernel.bundle.units, strict=True):
            console.print(f"   {what:10} {os.path.relpath(folder / unit)}", soft_wrap=True)


def show_gradients() -> None:
    """The same kernels behind a function of arrays."""
    console.print("\n[bold]6. From Python[/], on arrays:\n")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 64, 56, 56), dtype=np.float32)
    w = rng.standard_normal((64, 64, 3, 3), dtype=np.float32)
    y = imbrex.conv2d(x, w, padding=1)
    dx = imbrex.conv2d_backward_data(y, w, x.shape, padding=1)
    dw = imbrex.conv2d_backward_weight(y, x, w.shape, padding=1)
    console.print("   y  = imbrex.conv2d(x, w, padding=1)")
    console.print("   dx = imbrex.conv2d_backward_data(y, w, x.shape, padding=1)")
    console.print("   dw = imbrex.conv2d_backward_weight(y, x, w.shape, padding=1)\n")
    told = " = ".join(f"{float(np.vdot(u, v)):.4g}" for u, v in ((y, y), (x, dx), (w, dw)))
    console.print(f"   <y, y> = <x, dx> = <w, dw>, as it must be: {told}")


if __name__ == "__main__":
    main()
