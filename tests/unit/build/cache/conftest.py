"""A cache of its own for each test, of a process that has said nothing yet."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from imbrex.build.cache import Cache, location


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No warning was said, and nobody else's temporary files are about."""
    monkeypatch.setattr(location, "_warned", set())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path)
