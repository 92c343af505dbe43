"""Loading and calling: the right arrays reach the kernel untouched, the wrong ones never reach it."""

from __future__ import annotations

import ctypes
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from imbrex.build.shared_library import build_shared
from imbrex.diagnostic import Diagnostic
from imbrex.run.cpu import CpuKernel, Parameter, load, thread_count
from imbrex.run.guarded_call import said_fault
from imbrex.run.host_machine import usable_cores

F32 = np.dtype(np.float32)

SOURCE = """
extern "C" int add(const void* a, const void* b, void* c, int threads) {
    const float* x = static_cast<const float*>(a);
    const float* y = static_cast<const float*>(b);
    float* z = static_cast<float*>(c);
    for (int i = 0; i < 6; ++i) z[i] = x[i] + y[i] * static_cast<float>(threads);
    return 0;
}
extern "C" int exhausted(const void*, const void*, void*, int) { return 1; }
extern "C" int broken(const void*, const void*, void*, int) { return 7; }
"""

PARAMETERS = (
    Parameter("a", (2, 3), F32),
    Parameter("b", (2, 3), F32),
    Parameter("c", (2, 3), F32, is_written=True),
)


@pytest.fixture(scope="module")
def library() -> Path:
    return build_shared({"k.cpp": SOURCE}).path


@pytest.fixture
def add(library: Path) -> CpuKernel:
    return load(library, "add", PARAMETERS)


def _arrays() -> list[np.ndarray[Any, Any]]:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    return [a, a + 1, np.full((2, 3), np.nan, np.float32)]


def test_kernel_reads_and_writes_the_arrays(add: CpuKernel) -> None:
    a, b, c = _arrays()
    add(a, b, c, threads=3)
    np.testing.assert_array_equal(c, a + 3 * b)


def test_all_cores_by_default(add: CpuKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IMBREX_THREADS", raising=False)
    a, b, c = _arrays()
    add(a, b, c)
    np.testing.assert_array_equal(c, a + usable_cores() * b)
    monkeypatch.setenv("IMBREX_THREADS", "5")
    add(a, b, c)
    np.testing.assert_array_equal(c, a + 5 * b)


def test_bfloat16_reaches_the_kernel_as_it_lies() -> None:
    text = """
    #include <stdint.h>
    extern "C" int first(const void* a, const void*, void* c, int) {
        *static_cast<uint32_t*>(c) = static_cast<uint32_t>(*static_cast<const uint16_t*>(a)) << 16;
        return 0;
    }
    """
    bf16 = np.dtype(ml_dtypes.bfloat16)
    parameters = (Parameter("a", (1,), bf16), Parameter("b", (1,), bf16), Parameter("c", (1,), F32, True))
    kernel = load(build_shared({"k.cpp": text}).path, "first", parameters)
    c = np.zeros(1, np.float32)
    kernel(np.array([1.5], bf16), np.array([0], bf16), c)
    assert c[0] == 1.5


@pytest.mark.parametrize(
    ("position", "value", "error", "message"),
    [
        (0, np.zeros((2, 3)), TypeError, "'a' should have dtype float32, got float64"),
        (1, np.zeros((3, 2), np.float32), ValueError, "'b' should have shape (2, 3), got (3, 2)"),
        (1, np.zeros((3, 2), np.float32).T, ValueError, "'b' should be contiguous"),
        (0, [[1.0, 2.0, 3.0]] * 2, TypeError, "'a' should be a numpy array, got list"),
        (2, np.broadcast_to(np.float32(0), (2, 3)), ValueError, "'c' should be contiguous"),
    ],
)
def test_wrong_array_never_reaches_the_kernel(
    add: CpuKernel, position: int, value: Any, error: type[Exception], message: str
) -> None:
    arrays: list[Any] = _arrays()
    out = arrays[2]
    arrays[position] = value
    with pytest.raises(error) as caught:
        add(*arrays)
    assert message in str(caught.value)
    assert np.isnan(out).all()


def test_output_may_be_no_input(add: CpuKernel) -> None:
    a, b, _ = _arrays()
    with pytest.raises(ValueError, match="the output 'c' shares memory with 'b'"):
        add(a, b, b)
    add(a, a, b)  # two inputs may be one


def test_views_of_the_kernels_strides(library: Path) -> None:
    """Rows in turn: the output and an input may interleave."""
    strided = tuple(replace(p, shape=(1, 2, 3), strides=(3, 6, 1)) for p in PARAMETERS[1:])
    kernel = load(library, "add", (PARAMETERS[0], *strided))
    assert strided[0].bytes == 4 * 9
    both = np.zeros((2, 6), np.float32)
    a, _, _ = _arrays()
    kernel._check((a, both[None, :, :3], both[None, :, 3:]))
    with pytest.raises(ValueError, match="the output 'c' shares memory with 'b'"):
        kernel._check((a, both[None, :, :3], both[None, :, 2:5]))
    assert kernel.new_result(strided[1], a).strides == (12, 24, 4)


def test_number_of_arrays(add: CpuKernel) -> None:
    with pytest.raises(TypeError, match="'add' takes 3 arrays, got 2"):
        add(*_arrays()[:2])


def test_kernel_out_of_memory(library: Path) -> None:
    with pytest.raises(MemoryError, match="'exhausted' could not allocate"):
        load(library, "exhausted", PARAMETERS)(*_arrays())


def test_unknown_status_is_a_broken_promise(library: Path) -> None:
    with pytest.raises(AssertionError, match="returned 7"):
        load(library, "broken", PARAMETERS)(*_arrays())


@pytest.mark.parametrize(
    ("threads", "error", "message"),
    [
        (0, ValueError, "'threads' should be an integer from 1 to 99999, got 0"),
        (-1, ValueError, "got -1"),
        (1 << 40, ValueError, "from 1 to 99999, got 1099511627776"),
        (1.5, TypeError, "'threads' should be an integer from 1 to 99999, got 1.5"),
        ("2", TypeError, "got '2'"),
    ],
)
def test_threads_are_a_positive_integer(threads: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        thread_count(threads)
    assert message in str(caught.value)


def test_threads_take_what_counts_as_an_integer() -> None:
    assert thread_count(np.int64(3)) == 3  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "100000"])
