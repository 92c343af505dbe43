"""Tries a fixed sample of small faults, each in a copy of the project, and says which no test sees.

    python -m tests.mutants                          the sample, for an hour at most
    python -m tests.mutants --seconds 600 --only emit/device/cuda
    python -m tests.mutants --list                   the mutants, without trying them
    python -m tests.mutants --record                 first, once a commit: which tests execute which lines

Exit code 1 where one survives.  Without a recording, tests are chosen by name and by what they import.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from tests.mutants.mutation import EQUIVALENT, Mutant, equivalents, mutants_of, sample
from tests.mutants.selection import Selection, read
from tests.mutants.tree import copied, record
from tests.mutants.trial import SURVIVED, Trial, Trials, score, table

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".mutants"
BEGIN, END = "<!-- mutants: begin -->\n", "<!-- mutants: end -->\n"


def main(words: Sequence[str] | None = None) -> int:
    given = arguments(words)
    mutants = chosen(given.only, given.each)
    if given.list:
        print(*mutants, sep="\n")
        return 0
    signal.signal(signal.SIGTERM, _stopped)
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    recording, until = KEPT / f"{commit}.jsonl", time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory(prefix="imbrex-mutants-") as folder:
        if given.record:
            tree = copied(ROOT, Path(folder) / "record")
            tests = sorted((tree.root / "tests").glob("**/test_*.py"))
            record(tree, (str(path.relative_to(tree.root)) for path in tests), recording, until)
            return 0
        trees = [copied(ROOT, Path(folder) / str(i)) for i in range(given.jobs)]
        selection = Selection(trees[0].root, read(recording))
        trials = Trials(selection.tests, given.limit, until, equivalents(EQUIVALENT.read_text("utf-8")))
        done = trials.all(mutants, trees, _tell)
    chosen_by = "coverage" if selection.recorded else "name and import"
    summary = (
        f"Measured {datetime.date.today()} at {commit[:10]}: {len(done)} of the {len(mutants)} mutants of "
        f"the sample in {given.seconds:g} s, at most {given.limit:g} s each, tests chosen by {chosen_by}; "
        f"killed {score(done) or 'none'}."
    )
    print(
        summary,
        *table(done),
        *sorted(f"left out, it fails on the unchanged tree: {t}" for t in trials.silent),
        sep="\n",
    )
    if given.json:
        told = {"summary": summary, "trials": [asdict(trial) for trial in done]}
        given.json.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    if given.page:
        given.page.write_text(page(given.page.read_text("utf-8"), summary, done), "utf-8")
    return int(any(trial.outcome == SURVIVED for trial in done))


def chosen(only: str, each: int) -> list[Mutant]:
    """The sample of the project as it is; `only`: those whose line of --list holds this, as many a folder."""
    paths = (path for path in sorted((ROOT / "src").rglob("*")) if path.suffix in (".py", ".h", ".cpp"))
    names = ((str(path.relative_to(ROOT)), path.read_bytes()) for path in paths)
    return sample((m for name, text in names for m in mutants_of(name, text) if only in str(m)), each)


def page(text: str, summary: str, done: Sequence[Trial]) -> str:
    """The page with the new score."""
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    assert found, f"{BEGIN.strip()} and {END.strip()} should stand where the score goes"
    return "\n".join([before + BEGIN + summary, "", *table(done), END + after])


def _tell(trial: Trial) -> None:
    print(
        f"{trial.outcome} ({trial.seconds:.0f} s{', ' * bool(trial.by)}{trial.by}): {trial.mutant}",
        flush=True,
    )


def _stopped(_: int, __: FrameType | None) -> None:
    sys.exit("stopped")


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=3600, help="for all; what is not tried then is left")
    parser.add_argument("--only", default="", metavar="TEXT", help="mutants whose line of --list holds this")
    parser.add_argument("--each", type=int, default=10, help="mutants of a folder")
    parser.add_argument("--limit", type=float, default=120, help="seconds for the tests of one mutant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at once")
    parser.add_argument("--list", action="store_true", help="only say what would be tried")
    parser.add_argument("--record", action="store_true", help="record what each test executes, and end")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the answers there")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the score into that page")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
