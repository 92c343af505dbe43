"""Times of many configurations of products and convolutions that a seed draws, on the GPU that is here: what
the correction of warpgroup tunings is fitted to (benchmarks/correction.py).

    python benchmarks/times.py --lot 7 --kinds "few rows:60,f8e4m3fn tn:40" -o TIMES.json.gz
    python benchmarks/times.py --lot 7 --kinds tall:8 --each 4 --only-compile    needs no GPU

Each problem has the model's pick timed in turn with others that the model has near it, chosen apart from each
other (`imbrex.tuner.times`).  The table is on disk after every problem, and has what was timed until it is
stopped or the budget is spent.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from imbrex.bench.gpu.lot import KINDS, OTHER_KINDS
from imbrex.bench.lot import drawn_lot
from imbrex.database import device_of
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import target_of
from imbrex.problem import problem_text
from imbrex.run.cuda.driver import require_gpu
from imbrex.tuner.time_table import table
from imbrex.tuner.times import Product, Timed, times
from imbrex.whole_file import write_bytes


def main() -> int:
    os.environ.setdefault("IMBREX_DB", "off")
    options = arguments()
    try:
        return run(options)
    except Diagnostic as error:
        print(error, file=sys.stderr)
        return 1


def run(options: argparse.Namespace) -> int:
    kinds, began = drawn(options), time.monotonic()
    if not options.only_compile:
        require_gpu(options.target)
    about = {} if options.only_compile else about_of(options)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    found: list[tuple[str, Timed]] = []
    ends = times(list(kinds), options.jobs, began + options.budget, only_compile=options.only_compile)
    try:
        for number, one in enumerate(ends, 1):
            found.append((kinds[one.product], one))
            print(f"{number:4d}/{len(kinds)} {line(one)}", flush=True)
            if not options.only_compile:
                write_bytes(table(about, found), options.output)
    except KeyboardInterrupt:
        print("stopped; what was timed until then is kept")
    finally:
        ends.close()
    configurations, refused = (
        sum(len(of) for of in each)
        for each in ([one.microseconds for _, one in found], [one.refused for _, one in found])
    )
    done = f"{len(found)} of {len(kinds)} products, {configurations} configurations, {refused} refused"
    print(f"{done}, {time.monotonic() - began:.0f} s")
    return 0


def drawn(options: argparse.Namespace) -> dict[Product, str]:
    """Products with the name of each one's kind, in an order in which any part has its share of each."""
    every, counts = KINDS | OTHER_KINDS, dict[str, int]()
    for word in options.kinds.split(","):
        name, _, count = word.rpartition(":")
        if not count.isdecimal():
            raise Diagnostic(f"'{word}' is not KIND:COUNT, such as 'few rows:60'")
        counts[name] = int(count)
    wanted = {name: replace(kind, count=counts.get(name, 0)) for name, kind in every.items()}
    found: list[tuple[float, Product, str]] = []
    numbers = dict.fromkeys(counts, 0)
    for number, one in enumerate(drawn_lot(wanted, options.lot, counts)):
        text, seed = problem_text(one.problem), 100_000 * options.lot + number
        product = Product(text, options.target, options.each, seed, options.seconds)
        found.append(((numbers[one.kind] + 0.5) / counts[one.kind], product, one.kind))
        numbers[one.kind] += 1
    return {product: kind for _, product, kind in sorted(found, key=lambda each: each[0])}


def about_of(options: argparse.Namespace) -> dict[str, Any]:
    """What a table says of itself."""
    name, day = device_of(target_of(options.target)).name, datetime.now(UTC).date().isoformat()
    about = f"products by lot {options.lot} on an {name}, {day}: [configuration, us], medians in turn"
    return {"about": f"{about} over rotating arrays", "when": day, "gpu": name}


def line(one: Timed) -> str:
    """A product as it comes: the first one's time, the pick's, and the best one's, and what failed."""
    us = list(one.microseconds.values())
    best = f"{us[0]:8.2f} us, best {min(us):8.2f} of {len(us):2d}" if any(us) else f"{len(us):2d} compiled"
    failed = "".join(f"\n     {text or 'all'}: {' '.join(why.split())}" for text, why in one.refused.items())
    return f"{best}  {one.product.problem}{failed}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = ", ".join(OTHER_KINDS)
    parser.add_argument("--lot", type=int, required=True, metavar="SEED", help="what decides the products")
    parser.add_argument(
        "--kinds", required=True, metavar="KIND:COUNT,...", help=f"{known}, and kinds of hopper.py --lot"
    )
    parser.add_argument("--each", type=int, default=12, metavar="N", help="configurations of each product")
    parser.add_argument("--seconds", type=float, default=0.2, help="of one product's contest")
    parser.add_argument("--budget", type=float, default=600.0, metavar="SECONDS", help="of everything")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) - 1), help="that compile")
    parser.add_argument("--only-compile", action="store_true", help="fill the cache; needs no GPU")
    parser.add_argument("-o", "--output", type=Path, default=Path("times.json.gz"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
