"""Every test run has its own kernel cache, so it neither meets what an earlier one built nor leaves any."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


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
        patch.delenv("IMBREX_CXX", raising=False)
        patch.delenv("IMBREX_SHARED_CACHE", raising=False)
        yield directory


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kills", type=int, default=20, help="how many compiles tests/e2e/test_killed.py kills")
    parser.addoption(
        "--update-golden", action="store_true", help="write the emitted source into tests/golden"
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))
