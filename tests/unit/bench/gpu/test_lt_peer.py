"""cuBLASLt as a peer, on one that numpy stands for: its column-major products are ours, its best is taken."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.unit.bench.gpu.cublaslt import TYPES, Array, CublasLt, Tensor, torch

from imbrex.problem import Gemm

README = Path(__file__).parents[4] / "README.md"
Peer = Callable[[CublasLt], Any]


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> Peer:
    """The module on that cuBLASLt; a recording is the calls themselves, and later algorithms are faster."""

    def made(lt: CublasLt) -> Any:
        bindings: Any = ModuleType("nvmath.bindings")
        bindings.cublasLt = lt
        for name, module in (
            ("torch", torch()),
            ("nvmath", ModuleType("nvmath")),
            (bindings.__name__, bindings),
        ):
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.delitem(sys.modules, "imbrex.bench.gpu.lt_peer", raising=False)
        module: Any = import_module("imbrex.bench.gpu.lt_peer")
        monkeypatch.delitem(sys.modules, module.__name__)
        monkeypatch.setattr(module, "recorded", lambda calls: [call() for call in calls])
        monkeypatch.setattr(module, "replay_contest", contest)
        return module

    def contest(replays: Mapping[str, object], seconds: float) -> dict[str, SimpleNamespace]:
        assert seconds > 0
        return {name: SimpleNamespace(median_ns=100 - int(name)) for name in replays}

    return made


def operands(gemm: Gemm, dtype: str, result: str, seed: int) -> dict[str, Tensor]:
    """Small whole numbers; leading dimensions and strides of a batch beyond what they need."""
    rng = np.random.default_rng(seed)

    def matrix(rows: int, columns: int, kind: str) -> Tensor:
        shape = (gemm.batch, rows, columns)
        apart = np.zeros((gemm.batch, rows + 2, columns + 3), TYPES[kind])[:, :rows, :columns]
        apart[:] = rng.integers(-3, 4, shape).astype(TYPES[kind])
        return Tensor(apart if gemm.batch > 1 else apart[0])

    found = {
        "a": matrix(*((gemm.k, gemm.m) if gemm.transpose_a else (gemm.m, gemm.k)), dtype),
        "b": matrix(*((gemm.n, gemm.k) if gemm.transpose_b else (gemm.k, gemm.n)), dtype),
        "c": matrix(gemm.m, gemm.n, result),
    }
    if "bias" in str(gemm.epilogue):
        found["bias"] = Tensor(rng.integers(-9, 9, gemm.n).astype(TYPES[result]))
    return found


def wanted(gemm: Gemm, t: Mapping[str, Tensor]) -> Array:
    a, b, c = (t[role].array.astype(np.float64) for role in "abc")
    a = a.swapaxes(-1, -2) if gemm.transpose_a else a
    b = b.swapaxes(-1, -2) if gemm.transpose_b else b
    sums = gemm.alpha * (a @ b) + gemm.beta * c
    text = str(gemm.epilogue)
    sums = sums + t["bias"].array.astype(np.float64) if "bias" in text else sums
    if "gelu" in text:
        return sums / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (sums + 0.044715 * sums**3)))
    return np.maximum(sums, 0) if "relu" in text else sums


CASES: dict[str, tuple[Gemm, str, str]] = {
    **{
        f"{a:d}{b:d}": (Gemm(5, 7, 3, transpose_a=a, transpose_b=b), "float32", "float32")
        for a in (False, True)
        for b in (False, True)
    },
    "alpha and beta": (Gemm(4, 6, 5, alpha=2.0, beta=-3.0), "float32", "float32"),
    "batch": (Gemm(4, 6, 5, batch=3, transpose_b=True, beta=1.0), "float32", "float32"),
    "f64": (Gemm(4, 6, 5, dtype="f64", alpha=0.5), "float64", "float64"),
    "i8": (Gemm(4, 6, 8, dtype="i8"), "int8", "int32"),
    "f16": (Gemm(4, 6, 8, dtype="f16", epilogue="x + bias"), "float16", "float16"),
    "bf16": (Gemm(4, 6, 8, dtype="bf16", epilogue="relu(x + bias)"), "bfloat16", "bfloat16"),
    "tf32": (Gemm(4, 6, 8, dtype="tf32"), "float32", "float32"),
    "f8": (Gemm(4, 6, 8, transpose_b=True, dtype="f8e4m3fn"), "float8_e4m3fn", "float16"),
    "f8e5m2": (Gemm(4, 6, 8, transpose_b=True, dtype="f8e5m2"), "float8_e5m2", "float32"),
    "relu": (Gemm(4, 6, 5, epilogue="relu(x)"), "float32", "float32"),
    "gelu": (Gemm(4, 6, 5, epilogue="gelu_tanh(x)"), "float32", "float32"),
    "gelu of bias": (Gemm(4, 6, 5, epilogue="gelu_tanh(x + bias)"), "float32", "float32"),
}
COMPUTE = {"f64": 70, "i8": 72, "tf32": 77}
"""cublasComputeType_t; CUBLAS_COMPUTE_32F, 68, of the others."""


def called(calls: Sequence[Callable[[], object]] | None) -> None:
    assert calls is not None
    for call in calls:
        call()


@pytest.mark.parametrize("case", CASES)
def test_products_are_ours(peer: Peer, case: str) -> None:
    """On every set its own arrays; and one that is told otherwise is not."""
    gemm, dtype, result = CASES[case]
    lt = CublasLt()
    sets = [operands(gemm, dtype, result, seed) for seed in range(3)]
    calls = peer(lt).best(gemm, sets)
    sets_before = [operands(gemm, dtype, result, seed) for seed in range(3)]
    for t, before in zip(sets, sets_before, strict=True):
        t["c"].array[:] = before["c"].array
    called(calls)
    for t, before in zip(sets, sets_before, strict=True):
        tolerance = 2.0**-7 if "bfloat16" in result else 1e-6
        np.testing.assert_allclose(
            t["c"].array.astype(np.float64), wanted(gemm, before), tolerance, tolerance
        )
    compute, _ = lt.ran[-1][1].given
    assert compute == COMPUTE.get(case, 68)
    assert ("FAST_ACCUM" in lt.ran[-1][1].attributes) == case.startswith("f8")


def test_the_best_of_those_that_run_is_taken_for_all_sets(peer: Peer) -> None:
    lt = CublasLt(known=5, broken=(4,))
    sets = [operands(Gemm(4, 6, 5), "float32", "float32", seed) for seed in range(2)]
    calls = peer(lt).best(Gemm(4, 6, 5), sets)
    assert sorted({number for number, _ in lt.ran}) == [0, 1, 2, 3]
    lt.ran.clear()
    called(calls)
    assert [number for number, _ in lt.ran] == [3, 3]


def test_as_many_algorithms_are_asked_for_as_the_page_says(peer: Peer) -> None:
    found = re.search(r"of (\d+) algorithms of\s+cuBLASLt", README.read_text("utf-8"))
    assert found is not None
    count = int(found[1])
    lt = CublasLt(known=count + 9)
    peer(lt).best(Gemm(4, 6, 5), [operands(Gemm(4, 6, 5), "float32", "float32", 0)])
    assert lt.requested == [count] and {number for number, _ in lt.ran} == {*range(count)}


@pytest.mark.parametrize(
    ("lt", "told"),
    [
        (CublasLt(known=0), "names no algorithm that runs"),
        (CublasLt(known=2, broken=(0, 1)), "names no algorithm that runs"),
        (CublasLt(known=-1), "CUBLAS_STATUS_NOT_SUPPORTED"),
    ],
    ids=["none", "none that runs", "refused"],
)
def test_what_it_refuses_is_said(peer: Peer, lt: CublasLt, told: str) -> None:
    with pytest.raises(RuntimeError, match=told):
        peer(lt).best(Gemm(4, 6, 5), [operands(Gemm(4, 6, 5), "float32", "float32", 0)])


def test_an_epilogue_that_it_has_not_is_no_contest(peer: Peer) -> None:
    gemm = Gemm(4, 6, 5, epilogue="silu(x)")
    lt = CublasLt()
    assert peer(lt).best(gemm, [operands(gemm, "float32", "float32", 0)]) is None and not lt.requested
