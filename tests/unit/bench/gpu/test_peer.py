"""Peers on a GPU that need no GPU to say that they do not take part."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from imbrex.bench.gpu import peer
from imbrex.bench.gpu.peer import peer_calls
from imbrex.problem import Conv2d, Gemm, Problem

PLAIN = Gemm(64, 64, 64, transpose_b=True, dtype="f16")


class Matmul:
    """Stands for the module that calls Triton."""

    def __init__(self) -> None:
        self.asked: list[list[tuple[Any, ...]]] = []

    def best(self, sides: list[tuple[Any, ...]]) -> str:
        self.asked.append(sides)
        return "the best"

    def calls(self, sides: list[tuple[Any, ...]], config: str) -> list[Any]:
        assert config == "the best"
        return [lambda s=s: s for s in sides]


class Named:
    """A tensor that says where it came from."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def mT(self) -> Named:
        return Named(f"{self.name}.mT")


@pytest.fixture
def matmul(monkeypatch: pytest.MonkeyPatch) -> Matmul:
    stands = Matmul()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(peer, "import_module", lambda name: stands)
    return stands


def sets(count: int) -> list[dict[str, Any]]:
    return [{role: Named(f"{role}{i}") for role in "abc"} for i in range(count)]


def test_triton_chooses_once_for_all_sets(matmul: Matmul) -> None:
    calls = peer_calls("triton", PLAIN, sets(3))
    assert calls is not None and len(matmul.asked) == 1
    taken: list[Any] = [call() for call in calls]
    assert [[x.name for x in sides] for sides in taken] == [[f"a{i}", f"b{i}.mT", f"c{i}"] for i in range(3)]


@pytest.mark.parametrize(
    "problem",
    [
        Gemm(64, 64, 64, transpose_a=True, dtype="f16"),
        Gemm(64, 64, 64, dtype="f32"),
        Gemm(64, 64, 64, dtype="f16", alpha=2.0),
        Gemm(64, 64, 64, dtype="f16", epilogue="relu(x + bias)"),
        Conv2d("forward", 1, 8, 8, 8, 8, 1, 1, dtype="f16"),
    ],
)
def test_triton_has_no_way_to_compute_it(matmul: Matmul, problem: Problem) -> None:
    assert peer_calls("triton", problem, sets(1)) is None
    assert not matmul.asked


def test_triton_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert peer_calls("triton", PLAIN, sets(1)) is None
