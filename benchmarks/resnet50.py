"""ResNet-50's 23 convolutions with one image, NCHW and NHWC, beside PyTorch and NumPy.

    python benchmarks/resnet50.py                      one thread and all of them, forward
    python benchmarks/resnet50.py --directions 1,2,4   both gradients, too

Contenders take turns in every round, so that they meet the same machine; medians are compared.  Results are
checked first.  The report, with the machine, goes to benchmarks/results/resnet50.json.
"""

from __future__ import annotations

import argparse
import os
from itertools import product
from pathlib import Path

from imbrex import compile
from imbrex.bench.apart import Apart
from imbrex.bench.peer import peers
from imbrex.bench.report import Row, measured, report
from imbrex.cli.bench import counts, show, write_report
from imbrex.cli.progress import progress
from imbrex.cli.source import read_problems
from imbrex.dtype import dtype

HERE = Path(__file__).resolve().parent


def main() -> None:
    os.environ.setdefault("IMBREX_DB", "off")
    options = arguments()
    rivals = peers(("numpy", "torch"))
    lines = (HERE / "data" / "resnet50.txt").read_text(encoding="utf-8").splitlines()
    word = dtype(options.dtype).miopen
    lines = [word + line.removeprefix("conv") for line in lines if not line.startswith("#")]
    wanted = product(
        options.layouts.split(","), lines, options.directions.split(","), counts(options.threads)
    )
    rows: list[Row] = []
    with Apart() as apart:
        for layout, line, direction, threads in wanted:
            (asked,) = read_problems([line.replace("-F 1", f"-F {direction}")], layout)
            with progress(f"{layout} {threads} {line}"):
                rows.append(
                    measured(
                        compile(asked.problem, threads=threads),
                        rivals,
                        threads,
                        apart,
                        budget_s=options.seconds,
                    )
                )
    document = report(rows, rivals)
    show(rows, document, rivals)
    write_report(document, Path(options.output))
    print(f"wrote {options.output}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layouts", default="NCHW,NHWC")
    parser.add_argument("--directions", default="1", help="1 forward, 2 backward data, 4 backward weight")
    parser.add_argument("--dtype", default="f32", choices=("f32", "f16", "bf16", "i8"))
    parser.add_argument("--threads", default="1,all")
    parser.add_argument("--seconds", type=float, default=0.2, help="for each contender and layer")
    parser.add_argument("--output", default=str(HERE / "results" / "resnet50.json"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
