"""Re-keys trials of a tuning database whose machine code a change of sources leaves as it was.

    python -m tests.hashes.rekey codes DATABASE CODES      before the change: what each trial is compiled to
    python -m tests.hashes.rekey apply DATABASE CODES      after it: those that are compiled to the same

A trial is known by the digest of the source that was timed, so that a comment in a device header voids it.
`codes` keeps, of trials whose digest is that of the source here, the code and the launches; `apply` gives
those the digest of the source that makes the same of them now, in the text DATABASE, and says what became of
each.  A time stays the time of the instructions that were timed: nothing is re-keyed where an instruction, a
count of registers or spills, a launch or the compiler differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.hashes.machine_code import compiler_of, machine_code

from imbrex.config import configuration
from imbrex.database.record import Trial
from imbrex.database.rows import Row
from imbrex.database.text import text
from imbrex.database.view import rows_in
from imbrex.diagnostic import Diagnostic
from imbrex.kernel.options import default_name
from imbrex.pipeline import Lowered, Request, lower, machine_on
from imbrex.problem import parse_problem
from imbrex.run.host_machine import host_machine


@dataclass(frozen=True)
class Made:
    """source: the digest of what is compiled.  code: all that decides how long it takes."""

    source: str
    code: str


def key(row: Row) -> str:
    """The problem and the configuration of a trial, as text."""
    unit, trial = row
    assert isinstance(trial, Trial), trial
    return " ".join((unit.target, str(unit.threads), unit.problem, trial.configuration))


def trials(rows: Sequence[Row]) -> Iterator[Row]:
    """Those that a source was timed for."""
    return ((unit, record) for unit, record in rows if isinstance(record, Trial) and record.source)


def lowered_of(row: Row) -> Lowered:
    """What is lowered here of a trial's problem and configuration."""
    unit, trial = row
    assert isinstance(trial, Trial), trial
    (problem,) = parse_problem(unit.problem)
    machine = machine_on(host_machine(), unit.target, max(1, unit.threads))
    request = Request(problem, machine, unit.target, name=default_name(problem))
    return lower(request.by(configuration.parse(trial.configuration)))


def stale(database: Path) -> Iterator[str]:
    """Trials of other sources than those here, which no call finds."""
    for row in trials(rows_in(database)):
        if lowered_of(row).bundle.digest != source_of(row):
            yield f"{key(row)}: its source is another one"


def made_of(row: Row, source: str = "") -> Made | str:
    """What a trial's source is here, compiled if its digest is this one, or any is wanted; or why there is
    none.
    """
    unit, trial = row
    assert isinstance(trial, Trial), trial
    try:
        lowered = lowered_of(row)
        digest = lowered.bundle.digest
        if source not in ("", digest):
            return "its source is another one"
        compiler = " ".join(compiler_of(unit.target))
        if compiler != trial.compiler:
            return f"it was compiled by {trial.compiler}, here is {compiler}"
        kernels = machine_code(lowered, unit.target, host_machine().isa.level)
    except Diagnostic as error:
        return str(error)
    return Made(digest, repr((kernels, lowered.steps, lowered.zeroed, compiler)))


def source_of(row: Row) -> str:
    """The digest of the source that was timed."""
    _, trial = row
    assert isinstance(trial, Trial), trial
    return trial.source


def codes(database: Path) -> dict[str, dict[str, str]]:
    """By `key`, what trials are compiled to whose source is the one here; says why of the others."""
    rows, found = list(trials(rows_in(database))), dict[str, dict[str, str]]()
    for row in rows:
        made = made_of(row, source_of(row))
        if isinstance(made, Made):
            found[key(row)] = asdict(made)
        else:
            print(f"{key(row)}: {made}", flush=True)
    print(f"{len(found)} of {len(rows)} trials are of the sources here")
    return found


def rekeyed(rows: Sequence[Row], before: Mapping[str, Mapping[str, str]]) -> list[Row]:
    """All rows, trials with the digest of the source that is compiled to the same; says what differs."""
    known = [row for row in trials(rows) if before.get(key(row), {}).get("source") == source_of(row)]
    same: dict[str, str] = {}
    for row in known:
        made = made_of(row)
        if isinstance(made, Made) and made.code == before[key(row)]["code"]:
            same[key(row)] = made.source
        else:
            print(f"{key(row)}: {'other machine code' if isinstance(made, Made) else made}", flush=True)
    print(f"{len(same)} of {len(known)} trials are compiled to the same")
    return [_with(row, same) if row in known else row for row in rows]


def _with(row: Row, sources: Mapping[str, str]) -> Row:
    unit, trial = row
    assert isinstance(trial, Trial), trial
    return unit, replace(trial, source=sources.get(key(row), trial.source))


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.hashes.rekey",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("step", choices=("codes", "apply"))
    parser.add_argument("database", type=Path, help="a text that `imbrex db export` wrote")
    parser.add_argument("codes", type=Path, help="a file of JSON")
    options = parser.parse_args(words)
    if options.step == "codes":
        options.codes.write_text(json.dumps(codes(options.database), indent=1) + "\n")
        return 0
    before = json.loads(options.codes.read_text(encoding="utf-8"))
    found = rekeyed(rows_in(options.database), before)
    options.database.write_text(text(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
