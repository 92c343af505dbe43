"""Functions of tensors on a GPU of NVIDIA's; the GPU, its driver and torch are played, and the kernel is one
that multiplies on the host where the driver is told to launch.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.unit.run.fake_cuda import ComputingCuda
from tests.unit.run.fake_torch import Tensor, aligned
from tests.unit.run.fake_torch import module as torch_module

import imbrex
from imbrex.function import batches, plan
from imbrex.function.conv import _kernel as conv_kernel
from imbrex.function.gemm import _kernel as gemm_kernel
from imbrex.kernel import Kernel, Target
from imbrex.problem import Gemm, Problem
from imbrex.run.cpu import Parameter
from imbrex.run.cuda.kernel import CudaKernel
from imbrex.run.launch import Launch
from imbrex.verify.reference import reference

RANDOM = np.random.default_rng(3)


def integers(*shape: int) -> np.ndarray[Any, Any]:
    return RANDOM.integers(-4, 5, shape).astype(np.float32)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ComputingCuda]:
    """The driver, torch, and a compiler that knows kernels of this driver only."""
    pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
    fake = ComputingCuda()
    (tmp_path / "k.cubin").write_bytes(b"code")

    def compiled(problem: Problem, target: Target, **_: Any) -> Kernel:
        assert target.kind == "sm_90a"
        parameters = tuple(
            Parameter(o.role, o.shape, o.dtype.numpy, o.is_written, strides=o.strides)
            for o in problem.operands
        )
        name = f"k_{len(fake.problems)}"
        fake.problems[name] = problem
        steps = (Launch(name, 1, 64, tuple(range(len(parameters)))),)
        loaded = CudaKernel(tmp_path / "k.cubin", name, "sm_90a", parameters, steps)
        library: Any = SimpleNamespace(path=tmp_path / "k.cubin")
        return Kernel(problem, target, 1, (), None, library, 0.0, loaded)

    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", fake)
    monkeypatch.setitem(sys.modules, "torch", torch_module())
    monkeypatch.setattr(batches, "compile", compiled)
    caches = (gemm_kernel.cache_clear, conv_kernel.cache_clear, plan.clear)
    for clear in caches:
        clear()
    yield fake
    for clear in caches:
        clear()


def on_gpu(array: np.ndarray[Any, Any], device: int = 0) -> Tensor:
    """Its strides stay."""
    order = np.argsort([-s for s in array.strides], kind="stable")
    return Tensor(aligned(np.ascontiguousarray(array.transpose(order))).transpose(np.argsort(order)), device)


def test_a_product_runs_where_its_tensors_lie(cuda: ComputingCuda) -> None:
    a, b = integers(9, 20), integers(20, 13)
    result = imbrex.gemm(on_gpu(a), on_gpu(b))
    assert isinstance(result, Tensor) and result.is_cuda
    np.testing.assert_array_equal(result.array, a @ b)
    assert "cuMemAlloc" not in cuda.names, "nothing is copied"


@pytest.mark.parametrize("target", ["sm_90a", None])
def test_arrays_of_the_host_are_copied_where_that_is_asked_for(
    cuda: ComputingCuda, target: str | None
) -> None:
    a, b = integers(9, 20), integers(20, 13)
    if target is None:
        a, b = on_gpu(a), on_gpu(b)  # type: ignore[assignment]
    result = imbrex.gemm(a, b, target=target)
    assert isinstance(result, np.ndarray) == (target == "sm_90a")


def test_transposed_views_and_batches(cuda: ComputingCuda) -> None:
    a, b = integers(3, 20, 9), integers(3, 13, 20)
    result = imbrex.gemm(on_gpu(a), on_gpu(b.transpose(0, 2, 1)), transpose_a=True)
    np.testing.assert_array_equal(result.array, a.transpose(0, 2, 1) @ b.transpose(0, 2, 1))
    (problem,) = cuda.problems.values()
    assert problem.transpose_a and problem.transpose_b, "read where they lie"  # type: ignore[union-attr]


def test_gaps_and_unaligned_tensors_are_copied(cuda: ComputingCuda) -> None:
    a, b = integers(9, 20), integers(20, 13)
    wide = Tensor(aligned(np.repeat(a, 2, axis=1))[:, ::2])
    late = Tensor(aligned(np.append([0], b).astype(np.float32))[1:].reshape(20, 13))
    assert late.data_ptr() % 16
    for _ in range(2):
        np.testing.assert_array_equal(imbrex.gemm(wide, late).array, a @ b)


def test_views_are_used_where_they_lie(cuda: ComputingCuda) -> None:
    a, b = integers(9, 20), integers(13, 20)
    wide = {role: aligned(np.full((16, 40), np.nan, np.float32)) for role in "abc"}
    left, right, out = wide["a"][:9, 4:24], wide["b"][:13, :20], wide["c"][2:11, 8:21]
    left[...], right[...] = a, b
    got = Tensor(out)
    for _ in range(2):
        assert imbrex.gemm(Tensor(left), Tensor(right.T), out=got) is got
        np.testing.assert_array_equal(got.array, a @ b.T)
        out[...] = 0
    (problem,) = cuda.problems.values()
    assert isinstance(problem, Gemm)
    assert problem.transpose_b and (problem.lda, problem.ldb, problem.ldc) == (40, 40, 40)
    assert np.isnan(wide["c"]).sum() == wide["c"].size - got.array.size


def test_c_and_out(cuda: ComputingCuda) -> None:
    a, b, c = integers(9, 20), integers(20, 13), integers(13)
    out = on_gpu(np.zeros((9, 13), np.float32))
    assert imbrex.gemm(on_gpu(a), on_gpu(b), on_gpu(c), alpha=2, beta=3, out=out) is out
    np.testing.assert_array_equal(out.array, 2 * (a @ b) + 3 * c)
    with pytest.raises(ValueError, match=r"'out' should have shape \(9, 13\), got \(9, 12\)"):
        imbrex.gemm(on_gpu(a), on_gpu(b), out=on_gpu(np.zeros((9, 12), np.float32)))
    square = on_gpu(integers(8, 8))
    with pytest.raises(ValueError, match="'out' shares memory with 'a'"):
        imbrex.gemm(square, on_gpu(integers(8, 8)), out=square)


def test_an_epilogue(cuda: ComputingCuda) -> None:
    a, b, bias, residual = integers(9, 20), integers(20, 13), integers(13), integers(9, 13)
    words: dict[str, Any] = {"epilogue": "relu(x + bias) - residual"}
    got = imbrex.gemm(on_gpu(a), on_gpu(b), bias=on_gpu(bias), residual=on_gpu(residual), **words)
    np.testing.assert_array_equal(got.array, np.maximum(a @ b + bias, 0) - residual)
    half = [on_gpu(v.astype(np.float16)) for v in (a, b)]
    got = imbrex.gemm(*half, epilogue="f32(x + bias)", bias=on_gpu(bias))
    np.testing.assert_array_equal(got.array, a @ b + bias)
    turned = on_gpu(np.ascontiguousarray(residual.T).T)
    np.testing.assert_array_equal(imbrex.gemm(on_gpu(a), on_gpu(b), residual=turned).array, a @ b + residual)
    got = imbrex.gemm(on_gpu(a[:, :0]), on_gpu(b[:0]), bias=on_gpu(bias))
    np.testing.assert_array_equal(got.array, np.tile(bias, (9, 1)))
    out = on_gpu(residual)
    imbrex.gemm(on_gpu(a), on_gpu(b), on_gpu(bias), epilogue="x - residual", residual=out, out=out)
    np.testing.assert_array_equal(out.array, a @ b + bias - residual)


def test_an_epilogue_of_a_convolution(cuda: ComputingCuda) -> None:
    x, w, bias, residual = integers(2, 3, 6, 5), integers(4, 3, 3, 3), integers(4), integers(2, 4, 6, 5)
    sums = imbrex.conv2d(on_gpu(x), on_gpu(w), padding=1).array
    for _ in range(2):
        more = {"bias": on_gpu(bias), "residual": on_gpu(residual)}
        got = imbrex.conv2d(on_gpu(x), on_gpu(w), padding=1, epilogue="relu(x + bias) + residual", **more)
        want = np.maximum(sums + bias[:, None, None], 0) + residual
        np.testing.assert_array_equal(got.array, want)


def test_products_of_f32_in_tf32(cuda: ComputingCuda) -> None:
    a, b, x, w = integers(9, 20), integers(20, 13), integers(2, 3, 6, 5), integers(4, 3, 3, 3)
    np.testing.assert_array_equal(imbrex.gemm(on_gpu(a), on_gpu(b), compute="tf32").array, a @ b)
    imbrex.gemm(on_gpu(a), on_gpu(b))
    imbrex.conv2d(on_gpu(x), on_gpu(w), compute="tf32")
    assert [str(problem.dtype) for problem in cuda.problems.values()] == ["tf32", "f32", "tf32"]


def test_empty_sizes(cuda: ComputingCuda) -> None:
    a, b = integers(9, 0), integers(0, 13)
    np.testing.assert_array_equal(imbrex.gemm(on_gpu(a), on_gpu(b)).array, np.zeros((9, 13)))
    assert not cuda.launched


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_convolutions_follow_the_tensors_layout(cuda: ComputingCuda, layout: str) -> None:
    x, w = integers(2, 3, 6, 5), integers(4, 3, 3, 3)
    if layout == "NHWC":  # torch's channels_last: indexed as NCHW
        x, w = (np.ascontiguousarray(v.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2) for v in (x, w))
    for _ in range(2):
        result = imbrex.conv2d(on_gpu(x), on_gpu(w), padding=1)
        assert result.shape == (2, 4, 6, 5)
        channels_first = result.array.flags.c_contiguous
        assert channels_first == (layout == "NCHW")
    (problem,) = cuda.problems.values()
    truth = reference(problem, {"filter": _as(problem, "filter", w), "input": _as(problem, "input", x)})
    np.testing.assert_array_equal(_as(problem, "output", result.array), truth.want)


def _as(problem: Any, role: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array indexed as NCHW, in the problem's layout."""
    names = {"filter": "kcyx", "input": ("n", "c", "hi", "wi"), "output": ("n", "k", "ho", "wo")}[role]
    return array.transpose([list(names).index(name) for name in problem.layout(role)])


