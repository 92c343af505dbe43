"""The short way into a kernel: it is told apart by all that a check depends on, and runs on nothing else."""

from __future__ import annotations

import ctypes
import os
import pickle
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from imbrex.build.shared_library import build_shared
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import compile
from imbrex.run.cpu import short_way
from imbrex.run.host_machine import usable_cores
from imbrex.run.launcher import Call, Entry, Launcher, openmp_of

SOURCE = """
extern "C" int add(const float *a, const float *b, float *c, int threads) {
    for (int i = 0; i < 6; ++i) c[i] = a[i] + b[i] * static_cast<float>(threads);
    return 0;
}
extern "C" int held(const float *, float *c, const float *zeros, const float *, int) {
    for (int i = 0; i < 6; ++i) c[i] = zeros[i];
    return 0;
}
extern "C" int exhausted(const float *, float *, int) { return 1; }
"""

Made = Callable[..., Call]


@pytest.fixture(scope="module")
def short() -> Launcher:
    found = short_way()
    assert found is not None
    return found


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(build_shared({"k.cpp": SOURCE}).path)


@pytest.fixture
def made(short: Launcher, library: ctypes.CDLL) -> Made:
    def make(name: str, places: tuple[int, ...], workspaces: Any = (), is_alone: bool = False) -> Call:
        address = ctypes.cast(library[name], ctypes.c_void_p).value
        assert address is not None
        sizes, written = [4] * len(places), len(places) - 1
        call = short.call(Entry(address, places, sizes, written, workspaces, is_alone, is_long=True))
        assert call is not None
        return call

    return make


