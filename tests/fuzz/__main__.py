"""python -m tests.fuzz: every generator in turn, each for its share of the time.

    python -m tests.fuzz --seconds 60 --seed 7 --only ir,commands

Prints the seed of every fault with the case, made small; exit code 1 where there was one.  `--keep` puts
the cases into the corpus, which the tests try.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
import traceback

from tests.fuzz.generator import CORPUS, Case, Generator, run
from tests.fuzz.generators import GENERATORS


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser("python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None, help="of the first round; random where not given")
    parser.add_argument("--only", default="", help="names of generators, with commas")
    parser.add_argument("--keep", action="store_true", help="put what is found into the corpus")
    given = parser.parse_args()
    seed = random.randrange(10**6) if given.seed is None else given.seed
    chosen = [g for g in GENERATORS if not given.only or g.name in given.only.split(",")]
    print(f"seed {seed}; {given.seconds:g} s for {', '.join(g.name for g in chosen)}", flush=True)
    faults = 0
    with tempfile.TemporaryDirectory(prefix="imbrex-fuzz-") as folder:
        os.environ.setdefault("IMBREX_CACHE_DIR", folder)
        os.environ["IMBREX_DB"] = "off"
        for generator in chosen:
            faults += _tried(generator, seed, given.seconds / len(chosen), given.keep)
    return 1 if faults else 0


def _tried(generator: Generator, seed: int, seconds: float, keep: bool) -> int:
    """Rounds until the time is over or one fails; how many failed."""
    tried = carried_out = 0
    started, number = time.monotonic(), seed
    while (spent := time.monotonic() - started) < seconds:
        done = run(generator, number, until_s=started + seconds)
        tried, carried_out = tried + done.tried, carried_out + done.carried_out
        if done.failed is not None:
            last = traceback.format_exception(done.error, limit=-4)
            print(f"{generator.name}: FAULT, seed {number}: {done.failed!r}\n{''.join(last)}", flush=True)
            if keep:
                _keep(generator, done.failed)
            return 1
        number += 1
    spent = time.monotonic() - started
    rate = f"{tried / spent * 3600:,.0f} an hour"
    print(
        f"{generator.name}: {tried} cases, {carried_out} carried out, {rate}, seeds {seed} to {number - 1}",
        flush=True,
    )
    return 0


def _keep(generator: Generator, case: Case) -> None:
    cases = [*generator.corpus, case]
    (CORPUS / f"{generator.name}.json").write_text(json.dumps(cases, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
