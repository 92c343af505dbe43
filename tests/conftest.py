"""Every test run has its own kernel cache, so it neither meets what an earlier one built nor leaves any.

What is quick is decided here, by what a test uses: under `--quick` one that starts a compiler, or any other
process, or executes a kernel in NumPy, is skipped when it does; places that do nothing else are left out.
What was skipped is remembered for as long as its file stays as it is, and then skipped before it begins.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

import pytest
from tests.pairs import keep_pairs

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
"""Below `tests`: what does nothing else, or runs others' code, which takes a skip for a fault."""
QUICK, REMEMBERED = "--quick: ", "imbrex/slow"


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Path]:
    """The directory of the run's cache; the processes of one run share it."""
    base = tmp_path_factory.getbasetemp()
    directory = (base if worker_id == "master" else base.parent) / "kernel-cache"
    private = base / "private"  # where a failed build keeps its source
    private.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(private))
        patch.setattr(tempfile, "tempdir", str(private))
        patch.setenv("IMBREX_CACHE_DIR", str(directory))
        patch.setenv("IMBREX_DB", "off")
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # else each process compiles the package anew
        patch.setenv("PYTHONPYCACHEPREFIX", str(directory.parent / "bytecode"))
        patch.delenv("IMBREX_CXX", raising=False)
        patch.delenv("IMBREX_SHARED_CACHE", raising=False)
        yield directory


@pytest.fixture(scope="session", autouse=True)
def quick(request: pytest.FixtureRequest) -> Iterator[None]:
    """Skips the test that uses what is slow, where only quick ones are wanted."""
    with pytest.MonkeyPatch.context() as patch:
        for name, does in SLOW.items() if request.config.getoption("--quick") else ():
            patch.setattr(name, skips(f"{QUICK}it {does}"))
        yield


def skips(reason: str) -> Callable[..., NoReturn]:
    """What stands for a function that a test cannot use."""

    def skip(*_: object, **__: object) -> NoReturn:
        pytest.skip(reason)

    return skip


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    tests = Path(__file__).parent
    is_slow = any(collection_path == tests / place for place in SLOW_PLACES)
    return True if is_slow and config.getoption("--quick") else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    keep_pairs(config, items)


class Slow:
    """The tests that were skipped for what they use, by name, with the text that their file had."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.found = config, dict[str, str](config.cache.get(REMEMBERED, {}))
        self.texts = cache(lambda file: sha256((config.rootpath / file).read_bytes()).hexdigest())

    def is_known(self, test: str) -> bool:
        return self.found.get(test) == self.texts(test.partition("::")[0])

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        known = pytest.mark.skip(reason=f"{QUICK}as it did before")
        for item in items:
            if self.is_known(item.nodeid):
                item.add_marker(known)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and QUICK in str(report.longrepr):
            self.found[report.nodeid] = self.texts(report.nodeid.partition("::")[0])

    def pytest_sessionfinish(self) -> None:
        if not hasattr(self.config, "workerinput"):
            self.config.cache.set(REMEMBERED, self.found)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--quick"):
        config.pluginmanager.register(Slow(config), "slow")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kills", type=int, default=20, help="how many compiles tests/e2e/test_killed.py kills")
    parser.addoption("--quick", action="store_true", help="skip what compiles, or executes a kernel")
    parser.addoption(
        "--update-golden", action="store_true", help="write the emitted source into tests/golden"
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))
