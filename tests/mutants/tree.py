"""Tree: a copy of the project, in which tests run on a mutant.

Law: nobody's checkout is touched, and nothing stays behind, be it a file or a process.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TypeVar

from tests.mutants.mutation import Mutant
from tests.mutants.processes import ended, stop
from tests.mutants.selection import read

__all__ = ["Ran", "Tree", "built", "copied", "digest", "on_trees", "record"]


Item, Answer = TypeVar("Item"), TypeVar("Answer")
BYTECODE: Final = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": ""}
"""Kept beside the source, by its text: a mutant may have the size and the second of what it came from."""


@dataclass(frozen=True)
class Ran:
    """code: of the exit; None where it was ended.  seconds: of a processor.  failed: tests, or files.

    passed, skipped: how many tests.
    """

    code: int | None
    output: str
    seconds: float
    failed: Sequence[str] = ()
    passed: int = 0
    skipped: int = 0


@dataclass(frozen=True)
class Tree:
    """root: holds src/ and tests/.  temporary: for what the tests write.  running: what runs in it now.

    cores: that it may use; all where none is named.  cache: of kernels, what a run of tests finds.
    """

    root: Path
    temporary: Path
    cores: frozenset[int] = frozenset()
    cache: Path | None = None
    running: list[int] = field(default_factory=list)

    @contextmanager
    def fault(self, mutant: Mutant) -> Iterator[None]:
        """The tree with the mutant, while the context lasts."""
        path = self.root / mutant.path
        text = path.read_bytes()
        path.write_bytes(mutant.applied(text))
        try:
            yield
        finally:
            path.write_bytes(text)

    def pytest(self, tests: Sequence[str], cpu: float, until: float, without: Iterable[str] = ()) -> Ran:
        """Those tests up to the first that fails, `without` some."""
        kept = self.temporary / "kept"
        shutil.rmtree(kept, ignore_errors=True)
        left_out = [word for test in sorted(without) for word in ("--deselect", test)]
        words = ["pytest", "-x", "-q", "--tb=no", "-o", f"cache_dir={kept}", *left_out]
        ran = self.run([*words, *tests], cpu, until)
        lastfailed = kept / "v/cache/lastfailed"
        failed = [*json.loads(lastfailed.read_text())] if lastfailed.exists() else []
        told = re.findall(r"(\d+) (\w+)", ran.output.rstrip().rpartition("\n")[2])
        counts = Counter({word: int(count) for count, word in told})
        return replace(
            ran, failed=failed, passed=counts["passed"] + counts["xfailed"], skipped=counts["skipped"]
        )

    def run(self, words: Sequence[str], cpu: float, until: float) -> Ran:
        """A module of Python; after `cpu` seconds, or at `until`, it is ended with all that it started."""
        set_here = {
            "PYTHONPATH": _paths(self.root),
            "PYTHONHASHSEED": "0",
            **BYTECODE,
            "TMPDIR": str(self.temporary),
        }
        if self.cache:
            set_here["IMBREX_TESTS_CACHE"] = str(self.cache)
        if self.cores:
            os.sched_setaffinity(0, self.cores)  # of this thread, and of what it starts
        output = self.temporary / "output.txt"
        with output.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", *words], cwd=self.root, env=os.environ | set_here,
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            self.running.append(process.pid)
            try:
                has_ended, seconds = ended(process, cpu, until)
            finally:
                self.stop()
                code = process.wait()
                self.running.clear()
        return Ran(code if has_ended else None, output.read_text("utf-8", "replace"), seconds)

    def stop(self) -> None:
        """Ends what runs, with all that it started; from any thread."""
        for leader in self.running:
            stop(leader)


def built(project: Path, into: Path) -> Path:
    """A cache with what executes AMD's instructions: 13 CPU seconds that each run of its tests would spend.

    A key there is what was compiled, so a mutant of that is compiled all the same.
    """
    given = os.environ | {"PYTHONPATH": _paths(project), "IMBREX_CACHE_DIR": str(into)}
    made = [sys.executable, "-c", "from imbrex.cdna.machine import core; core()"]
    subprocess.run(made, env=given, check=True)
    return into


def _paths(project: Path) -> str:
    """Where Python looks first: the project, then what was said."""
    return os.pathsep.join([str(project / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])


def copied(project: Path, into: Path, job: int = 0, cache: Path | None = None) -> Tree:
    """What the project has, as it is now; two cores for each job, as of the machines that run the tests.

    cache: what each run of tests begins with.
    """
    cores = sorted(os.sched_getaffinity(0))
    two = frozenset(cores[(job + i) % len(cores)] for i in range(2))
    tree = Tree(into / "tree", into / "tmp", two, cache)
    tree.temporary.mkdir(parents=True)
    for name in _files(project):
        (tree.root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(project / name, tree.root / name)
    compiled = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "src"]
    subprocess.run(compiled, cwd=tree.root, env=os.environ | BYTECODE, check=True)
    return tree


def digest(project: Path) -> str:
    """A name of all that decides an answer: the source and the tests, as they are now."""
    names = sorted(name for name in _files(project) if name.startswith(("src/", "tests/")))
    return sha256(
        b"".join(sha256(name.encode() + (project / name).read_bytes()).digest() for name in names)
    ).hexdigest()[:10]


def _files(project: Path) -> list[str]:
    """What git has, and what is new and not ignored; without git all but what begins with a dot."""
    listed = ["git", "-C", str(project), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if (project / ".git").exists():
        names = subprocess.run(listed, check=True, capture_output=True).stdout.decode().split("\0")
        return [name for name in names if (project / name).is_file()]
    paths = (path.relative_to(project) for path in project.rglob("*") if path.is_file())
    hidden = ("__pycache__", "site")
    return [str(p) for p in paths if not any(part.startswith(".") or part in hidden for part in p.parts)]


def on_trees(
    trees: Sequence[Tree],
    work: Callable[[Item, Tree], Answer],
    items: Iterable[Item],
    before_stop: Callable[[], None] = lambda: None,
) -> list[Answer]:
    """`work` for each of the items, in their order, one to a tree at a time.  before_stop: where one raises,
    or this process is told to end, before what runs in the trees is ended.
    """
    free = SimpleQueue[Tree]()
    for tree in trees:
        free.put(tree)

    def one(item: Item) -> Answer:
        tree = free.get()
        try:
            return work(item, tree)
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        try:
            return [*pool.map(one, items)]
        except BaseException:
            before_stop()
            pool.shutdown(wait=False, cancel_futures=True)
            for tree in trees:
                tree.stop()
            raise


def record(trees: Sequence[Tree], tests: Iterable[str], into: Path, until: float) -> None:
    """Runs each file of tests under coverage.py, and adds what it executes to `into`.

    It goes on where it ended the last time, until that time of time.monotonic.  A file that fails in the
    tree is left out: it could tell nothing.
    """
    known = read(into)
    into.parent.mkdir(parents=True, exist_ok=True)
    on_trees(trees, lambda test, tree: _record(test, tree, into, until), (t for t in tests if t not in known))


def _record(test: str, tree: Tree, into: Path, until: float) -> None:
    from coverage import CoverageData

    if time.monotonic() >= until:
        return
    data = tree.temporary / "coverage"
    measured = ["coverage", "run", "--source=src/imbrex", f"--data-file={data}"]
    ran = tree.run([*measured, "-m", "pytest", "-q", "-x", test], math.inf, until)
    if ran.code is None:
        return
    failed = f", left out: exit code {ran.code}" if ran.code else ""
    print(f"{test}: {ran.seconds:.1f} s{failed}", flush=True)
    if ran.code == 0:
        found = CoverageData(str(data))
        found.read()
        files = {str(Path(f).relative_to(tree.root)): found.lines(f) for f in found.measured_files()}
        lines = {f: sorted(executed) for f, executed in files.items() if executed}
        with into.open("a", encoding="utf-8") as file:  # one write a line: several threads add theirs
            file.write(json.dumps([test, round(ran.seconds, 2), lines]) + "\n")
    data.unlink(missing_ok=True)