def test_threads_of_the_environment(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("IMBREX_THREADS", text)
    with pytest.raises(Diagnostic, match=f"IMBREX_THREADS should be a positive number, got '{text}'"):
        thread_count()


def test_missing_symbol(library: Path) -> None:
    with pytest.raises(Diagnostic, match="exports no 'absent'"):
        load(library, "absent", PARAMETERS)


def test_a_folder_whose_name_is_no_utf_8(library: Path, tmp_path: Path) -> None:
    """Python before 3.13 fails to say that such a library has no symbol."""
    path = tmp_path / "caf\udce9" / "kernel.so"
    path.parent.mkdir()
    shutil.copy(library, path)
    a, b, c = _arrays()
    kernel = load(path, "add", PARAMETERS)
    kernel(a, b, c, threads=3)
    np.testing.assert_array_equal(c, a + 3 * b)
    with pytest.raises(Diagnostic, match="exports no 'absent'"):
        load(path, "absent", PARAMETERS)
    assert said_fault(ctypes.CDLL(str(path)), "add") == ""


def test_undefined_symbol_is_named_when_it_is_loaded() -> None:
    text = 'extern "C" int nowhere(); extern "C" int f() { return nowhere(); }'
    path = build_shared({"k.cpp": text}).path
    with pytest.raises(Diagnostic, match="the source calls 'nowhere', which this process does not have"):
        load(path, "f", PARAMETERS)


def test_what_is_no_library(tmp_path: Path) -> None:
    path = tmp_path / "kernel.so"
    with pytest.raises(Diagnostic, match="the kernel cannot be loaded"):
        load(path, "f", PARAMETERS)
    path.write_bytes(os.urandom(100))
    with pytest.raises(Diagnostic, match="the kernel cannot be loaded"):
        load(path, "f", PARAMETERS)
