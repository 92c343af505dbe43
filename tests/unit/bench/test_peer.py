"""A peer computes the problem that it is compared on, or does not take part."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.bench.peer import _GET_THREADS, Call, NumPy, Peer, _openblas, mapped, one_blas_thread, peers
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.verify.compare import compare
from imbrex.verify.data import random_operands
from imbrex.verify.reference import reference

NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
WAY = {"pad_h": 1, "pad_w": 0, "stride": (2, 1), "dilation": (1, 2)}
FORWARD = Conv2d("forward", 2, 4, 7, 8, 6, 3, 2, **WAY)
PRODUCTS = [Gemm(5, 6, 7), Gemm(5, 6, 7, transpose_a=True, batch=2), Gemm(5, 6, 7, transpose_b=True)]
GROUPED = Conv2d("forward", 1, 4, 5, 5, 6, 3, 3, groups=2, **NHWC)
GRADIENTS = [
    Conv2d(direction, 2, 4, 7, 8, 6, 3, 2, **WAY, **layouts)
    for direction in ("backward_data", "backward_weight")
    for layouts in ({}, NHWC)
]


def torch_peer() -> Peer:
    pytest.importorskip("torch", reason="torch is not installed")
    return next(peer for peer in peers() if peer.name == "torch")


def computed(call: Call, problem: Problem, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """What the call returns, or writes: torch's gradients are results, all else goes into the arrays."""
    result = call()
    if isinstance(result, tuple):
        result = next(r for r in result if r is not None)
    if result is None or isinstance(problem, Gemm):
        return arrays[problem.written]
    tensor = result.permute(0, 2, 3, 1) if problem.input_layout[1] == "hi" else result
    return tensor.contiguous().numpy()


@pytest.mark.parametrize("problem", [FORWARD, *PRODUCTS], ids=lambda p: p.key())
def test_numpy(problem: Problem) -> None:
    check(NumPy(), problem)


@pytest.mark.parametrize("problem", [FORWARD, GROUPED, *PRODUCTS, *GRADIENTS], ids=lambda p: p.key())
def test_torch(problem: Problem) -> None:
    check(torch_peer(), problem)


@pytest.mark.parametrize("how", [{}, {"transpose_a": True}, {"transpose_b": True}], ids=str)
def test_torch_multiplies_bytes(how: dict[str, bool]) -> None:
    check(torch_peer(), Gemm(24, 32, 40, dtype="i8", **how))
    assert torch_peer().call(Gemm(24, 32, 40, dtype="i8", batch=2), {}) is None


def check(peer: Peer, problem: Problem) -> None:
    operands = random_operands(problem)
    truth = reference(problem, operands.arrays)
    arrays = {role: array.copy() for role, array in operands.arrays.items()}
    call = peer.call(problem, arrays)
    assert call is not None
    outcome = compare(problem, computed(call, problem, arrays), truth, is_exact=True)
    assert outcome.is_right, str(outcome)


@pytest.mark.parametrize(
    "problem",
    [
        GROUPED,
        GRADIENTS[0],
        Gemm(5, 6, 7, beta=1.0),
        Gemm(5, 6, 7, dtype="f16"),
        Gemm(5, 6, 7, epilogue="relu(x)"),
        Conv2d("forward", 1, 2, 5, 5, 2, 3, 3, **NHWC),
    ],
    ids=lambda p: p.key(),
)
def test_numpy_does_not_take_part_in_what_it_cannot(problem: Problem) -> None:
    assert NumPy().call(problem, random_operands(problem).arrays) is None


def test_torch_does_not_take_part_in_what_would_need_a_copy() -> None:
    peer = torch_peer()
    for problem in (
        Conv2d("forward", 1, 2, 5, 5, 2, 3, 3, pad_h=(1, 0)),
        Conv2d("forward", 1, 2, 5, 5, 2, 3, 3, input_layout="CNHW"),
        Gemm(5, 6, 7, alpha=2.0),
        Gemm(5, 6, 7, dtype="i8", batch=2),
        Gemm(5, 6, 7, epilogue="relu(x + bias)"),
    ):
        assert peer.call(problem, random_operands(problem).arrays) is None


def test_names() -> None:
    assert [peer.name for peer in peers(("numpy",))] == ["numpy"]
    with pytest.raises(Diagnostic, match="unknown peer 'nunpy'"):
        peers(("nunpy",))


def test_numpy_threads_are_set() -> None:
    asked = _openblas(
        ("scipy_openblas_get_num_threads64_", "openblas_get_num_threads64_", "openblas_get_num_threads")
    )
    if not asked:
        pytest.skip("this NumPy comes without OpenBLAS")
    before = asked[0]()
    NumPy().set_threads(1)
    assert asked[0]() == 1
    NumPy().set_threads(before)
    assert asked[0]() == before


def test_what_is_mapped_is_found_whatever_its_path() -> None:
    maps = """\
7f1-7f2 r-xp 00001000 fe:00 12    /a venv/numpy.libs/libscipy_openblas64_-1.so
7f2-7f3 r--p 00002000 fe:00 12    /a venv/numpy.libs/libscipy_openblas64_-1.so
7f3-7f4 rw-p 00000000 00:00 0
7f4-7f5 rw-p 00000000 00:00 0    [heap]
7f5-7f6 r-xp 00000000 fe:00 13    /of/openblas/libother.so
"""
    assert mapped(maps, "openblas") == ["/a venv/numpy.libs/libscipy_openblas64_-1.so"]


def test_linear_algebra_has_one_thread_in_the_block_and_as_many_as_before_after_it() -> None:
    def counts() -> list[int]:
        return [count() for count in _openblas(_GET_THREADS)]

    NumPy().set_threads(2)
    before = counts()
    with one_blas_thread():
        assert set(counts()) <= {1} and len(counts()) == len(before)
    assert counts() == before
    NumPy().set_threads(1)
