"""The speed table of the sm_90a target: our kernels beside cuBLAS, cuDNN and Triton, on the GPU that is here.

    python benchmarks/hopper.py --compile-only --jobs 16    all kernels into the cache; needs no GPU
    python benchmarks/hopper.py --quick                     a few problems of every set
    python benchmarks/hopper.py --sets square,resnet-* --budget 400
    python benchmarks/hopper.py --resume REPORT.json        what a report of a run that was cut lacks
    python benchmarks/hopper.py --lot 7                     some 330 new problems, by that seed
    python benchmarks/hopper.py --table REPORT.json --page docs/hopper.md    a report as that page's table

Contenders take turns on the same random arrays, which rotate so that none finds its own in L2; each is
replayed as a CUDA graph and timed by events; medians are compared.  Every result is checked against float64
on the GPU first.  The report is on disk after every row, and a kernel that hangs or crashes costs its own row
only.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from imbrex.bench.gpu.campaign import Campaign
from imbrex.bench.gpu.lot import lot
from imbrex.bench.gpu.row import Row, not_run
from imbrex.bench.gpu.sets import SETS, Entry, chosen
from imbrex.bench.gpu.summary import COLUMNS, markdown, row_line, set_cells
from imbrex.bench.peer import uninstalled
from imbrex.bench.prepare import Wanted, prepare
from imbrex.cli.report_file import write_report
from imbrex.cli.table import print_table
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import target_of
from imbrex.run.cuda.driver import cuda_here, gpu_text, require_gpu

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def main() -> int:
    os.environ.setdefault("IMBREX_DB", "off")
    options = arguments()
    try:
        return run(options)
    except Diagnostic as error:
        print(error, file=sys.stderr)
        return 1


def run(options: argparse.Namespace) -> int:
    if options.show:
        return shown(Path(options.show))
    if options.table:
        return tabled(Path(options.table), options.page)
    entries = drawn_or_chosen(options)
    if options.only:
        entries = [entry for entry in entries if options.only in entry.name]
    if options.compile_only:
        return compiled(entries, options)
    for name, package in uninstalled(peer for entry in entries for peer in entry.peers).items():
        print(f"no times of {name}: {package} is not installed (pip install {package})", file=sys.stderr)
    if target_of(options.target).is_cuda:
        require_gpu(options.target)
    output = Path(options.output)
    known = measured_before(Path(options.resume), options.target) if options.resume else ()
    campaign = Campaign(entries, options.target, options.seconds, options.budget, known=known)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        campaign.run(lambda told: write_report(told, output), told_for(entries))
    except KeyboardInterrupt:
        print("stopped; what was measured until then:")
    return shown(output)


def drawn_or_chosen(options: argparse.Namespace) -> list[Entry]:
    """The problems that are asked for: of sets, or of kinds of a lot."""
    names = options.sets.split(",") if options.sets else None
    if options.lot is None:
        return chosen(names, quick=options.quick)
    if options.quick:
        raise Diagnostic("a lot has no quick part", hint="name kinds of it by --sets, or leave --quick out")
    return lot(options.lot, names)


def measured_before(report: Path, target: str) -> list[Row]:
    """The rows of a report of a run that was cut, on the same kind of GPU."""
    document, here = document_of(report), gpu_text(cuda_here())
    there = document["gpu"].get("name")
    if document["target"] != target or not there or not here.startswith(there):
        raise Diagnostic(f"'{report}' is of {document['target']} on '{there}', this is {target} on '{here}'")
    return document["rows"]


def document_of(report: Path) -> dict[str, Any]:
    """What a run wrote."""
    try:
        document = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Diagnostic(f"'{report}' is no report: {error}") from None
    if not isinstance(document, dict) or not {"target", "gpu", "rows", "summary"} <= document.keys():
        raise Diagnostic(f"'{report}' is no report of benchmarks/hopper.py")
    return document


def shown(report: Path) -> int:
    """The table of a report; 1 where a result is wrong."""
    document = document_of(report)
    print_table(COLUMNS, (set_cells(told) for told in document["summary"]))
    counted, under = (sum(told[name] for told in document["summary"]) for name in ("counted", "under_0.95"))
    print(f"{under} of {counted} under 0.95 of the fastest peer")
    gpu = document["gpu"]
    print(f"{gpu.get('name', gpu)}, driver {gpu.get('driver_version')}, {document['date']}: {report}")
    return 1 if any(told["wrong"] for told in document["summary"]) else 0


def told_for(entries: list[Entry]) -> Any:
    """Prints each row as it comes."""

    def told(number: int, row: Row) -> None:
        print(f"{number:3d}/{len(entries)} {row_line(row)}", flush=True)

    return told


def compiled(entries: list[Entry], options: argparse.Namespace) -> int:
    """All kernels into the cache; a line for each that refuses, and their number at the end."""
    started, names = time.monotonic(), {entry.problem: entry for entry in entries}
    refused: list[str] = []

    def told(wanted: Wanted, answer: str | None) -> None:
        if answer is not None:
            refused.append(row_line(not_run(names[wanted.problem], answer)))
            print(refused[-1], flush=True)

    found = prepare([Wanted(entry.problem, options.target) for entry in entries], options.jobs, told)
    took = time.monotonic() - started
    print(f"{len(found) - len(refused)} of {len(found)} kernels in the cache, {took:.0f} s")
    return 0


def tabled(report: Path, page: str | None) -> int:
    """The report as a table: printed, or put between the page's marks."""
    table = "\n".join(markdown(document_of(report)))
    if page is None:
        print(table)
        return 0
    text = Path(page).read_text(encoding="utf-8")
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise Diagnostic(f"'{page}' has no marks '{BEGIN}' and '{END}'")
    Path(page).write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}", encoding="utf-8")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", help=f"such as square,resnet-*; all by default: {', '.join(SETS)}")
    parser.add_argument(
        "--lot", type=int, metavar="SEED", help="problems by this seed; --sets then names kinds of them"
    )
    parser.add_argument("--only", metavar="TEXT", help="rows whose name holds this")
    parser.add_argument("--quick", action="store_true", help="the first few of each set")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="of everything; no end by default")
    parser.add_argument("--seconds", type=float, default=0.4, help="all contenders of a row together")
    parser.add_argument("--resume", metavar="REPORT", help="measure what a run that was cut lacks")
    parser.add_argument("--compile-only", action="store_true", help="fill the cache; needs no GPU")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that compile")
    parser.add_argument("--output", default=str(HERE / "results" / "hopper.json"))
    parser.add_argument("--show", metavar="REPORT", help="print a report as a run does at its end")
    parser.add_argument("--table", metavar="REPORT", help="print the table of a report, and nothing else")
    parser.add_argument("--page", help="with --table: put it between the marks of this page")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
