"""Problems that nobody has looked at, by a seed, on this CPU: our kernels beside NumPy and PyTorch.

    python benchmarks/cpu.py --lot 7                         162 problems, one thread
    python benchmarks/cpu.py --lot 7 --kinds squares,skinny --threads 1,all

Each contender has a process of its own, they take turns, and medians are compared.  Every result is checked
first.  The report, with the machine, goes to benchmarks/results/cpu.json, and a kind's line has the geometric
mean of the faster peer's time over ours, the least, and how many are under 0.95.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from itertools import groupby, product
from pathlib import Path

from imbrex import compile
from imbrex.bench.apart import Apart
from imbrex.bench.cpu_lot import KINDS
from imbrex.bench.lot import Drawn, drawn_lot
from imbrex.bench.peer import Peer, peers
from imbrex.bench.report import Row, geometric_mean, measured, report
from imbrex.cli.bench import counts, write_report
from imbrex.cli.table import print_table
from imbrex.diagnostic import Diagnostic

HERE = Path(__file__).resolve().parent
LEAST = 0.95
"""Under this, of the faster peer, a problem counts as lost."""


def main() -> int:
    os.environ.setdefault("IMBREX_DB", "off")
    options = arguments()
    try:
        rivals = peers(("numpy", "torch"))
        drawn = list(drawn_lot(KINDS, options.lot, options.kinds.split(",") if options.kinds else None))
        return run(drawn, counts(options.threads), rivals, options)
    except Diagnostic as error:
        print(error, file=sys.stderr)
        return 1


def run(drawn: list[Drawn], threads: list[int], rivals: list[Peer], options: argparse.Namespace) -> int:
    """1 where a result is wrong."""
    rows: list[tuple[str, Row]] = []
    try:
        rows.extend(timed(drawn, threads, rivals, options.seconds))  # those until it is stopped
    except KeyboardInterrupt:
        print("stopped; what was measured until then:")
    if not rows:
        return 1
    write_report(report([row for _, row in rows], rivals), Path(options.output))
    by_kind = [
        (f"{kind}, {count} thread{'s'[: count != 1]}", [row for _, row in group])
        for count in threads
        for kind, group in groupby((pair for pair in rows if pair[1].threads == count), lambda pair: pair[0])
    ]
    compared = [(name, against(group)) for name, group in by_kind]
    titles = ("kind", "rows", "x faster peer", "least", f"under {LEAST}")
    print_table(titles, (cells(*pair) for pair in compared))
    ratios = [ratio for _, group in compared for ratio in group]
    print(f"{sum(ratio < LEAST for ratio in ratios)} of {len(ratios)} under {LEAST}; wrote {options.output}")
    return int(not all(row.is_right for _, row in rows))


def timed(
    drawn: list[Drawn], threads: list[int], rivals: list[Peer], seconds: float
) -> Iterator[tuple[str, Row]]:
    """Kinds and rows, each told as it comes."""
    with Apart() as apart:
        for number, (one, count) in enumerate(product(drawn, threads), 1):
            kernel, own = compile(one.problem, threads=count), [r for r in rivals if r.name in one.peers]
            row = measured(kernel, own, count, apart, budget_s=seconds)
            print(f"{number:3d}/{len(drawn) * len(threads)} {one.kind}: {told(one, row)}", flush=True)
            yield one.kind, row


def against(rows: list[Row]) -> list[float]:
    """The faster peer's time over ours, of rows that have a peer."""
    return [min(row.speedups.values()) for row in rows if row.speedups]


def cells(name: str, ratios: list[float]) -> tuple[str, ...]:
    if not ratios:
        return (name, "0", "", "", "")
    lost = sum(ratio < LEAST for ratio in ratios)
    return (name, str(len(ratios)), f"{geometric_mean(ratios):.2f}", f"{min(ratios):.2f}", str(lost))


def told(one: Drawn, row: Row) -> str:
    """One row as a line."""
    own_us = row.timings["imbrex"].median_ns / 1e3
    share = f", {row.ceiling_share:.0%} of the ceiling" if row.ceiling_share else ""
    ratios = "".join(f", {ratio:.2f} x {name}" for name, ratio in row.speedups.items())
    wrong = "" if row.is_right else ", WRONG"
    return f"{one.title} on {row.threads}: {own_us:.1f} us{share}{ratios}{wrong}; {row.kernel.configuration}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lot", type=int, default=1, metavar="SEED", help="problems by this seed")
    parser.add_argument("--kinds", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each contender and problem")
    parser.add_argument("--output", default=str(HERE / "results" / "cpu.json"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
