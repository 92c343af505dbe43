"""Leading dimensions and batch strides: every form of matrices with gaps, on arrays whose gaps hold NaN
before and must hold it afterwards; on the CPU, lane by lane, and at every level of the IR.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.e2e.covering import Row, covering
from tests.pairs import in_turn

from imbrex.chip import GPU_MACHINES
from imbrex.cli.meaning import executed
from imbrex.kernel import compile
from imbrex.pipeline import Request
from imbrex.problem import Gemm
from imbrex.run.arrays import in_memory, strided_view
from imbrex.verify.compare import compare
from imbrex.verify.data import random_operands
from imbrex.verify.reference import reference

PLAIN = Gemm(37, 29, 41, transpose_a=True)
MANY = Gemm(19, 23, 31, batch=3, transpose_b=True)
FORMS: dict[str, Gemm] = {
    "one more": replace(PLAIN, lda=38, ldb=30, ldc=30),
    "primes": replace(PLAIN, lda=53, ldb=31, ldc=37),
    "aligned": replace(PLAIN, lda=48, ldb=32, ldc=64),
    "of the result alone": replace(PLAIN, ldc=33),
    "many, with gaps": replace(MANY, lda=32, stride_a=700, ldb=33, ldc=24, stride_c=480),
    "many, in turn": replace(MANY, lda=96, stride_a=32, ldb=97, stride_b=31, ldc=69, stride_c=23),
    "many, the same one": replace(MANY, stride_a=0, stride_b=0, ldc=23, stride_c=500),
    "many, overlapping": replace(MANY, stride_a=7, ldb=31, stride_b=31),
    "rows of one element": Gemm(9, 1, 1, batch=2, lda=3, ldc=2, stride_c=1),
    "read and written": replace(PLAIN, ldc=37, alpha=2.0, beta=3.0),
    "finished": replace(MANY, ldc=27, epilogue="relu(x + bias) + residual"),
}
TYPES = ("f16", "bf16", "i8", "f64")
TARGETS = ("cpu", "emulate")


def check(problem: Gemm, target: str, **words: Any) -> None:
    kernel = compile(problem, target, **words)
    for seed in (0, 1):
        outcome = kernel.check(seed)
        assert outcome.is_right and outcome.is_exact, str(outcome)


@pytest.mark.parametrize(("form", "target"), in_turn(list(FORMS), TARGETS, whole=["many, overlapping"]))
def test_forms(form: str, target: str) -> None:
    check(FORMS[form], target)


@pytest.mark.parametrize(
    "row",
    covering(
        {"type": TYPES, "target": ("cpu", "emulate"), "form": ("primes", "many, in turn")}, lambda row: True
    ),
    ids=str,
)
def test_types(row: Row) -> None:
    check(replace(FORMS[row["form"]], dtype=row["type"]), row["target"])


def test_data_tiled() -> None:
    check(replace(FORMS["primes"], dtype="f16"), "emulate", algorithm="data_tiled")


@pytest.mark.parametrize("schedule", ["stream_k:5", "split_k"])
def test_workgroups_that_share_tiles(schedule: str) -> None:
    check(replace(FORMS["primes"], k=300, lda=53), "cpu", schedule=schedule, threads=2)


@pytest.mark.parametrize("algorithm", [None, "direct", "aligned"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["f16", "tf32"])
def test_every_level_for_warpgroups(dtype: str, form: str, algorithm: str | None) -> None:
    problem = replace(FORMS[form], dtype=dtype)
    if algorithm == "aligned" and (form == "rows of one element" or (form, dtype) == ("aligned", "f16")):
        pytest.skip("nothing to copy")
    request = Request(problem, GPU_MACHINES["sm_90a"], "sm_90a", algorithm=algorithm)
    for level in executed(request):
        assert level.comparison.is_right, f"{level.level}: {level.comparison}"


def test_what_is_written_in_a_gap_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = compile(FORMS["primes"])
    own = type(kernel).__call__

    def careless(self: Any, *arrays: Any, **words: Any) -> Any:
        result = own(self, *arrays, **words)
        np.lib.stride_tricks.as_strided(result, (30,), (4,))[29] = 0
        return result

    monkeypatch.setattr(type(kernel), "__call__", careless)
    outcome = kernel.check(values="float")
    assert not outcome.is_right and outcome.wrong == 0
    assert str(outcome).startswith("wrong: 1 element written in the gaps of the result")


@pytest.fixture
def fenced() -> Iterator[Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]]:
    """An equal array whose last element is the last one before memory that nobody may touch."""
    libc, page = ctypes.CDLL(None, use_errno=True), mmap.PAGESIZE
    maps: list[mmap.mmap] = []

    def made(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        row = in_memory(array)
        size = -(-row.nbytes // page) * page
        maps.append(mmap.mmap(-1, size + page))
        start = ctypes.addressof(ctypes.c_char.from_buffer(maps[-1]))
        assert libc.mprotect(ctypes.c_void_p(start + size), ctypes.c_size_t(page), 0) == 0
        memory = np.frombuffer(maps[-1], row.dtype, row.size, size - row.nbytes)
        memory[...] = row.reshape(-1)
        return strided_view(memory, array.shape, [s // array.itemsize for s in array.strides])

    yield made


@pytest.mark.skipif(sys.platform != "linux", reason="mprotect is Linux's here")
@pytest.mark.parametrize("form", FORMS)
def test_nothing_behind_the_last_row_is_touched(form: str, fenced: Callable[..., Any]) -> None:
    """A view may end where its array does, in the middle of a row."""
    problem = FORMS[form]
    for dtype in ("f32", "bf16")[: 1 + list(FORMS).index(form) % 2]:
        kernel = compile(replace(problem, dtype=dtype))
        operands = random_operands(kernel.problem, 3)
        arrays = {role: fenced(array) for role, array in operands.arrays.items()}
        truth = reference(kernel.problem, operands.arrays)
        got = kernel(*(arrays[o.role] for o in kernel.problem.operands))
        assert compare(kernel.problem, got, truth, is_exact=True).is_right
