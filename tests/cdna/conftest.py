"""Kernels that run in the emulator of code objects as if it were a GPU."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from imbrex.run.hip.emulated import EmulatedGpu


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], EmulatedGpu]:
    """`gpu("gfx942")`: from now on such a GPU is here; gives what stands for hip-python's module."""

    def install(chip: str) -> EmulatedGpu:
        hip = EmulatedGpu(chip)
        monkeypatch.setitem(sys.modules, "hip", SimpleNamespace(hip=hip))
        return hip

    return install
