"""Quality of the AMD kernels, counted and modelled from their assembly: no GPU is needed.

    python benchmarks/amd.py                                  gfx942: GEMM 4096^3, ResNet-50's 3x3 layers
    python benchmarks/amd.py --chip gfx90a --types f16        another chip, one type

Rows are kernels with default tunings, and kernels written by hand (`benchmarks/amd/`).  What each column
means is in docs/amd_quality.md.  The report goes to benchmarks/results/amd_CHIP.json.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import imbrex
from imbrex import Gemm
from imbrex.build.amd.code_object import CodeObject, build_code_object
from imbrex.build.amd.hot_loop import Conflicts, HotLoop, find_mca, hot_loop
from imbrex.build.amd.report import Resources, resources
from imbrex.build.toolchain import find_compiler
from imbrex.chip import GPU_MACHINES, gpus
from imbrex.cli.bench import write_report
from imbrex.cli.progress import progress
from imbrex.cli.source import read_problems
from imbrex.cli.table import print_table
from imbrex.config.tuning import parse
from imbrex.diagnostic import Diagnostic
from imbrex.lower.build import program
from imbrex.lower.lds_traffic import LdsTraffic, lds_traffic
from imbrex.pipeline import Request, levels, machine_for
from imbrex.problem import Problem

HERE = Path(__file__).resolve().parent
WIDEST = 16
LEAST_BUSY, MOST_INDEX = 0.9, 0.5


@dataclass(frozen=True)
class Row:
    """One kernel.  extra_lds_cycles: lost to bank conflicts by one workgroup."""

    name: str
    dtype: str
    tuning: str
    resources: Resources
    loop: HotLoop
    extra_lds_cycles: int

    @property
    def misses(self) -> tuple[str, ...]:
        """What the kernel falls short of."""
        counts = self.loop.counts
        widths = {*counts.loads, *counts.lds_reads, *counts.lds_writes}
        found = {
            "spills": self.resources.usage.spills > 0,
            "narrow": any(width < WIDEST for width in widths),
            "conflicts": self.extra_lds_cycles > 0,
            "index": counts.index_per_matrix > MOST_INDEX,
            "busy": self.loop.busy < LEAST_BUSY,
        }
        return tuple(name for name, is_missed in found.items() if is_missed)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.dtype,
            "tuning": self.tuning,
            "resources": {**self.resources.to_json(), "hot_loop": self.loop.to_json()},
            "extra_lds_cycles": self.extra_lds_cycles,
            "misses": list(self.misses),
        }

    def cells(self) -> tuple[str, ...]:
        usage, counts = self.resources.usage, self.loop.counts
        mca = "" if self.loop.mca is None else f"{self.loop.mca:.0%}"
        return (
            self.name,
            self.dtype,
            self.tuning,
            str(usage.spills),
            f"{usage.vgprs}+{usage.agprs}",
            str(self.loop.waves),
            _widths(counts.loads or counts.direct_loads),
            _widths(counts.lds_reads),
            _widths(counts.lds_writes),
            str(self.extra_lds_cycles),
            f"{counts.index_per_matrix:.2f}",
            f"{counts.data / counts.matrix_instructions:.2f}",
            f"{self.loop.bound.busy:.0%}",
            f"{self.loop.busy:.0%}",
            mca,
            " ".join(self.misses) or "-",
        )


COLUMNS = (
    "kernel", "type", "tuning", "spills", "VGPR+AGPR", "waves", "loads", "LDS reads", "LDS writes",
    "conflicts", "index/MFMA", "data/MFMA", "bound", "busy", "mca", "misses",
)  # fmt: skip


def main() -> None:
    os.environ.setdefault("IMBREX_DB", "off")
    options = arguments()
    chip, rows, refused = options.chip, list[Row](), list[str]()
    for dtype in options.types.split(","):
        for name, problem in problems(dtype, options):
            with progress(f"{name} {dtype}"):
                try:
                    rows.extend(generated(name, problem, chip))
                except Diagnostic as error:
                    refused.append(f"{name} {dtype}: {error.message.splitlines()[0]}")
        if (HERE / "amd" / f"hand_{dtype}.hip.cpp").exists():
            try:
                rows.append(by_hand(dtype, chip))
            except Diagnostic as error:
                refused.append(f"by hand {dtype}: {error.message.splitlines()[0]}")
    print_table(COLUMNS, (row.cells() for row in rows))
    for line in refused:
        print(f"not built: {line}")
    output = Path(options.output or HERE / "results" / f"amd_{chip}.json")
    write_report(document(chip, rows, refused), output)
    print(f"wrote {output}")


def problems(dtype: str, options: argparse.Namespace) -> Iterator[tuple[str, Problem]]:
    """GEMM with B transposed and plain, then ResNet-50's 3x3 layers, forward, in each layout."""
    size = options.size
    for letters, transposed in (("nt", True), ("nn", False)):
        yield f"gemm {size} {letters}", Gemm(size, size, size, transpose_b=transposed, dtype=dtype)
    lines = (HERE / "data" / "resnet50.txt").read_text(encoding="utf-8").splitlines()
    for layout in options.layouts.split(","):
        for line in (line for line in lines if "-y 3 -x 3" in line):
            (asked,) = read_problems([line.replace("-n 1", f"-n {options.batch}")], layout)
            words = dict(zip(line.split()[1::2], line.split()[2::2], strict=True))
            name = f"{layout} {words['-c']}x{words['-H']}x{words['-W']} k{words['-k']} /{words['-u']}"
            yield name, replace(asked.problem, dtype=dtype)


