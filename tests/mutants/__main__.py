"""Tries a fixed sample of small faults, each in a copy of the project, and says which no test sees.

    python -m tests.mutants                          the sample, for an hour at most
    python -m tests.mutants --seconds 600 --only emit/device/cuda
    python -m tests.mutants --json out.json          keeps each answer at once; a second time it goes on
    python -m tests.mutants --json out.json --again  tries again what survived
    python -m tests.mutants --json out.json --page docs/development.md   writes their score, and tries nothing
    python -m tests.mutants --seed 2 --each 1        another sample, to see what the tests let pass of it
    python -m tests.mutants --seed 2 --since v1.0    of lines that were written since that revision
    python -m tests.mutants --list                   the mutants, without trying them
    python -m tests.mutants --record                 first, once a commit: which tests execute which lines

Exit code 1 where one survives.  Without a recording, tests are chosen by name and by what they import.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

from tests.mutants.answers import Answers
from tests.mutants.changed import changed_lines
from tests.mutants.mutation import EQUIVALENT, Mutant, equivalents, mutants_of, sample
from tests.mutants.selection import Selection, read
from tests.mutants.tree import built, copied, digest, record
from tests.mutants.trial import SURVIVED, Trial, Trials, named, table

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".mutants"
BEGIN, END = "<!-- mutants: begin -->\n", "<!-- mutants: end -->\n"


def main(words: Sequence[str] | None = None) -> int:
    given = arguments(words)
    mutants = chosen(given.only, given.each, given.seed, given.since)
    if given.list:
        print(*mutants, sep="\n")
        return 0
    signal.signal(signal.SIGTERM, _stopped)
    equivalent = equivalents(EQUIVALENT.read_text("utf-8"))
    answers = Answers(given.json, mutants, equivalent)
    if given.page:
        given.page.write_text(page(given.page.read_text("utf-8"), answers.summary(), answers.trials), "utf-8")
        return 0
    tree, until = digest(ROOT), time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory(prefix="imbrex-mutants-") as folder:
        cache = built(ROOT, Path(folder) / "kernels")
        with ThreadPoolExecutor(given.jobs) as pool:
            trees = [
                *pool.map(lambda job: copied(ROOT, Path(folder) / str(job), job, cache), range(given.jobs))
            ]
        recording, tests = KEPT / f"{tree}.jsonl", sorted((ROOT / "tests").glob("**/test_*.py"))
        if given.record:
            record(trees, (str(path.relative_to(ROOT)) for path in tests), recording, until)
            return 0

        def told(trial: Trial) -> None:
            answers.add(trial, tree)
            by = f", {trial.by}" if trial.by else ""
            print(f"{trial.outcome} ({trial.seconds:.0f} s{by}): {trial.mutant}", flush=True)

        trials = Trials(Selection(ROOT, read(recording)).tests, given.limit, until, equivalent)
        trials.all(answers.left(given.limit, given.again), trees, told)
    silent = sorted(f"left out, it fails on the unchanged tree: {test}" for test in trials.silent)
    print(answers.summary(), *table(answers.trials), *named(answers.trials), *silent, sep="\n")
    return int(any(trial.outcome == SURVIVED for trial in answers.trials))


def chosen(only: str, each: int, seed: str = "", since: str = "") -> list[Mutant]:
    """The sample of the project as it is; `only`: those whose line of --list holds this, as many a folder.

    since: a revision of git, whose own lines hold none.
    """
    new = changed_lines(ROOT, since) if since else {}
    paths = (path for path in sorted((ROOT / "src").rglob("*")) if path.suffix in (".py", ".h", ".cpp"))
    paths = (path for path in paths if not since or str(path.relative_to(ROOT)) in new)
    names = ((str(path.relative_to(ROOT)), path.read_bytes()) for path in paths)
    mutants = (m for name, text in names for m in mutants_of(name, text) if only in str(m))
    return sample((m for m in mutants if not since or m.line in new.get(m.path, ())), each, seed)


def page(text: str, summary: str, done: Sequence[Trial]) -> str:
    """The page with the new score."""
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    assert found, f"{BEGIN.strip()} and {END.strip()} should stand where the score goes"
    said = [line for one in named(done) for line in ("", one)]
    return "\n".join([before + BEGIN + summary, "", *table(done), *said, END + after])


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
    parser.add_argument("--each", type=int, default=3, help="mutants of a folder")
    parser.add_argument("--seed", default="", metavar="TEXT", help="draws another sample than the fixed one")
    parser.add_argument("--since", default="", metavar="REVISION", help="mutants of lines written since")
    parser.add_argument("--limit", type=float, default=120, help="CPU seconds for the tests of one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at once")
    parser.add_argument("--list", action="store_true", help="only say what would be tried")
    parser.add_argument("--record", action="store_true", help="record what each test executes, and end")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep each answer there, a line for each")
    parser.add_argument("--again", action="store_true", help="try those of --json that survived")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the score of --json into that page")
    given = parser.parse_args(words)
    if (given.again or given.page) and not (given.json and given.json.exists()):
        parser.error("--again and --page take the answers of --json")
    return given


if __name__ == "__main__":
    sys.exit(main())
