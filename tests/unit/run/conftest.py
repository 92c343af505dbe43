"""A GPU, and a torch, that are played."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
    from tests.unit.run.fake_cuda import FakeCuda

    fake = FakeCuda()
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", fake)
    yield fake


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    from tests.unit.run.fake_torch import module

    found = module()
    monkeypatch.setitem(sys.modules, "torch", found)
    return found
