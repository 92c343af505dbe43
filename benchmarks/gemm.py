"""Square products from 256 to 2048, plain and transposed, beside NumPy and PyTorch.

Contenders take turns in every round, so that they meet the same machine; medians are compared.  Results are
checked first.  The report, with the machine, goes to benchmarks/results/gemm.json.
"""

from __future__ import annotations

import argparse
import os
from itertools import product
from pathlib import Path

from imbrex import Gemm, compile
from imbrex.bench.apart import Apart
from imbrex.bench.peer import peers
from imbrex.bench.report import Row, measured, report
from imbrex.cli.bench import counts, show, write_report
from imbrex.cli.progress import progress

HERE = Path(__file__).resolve().parent


def main() -> None:
    os.environ.setdefault("IMBREX_DB", "off")
    options = arguments()
    rivals = peers(("numpy", "torch"))
    problems = [
        Gemm(size, size, size, transpose_a=a, transpose_b=b, dtype=options.dtype)
        for size in map(int, options.sizes.split(","))
        for a, b in product((False, True), repeat=2)
        if not (a and b)
    ]
    rows: list[Row] = []
    with Apart() as apart:
        for problem, threads in product(problems, counts(options.threads)):
            with progress(f"{problem.key()} on {threads}"):
                rows.append(
                    measured(
                        compile(problem, threads=threads), rivals, threads, apart, budget_s=options.seconds
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
    parser.add_argument("--sizes", default="256,512,1024,2048")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--threads", default="1,all")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each contender and product")
    parser.add_argument("--output", default=str(HERE / "results" / "gemm.json"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
