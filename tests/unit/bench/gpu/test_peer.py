"""Peers on a GPU that need no GPU to say that they do not take part."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from imbrex.bench.gpu import peer, row
from imbrex.bench.gpu.peer import peer_calls
from imbrex.bench.gpu.rotation import Rotation
from imbrex.bench.gpu.sets import Entry
from imbrex.bench.peer import PACKAGES
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Conv2d, Gemm, Problem

HOPPER = Path(__file__).resolve().parents[4] / "benchmarks" / "hopper.py"
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


@pytest.mark.parametrize(
    ("name", "package"), [("torch", "torch"), ("lt", "nvmath-python"), ("triton", "triton")]
)
def test_a_peer_whose_package_is_missing(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row says which, and asks the others; one that cannot compute the problem says that."""
    calls: list[Any] = [lambda: None]
    monkeypatch.setattr(row, "peer_calls", lambda name, *_: None if name == "none" else calls)
    module, _ = PACKAGES[name]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else object())
    entry = Entry("given", "a product", PLAIN, (*PACKAGES, "none"))
    others = [peer for peer in PACKAGES if peer != name]
    assert row._peers(entry, Rotation(PLAIN, ())) == (
        dict.fromkeys(others, calls),
        {name: f"{package} is not installed", "none": "has no way to compute it"},
    )


def test_the_speed_table_says_which_peers_will_be_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At its start, before it looks for a GPU."""
    hopper = runpy.run_path(str(HOPPER))

    def no_gpu(_: str) -> None:
        raise Diagnostic("no GPU")

    monkeypatch.setitem(hopper["run"].__globals__, "require_gpu", no_gpu)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "nvmath" else object())
    monkeypatch.setattr(sys, "argv", ["hopper.py", "--quick"])
    assert hopper["main"]() == 1
    wanted = "no times of lt: nvmath-python is not installed (pip install nvmath-python)\nerror: no GPU\n"
    assert capsys.readouterr().err == wanted