def generated(name: str, problem: Problem, chip: str) -> Iterator[Row]:
    """The problem's kernels with default tunings; those without matrix instructions are left out."""
    kernel = imbrex.compile(problem, chip)
    assert isinstance(kernel.library, CodeObject), kernel.library
    traffic = _traffic(problem, chip, kernel.name, kernel.tuning_texts)
    multiplying = [found for found in resources(kernel.library.assembly, chip) if found.hot_loop is not None]
    if not multiplying:
        raise Diagnostic(f"no loop of {kernel.name} holds a matrix instruction")
    for found in multiplying:
        lds = traffic[found.usage.kernel]
        loop = _modelled(found, kernel.library.assembly, chip, Conflicts(*lds.factors))
        yield Row(name, str(problem.dtype), " ".join(kernel.tuning_texts), found, loop, lds.extra)


def by_hand(dtype: str, chip: str) -> Row:
    """Data-tiled, so that a wave's accesses to LDS are its lanes in order: no conflict is possible."""
    sources = {p.name: p.read_text(encoding="utf-8") for p in (HERE / "amd").glob("hand_*")}
    built = build_code_object(sources, f"hand_{dtype}.hip.cpp", chip)
    (found,) = resources(built.assembly, chip)
    loop = _modelled(found, built.assembly, chip, Conflicts())
    return Row("by hand, 8x8 data-tiled", dtype, "", found, loop, 0)


def _modelled(found: Resources, assembly: str, chip: str, conflicts: Conflicts) -> HotLoop:
    """The hot loop again, with the conflicts that were counted and llvm-mca's opinion."""
    loop = hot_loop(
        assembly,
        chip,
        kernel=found.usage.kernel,
        waves=found.occupancy.waves_per_simd,
        waves_of_group=max(1, found.usage.block_size // 256),
        conflicts=conflicts,
        ask_mca=True,
    )
    assert loop is not None, found.usage.kernel
    return loop


def _traffic(problem: Problem, chip: str, name: str, tunings: tuple[str, ...]) -> Mapping[str, LdsTraffic]:
    """Of each kernel, from its statements."""
    tuning = parse(tunings[0]) if len(set(tunings)) == 1 else None
    *_, last = levels(Request(problem, machine_for(chip, "", 1), chip, tuning, name=name))
    written = frozenset(i for i, o in enumerate(problem.operands) if o.is_written)
    made = program(last.module, written)
    return {kernel.name: lds_traffic(kernel, GPU_MACHINES[chip]) for kernel in made.kernels}


def document(chip: str, rows: list[Row], refused: list[str]) -> dict[str, Any]:
    return {
        "chip": chip,
        "compiler": find_compiler("zig").version,
        "llvm_mca": find_mca() is not None,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "rows": [row.to_json() for row in rows],
        "not_built": refused,
    }


def _widths(found: Mapping[int, int]) -> str:
    return " ".join(f"{count}x{width}" for width, count in found.items()) or "-"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chip", default="gfx942", choices=gpus("AMD"))
    parser.add_argument("--types", default="f16,f32,i8")
    parser.add_argument("--layouts", default="NHWC,NCHW")
    parser.add_argument("--size", type=int, default=4096, help="of the GEMM, all three")
    parser.add_argument("--batch", type=int, default=256, help="images of the layers")
    parser.add_argument("--output", help="instead of benchmarks/results/amd_CHIP.json")
    return parser.parse_args()


if __name__ == "__main__":
    main()
