"""Tree: a copy of the project, in which tests run on a mutant.

Law: nobody's checkout is touched, and nothing stays behind, be it a file or a process.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutants.mutation import Mutant
from tests.mutants.selection import read

__all__ = ["Ran", "Tree", "copied", "record"]


@dataclass(frozen=True)
class Ran:
    """code: of the exit; None where the time was over."""

    code: int | None
    output: str
    seconds: float


@dataclass(frozen=True)
class Tree:
    """root: holds src/ and tests/.  temporary: for what the tests write.  running: what runs in it now."""

    root: Path
    temporary: Path
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @contextmanager
    def fault(self, mutant: Mutant) -> Iterator[None]:
        """The tree with the mutant, while the context lasts."""
        path = self.root / mutant.path
        text = path.read_bytes()
        self._write(path, mutant.applied(text))
        try:
            yield
        finally:
            self._write(path, text)

    def _write(self, path: Path, text: bytes) -> None:
        """Compiled Python is told by time and size, which a mutant may share with what it replaces."""
        path.write_bytes(text)
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)

    def pytest(self, tests: Sequence[str], seconds: float) -> Ran:
        """Those files of tests, up to the first that fails."""
        words = ["pytest", "-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider"]
        return self.run([*words, *tests], seconds)

    def run(self, words: Sequence[str], seconds: float) -> Ran:
        """A module of Python with its words; when the time is over, it ends with all that it started."""
        paths = [str(self.root / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        set_here = {
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",  # a mutant may have the size and the second of what it came from
            "TMPDIR": str(self.temporary),
        }
        output, started = self.temporary / "output.txt", time.monotonic()
        with output.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", *words], cwd=self.root, env=os.environ | set_here,
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            self.running.append(process)
            try:
                code = process.wait(max(0.1, seconds))
            except subprocess.TimeoutExpired:
                code = None
            finally:
                self.stop()
                process.wait()
                self.running.clear()
        return Ran(code, output.read_text("utf-8", "replace"), time.monotonic() - started)

    def stop(self) -> None:
        """Ends what runs, with all that it started; from any thread."""
        for process in self.running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def copied(project: Path, into: Path) -> Tree:
    """What git has of the project, and what is new and not ignored, as it is now."""
    listed = ["git", "-C", str(project), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, check=True, capture_output=True).stdout.decode().split("\0")
    tree = Tree(into / "tree", into / "tmp")
    tree.temporary.mkdir(parents=True)
    for name in names:
        if (project / name).is_file():
            (tree.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(project / name, tree.root / name)
    return tree


def record(tree: Tree, tests: Iterable[str], into: Path, until: float) -> None:
    """Runs each file of tests under coverage.py, and adds what it executes to `into`.

    It goes on where it ended the last time, until that time of time.monotonic.  A file that fails in the
    tree is left out: it could tell nothing.
    """
    from coverage import CoverageData

    known, data = read(into), tree.temporary / "coverage"
    into.parent.mkdir(parents=True, exist_ok=True)
    for test in tests:
        left = until - time.monotonic()
        if test in known or left <= 0:
            continue
        measured = ["coverage", "run", "--source=src/imbrex", f"--data-file={data}"]
        ran = tree.run([*measured, "-m", "pytest", "-q", "-x", test], left)
        if ran.code is None:
            return
        failed = f", left out: exit code {ran.code}" if ran.code else ""
        print(f"{test}: {ran.seconds:.1f} s{failed}", flush=True)
        if ran.code == 0:
            found = CoverageData(str(data))
            found.read()
            files = {str(Path(f).relative_to(tree.root)): found.lines(f) for f in found.measured_files()}
            lines = {f: sorted(executed) for f, executed in files.items() if executed}
            with into.open("a", encoding="utf-8") as file:
                file.write(json.dumps([test, round(ran.seconds, 2), lines]) + "\n")
        data.unlink(missing_ok=True)
