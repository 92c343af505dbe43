"""Every test run has its own kernel cache, so it neither meets what an earlier one built nor leaves any."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import settings
from tests.effort.inlining import CALLS, INLINES
from tests.pairs import keep_few
from tests.quick import Quick

from imbrex.build.cache import private


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Path]:
    """The directory of the run's cache; the processes of one run share it."""
    base = tmp_path_factory.getbasetemp()
    directory = (base if worker_id == "master" else base.parent) / "kernel-cache"
    temporary = base / "private"  # where a failed build keeps its source
    temporary.mkdir()
    if built := os.environ.get("IMBREX_TESTS_CACHE"):  # of tests/mutants, whose runs are hundreds
        shutil.copytree(built, directory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        patch.setattr(tempfile, "tempdir", str(temporary))
        patch.setenv("IMBREX_CACHE_DIR", str(directory))
        patch.setenv("IMBREX_DB", "off")
        if sys.dont_write_bytecode:  # else each process compiles the package anew
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
            patch.setenv("PYTHONPYCACHEPREFIX", str(directory.parent / "bytecode"))
        if importlib.util.find_spec("ziglang"):  # else the compiler that the variable names is the only one
            patch.delenv("IMBREX_CXX", raising=False)
        patch.delenv("IMBREX_SHARED_CACHE", raising=False)
        yield directory


@pytest.fixture(autouse=True)
def nothing_private(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no cache took is kept by a process, for any cache: a test does not meet what another one left."""
    monkeypatch.setattr(private, "_entries", {})
    monkeypatch.setattr(private, "recipes", {})


@pytest.fixture(scope="module", autouse=True)
def effort() -> Iterator[None]:
    """Kernels of CPUs, and Hopper's that a CPU runs, are compiled unoptimised: in a quarter of the time.

    For where tests say what is computed, and not how well; also in Python processes that tests start.  A
    module that compiles as for users has a fixture of this name, and IMBREX_TESTS=all compiles everything so.
    """
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("IMBREX_TESTS") != "all":
            _without_optimisation(patch)
            patch.setenv("PYTHONPATH", str(Path(__file__).with_name("effort")), prepend=os.pathsep)
        yield


def _without_optimisation(patch: pytest.MonkeyPatch) -> None:
    """But for what executes AMD's and Hopper's instructions, which all tests and their processes share."""
    from imbrex.build import device_units, shared_library, toolchain
    from imbrex.cdna import machine
    from imbrex.emit.emulate import hopper
    from imbrex.kernel import built

    given = {module: module.FLAGS for module in (toolchain, shared_library, built, hopper)}

    def as_for_users(*words: Any, **named: Any) -> shared_library.SharedLibrary:
        with pytest.MonkeyPatch.context() as back:
            for module, flags in given.items():
                back.setattr(module, "FLAGS", flags)
            return shared_library.build_shared(*words, **named)

    def units_as_for_users(sources: Any, flags: Sequence[str], *words: Any) -> dict[str, Path]:
        optimised = ["-O2" if flag == "-O0" else flag for flag in flags]
        return device_units.device_objects(sources, (*optimised, INLINES), *words)

    patch.setattr(shared_library, "device_objects", units_as_for_users)
    for module, flags in given.items():
        unoptimised = ("-O0" if flag in ("-O2", "-O3") else flag for flag in flags)
        patch.setattr(module, "FLAGS", (*unoptimised, CALLS))
    patch.setattr(machine, "build_shared", as_for_users)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """In a new clone one worker translates the tests, for nine seconds, and the others find its bytecode."""
    run = getattr(session.config, "workerinput", {}).get("testrunuid")
    last_of_all = Path(__file__).parent / "unit" / "view" / "work" / "__pycache__"
    if run is None or sys.dont_write_bytecode or any(last_of_all.glob("test_*-pytest-*.pyc")):
        return (yield)
    with FileLock(Path(tempfile.gettempdir()) / f"collection-{run}.lock"):
        return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    keep_few(config, items)


def pytest_collection_finish() -> None:
    """Thousands of tests are not garbage: what is alive now is not looked at again, and what comes seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def pytest_sessionfinish() -> None:
    """What is left at the end is not looked through five times, as pytest does for errors that nobody saw."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """Half again as many as cores: a worker that waits, for a compiler or a disk, leaves a core to others."""
    cores = os.cpu_count() or 1
    return cores + (cores + 1) // 2


def pytest_configure(config: pytest.Config) -> None:
    # the same cases every time: `make fuzz` and IMBREX_TESTS=all look for new ones
    settings.register_profile("same", derandomize=os.environ.get("IMBREX_TESTS") != "all", deadline=None)
    settings.load_profile("same")
    if config.getoption("--quick") or config.getoption("--update-quick"):
        config.pluginmanager.register(Quick(config), "quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kills", type=int, default=10, help="how many compiles tests/e2e/test_killed.py kills")
    parser.addoption("--quick", action="store_true", help="leave out what compiles or takes seconds")
    parser.addoption("--update-quick", action="store_true", help="write which those are: tests/quick.txt")
    parser.addoption(
        "--update-golden", action="store_true", help="write the emitted source into tests/golden"
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))