@pytest.mark.parametrize("which", ["backward_data", "backward_weight"])
def test_gradients(cuda: ComputingCuda, which: str) -> None:
    x, w, dy = integers(2, 3, 6, 5), integers(4, 3, 3, 3), integers(2, 4, 6, 5)
    function = getattr(imbrex, f"conv2d_{which}")
    other, shape = (w, x.shape) if which == "backward_data" else (x, w.shape)
    first, second = (function(on_gpu(dy), on_gpu(other), shape, padding=1) for _ in range(2))
    assert first.shape == second.shape == shape
    np.testing.assert_array_equal(first.array, second.array)
    assert len(cuda.problems) == 1 and len(cuda.launched) == 2


class TestPlans:
    def test_a_second_call_only_launches(self, cuda: ComputingCuda, monkeypatch: pytest.MonkeyPatch) -> None:
        a, b = on_gpu(integers(9, 20)), on_gpu(integers(20, 13))
        out = on_gpu(np.zeros((9, 13), np.float32))
        imbrex.gemm(a, b, out=out)
        cuda.calls.clear()
        monkeypatch.setattr("imbrex.function.gemm.matrices", None)
        out.array[...] = 0
        assert imbrex.gemm(a, b, out=out) is out
        assert [name for name, *_ in cuda.calls] == ["cuLaunchKernelEx"]
        np.testing.assert_array_equal(out.array, a.array @ b.array)

    def test_other_tensors_of_the_same_kind_have_the_same_plan(
        self, cuda: ComputingCuda, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        imbrex.gemm(on_gpu(integers(9, 20)), on_gpu(integers(20, 13)))
        monkeypatch.setattr("imbrex.function.gemm.matrices", None)
        a, b = on_gpu(integers(9, 20)), on_gpu(integers(20, 13))
        np.testing.assert_array_equal(imbrex.gemm(a, b).array, a.array @ b.array)

    def test_an_epilogue_has_a_plan_of_its_own(
        self, cuda: ComputingCuda, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        a, b, bias, more = integers(9, 20), integers(20, 13), integers(13), integers(9, 13)
        given: dict[str, Any] = {"bias": on_gpu(bias), "residual": on_gpu(more)}
        calls: list[tuple[dict[str, Any], Any]] = [
            ({}, a @ b),
            ({"bias": given["bias"]}, a @ b + bias),
            ({"epilogue": "x - bias", "bias": given["bias"]}, a @ b - bias),
            ({"epilogue": "x - residual - bias", **given}, a @ b - bias - more),
            ({"compute": "tf32"}, a @ b),
        ]
        for words, _ in calls:
            imbrex.gemm(on_gpu(a), on_gpu(b), **words)
        assert len(cuda.problems) == len(calls)
        cuda.calls.clear()
        monkeypatch.setattr("imbrex.function.gemm.matrices", None)
        for words, want in calls:
            np.testing.assert_array_equal(imbrex.gemm(on_gpu(a), on_gpu(b), **words).array, want)
        names = [
            name for name, *_ in cuda.calls if name != "cuCtxGetCurrent"
        ]  # asked at an address that is new
        assert names == ["cuLaunchKernelEx"] * len(calls)

    def test_the_current_stream(self, cuda: ComputingCuda) -> None:
        a, b = on_gpu(integers(9, 20)), on_gpu(integers(20, 13))
        torch: Any = sys.modules["torch"]
        for handle in (0, 41, 0, 41):
            torch.streams[0] = handle
            imbrex.gemm(a, b)
        imbrex.gemm(a, b, stream=55)
        assert [launch.stream for launch in cuda.launched] == [0, 41, 0, 41, 55]

    @pytest.mark.parametrize("change", ["shape", "strides", "words", "out", "unaligned", "device"])
    def test_what_differs_goes_the_long_way(self, cuda: ComputingCuda, change: str) -> None:
        a, b = integers(16, 16), integers(16, 16)
        imbrex.gemm(on_gpu(a), on_gpu(b))
        words: dict[str, Any] = {}
        x, y = on_gpu(a), on_gpu(b)
        want = a @ b
        match change:
            case "shape":
                x, want = on_gpu(a[:9]), a[:9] @ b
            case "strides":
                x, want = on_gpu(a.T), a.T @ b
            case "words":
                words, want = {"alpha": 2.0}, 2 * (a @ b)
            case "out":
                words = {"out": on_gpu(np.zeros((16, 16), np.float32))}
            case "unaligned":
                x = Tensor(aligned(np.append([0], a).astype(np.float32))[1:].reshape(16, 16))
            case _:
                cuda.devices = 2
                x, y = on_gpu(a, 1), on_gpu(b, 1)
        np.testing.assert_array_equal(imbrex.gemm(x, y, **words).array, want)

    def test_grad_is_seen(self, cuda: ComputingCuda) -> None:
        a, b = on_gpu(integers(9, 20)), on_gpu(integers(20, 13))
        imbrex.gemm(a, b)
        a.requires_grad = True
        with pytest.raises(TypeError, match="'a' requires grad"):
            imbrex.gemm(a, b)

    def test_grad_is_taken_where_nobody_records_it(
        self, cuda: ComputingCuda, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And what was planned then is not done where somebody does."""
        left, right = integers(9, 20), integers(20, 13)
        a, b = on_gpu(left), on_gpu(right)
        a.requires_grad = True
        torch = sys.modules["torch"]
        monkeypatch.setattr(torch, "is_grad_enabled", lambda: False)
        for _ in range(2):
            np.testing.assert_array_equal(imbrex.gemm(a, b).array, left @ right)
        monkeypatch.setattr(torch, "is_grad_enabled", lambda: True)
        with pytest.raises(TypeError, match="'a' requires grad"):
            imbrex.gemm(a, b)


A, B = integers(9, 20), integers(20, 13)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: imbrex.gemm(on_gpu(A), B), TypeError, "'b' lies on the host, and another array on a GPU"),
        (lambda: imbrex.gemm(A, on_gpu(B)), TypeError, "'b' lies on .*, and this kernel runs on the CPU"),
        (lambda: imbrex.gemm(on_gpu(A), on_gpu(B, 1)), ValueError, "the arrays lie on several GPUs: 'b'"),
        (lambda: imbrex.gemm(on_gpu(A), on_gpu(B.astype(np.float16))), TypeError, "float32 and float16"),
        (lambda: imbrex.gemm(on_gpu(A), on_gpu(A)), ValueError, "do not fit: op.a. is 9 x 20"),
        (lambda: imbrex.gemm(A, B, stream=5), TypeError, "'stream' is of a GPU"),
        (
            lambda: imbrex.gemm(on_gpu(A), on_gpu(B), bias=B[0]),
            TypeError,
            "'bias' lies on the host, and another array on a GPU",
        ),
    ],
)
def test_arrays_that_cannot_be(
    cuda: ComputingCuda, monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any], error: type, message: str
) -> None:
    from imbrex.kernel import compile

    monkeypatch.setattr(batches, "compile", compile)
    with pytest.raises(error, match=message):
        call()


class Cupy(np.ndarray[Any, Any]):
    """An array of CuPy's as far as anyone looks: NumPy's, on a GPU."""

    device = contextlib.nullcontext()

    @property
    def data(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ptr=self.ctypes.data)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        strides = None if self.flags.c_contiguous else self.strides
        told = {"shape": self.shape, "typestr": self.dtype.str, "data": (self.ctypes.data, False)}
        return {**told, "strides": strides, "version": 3}

    def __dlpack_device__(self) -> tuple[int, int]:  # type: ignore[override]
        return (2, 0)

    def __dlpack__(self, *, stream: Any = None) -> Any:  # type: ignore[override]
        assert stream == -1, "nobody waits"
        return np.asarray(self).__dlpack__()


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Callable[[np.ndarray[Any, Any]], Cupy]:
    def empty(shape: Any, dtype: Any) -> Cupy:
        return aligned(np.zeros(shape, dtype)).view(Cupy)

    def copied(array: Cupy) -> Cupy:
        return aligned(np.ascontiguousarray(array)).view(Cupy)

    found = SimpleNamespace(
        ndarray=Cupy,
        empty=empty,
        ascontiguousarray=copied,
        multiply=np.multiply,
        copyto=np.copyto,
        broadcast_to=np.broadcast_to,
    )
    monkeypatch.setitem(sys.modules, "cupy", found)  # type: ignore[arg-type]
    return lambda array: aligned(array).view(Cupy)


def test_arrays_of_cupy(cuda: ComputingCuda, cupy: Callable[..., Cupy]) -> None:
    a, b, c = integers(9, 20), integers(20, 13), integers(13)
    result = imbrex.gemm(cupy(a), cupy(b), stream=7)
    assert isinstance(result, Cupy)
    np.testing.assert_array_equal(result, a @ b)
    np.testing.assert_array_equal(imbrex.gemm(cupy(a), cupy(b), cupy(c), beta=2), a @ b + 2 * c)
    np.testing.assert_array_equal(imbrex.gemm(cupy(np.repeat(a, 2, 1))[:, ::2], cupy(b)), a @ b)
    np.testing.assert_array_equal(imbrex.gemm(cupy(a[:, :0]), cupy(b[:0])), np.zeros((9, 13)))
    assert cuda.launched[0].stream == 7


def test_arrays_of_others_have_no_results_of_their_kind(cuda: ComputingCuda) -> None:
    other = SimpleNamespace(__cuda_array_interface__={})
    with pytest.raises(TypeError, match="arrays on a GPU should be of torch or CuPy here"):
        imbrex.gemm(other, other)


def test_overlap_is_seen_in_every_call(cuda: ComputingCuda) -> None:
    """By plans and by kernels: what shares memory with the result is refused, or copied first."""
    whole = aligned(integers(8, 3, 8))
    a, b, c = (whole[:, i] for i in range(3))  # their rows lie in turn
    other, square = integers(8, 8), aligned(integers(8, 8))
    apart = on_gpu(np.zeros((8, 8), np.float32))
    for _ in range(2):
        np.testing.assert_array_equal(imbrex.gemm(Tensor(a), Tensor(b), out=Tensor(c)).array, a @ b)
        imbrex.gemm(on_gpu(other), Tensor(square), out=apart)
        imbrex.gemm(on_gpu(other), on_gpu(other), residual=on_gpu(other), out=apart)
    launched = cuda.names.count("cuLaunchKernelEx")
    with pytest.raises(ValueError, match="'out' shares memory with 'b'"):
        imbrex.gemm(on_gpu(other), Tensor(square), out=Tensor(square[:]))
    assert cuda.names.count("cuLaunchKernelEx") == launched
    want = other @ other + square
    imbrex.gemm(on_gpu(other), on_gpu(other), residual=Tensor(square), out=Tensor(square[:]))
    np.testing.assert_array_equal(square, want)
    kernel = batches.compile(next(iter(cuda.problems.values())), Target("sm_90a", "sm_90a"))
    with pytest.raises(ValueError, match="the output 'c' shares memory with 'a'"):
        kernel(Tensor(a), Tensor(b), Tensor(a))
