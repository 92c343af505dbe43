"""Compiles every case and compares its machine code with the record.

    python -m tests.hashes                   says which kernels differ; exit code 1 where one does
    python -m tests.hashes --update          writes what is compiled now, and says what changed
    python -m tests.hashes --only sm_90a     those cases whose name holds this
    python -m tests.hashes --all             compiles also what the record says of equal sources

What has the sources, the compiler and the flags of the record has its code, and is not compiled, but for one
case in eight, by its name, so that a record that is not true is seen.
A target whose compiler is missing, or is not the one of the record, is skipped with the reason.  Trials of
the shipped databases whose source is another one by now are named, too: no call finds them, and
`tests.hashes.rekey` mends them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, repeat
from pathlib import Path
from zlib import crc32

from tests.hashes.hash_cases import HashCase, hash_cases
from tests.hashes.machine_code import NAME, compiled, compiler_of
from tests.hashes.record import PATH, Record, differences, read, record_of, write
from tests.hashes.rekey import stale

from imbrex.database.location import SHIPPED
from imbrex.diagnostic import Diagnostic


def main(words: Sequence[str] | None = None) -> int:
    os.environ["IMBREX_DB"] = "off"
    options = arguments(words)
    started, before = time.monotonic(), read(options.record)
    wanted = [case for case in hash_cases() if options.only in str(case)]
    skipped = {t: skip_reason(t, {} if options.update else before.compilers) for t in targets(wanted)}
    for target, reason in skipped.items():
        if reason:
            print(f"{target} is skipped: {reason}", flush=True)
    served = [case for case in wanted if not skipped[case.target]]
    now = compiled_again(before, served, options.jobs, every=options.all)
    told = list(differences(before, now))
    for line in told:
        print(line)
    for path in sorted(path for path in SHIPPED.glob("*.txt") if options.only in path.stem):
        for line in stale(path):
            print(line)
    if options.update:
        write(now, options.record)
    print(f"{len(wanted)} cases, {len(told)} kernels differ, {time.monotonic() - started:.0f} s")
    return int(bool(told) and not options.update)


def targets(cases: Iterable[HashCase]) -> Iterable[str]:
    return dict.fromkeys(case.target for case in cases)


def skip_reason(target: str, recorded: Mapping[str, str]) -> str:
    """Why the target is not compiled; nothing where it can be."""
    try:
        name, version = compiler_of(target)
    except Diagnostic as error:
        return str(error)
    was = recorded.get(name, version)
    return "" if was == version else f"the record is of {name} {was}, here is {version}"


def compiled_again(before: Record, wanted: Sequence[HashCase], jobs: int, *, every: bool) -> Record:
    """The record with these cases as they are compiled now and the others as they were, in their order."""
    known = [() if every or is_compiled_anyway(case) else before.of(str(case)) for case in wanted]
    with ProcessPoolExecutor(jobs) as pool:
        found = pool.map(compiled, wanted, repeat(NAME), known)
        made = dict(zip(map(str, wanted), found, strict=True))
    kernels = chain.from_iterable(made.get(case) or before.of(case) for case in map(str, hash_cases()))
    return record_of(before.compilers | dict(map(compiler_of, targets(wanted))), kernels)


def is_compiled_anyway(case: HashCase) -> bool:
    """One case in eight, the same ones everywhere."""
    return crc32(str(case).encode()) % 8 == 0


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.hashes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--update", action="store_true", help="write the record anew")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds this")
    parser.add_argument("--all", action="store_true", help="compile equal sources, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--record", type=Path, default=PATH, help=argparse.SUPPRESS)
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
