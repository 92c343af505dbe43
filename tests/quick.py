"""Quick tests: those that start no compiler and no other process, execute no kernel, and take no seconds.

quick.txt names the functions of tests that are not, and SLOW_PLACES what holds nothing else; `pytest --quick`
leaves them out, and fails where another test does what a quick one does not.  `pytest --update-quick [PATH]`
runs all and writes the names.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

__all__ = ["SLOW_PLACES", "Quick", "names"]

FILE = Path(__file__).with_name("quick.txt")
HEAD = "# Functions of tests that are not quick: written by pytest --update-quick, see quick.py.\n"
SLOW = {
    "xdsl.interpreter.Interpreter.__init__": "executes a kernel",  # first: importing it starts a process
    "os.fork": "starts a process",
    "subprocess.Popen.__init__": "starts a process",
    "multiprocessing.process.BaseProcess.start": "starts a process",
    "imbrex.build.nvidia.nvrtc.compiled": "compiles",
    "imbrex.build.nvidia.cubin.compiled": "compiles",
}
SLOW_PLACES = (
    "e2e", "cdna", "gpu", "fuzz", "hashes", "mutants",
    "unit/bench", "unit/test_docs.py", "unit/test_examples.py", "unit/emit/device", "unit/emit/emulate",
    "unit/verify/test_faults.py",
)  # fmt: skip
"""Below `tests`: what does nothing else, or runs others' code."""
NOT_QUICK = ", and is not quick: pytest --update-quick PATH writes its name into tests/quick.txt"
LONG_S = 0.3
"""CPU seconds of all cases of a function that is not quick; only --update-quick looks."""
HABITS = tuple(
    f"tests/unit/test_{what}" for what in ("collection", "docstrings", "import_direction", "names_of_types")
)
"""What holds every edit to the habits of the house, however long that takes."""


@cache
def names() -> frozenset[str]:
    """The functions that are not quick, `unit.test_x.test_y`."""
    return frozenset(line for line in FILE.read_text("utf-8").splitlines() if not line.startswith("#"))


class Quick:
    """Under --quick and --update-quick: what is slow is forbidden, and under the latter noted."""

    def __init__(self, config: pytest.Config) -> None:
        self.is_update = bool(config.getoption("--update-quick"))
        self.is_worker = hasattr(config, "workerinput")
        self.item: pytest.Item | None = None
        self.cpu = defaultdict[str, float](float)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """What has no quick test is not even imported."""
        tests = Path(__file__).parent
        if any(collection_path == tests / place for place in SLOW_PLACES):
            return True
        return True if not self.is_update and _is_slow(collection_path) else None

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        left_out = frozenset[str]() if self.is_update else names()
        gone = [item for item in items if _function(item.nodeid) in left_out]
        if gone:
            config.hook.pytest_deselected(items=gone)
            items[:] = [item for item in items if _function(item.nodeid) not in left_out]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Whatever is slow fails."""
        with pytest.MonkeyPatch.context() as patch:
            for name, does in SLOW.items():
                patch.setattr(name, self._fails(does))
            return (yield)

    def _fails(self, does: str) -> Callable[..., NoReturn]:
        def fail(*_: object, **__: object) -> NoReturn:
            if self.item is not None:  # whatever becomes of what is raised
                self.item.user_properties.append(("slow", does))
                self.item.add_report_section("call", "quick", f"it {does}{NOT_QUICK}")
            pytest.fail(f"it {does}{NOT_QUICK}")

        return fail

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.item = item

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        started = time.process_time()
        try:
            return (yield)
        finally:
            item.user_properties.append(("cpu", time.process_time() - started))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """What is skipped for another reason tells nothing: its name stays as it was."""
        told = dict(report.user_properties)
        if "slow" in told or NOT_QUICK in report.longreprtext:  # or its fixture has failed before
            self.cpu[_function(report.nodeid)] += LONG_S
        elif report.when == "teardown" and "cpu" in told and not _is_habit(report.nodeid):
            self.cpu[_function(report.nodeid)] += float(str(told["cpu"]))

    def pytest_sessionfinish(self) -> None:
        if self.is_update and not self.is_worker:
            slow = {name for name, seconds in self.cpu.items() if seconds >= LONG_S}
            written = sorted((names() - self.cpu.keys()) | slow)
            FILE.write_text(HEAD + "".join(f"{name}\n" for name in written), "utf-8")


def _is_slow(file: Path) -> bool:
    """Does a file hold tests, and none that is quick?"""
    if not file.match("test_*.py"):
        return False
    module = ".".join(file.with_suffix("").relative_to(Path(__file__).parent).parts)
    left_out = {name.rpartition(".")[2] for name in names() if name.startswith(f"{module}.")}
    return bool(left_out) and left_out.issuperset(re.findall(r"def (test_\w+)", file.read_text("utf-8")))


def _is_habit(test: str) -> bool:
    return test.partition(".py::")[0] in HABITS


def _function(test: str) -> str:
    """The name of a test's function below `tests`, as one imports it, whatever its parameters are."""
    path, _, name = test.partition("[")[0].removeprefix("tests/").partition("::")
    return ".".join((*path.removesuffix(".py").split("/"), *name.split("::")))