def _array(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


def test_a_description_is_of_all_but_the_place(short: Launcher) -> None:
    a = _array(4, 6)
    assert short.describe((a, None)) == short.describe((a.copy(), None)) is not None


@pytest.mark.parametrize(
    "other",
    [
        (_array(6, 4), None),
        (_array(4, 6).astype(np.int32), None),
        (_array(4, 6).astype(np.float16), None),
        (_array(4, 6).astype(ml_dtypes.bfloat16), None),
        (_array(6, 4).T, None),
        (_array(4, 12)[:, ::2], None),
        (_array(4, 6)[::-1], None),
        (_array(1, 4, 6), None),
        (_read_only(_array(4, 6)), None),
        (None, _array(4, 6)),
        (_array(4, 6),),
    ],
)
def test_what_a_check_would_see_differs_in_the_description(short: Launcher, other: tuple[Any, ...]) -> None:
    found = short.describe(other)
    assert found is not None
    assert found != short.describe((_array(4, 6), None))


@pytest.mark.parametrize(
    "unusual",
    [
        [[1.0, 2.0]],
        3.0,
        np.ma.masked_array(_array(2, 3)),
        _array(2, 3).astype(">f4"),
        _array(2, 3).astype(np.complex64),
        _array(*[1] * 9),
    ],
)
def test_what_is_unusual_goes_the_long_way(short: Launcher, unusual: object) -> None:
    assert short.describe((_array(2, 3), unusual)) is None


@pytest.mark.parametrize("name", ["f4", "f8", "i1", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_a_dtype_of_another_process_is_the_same(short: Launcher, name: Any) -> None:
    """An array that came by pickle has a dtype of its own, and so has one with metadata."""
    here = np.zeros((2, 3), name)
    there = here.astype(pickle.loads(pickle.dumps(here.dtype)))
    assert short.describe((there,)) == short.describe((here,)) is not None
    noted = np.empty((2, 3), np.dtype("f4", metadata={"unit": "m"}))
    assert short.describe((noted,)) == short.describe((_array(2, 3),))


def test_another_database_is_another_call(short: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    before = short.describe((_array(2, 3),))
    monkeypatch.setenv("IMBREX_DB", "/elsewhere.db")
    assert short.describe((_array(2, 3),)) != before


def test_arrays_reach_the_kernel_in_its_order(made: Made) -> None:
    a, b, c = _array(6), _array(6) + 1, np.full(6, np.nan, np.float32)
    assert made("add", (2, 0, 1))(3, (b, c, a)) == 0
    np.testing.assert_array_equal(c, a + 3 * b)


def test_where_arrays_lie_is_looked_at_in_every_call(made: Made) -> None:
    whole = _array(24)
    call = made("add", (0, 1, 2))
    assert call(1, (whole[:6], whole[6:12], whole[12:18])) == 0
    before = whole.copy()
    assert call(1, (whole[:6], whole[6:12], whole[11:17])) == -1, "the result overlaps"
    assert call(1, (whole[:6], whole[17:11:-1], whole[12:18])) == -1, "backwards, too"
    odd = np.zeros(40, np.uint8)[1:25].view(np.float32)
    assert call(1, (whole[:6], whole[6:12], odd)) == -1, "no multiple of four bytes"
    np.testing.assert_array_equal(whole, before)


def test_jobs_run_on_an_openmp_that_is_lent(short: Launcher) -> None:
    """All of its team are called, and as many let in as a job has use for; a forked child has a pool."""
    kernel = compile("gemm -m 256 -n 256 -k 64", threads=2).loaded
    a, b, c = (np.ones(p.shape, p.dtype) for p in kernel.parameters)
    called: list[int] = []
    sizes = [2, 1]

    def parallel(share: Any, job: Any, threads: int, flags: int) -> None:
        called.append(threads)
        for _ in range(5):
            share(job)

    share = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    team = ctypes.CFUNCTYPE(None, share, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)(parallel)
    most = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: sizes.pop(0))
    try:
        short.join(tuple(ctypes.cast(one, ctypes.c_void_p).value or 0 for one in (team, most)))  # type: ignore[arg-type]
        for threads in (1, 2, 2):
            c[:] = np.nan
            kernel(a, b, c, threads=threads)
            assert (c == 64).all()
        assert called == [0, 2], "a team of its own size, but where more are asked for"
        if (child := os.fork()) == 0:
            c[:] = np.nan
            kernel(a, b, c, threads=2)
            os._exit(0 if (c == 64).all() and len(called) == 2 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        short.join((0, 0))
    kernel(a, b, c, threads=2)
    assert len(called) == 2


def test_the_same_bits_in_the_same_order(short: Launcher) -> None:
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    one = torch.arange(6.0).reshape(2, 3)
    one[0, 0] = torch.nan
    short.learn((one,))
    if short.describe((one,)) is None:
        pytest.skip("this torch has no exchange functions")
    other = one.clone()
    assert short.same((one, None, one), (other, None, other)) and short.same((), ())
    for last in (other.view(torch.int32), other.reshape(6), other.T.contiguous().T, other[:1], None, 3.0):
        assert not short.same((one, one), (other, last))
    assert not short.same((one,), (other, other))
    assert not short.same((one.T,), (other.T,)), "not in their order"
    other.data[1, 2] = torch.nextafter(other[1, 2], other[0, 1])
    assert not short.same((one,), (other,))


def test_torch_has_an_openmp_or_none() -> None:
    assert openmp_of(None) == (0, 0)
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    found = openmp_of(torch)
    assert all(found) if torch.backends.openmp.is_available() else not any(found)


@pytest.mark.parametrize("threads", [0, -1, 100_000, 10**30])
def test_no_number_of_threads_goes_the_long_way(made: Made, threads: int) -> None:
    a = _array(6)
    assert made("add", (0, 1, 2))(threads, (a, a, a.copy())) == -1


def test_threads_follow_environment_and_affinity(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    call, ones, c = made("add", (0, 1, 2)), np.ones(6, np.float32), np.empty(6, np.float32)

    def threads() -> int:
        assert call(None, (np.zeros(6, np.float32), ones, c)) == 0
        return int(c[0])

    monkeypatch.delenv("IMBREX_THREADS", raising=False)
    assert threads() == threads() == usable_cores()
    monkeypatch.setenv("IMBREX_THREADS", "5")
    assert threads() == threads() == 5
    monkeypatch.setenv("IMBREX_THREADS", "none")
    with pytest.raises(Diagnostic, match="IMBREX_THREADS should be a positive number, got 'none'"):
        threads()
    monkeypatch.delenv("IMBREX_THREADS")
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert threads() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert threads() == usable_cores()


def test_workspaces_are_there_and_zeros_where_they_should(made: Made) -> None:
    call = made("held", (0, 1), [(4 * 6, True), (10, False)])
    for _ in range(3):
        c = np.full(6, np.nan, np.float32)
        assert call(1, (_array(6), c)) == 0
        np.testing.assert_array_equal(c, np.zeros(6))


def test_no_memory_is_a_status(made: Made) -> None:
    assert made("exhausted", (0, 1))(1, (_array(6), _array(6))) == 1
    assert made("held", (0, 1), [(1 << 60, False), (8, False)])(1, (_array(6), _array(6))) == 1


def test_too_many_arrays_have_no_short_way(short: Launcher) -> None:
    assert short.call(Entry(1, range(9), [4] * 9, 8, (), is_alone=True, is_long=False)) is None
    assert short.describe((_array(2),) * 9) is None
