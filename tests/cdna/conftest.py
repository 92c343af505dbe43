"""Kernels that run in the emulator of code objects as if it were a GPU.

IMBREX_TESTS=all runs every case.  Without it of each test's cases those run that between them have every pair
of values of two parameters: what breaks a kernel is seldom one case, and never needs all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import pytest

from imbrex.run.hip.emulated import EmulatedGpu

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("IMBREX_TESTS") == "all":
        return
    cases: dict[str, dict[pytest.Item, Pairs]] = {}
    for item in items:
        callspec = getattr(item, "callspec", None)
        if HERE in item.path.parents and callspec is not None and len(callspec.params) > 1:
            values = [(key, str(value)) for key, value in sorted(callspec.params.items())]
            of_test = cases.setdefault(item.nodeid.partition("[")[0], {})
            of_test[item] = frozenset(combinations(values, 2))
    gone = {item for of_test in cases.values() for item in of_test.keys() - covering(of_test)}
    if gone and len(gone) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if item in gone])
        items[:] = [item for item in items if item not in gone]


Pairs = frozenset[tuple[tuple[str, str], ...]]


def covering(cases: Mapping[pytest.Item, Pairs]) -> set[pytest.Item]:
    """Few of the cases that show every pair that any of them shows, always the same ones."""
    left = set[tuple[tuple[str, str], ...]]().union(*cases.values())
    kept: set[pytest.Item] = set()
    while left:
        best = max(cases, key=lambda item: len(cases[item] & left))
        kept.add(best)
        left -= cases[best]
    return kept


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], EmulatedGpu]:
    """`gpu("gfx942")`: from now on such a GPU is here; gives what stands for hip-python's module."""

    def install(chip: str) -> EmulatedGpu:
        hip = EmulatedGpu(chip)
        monkeypatch.setitem(sys.modules, "hip", SimpleNamespace(hip=hip))
        return hip

    return install
